package watch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"todo-mcp/internal/remote"
	"todo-mcp/internal/todo"
)

// items returns a list in short: "completed:A pending:B".
func items(s todo.Snapshot) string {
	var parts []string
	for _, i := range s.Items {
		parts = append(parts, string(i.Status)+":"+i.Text)
	}
	return strings.Join(parts, " ")
}

// Each edit does what it says, is merged with what the agent wrote since the
// person saw the list, and is undone without undoing that.
func TestLocalEdits(t *testing.T) {
	for _, c := range []struct {
		edit               Edit
		agent, after, undo string // the agent adds an item; the list after the edit, and after it is undone
	}{
		{Edit{Do: SetStatus, Item: "1", Status: todo.Completed}, "C", "completed:A pending:B pending:C", "pending:A pending:B pending:C"},
		{Edit{Do: Block, Item: "2", Text: "no key"}, "C", "pending:A blocked:B pending:C", "pending:A pending:B pending:C"},
		{Edit{Do: Reword, Item: "1", Text: "X"}, "C", "pending:X pending:B pending:C", "pending:A pending:B pending:C"},
		{Edit{Do: Add, Text: "X"}, "C", "pending:A pending:B pending:C pending:X", "pending:A pending:B pending:C"},
		{Edit{Do: RemoveItem, Item: "1"}, "C", "pending:B pending:C", "pending:A pending:B pending:C"},
		{Edit{Do: Move, Item: "1", To: 1}, "", "pending:B pending:A", "pending:A pending:B"},
	} {
		board := newBoard(t)
		source := Local{Lists: board.As("")}
		writeItems(t, board, "release", "A", "B")
		found, err := board.As("").Find(t.Context(), todo.Query{})
		if err != nil {
			t.Fatal(err)
		}
		seen := found[0]
		if c.agent != "" {
			writeItems(t, board, "release", c.agent)
		}
		c.edit.List, c.edit.Seen = seen.List.ID, seen.Revision
		before, _ := board.As("").Load(t.Context(), seen.List.ID, 0)
		after, err := source.Apply(t.Context(), c.edit)
		if err != nil || items(after) != c.after || !after.Writer.Person {
			t.Errorf("%s: %q, %v; want %q", c.edit.Do, items(after), err, c.after)
		}
		back, ok := c.edit.inverse(before, after, true)
		if after, err = source.Apply(t.Context(), back); !ok || err != nil || items(after) != c.undo {
			t.Errorf("%s undone: %q, %v; want %q", c.edit.Do, items(after), err, c.undo)
		}
	}
}

// Whole lists are renamed, archived, deleted and restored, and each is undone.
func TestLocalLists(t *testing.T) {
	board := newBoard(t)
	source := Local{Lists: board.As("")}
	writeItems(t, board, "release", "A")
	writeItems(t, board, "release", "B")
	found, _ := board.As("").Find(t.Context(), todo.Query{})
	id := found[0].List.ID
	look := func(s todo.Snapshot) string {
		return fmt.Sprintf("%s archived %v deleted %v %s", s.Title(), s.Archived, s.Deleted, items(s))
	}
	start := look(found[0])
	for _, c := range []struct {
		edit Edit
		want string
	}{
		{Edit{Do: Rename, Text: "Title"}, "Title archived false deleted false pending:A pending:B"},
		{Edit{Do: Archive, Away: true}, "release archived true deleted false pending:A pending:B"},
		{Edit{Do: Delete, Away: true}, "release archived false deleted true pending:A pending:B"},
		{Edit{Do: Restore, Revision: 1}, "release archived false deleted false pending:A"},
	} {
		c.edit.List = id
		before, _ := board.As("").Load(t.Context(), id, 0)
		after, err := source.Apply(t.Context(), c.edit)
		if err != nil || look(after) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.edit.Do, look(after), err, c.want)
		}
		back, _ := c.edit.inverse(before, after, true)
		if after, err = source.Apply(t.Context(), back); err != nil || look(after) != start {
			t.Errorf("%s undone: %q, %v", c.edit.Do, look(after), err)
		}
	}
	if _, err := source.Apply(t.Context(), Edit{List: id, Do: Reword, Item: "9", Text: "x"}); err == nil {
		t.Error("an item that is gone was reworded")
	}
	if _, err := source.Page(t.Context(), id); err == nil {
		t.Error("a page without a panel")
	}
}

// Where only items can be edited, an edit is undone by another edit of its item;
// what cannot be had back so is not undone.
func TestInverseOfItem(t *testing.T) {
	for _, c := range []struct {
		edit        Edit
		after, undo string // empty: not undone
	}{
		{Edit{Do: SetStatus, Item: "2", Status: todo.Completed}, "pending:A completed:B", "pending:A blocked:B"},
		{Edit{Do: Block, Item: "1", Text: "no key"}, "blocked:A blocked:B", "pending:A blocked:B"},
		{Edit{Do: Reword, Item: "1", Text: "X"}, "pending:X blocked:B", "pending:A blocked:B"},
		{Edit{Do: Add, Text: "X"}, "pending:A blocked:B pending:X", "pending:A blocked:B"},
		{Edit{Do: Move, Item: "1", To: 1}, "blocked:B pending:A", "pending:A blocked:B"},
		{Edit{Do: RemoveItem, Item: "1"}, "blocked:B", ""},
		{Edit{Do: Restore, Revision: 1}, "pending:A pending:B", ""},
	} {
		board := newBoard(t)
		source := Local{Lists: board.As("")}
		writeItems(t, board, "release", "A", "B")
		found, _ := board.As("").Find(t.Context(), todo.Query{})
		c.edit.List = found[0].List.ID
		before, err := source.Apply(t.Context(), Edit{List: c.edit.List, Do: Block, Item: "2", Text: "why"})
		if err != nil {
			t.Fatal(err)
		}
		after, err := source.Apply(t.Context(), c.edit)
		if err != nil || items(after) != c.after {
			t.Errorf("%s: %q, %v; want %q", c.edit.Do, items(after), err, c.after)
		}
		back, ok := c.edit.inverse(before, after, false)
		if ok != (c.undo != "") {
			t.Errorf("%s is undone by %+v, %v", c.edit.Do, back, ok)
		}
		if !ok {
			continue
		}
		if after, err = source.Apply(t.Context(), back); err != nil || items(after) != c.undo || after.Items[1].Reason != before.Items[1].Reason {
			t.Errorf("%s undone: %q, %v; want %q", c.edit.Do, items(after), err, c.undo)
		}
	}
}

// A server is asked for what its panel offers.
func TestServerEdits(t *testing.T) {
	var asked []string
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		if r.URL.Path == "/api/states" {
			fmt.Fprint(w, `[{"list":"a","state":"idle","unseen":["2"]}]`)
			return
		}
		fmt.Fprint(w, `{"list":"a","revision":2,"items":[]}`)
	}))
	defer ts.Close()
	client, err := remote.New(ts.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	source := Server{client}
	standings, err := source.Standings(context.Background(), nil)
	if err != nil || standings["a"].State != todo.Idle || !standings["a"].Unseen["2"] {
		t.Errorf("standings %+v, %v", standings, err)
	}
	for _, e := range []Edit{{Do: SetStatus}, {Do: Restore, Revision: 1}} {
		e.List = "a"
		if after, err := source.Apply(t.Context(), e); err != nil || after.Revision != 2 {
			t.Errorf("%s: %+v, %v", e.Do, after, err)
		}
	}
	if got, want := strings.Join(asked, ", "), "GET /api/states, POST /lists/a/edit, POST /lists/a/restore/1"; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
	if source.Offers(Rename) || !source.Offers(Reword) {
		t.Error("offers the wrong actions")
	}
	if page, _ := source.Page(t.Context(), "a"); page != ts.URL+"/lists/a" {
		t.Errorf("page %s", page)
	}
}
