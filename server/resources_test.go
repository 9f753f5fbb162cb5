package server_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// todo://lists lists the unfinished lists of main agents with what a model needs
// to choose one: id, title, progress without cancelled items, workspace, client
// and when. Those of the caller's workspace come first.
func TestListsResource(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		now := time.Date(2026, 11, 24, 9, 30, 0, 0, time.UTC)
		b := board.NewBoard(r.Store, board.WithClock(func() time.Time { return now.Add(123 * time.Millisecond) }))
		defer b.Close()
		other := board.Conversation{Key: "x", Client: "other", Workspace: "/elsewhere"}
		elsewhere, err := b.As("").Apply(t.Context(), board.Write{
			Target: board.Target{Conversation: other, Append: true},
			Change: func(d *todo.Draft) error {
				d.Append("E1", "E2", "E3")
				d.SetStatus("1", todo.Completed)
				d.SetStatus("3", todo.Cancelled)
				return nil
			}})
		servertest.Check(t, err)
		chattest.Foreign(t, r.Store)
		c := r.Connect()
		c.Conversation("a").Writes("c:A1 p:A2")
		c.Conversation("a").Agent("x").Writes("p:S")
		c.Conversation("done").Writes("c:D")
		c.Conversation("empty").Writes("p:E")
		c.Conversation("empty").Writes("")
		var got struct {
			Lists []struct {
				List, Title, Workspace, Client string
				Completed, Total               int
				Updated                        time.Time
			}
		}
		servertest.Check(t, json.Unmarshal([]byte(c.Resource("todo://lists")), &got))
		if len(got.Lists) != 2 {
			t.Fatalf("lists: %+v", got.Lists)
		}
		byTitle := map[string]int{}
		for i, l := range got.Lists {
			byTitle[l.Title] = i
		}
		workspace := ""
		if r.By.Piped() {
			workspace = "/work/project"
			if byTitle["A1 +1"] != 0 {
				t.Errorf("the caller's workspace comes first: %+v", got.Lists)
			}
		}
		if a := got.Lists[byTitle["A1 +1"]]; a.List != c.Conversation("a").Current() || a.Completed != 1 || a.Total != 2 || a.Workspace != workspace || a.Client != "tester" || time.Since(a.Updated) > time.Minute {
			t.Errorf("a's: %+v", a)
		}
		if e := got.Lists[byTitle["E1 +2"]]; e.List != elsewhere.After.List.ID || e.Completed != 1 || e.Total != 2 || e.Workspace != "/elsewhere" || e.Client != "other" || !e.Updated.Equal(now) {
			t.Errorf("another client's: %+v", e)
		}
	})
}
