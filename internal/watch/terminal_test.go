package watch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"
	"github.com/gdamore/tcell/v3/vt"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type terminal struct {
	vt.MockTerm
	mu      sync.Mutex
	written bytes.Buffer
	changed chan struct{}
	started int // how many calls of Start were not followed by one of Stop
}

func newTerminal() *terminal {
	return &terminal{MockTerm: vt.NewMockTerm(vt.MockOptSize{X: 60, Y: 10}), changed: make(chan struct{}, 1)}
}

func (c *terminal) Start() error {
	for range 1000 { // lets a read that tcell began before Stop end; else it would take the next key
		runtime.Gosched()
	}
	c.mu.Lock() // waits for a Read that hands over its input
	defer c.mu.Unlock()
	c.started++
	return c.MockTerm.Start()
}

func (c *terminal) Read(p []byte) (int, error) {
	n, err := c.MockTerm.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	return n, err
}

func (c *terminal) Stop() error  { c.started--; return c.MockTerm.Stop() }
func (c *terminal) Close() error { return nil }

func (c *terminal) Write(p []byte) (int, error) {
	n, err := c.MockTerm.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written.Write(p)
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return n, err
}

func (c *terminal) bytes() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written.String()
}

func (c *terminal) shows() string {
	var b strings.Builder
	for y := range vt.Row(10) {
		for x := vt.Col(0); x < 60; x++ {
			cell := c.GetCell(vt.Coord{X: x, Y: y})
			b.WriteString(cmp.Or(cell.C, " "))
			x += vt.Col(max(cell.W-1, 0))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// patience is how long a test waits for an event that takes milliseconds on an idle machine.
const patience = time.Minute

// waitFor waits until the screen shows a text.
func (c *terminal) waitFor(t *testing.T, text string) {
	t.Helper()
	for deadline := time.After(patience); !strings.Contains(c.shows(), text); {
		select {
		case <-c.changed:
		case <-deadline:
			t.Fatalf("%q is not shown:\n%s", text, c.shows())
		}
	}
}

// press types keys, and waits until the screen shows a text.
func (c *terminal) press(t *testing.T, keys, text string) {
	t.Helper()
	c.SendRaw([]byte(keys))
	c.waitFor(t, text)
}

// checkRestored checks that the alternate screen was left after it was last entered, and that raw mode ended.
func (c *terminal) checkRestored(t *testing.T) {
	t.Helper()
	const enter, leave = "\x1b[?1049h", "\x1b[?1049l"
	if written := c.bytes(); strings.LastIndex(written, leave) < strings.LastIndex(written, enter) || c.started != 0 {
		t.Errorf("not restored: started %d times without being stopped; written %q", c.started, written)
	}
}

func open(t *testing.T, colour bool) (*terminal, *screen) {
	t.Helper()
	c := newTerminal()
	s := checktest.Must(openScreen(c, colour))(t)
	t.Cleanup(s.Fini)
	return c, s
}

// draw writes only what changed, and nothing if nothing did.
func TestDrawWritesOnlyChanges(t *testing.T) {
	c, s := open(t, false)
	for _, f := range []struct {
		lines, written, not string // written: a text in the output, or empty for no output; not: a text not in it
	}{{"one\ntwo", "two", ""}, {"one\ntwo", "", ""}, {"one\nsix", "six", "one"}, {"one", "   ", "one"}, {"漢字漢two", "two", ""}} {
		before := len(c.bytes())
		s.draw(strings.Split(f.lines, "\n"))
		written := c.bytes()[before:]
		var shows []string
		for row := range strings.SplitSeq(strings.TrimRight(c.shows(), " \n"), "\n") {
			shows = append(shows, strings.TrimRight(row, " "))
		}
		checktest.Same(t, "it shows", strings.Join(shows, "\n"), f.lines)
		if !strings.Contains(written, f.written) || f.written == "" && written != "" || f.not != "" && strings.Contains(written, f.not) {
			t.Errorf("%q writes %q", f.lines, written)
		}
	}
}

// Each role has a style of its own; without colours all look alike.
func TestStyles(t *testing.T) {
	roles := []role{plainText, bold, dim, accent, done, warn, bad, struck}
	frame := ""
	for _, r := range roles {
		frame += paint(r, "x")
	}
	for _, colour := range []bool{true, false} {
		c, s := open(t, colour)
		s.draw([]string{frame})
		looks := make(map[vt.Style]role)
		for x, r := range roles {
			looks[c.GetCell(vt.Coord{X: vt.Col(x), Y: 0}).S] = r
		}
		checktest.Same(t, fmt.Sprintf("colours %t", colour), len(looks), map[bool]int{true: len(roles), false: 1}[colour])
		if got := c.GetCell(vt.Coord{X: 3, Y: 0}).S.Fg(); colour && got != color.PaletteColor(6) {
			t.Errorf("accent is %v", got)
		}
	}
}

// The bytes of a terminal give the same keys however they are split into pieces.
func TestKeys(t *testing.T) {
	const bytes = "q\x1b[A\x1bOB\x1b[1;2C\x1b[D\x1b[H\x1b[4~\x1b[5~\x1b[6~ä漢\r\x7f\x03\x1a\x15\x0c\n\x1b[3~\t\x17\x1b[1;3A" +
		"\x1b[200~two\x1b[A\nlines\x00\x1b[201~\x1b]52;c;x\ax\x1by"
	want := []key{"q", "Up", "Down", "Right", "Left", "Home", "End", "PgUp", "PgDn", "ä", "漢",
		"Enter", "Backspace", "Ctrl-C", "Ctrl-Z", "Ctrl-U", "Ctrl-L", "Enter", "Delete", "Tab", "Ctrl-W", "Up", "x", "Esc", "y"}
	for _, size := range []int{1, 3, len(bytes)} {
		c, s := open(t, false)
		go func() {
			for data := []byte(bytes); len(data) > 0; data = data[min(size, len(data)):] {
				c.SendRaw(data[:min(size, len(data))])
			}
		}()
		v := &viewer{model: newModel(Options{}), screen: s}
		var keys []key
		for deadline := time.After(patience); len(keys) < len(want); {
			select {
			case event := <-s.EventQ():
				keys = append(keys, v.readKeys(event)...)
			case <-deadline:
				t.Fatalf("%d keys: %q", len(keys), keys)
			}
		}
		checktest.Same(t, fmt.Sprintf("pieces of %d: (-want +got)", size), gocmp.Diff(want, keys), "")
	}
}

// A paste is typed into the search, up to todo.MaxTitle bytes, and is ignored elsewhere.
// Ctrl-C quits even in a paste whose end was lost.
func TestPaste(t *testing.T) {
	v := &viewer{model: newModel(Options{})}
	paste := func() (keys string) {
		v.readKeys(tcell.NewEventPaste(true))
		v.readKeys(tcell.NewEventKey(tcell.KeyEnter, "", 0))
		for range todo.MaxTitle + 10 {
			for _, k := range v.readKeys(tcell.NewEventKey(tcell.KeyRune, "q", 0)) {
				keys += string(k)
				v.press(k)
			}
		}
		v.readKeys(tcell.NewEventPaste(false))
		return keys
	}
	checktest.Same(t, "on the board", paste(), "")
	v.press("/")
	if paste(); v.filter != strings.Repeat("q", todo.MaxTitle) || !v.searching {
		t.Errorf("searched: %q", v.filter)
	}
	v.readKeys(tcell.NewEventPaste(true))
	if keys := v.readKeys(tcell.NewEventKey(tcell.KeyCtrlC, "", 0)); len(keys) != 1 || keys[0] != "Ctrl-C" {
		t.Errorf("Ctrl-C within a paste: %q", keys)
	}
}

// The terminal is restored even if it has sent more input than is read.
func TestUnreadInput(t *testing.T) {
	c, s := open(t, false)
	c.SendRaw([]byte(strings.Repeat("x", 2000)))
	ended := make(chan struct{})
	go func() { s.drain(); s.Fini(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the terminal is not given back")
	}
	c.checkRestored(t)
}

// BAD-INPUT 37: no text of a list, a server's error or a filter reaches the screen
// or a plain line unescaped, in any view and size, and no view has more lines than
// the terminal.
//
// BAD-INPUT 37: Markup, event handlers, `javascript:` addresses; escape sequences, BEL, CR, C1;
// bidirectional and zero-width controls → Shown as text, made visible; emoji and CJK stay whole.
// The panel allows no inline script
func FuzzFrame(f *testing.F) {
	// Runes for Escape, Enter and the arrows. A tab searches for the fuzzed text. Any other rune is a key itself.
	names := map[rune]key{'\x1b': "Esc", '\r': "Enter", '↓': "Down", '←': "Left"}
	const everywhere = "/\t\x1b\rG\r\x1bge\x1bbxufAAh↓\x1b?\x1b\x1b/\t\r"
	evil := "\x1b[2J\x1b]8;;http://x\a\x1b]52;c;aGk=\a\r\b\u009b31m\u202e\u200b\x00\xff"
	f.Add(evil, evil, everywhere, uint8(80), uint8(30))
	f.Add(evil, "x"+evil, everywhere, uint8(250), uint8(30))
	f.Add("\x1b[2J\u009b31m\u202e", "a\xff\r\n", "l", uint8(80), uint8(20))
	f.Add("👩🏽‍💻 分析", "\u200b\ufeff", "jh", uint8(7), uint8(3))
	f.Add("", " ", "/x\r", uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, text, other, keys string, width, height uint8) {
		if len(keys) > len(everywhere)+20 {
			return // more keys show nothing new
		}
		l := list("one", 2, 2, 0, "i:a p:b b:c")
		l.Items[0].Text, l.Items[0].Active, l.Items[1].Text, l.Items[2].Reason = text, other, other, text
		l.List.Name, l.List.Workspace, l.GivenTitle = other, text, text
		l.List.Client, l.Writer = text, todo.Writer{Client: text, Variant: other}
		before := list("one", 1, 1, 0, "p:z")
		before.Items[0].Text = other
		child := subList(list("two", 3, 1, 0, "b:d"), l.List.ID)
		child.List.Agent, child.Items[0].Reason = text, other
		l.List.Chat = other
		m := modelWith(int(width), int(height), l, child)
		m.standings["two"] = standing(todo.Waiting, other)
		m.sourceName, m.lost = render.Safe(other), errors.New(text) // newModel makes the name safe, too
		check := func() {
			t.Helper()
			lines := m.frame()
			if len(lines) > max(m.height, 1) {
				t.Fatalf("%d lines in a height of %d", len(lines), m.height)
			}
			for _, line := range lines {
				if hasRaw(line) || !utf8.ValidString(line) {
					t.Fatalf("raw: %q", line)
				}
				if n := render.Cells(line); n > m.width {
					t.Fatalf("a line of %d cells on a screen of %d: %q", n, m.width, line)
				}
			}
		}
		check()
		m.lost = nil
		for _, k := range keys {
			name := cmp.Or(names[k], key(k))
			m.press(name)
			e := m.take()
			if k == '\t' {
				m.setFilter(text)
			}
			if e.history != "" {
				m.showHistory([]todo.Snapshot{before, l}, nil)
			}
			if e.edit != nil {
				m.edited(*e.edit, l, board.Outcome{After: l, Changed: true}, nil)
				check()
				m.edited(*e.edit, l, board.Outcome{}, errors.New("refused"+other))
			}
			check()
		}
		m.opened, m.searching, m.page, m.lists = "one", false, nil, map[string]todo.Snapshot{"one": l}
		m.standings["one"], m.width = standing(todo.LeftOpen, ""), 2*m.width // so that the whole head of a list fits
		check()
		m.press("c")
		check()
		m.wanted, m.opened, m.lists = other, "", nil
		check()
		p := modelWith(80, 24)
		p.standings["one"] = standing(todo.Waiting, other)
		said := slices.Concat(p.events(before, l, account.ListState{}, true), p.events(todo.Snapshot{}, l, account.ListState{}, false))
		for _, text := range said {
			if hasRaw(strings.TrimSuffix(p.plainLine(l, text), "\n")) {
				t.Fatalf("%q", text)
			}
		}
	})
}

// hasRaw reports whether a painted text, without its colours, has a rune that a terminal may
// take for a command or not show.
func hasRaw(text string) bool {
	return strings.ContainsFunc(unpainted(text), func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r == 0xfeff
	})
}
