package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/gdamore/tcell/v3"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// twoPanes is the width from which a list is shown beside the board.
const twoPanes = 100

// frame returns the lines of the screen, none wider than the screen.
func (m *model) frame() []string {
	lines := append([]string{m.topLine()}, m.body(max(m.height-2, 0))...)
	lines = append(lines, make([]string, max(m.height-len(lines), 0))...)
	lines = lines[:max(m.height, 1)]
	if m.height > 1 {
		lines[m.height-1] = m.bottomLine()
	}
	for i, l := range lines { // some parts have a minimum width
		lines[i] = cut(l, m.width)
	}
	return lines
}

// body draws all but the first and last line: a page, or the board and a list, side by side if there is room.
func (m *model) body(height int) []string {
	switch {
	case m.page != nil:
		return m.page.draw(m.width, height)
	case !m.loaded:
		return message(m.width, "Waiting for "+m.sourceName)
	case m.width < twoPanes && m.opened != "":
		return m.listPane(m.width, height)
	case m.width < twoPanes:
		return m.boardPane(m.width, height)
	}
	width := min(m.width*9/20, 72)
	lines := m.boardPane(width, height)
	for i, right := range m.listPane(m.width-width, height) {
		lines[i] += right
	}
	return lines
}

func (m *model) boardPane(width, height int) []string {
	title := "Lists"
	if m.filter != "" {
		title = "Lists with “" + render.Safe(m.filter) + "”"
	}
	lines := m.board.lines(m.boardRows(width-2), height-2)
	if m.board.cursor == "" {
		lines = m.emptyBoard(width - 2)
	}
	return framed(title, m.opened == "", width, height, lines)
}

// listPane draws the list that is opened or selected, or an empty pane.
func (m *model) listPane(width, height int) []string {
	s, ok := m.shown()
	if !ok && m.opened == "" {
		return framed("", false, width, height, nil)
	}
	return framed(render.ListTitle(s), m.opened != "", width, height, m.listLines(width-2, height-2, m.opened != ""))
}

// framed draws a border with a title around lines.
func framed(title string, focused bool, width, height int, lines []string) []string {
	border, titleRole := dim, plainText
	if focused {
		border, titleRole = accent, bold
	}
	rule := func(n int) string { return strings.Repeat("─", max(n, 0)) }
	out := []string{paint(border, "╭"+rule(width-2)+"╮")}
	if title = cut(paint(titleRole, title), width-6); title != "" {
		out[0] = paint(border, "╭─ ") + title + paint(border, " "+rule(width-render.Cells(title)-5)+"╮")
	}
	side := paint(border, "│")
	for i := range height - 2 {
		text := ""
		if i < len(lines) {
			text = lines[i]
		}
		out = append(out, spread(side+text, side, width))
	}
	return append(out, paint(border, "╰"+rule(width-2)+"╯"))
}

// topLine returns the first line: counts of lists, and whether the view is live.
func (m *model) topLine() string {
	lamp := paint(done, "● live")
	switch {
	case m.lost != nil:
		lamp = paint(warn, "○ not live since "+m.now.Format("15:04")+" ("+rootCause(m.lost)+")")
	case !m.loaded:
		lamp = paint(dim, "○ connecting…")
	}
	lamp = cut(lamp, max(m.width-12, 6))
	left, n := paint(bold, " todo-mcp"), account.Counts(slices.DeleteFunc(m.groups(), func(f account.Group) bool { return f.Main.Archived }))
	for _, state := range []todo.State{todo.Working, todo.Waiting, todo.Idle, todo.LeftOpen} {
		if sign := stateSigns[state]; n[state] > 0 { // the words have the sign's colour
			left += "  " + paint(role(sign[0]), fmt.Sprintf("%d %s", n[state], state))
		}
	}
	return spread(cut(left, m.width-render.Cells(lamp)-3), lamp+" ", m.width)
}

// bottomLine returns the last line: the search, a note, or the keys.
func (m *model) bottomLine() string {
	switch {
	case m.searching:
		return paint(accent, render.Cut(" / "+render.Safe(m.filter)+"▏", m.width))
	case m.note != "":
		return cut(m.note, m.width)
	case m.page != nil:
		return paint(dim, render.Cut(" ↑↓ scroll   any other key closes", m.width))
	}
	var keys []string
	if m.filter != "" && m.opened == "" {
		keys = append(keys, "esc clears the search")
	}
	_, some := m.shown()
	for _, b := range bindings() {
		if b.short != "" && b.where&m.where() != 0 && (some || b.section == everywhere) {
			keys = append(keys, b.short)
		}
	}
	return paint(dim, render.Cut(" "+strings.Join(keys, "  "), m.width))
}

// row is an entry of a pane, of one or more lines.
type row struct {
	id   string // empty for a heading, which the cursor skips
	draw func(selected bool) []string
}

// pane is a column of rows. Its cursor stays at its place on the screen when rows come and go.
type pane struct {
	cursor string // id of the selected row; empty without rows
	index  int    // of that row at the last move
	top    int    // first visible line
	drawn  string // the cursor when last drawn
	from   int    // the first line of the cursor's row when last drawn
}

// near returns a pane first drawn with the given number of lines above the cursor's row, or fewer if fewer precede it.
func near(cursor string, above int) pane { return pane{cursor: cursor, drawn: cursor, top: -above} }

// move moves the cursor by delta rows, as far as there are any, and returns the index of its row; -1 without rows.
// If the cursor's row is gone, it first goes to the row at its index.
func (p *pane) move(rows []row, delta int) int {
	var stops []int // the indexes of rows that are no headings
	for i, r := range rows {
		if r.id != "" {
			stops = append(stops, i)
		}
	}
	if len(stops) == 0 {
		p.cursor = ""
		return -1
	}
	at := slices.IndexFunc(stops, func(i int) bool { return rows[i].id == p.cursor })
	if at < 0 {
		at, _ = slices.BinarySearch(stops, p.index)
	}
	p.index = stops[min(max(at+delta, 0), len(stops)-1)]
	p.cursor = rows[p.index].id
	return p.index
}

// lines draws rows in a height, with the cursor's row whole if it fits. It scrolls as little as possible, and shows
// no blank lines at the end while rows are hidden above.
func (p *pane) lines(rows []row, height int) (lines []string) {
	at, from, to := p.move(rows, 0), 0, 0
	for i, r := range rows {
		start := len(lines)
		lines = append(lines, r.draw(i == at)...)
		if i == at {
			from, to = start, len(lines)
		}
	}
	if p.drawn == p.cursor {
		p.top += from - p.from
	}
	p.drawn, p.from = p.cursor, from
	height = max(height, 0)
	p.top = min(max(p.top, to-height), from, len(lines)-height)
	if p.top == from && at > 0 && rows[at-1].id == "" && to-from < height {
		p.top-- // show the heading above the first row
	}
	p.top = max(p.top, 0)
	return lines[p.top:min(p.top+height, len(lines))]
}

// pageLines limits the lines of a paragraph.
const pageLines = 20

// page is a text that covers the lists and scrolls.
type page struct {
	title string
	texts []string // painted
	top   int      // first visible line
}

func (p *page) add(r role, text string) { p.texts = append(p.texts, paint(r, text)) }

func (p *page) draw(width, height int) []string {
	var lines []string
	for _, t := range p.texts {
		for _, line := range wrap(t, width-4, pageLines) {
			lines = append(lines, " "+line)
		}
	}
	p.top = min(max(p.top, 0), max(len(lines)-max(height-2, 0), 0))
	return framed(p.title, true, width, height, lines[p.top:])
}

func (m *model) showKeys() {
	signs := strings.NewReplacer("PgUp", "PgUp", "Up", "↑", "Down", "↓", "Left", "←", "Right", "→")
	m.page = &page{title: "Keys"}
	for _, section := range []string{"Moving", "Items", "Lists", everywhere} {
		m.page.add(bold, section)
		for _, b := range bindings() {
			if b.section == section && b.help != "" {
				m.page.texts = append(m.page.texts, render.Pad(signs.Replace(b.keys), 14)+b.help)
			}
		}
		m.page.add(plainText, "")
	}
	m.page.add(bold, "Signs")
	m.page.add(plainText, "◐ ‖ ◌         working, waits for you, idle")
	m.page.add(plainText, "◦ ✓ ✗         left open, finished, failed")
	m.page.add(dim, "Showing "+m.sourceName)
}

// showHistory shows a page of revisions, which are given oldest first, with the newest at the top.
func (m *model) showHistory(revisions []todo.Snapshot, err error) {
	if err != nil || len(revisions) == 0 {
		m.say(bad, "The history cannot be read.")
		return
	}
	newest := revisions[len(revisions)-1]
	m.page = &page{title: "History of " + render.ListTitle(newest)}
	for i, r := range slices.Backward(revisions) {
		var before todo.Snapshot
		if i > 0 {
			before = revisions[i-1]
		}
		head, changes := render.Revision(before, r, m.standings[r.List.ID].Edits, m.now.Location(), m.lists[r.ReplacedBy])
		if i == 0 && r.Revision > 1 {
			changes = []string{"Earlier revisions are not kept."}
		}
		m.page.add(bold, head)
		for _, text := range changes {
			m.page.add(plainText, "  "+text)
		}
		m.page.add(plainText, "")
	}
}

type screen struct {
	tcell.Screen
	styles map[role]tcell.Style
	shown  []string // the last frame; nil to draw again
}

// openScreen takes over a terminal; nil is the process's terminal.
func openScreen(tty tcell.Tty, colour bool) (*screen, error) {
	// Assume UTF-8 whatever the locale says.
	tcell.SetEncodingFallback(tcell.EncodingFallbackUTF8)
	tcell.RegisterEncoding("US-ASCII", tcell.GetEncoding("UTF-8"))
	var s screen
	if colour {
		s.styles = styles()
	}
	var err error
	// Without the option, a terminal that answers no queries would delay the first frame by a second.
	if s.Screen, err = tcell.NewTerminfoScreenFromTty(tty, tcell.OptNegotiation(false)); err == nil {
		err = s.Init()
	}
	if err != nil {
		return nil, err
	}
	s.EnablePaste()
	return &s, nil
}

// draw shows a frame, unless it equals the last one.
func (s *screen) draw(lines []string) {
	if s.shown != nil && slices.Equal(s.shown, lines) {
		return
	}
	s.shown = slices.Clone(lines)
	width, height := s.Size()
	for y, l := range append(slices.Clip(lines), make([]string, max(height-len(lines), 0))...) {
		s.put(y, width, l)
	}
	s.Show()
}

// put draws a painted text at the beginning of a line, which it clears.
func (s *screen) put(y, width int, text string) {
	s.FillArea(0, y, width, 1, ' ', tcell.StyleDefault)
	for x, style := 0, tcell.StyleDefault; text != ""; {
		plain := text
		if i := strings.IndexFunc(text, isRole); i >= 0 {
			plain = text[:i]
		}
		s.PutStrStyled(x, y, plain, style)
		x += render.Cells(plain)
		if text = text[len(plain):]; text != "" {
			style, text = s.styles[role(text[0])], text[1:]
		}
	}
}

// When a terminal has sent nothing for quietFor, all typed keys count as read. drain waits at most quietMost for that.
const quietFor, quietMost = 30 * time.Millisecond, time.Second

// drain drops events until the terminal is quiet. It must be called before tcell stops: with much input unread, tcell
// waits for ever for a reader of its events.
func (s *screen) drain() {
	for latest := time.After(quietMost); ; {
		select {
		case <-s.EventQ():
		case <-time.After(quietFor):
			return
		case <-latest:
			return
		}
	}
}

// role is the meaning of a colour. For terminals without colours, a sign or a word always says the same. In painted
// text a role is a control character before its text: it takes no cell, and is never in text from render.Safe.
type role byte

const (
	plainText role = 0x0e + iota
	bold
	dim
	accent // current, selected, or a person's
	done
	warn
	bad
	struck // removed or cancelled
)

// styles returns the style of each role, in the terminal's own palette.
func styles() map[role]tcell.Style {
	s := tcell.StyleDefault
	colour := func(n int) tcell.Style { return s.Foreground(tcell.PaletteColor(n)) }
	return map[role]tcell.Style{bold: s.Bold(true), dim: s.Dim(true), struck: s.Dim(true).StrikeThrough(true),
		accent: colour(6), done: colour(2), warn: colour(3), bad: colour(1)}
}

func isRole(r rune) bool { return r >= rune(plainText) && r <= rune(struck) }

// paint marks a text with a role.
func paint(r role, text string) string {
	if r == plainText || text == "" {
		return text
	}
	return string(r) + text + string(plainText)
}

// cut cuts a painted text to a width.
func cut(text string, width int) string {
	short := render.Cut(text, width)
	if short != text && strings.ContainsFunc(short, isRole) {
		short += string(plainText)
	}
	return short
}

// spread puts painted texts at the left and right end of a width.
func spread(left, right string, width int) string {
	return left + strings.Repeat(" ", max(width-render.Cells(left+right), 0)) + right
}

// maxWrapped limits the lines of an item that is not shown whole.
const maxWrapped = 3

// wrap breaks a painted text into at most limit lines, at spaces if possible, and cuts the last.
func wrap(text string, width, limit int) []string {
	width = max(width, 1)
	var lines []string
	for render.Cells(text) > width && len(lines) < limit-1 {
		head := displaywidth.TruncateString(text, width, "")
		if head == "" {
			break // the first character is wider than the line
		}
		if i := strings.LastIndexByte(head, ' '); i > 0 && text[len(head)] != ' ' {
			head = head[:i]
		}
		text = strings.TrimLeft(text[len(head):], " ")
		head = strings.TrimRight(head, " ")
		if i := strings.LastIndexFunc(head, isRole); i >= 0 { // the role continues in the next line
			head, text = head+string(plainText), head[i:i+1]+text
		}
		lines = append(lines, head)
	}
	return append(lines, cut(text, width))
}

func progress(s todo.Snapshot) string {
	if s.IsChat() {
		return ""
	}
	n := s.Progress()
	return fmt.Sprintf("%d/%d", n.Done, n.Total)
}

// rootCause returns the safe text of the innermost wrapped error: "connection refused".
func rootCause(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return render.Safe(err.Error())
}
