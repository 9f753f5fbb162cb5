package change_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/internal/watch"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }

// An edit has the same result on every front end that offers it: the panel, the terminal, a command and the card. A
// title made from the first item (A +1) stays, even when that item is gone.
func TestEditIsTheSameOnAllFrontEnds(t *testing.T) {
	for _, c := range []struct {
		edit todo.Edit
		want string
	}{
		{todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Completed}, "A +1: completed A, pending B, pending C"},
		{todo.Edit{Do: todo.EditBlock, Item: "2", Text: "no key"}, "A +1: pending A, blocked B, pending C"},
		{todo.Edit{Do: todo.EditText, Item: "2", Text: " X\ny"}, "A +1: pending A, pending X y, pending C"},
		{todo.Edit{Do: todo.EditAdd, Text: "X"}, "A +1: pending A, pending B, pending C, pending X"},
		{todo.Edit{Do: todo.EditRemove, Item: "2"}, "A +1: pending A, pending C"},
		{todo.Edit{Do: todo.EditMove, Item: "3", To: 1}, "A +1: pending A, pending C, pending B"},
		{todo.Edit{Do: todo.EditFinish}, "A +1: completed A, completed B, completed C"},
		{todo.Edit{Do: todo.EditItems, Lines: []todo.Line{{ID: "2", Text: "X", Status: "failed"}, {Text: "Y", Status: "pending"}}}, "A +1: failed X, pending Y"},
		{todo.Edit{Do: todo.EditRestore, Revision: 1}, "A +1: pending A, pending B"},
		{todo.Edit{Do: todo.EditUndo, From: 1, Seen: 2}, "A +1: pending A, pending B"},
		{todo.Edit{Do: todo.EditRename, Text: "Title"}, "Title: pending A, pending B, pending C"},
		{todo.Edit{Do: todo.EditArchive}, "A +1: pending A, pending B, pending C archived"},
		{todo.Edit{Do: todo.EditUnarchive}, "A +1: pending A, pending B, pending C"},
		{todo.Edit{Do: todo.EditDelete}, "A +1: pending A, pending B, pending C deleted"},
		{todo.Edit{Do: todo.EditUndelete}, "A +1: pending A, pending B, pending C"},
	} {
		for name, front := range map[string]func(front, todo.Edit) bool{
			"panel": front.panel, "terminal": front.local, "command": front.command, "card": front.card,
		} {
			t.Run(fmt.Sprint(c.edit.Do, " ", name), func(t *testing.T) {
				t.Parallel()
				f := newFront(t, c.edit)
				can := front(f, c.edit)
				if got := f.look(); can && got != c.want {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		}
	}
}

// front has the front ends of a store with one list. A method that makes an edit returns false if its front end does
// not offer the edit.
type front struct {
	*testing.T
	path, list string
	lists      board.Lists
	site       string
}

// newFront begins a list with A and B, to which revision 2 adds C. If the edit brings a list back, the list is archived
// or deleted first.
func newFront(t *testing.T, e todo.Edit) front {
	f := front{T: t, path: filepath.Join(t.TempDir(), "todo.db")}
	store := checktest.Must(sqlite.Open(f.path, board.Keep{}))(t)
	t.Cleanup(func() { store.Close() })
	s := servertest.New(t, store, nil)
	f.lists, f.site = s.Board.As(""), servertest.Serve(t, s, nil).URL
	for _, texts := range [][]string{{"A", "B"}, {"C"}} {
		out := checktest.Must(f.lists.Apply(t.Context(), board.Write{Target: board.Target{Conversation: board.Conversation{Key: "c"}},
			Change: func(d *todo.Draft) error { d.Append(texts...); return nil }}))(t)
		f.list = out.After.List.ID
	}
	if first, back := map[todo.EditKind]todo.EditKind{todo.EditUnarchive: todo.EditArchive, todo.EditUndelete: todo.EditDelete}[e.Do]; back {
		checktest.Must(f.lists.Edit(t.Context(), f.list, todo.Edit{Do: first}, todo.Writer{}))(f)
	}
	return f
}

func (f front) look() string {
	f.Helper()
	found := checktest.Must(f.lists.Find(f.Context(), board.Query{Deleted: true}))(f)
	var items []string
	for _, i := range found[0].Items {
		items = append(items, fmt.Sprint(i.Status, " ", i.Text))
	}
	text := found[0].Title() + ": " + strings.Join(items, ", ")
	if found[0].Archived {
		text += " archived"
	}
	if found[0].Deleted {
		text += " deleted"
	}
	return text
}

func (f front) panel(e todo.Edit) bool {
	body := checktest.Must(json.Marshal(e))(f)
	servertest.Is(f, "it is answered", 200)(servertest.Post(f, f.site+"/lists/"+f.list+"/edit", string(body)))
	return true
}

func (f front) local(e todo.Edit) bool {
	checktest.Must(watch.Local{Lists: f.lists}.Edit(f.Context(), f.list, e))(f)
	return true
}

func (f front) command(e todo.Edit) bool {
	call := programtest.Call{}
	args := map[todo.EditKind][]string{
		todo.EditRename: {"rename", f.list, e.Text}, todo.EditRestore: {"restore", f.list, fmt.Sprint(e.Revision)}, todo.EditArchive: {"archive", f.list},
		todo.EditUnarchive: {"archive", "--undo", f.list}, todo.EditDelete: {"delete", f.list}, todo.EditUndelete: {"delete", "--undo", f.list}, todo.EditItems: {"edit", f.list},
	}[e.Do]
	if e.Do == todo.EditItems {
		file := filepath.Join(f.TempDir(), "edited")
		checktest.Check(f, os.WriteFile(file, []byte("- [!] X <!--2-->\n- [ ] Y\n"), 0o600)) // as in the row EditItems
		call.Env = map[string]string{"EDITOR": `cp "` + file + `"`}
	}
	if args == nil {
		return false
	}
	checktest.Must(call.Run(f.Context(), append(args, "--store", "sqlite:"+f.path)...))(f)
	return true
}

func (f front) card(e todo.Edit) bool {
	if e.Do != todo.EditStatus {
		return false
	}
	tick := servertest.Call(1, "todo_list_tick", fmt.Sprintf(`{"list_id":%q,"item_id":%q,"status":%q}`, f.list, e.Item, e.Status))
	if _, _, answer := servertest.Post(f, f.site+"/mcp", tick, "Mcp-Session-Id", servertest.NewSession(f, f.site+"/mcp", "tester")); strings.Contains(answer, "rror") {
		f.Error(answer)
	}
	return true
}

// asWindows are the forms in which editors and shells of Windows save and pipe a text.
var asWindows = map[string]func(text string) []byte{
	"a mark":    func(text string) []byte { return []byte("\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")) },
	"two marks": func(text string) []byte { return []byte("\ufeff\ufeff" + text) },
	"UTF-16": func(text string) []byte {
		var out bytes.Buffer
		_ = binary.Write(&out, binary.LittleEndian, utf16.Encode([]rune("\ufeff"+strings.ReplaceAll(text, "\n", "\r\n"))))
		return out.Bytes()
	},
}

// BAD-INPUT 162: Byte order marks, UTF-16, Windows line ends in any input → Read as UTF-8. A
// client's file keeps its mark; its backup is identical
func TestTextsOfWindows(t *testing.T) {
	for name, form := range asWindows {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(file, text string) string {
				path := filepath.Join(dir, file)
				checktest.Check(t, os.WriteFile(path, form(text), 0o600))
				return path
			}
			call := programtest.Call{Env: map[string]string{
				"XDG_STATE_HOME": dir, "TODO_CONFIG": write("config", "# limits\nmax-items = 1\n"),
				"EDITOR": `cp "` + write("edited.md", "- [x] Fix the 🚪 <!--1-->\n") + `"`,
			}}
			do := func(in string, args ...string) string {
				t.Helper()
				c := call
				c.In = bytes.NewReader(form(in))
				printed, err := c.Run(t.Context(), args...)
				if err != nil {
					t.Errorf("%q: %v", args, err)
				}
				return printed
			}
			do(servertest.Todos("pending", "A")+"\n", "TodoWrite", "--list", "plan", "-")
			if _, err := call.Run(t.Context(), "TodoWrite", servertest.Todos("pending", "A", "B")); err == nil || !strings.Contains(err.Error(), "1") {
				t.Errorf("the config file has no effect: %v", err)
			}
			checktest.Has(t, "edited to", do("", "edit", "plan"), "[x] #1 Fix the 🚪")
			checktest.Same(t, "the status line is", do(`{"session_id":"s","cwd":"/nowhere"}`, "show", "--claude-code"), "")
			exported := do("", "export")
			file := write("lists.ndjson", exported)
			for _, args := range [][]string{{"import", file}, {"import"}} {
				call.Env["XDG_STATE_HOME"] = t.TempDir()
				do(exported, args...)
				if got := do("", "export"); got != exported || got == "" {
					t.Errorf("%q imports\n%s, want\n%s", args, got, exported)
				}
			}
		})
	}
}
