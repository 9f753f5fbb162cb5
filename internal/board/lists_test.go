package board_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// More lists than one transaction removes are purged all the same.
func TestPurgeMany(t *testing.T) {
	d := newDesk(t)
	ids := []string{"unknown"}
	for n := range 120 {
		id := fmt.Sprint(n)
		must(storetest.Save(t.Context(), d.store, todo.Snapshot{List: todo.List{ID: id}, Revision: 1}))(t)
		ids = append(ids, id)
	}
	lists := d.board("p1").Everyone()
	if n, err := lists.Purge(t.Context(), todo.Writer{}, ids...); n != 0 || !errors.Is(err, board.ErrNotFound) {
		t.Errorf("with an unknown one: %d, %v", n, err)
	}
	n, err := lists.Purge(t.Context(), todo.Writer{}, ids[1:]...)
	if left, _ := lists.Find(t.Context(), board.Query{}); n != 120 || err != nil || len(left) > 0 {
		t.Errorf("purged %d, %v; %d are left", n, err, len(left))
	}
}

// BAD-INPUT 65: Lists without end; 100 small changes of a list of 256 kB → `--max-lists`,
// `--max-size` and 1,000 lists of a conversation a day [bound them](../lists.md#nothing-is-lost):
// old lists make room, else new ones are refused, with what to do
func TestLookedAtListsStay(t *testing.T) {
	d := newDesk(t)
	a := d.hint("p1", "process:1")
	list := a.writes("p:A").After
	a.lists().Look(t.Context(), list)
	a.writes("p:X p:Y")
	on, err := d.store.SeenOn(context.Background(), "", list.List.ID)
	if err != nil || len(on) != 2 {
		t.Errorf("65: seen %+v, %v", on, err)
	}
}

// BAD-INPUT 107: A person and an agent change one item a hundred times → Each is told each time;
// an item remembers eight earlier wordings
func TestAHundredChangesOfOneItem(t *testing.T) {
	d := newDesk(t)
	a := d.proof("a")
	first := a.writes("p:A p:B").After
	view := todo.CoreView()
	for n := range 100 {
		d.personEdits(first.List.ID, reword("2", fmt.Sprint("person ", n)))
		text := fmt.Sprint("agent ", n)
		if n%3 == 0 {
			text = "B" // its habit
		}
		lines := []todo.Line{{ID: "2", Text: text, Active: text, Status: []string{"pending", "in_progress"}[n%2]}}
		out := must(a.apply(board.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Put(view, lines...); return nil }))(t)
		if len(out.Unseen) != 1 || out.After.List.ID != first.List.ID || len(out.After.Items) != 2 {
			t.Fatalf("107: change %d: %q, told %+v", n, show(out.After), out.Report)
		}
		if item, _ := out.After.Item("2"); len(item.PersonEdit.Replaced) > 8*20 {
			t.Fatalf("107: after %d changes %d bytes of earlier wordings", n, len(item.PersonEdit.Replaced))
		}
	}
	if now, err := d.store.Load(t.Context(), first.List.ID, 0); err != nil || now.Revision > 201 {
		t.Errorf("107: revision %d, %v", now.Revision, err)
	}
}

// A folder on Windows is one, however a host, a hook or a shell spells it; other paths are
// taken as they are.
func TestFolder(t *testing.T) {
	b := newBoard(t, memory.New())
	for n, spelled := range []string{`C:\work\app`, `c:\work\app\`, "C:/work/app", "c:/work/app/", "/c:/work/app"} {
		c := board.Conversation{Key: fmt.Sprint("chat:", n), Client: "c", Workspace: spelled}
		apply(t, b, board.Write{Target: board.Target{Conversation: c}, Change: add("A")})
		if found, err := b.As("").Find(t.Context(), board.Query{Workspace: &spelled}); err != nil || len(found) != n+1 || found[0].List.Workspace != `C:\work\app` {
			t.Errorf("%s: %+v, %v", spelled, found, err)
		}
	}
	for path, want := range map[string]string{`d:\`: `D:\`, "/work/app/": "/work/app/", "/c/work": "/c/work", "c:": "c:", `\\host\src`: `\\host\src`, "": ""} {
		checktest.Same(t, path, todo.Folder(path), want)
	}
}

// Lists are read in pages, each once, also those that are saved meanwhile, and those that
// begin.
func TestPages(t *testing.T) {
	store := memory.New()
	lists := board.NewBoard(store).As("")
	save := func(from, to int, revision int64) {
		t.Helper()
		for n := from; n < to; n++ {
			must(storetest.Save(t.Context(), store, todo.Snapshot{List: todo.List{ID: strconv.Itoa(n)}, Revision: revision, Items: []todo.Item{}}))(t)
		}
	}
	save(0, 1000, 1)
	seen, pages := make(map[string]int), 0
	for page, err := range lists.Pages(t.Context(), board.Query{}) {
		checkErr(t, err)
		if pages++; pages == 1 {
			save(0, 450, 2) // are among the newest now
			save(1000, 1001, 1)
		}
		for _, s := range page {
			seen[s.List.ID]++
		}
	}
	for n := range 1001 {
		checktest.Same(t, fmt.Sprintf("list %d was read", n), seen[strconv.Itoa(n)], 1)
	}
	for range lists.Pages(t.Context(), board.Query{}) {
		break // who stops is not called again
	}
	for page, err := range board.NewBoard(memory.New()).As("").Pages(t.Context(), board.Query{}) {
		t.Errorf("a page of an empty store: %v, %v", page, err)
	}
}

func later(s todo.Snapshot) (texts string) {
	for _, i := range s.Later {
		texts += " " + i.Text
	}
	return texts
}

// An edit that is too large is refused, and one without lines.
func TestEditLimits(t *testing.T) {
	for want, e := range map[string]todo.Edit{
		"lines must be an array":                       {Do: todo.EditItems},
		"at most 1000 items":                           {Do: todo.EditItems, Lines: make([]todo.Line, todo.MaxItems+1)},
		"more than 4000 characters":                    {Do: todo.EditAdd, Text: strings.Repeat("x", todo.MaxText+1)},
		"title: the text has more than 200 characters": {Do: todo.EditRename, Text: strings.Repeat("x", todo.MaxTitle+1)},
		"the text has more than 4000 characters":       {Do: todo.EditBlock, Item: "1", Text: strings.Repeat("x", todo.MaxText+1)},
	} {
		_, err := e.Clean()
		var input *todo.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", e.Do, err, want)
		}
	}
}
