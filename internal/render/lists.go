package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Maximum and minimum widths of columns, in cells. If a table is too wide, its titles are cut, down to minTitle; then
// columns are left out; then the titles are cut further, down to leastTitle.
const (
	maxTitle   = 60 // in a table without a maximum width
	minTitle   = 20
	leastTitle = 10
	maxName    = 20
	maxNext    = 30
	shortID    = 8
)

// Lists returns a table with a row for each list, at most width cells wide (0 or less: no limit). found maps list ids
// to search results. A replaced list's row names its successor: by title if that is in snaps or others.
func Lists(snaps []todo.Snapshot, states map[string]todo.Standing, found map[string]todo.Said, now time.Time, width int, others ...todo.Snapshot) string {
	if len(snaps) == 0 {
		return "No lists\n"
	}
	titles := make(map[string]string)
	for _, s := range slices.Concat(snaps, others) {
		titles[s.List.ID] = ListTitle(s)
	}
	apart := Apart(snaps, now)
	rows := [][]string{{"TITLE", "DONE", "STATE", "WAITS FOR", "FOUND", "UPDATED", "PROJECT", "CLIENT", "REPLACED BY", "ID"}}
	for _, s := range snaps {
		done, _, _ := strings.Cut(StatusLine(s, ""), " ")
		id := ShortID(s.List.ID)
		if s.IsChat() {
			done, id = "", "" // no command takes the id of a chat
		}
		rows = append(rows, []string{
			ListTitle(s) + inBrackets(apart[s.List.ID]), done, StateWord(s, states[s.List.ID].State), Cut(Question(account.Of(s, nil, states)), maxNext), Cut(Safe(found[s.List.ID].Text), maxNext),
			When(s.Updated, now), Cut(Safe(s.List.Place()), maxName), Cut(Client(account.Client(s)), maxName),
			Cut(cmp.Or(titles[s.ReplacedBy], ShortID(s.ReplacedBy)), maxNext), id,
		})
	}
	return table(rows, width)
}

// Quiet returns a line that counts the idle chats without a list and names their projects; empty for none.
func Quiet(chats []account.Group) string {
	if len(chats) == 0 {
		return ""
	}
	var projects []string
	for _, f := range chats {
		if name := Safe(f.Main.List.Project()); name != "" && !slices.Contains(projects, name) {
			projects = append(projects, name)
		}
	}
	text := Count(len(chats), "idle chat without a list", "idle chats without a list")
	return strings.TrimSuffix(text+": "+strings.Join(projects, ", "), ": ")
}

// Lapsed returns a line that counts the lists archived because nobody changed them; empty for none.
func Lapsed(n int) string {
	return Some(n, "list that nobody touched for two weeks was archived", "lists that nobody touched for two weeks were archived")
}

// Question returns a group's question to a person, else its first blocked item, safe to display; else empty.
func Question(f account.Group) string {
	if _, asks, ok := f.Asks(); ok {
		return Safe(asks)
	}
	item, _ := f.Waits()
	return Safe(item.Text) + inBrackets(item.Reason)
}

// PutAway names the list that replaced s: by its title if it is in lists, else by its short id; empty for none.
func PutAway(s todo.Snapshot, lists ...todo.Snapshot) string {
	if s.ReplacedBy == "" {
		return ""
	}
	by := ShortID(s.ReplacedBy)
	if i := slices.IndexFunc(lists, func(l todo.Snapshot) bool { return l.List.ID == s.ReplacedBy }); i >= 0 {
		by = ListTitle(lists[i])
	}
	return "replaced by “" + by + "”"
}

// StateWord returns a list's state, or "archived".
func StateWord(s todo.Snapshot, state todo.State) string {
	if s.Archived {
		return "archived"
	}
	return string(state)
}

// ShortID returns the beginning of a list's id, which commands accept.
func ShortID(id string) string { return Safe(id[:min(shortID, len(id))]) }

// Standing returns a line on a group: its state (only "archived" if the group is [account.Group.Bare]), the question
// (parameter asks), the list that replaced its main list ([PutAway]), its [account.Group.Since], place, client.
func Standing(f account.Group, asks string, now time.Time, lists ...todo.Snapshot) string {
	s := f.Main
	word := StateWord(s, f.State())
	if f.Bare() && !s.Archived {
		word = ""
	}
	return Joined(" · ", word, question(asks), PutAway(s, lists...), When(f.Since(), now), Safe(s.List.Place()), Client(account.Client(s)))
}

// table draws rows; the first is the head. It leaves out empty columns. If the table is wider than width, it also
// leaves out columns from the right, but not the last one, until the rest fits or four are left.
func table(rows [][]string, width int) string {
	widths, shown := make([]int, len(rows[0])), []int{}
	for i := range widths {
		for _, row := range rows[1:] {
			widths[i] = max(widths[i], Cells(row[i]))
		}
		if widths[i] > 0 || i == 0 {
			widths[i] = max(widths[i], Cells(rows[0][i]))
			shown = append(shown, i)
		}
	}
	others := func() (n int) {
		for _, i := range shown[1:] {
			n += 2 + widths[i]
		}
		return n
	}
	title := min(widths[0], maxTitle)
	if width > 0 {
		for len(shown) > 4 && others()+min(widths[0], minTitle) > width {
			shown = slices.Delete(shown, len(shown)-2, len(shown)-1)
		}
		title = max(min(widths[0], width-others()), min(widths[0], leastTitle))
	}
	widths[0] = title
	var b strings.Builder
	for _, row := range rows {
		var parts []string
		for _, i := range shown {
			parts = append(parts, Pad(Cut(cmp.Or(row[i], "-"), widths[i]), widths[i]))
		}
		line := strings.TrimRight(strings.Join(parts, "  "), " ")
		if width > 0 { // cut without "…", so that the id at the end can be copied
			line = displaywidth.TruncateString(line, width, "")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

const minPrefix = 4 // the minimum length of the beginning of an id: a shorter one would match by chance

// Named returns the lists, in their order, that a person means by a text. Of these rules, the first that finds a list
// decides:
//
//  1. the id;
//  2. the name that the user gave the list; only the first list, if several have the name;
//  3. the title, with or without the sub-agent, or the name, in any case and spacing;
//  4. the beginning of the id, four characters or more;
//  5. the beginning of a text of rule 3;
//  6. words that begin words of the title, the name, the sub-agent or the project.
//
// sure is false for the last two rules, which may match by chance: ask the person before changes that cannot be undone.
func Named(lists []todo.Snapshot, wanted string) (found []todo.Snapshot, sure bool) {
	text := fold(strings.Join(strings.Fields(wanted), " "))
	begin := strings.TrimSuffix(text, "…") // a title that was cut ends in "…"
	if text == "" {
		return nil, false
	}
	for kind, is := range []func(todo.Snapshot) bool{
		func(l todo.Snapshot) bool { return l.List.ID == wanted },
		func(l todo.Snapshot) bool { return l.List.Name == wanted },
		func(l todo.Snapshot) bool { return slices.Contains(titles(l), text) },
		func(l todo.Snapshot) bool { return len(wanted) >= minPrefix && strings.HasPrefix(l.List.ID, wanted) },
		func(l todo.Snapshot) bool {
			return begin != "" && slices.ContainsFunc(titles(l), func(title string) bool { return strings.HasPrefix(title, begin) })
		},
		func(l todo.Snapshot) bool { return hasWords(l, begin) },
	} {
		found = slices.DeleteFunc(slices.Clone(lists), func(l todo.Snapshot) bool { return !is(l) })
		if kind == 1 {
			found = found[:min(1, len(found))]
		}
		if len(found) > 0 {
			return found, kind < 4
		}
	}
	return nil, false
}

// ListTitle returns the title of a list, after its sub-agent's name if any, safe to display.
func ListTitle(s todo.Snapshot) string {
	return strings.TrimPrefix(Safe(s.List.Agent)+": "+Safe(s.Title()), ": ")
}

// Apart returns, by list id, the start times of lists that have the same title, folder and branch as another list.
// Chats without a list are compared only with each other.
func Apart(lists []todo.Snapshot, now time.Time) map[string]string {
	alike, apart := make(map[string]int), make(map[string]string)
	reads := func(l todo.Snapshot) string {
		return fmt.Sprintln(l.IsChat(), l.List.Workspace, "\n", l.List.OffMain(), "\n", fold(ListTitle(l)))
	}
	for _, l := range lists {
		alike[reads(l)]++
	}
	for _, l := range lists {
		if alike[reads(l)] > 1 {
			apart[l.List.ID] = Moment(l.List.Created, now)
		}
	}
	return apart
}

func titles(l todo.Snapshot) []string {
	return []string{fold(l.Title()), fold(ListTitle(l)), fold(l.List.Name)}
}

// hasWords reports whether each word of a text begins a word of a list's title, name, sub-agent or project.
func hasWords(l todo.Snapshot, text string) bool {
	words := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.Nd, unicode.M) })
	}
	shown, wanted := words(fold(ListTitle(l)+" "+l.List.Name+" "+l.List.Project())), words(text)
	begins := func(word string) bool {
		return slices.ContainsFunc(shown, func(s string) bool { return strings.HasPrefix(s, word) })
	}
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(word string) bool { return !begins(word) })
}

// fold returns a title in a form for comparison: as shown, but without differences of case and space.
func fold(title string) string {
	lower := strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, Safe(title))
	return strings.Join(strings.Fields(lower), " ")
}

// Found reports whether a text, in any case, is in the words that people see of a list and its agent, or begins the
// list's id. said.Text is the given title or the item that has the text; empty if the text is elsewhere.
func Found(l todo.Snapshot, text string) (said todo.Said, ok bool) {
	whole := l.Saying(text)
	shown := strings.Join([]string{l.Title(), l.List.Name, l.List.Agent, l.List.Project(), Client(account.Client(l))}, "\n")
	ok = whole != "" || strings.Contains(strings.ToLower(shown), strings.ToLower(text)) ||
		len(text) >= minPrefix && strings.HasPrefix(l.List.ID, text)
	return todo.Said{Revision: l.Revision, Updated: l.Updated, Text: todo.Cut(whole, todo.MaxTitle)}, ok
}
