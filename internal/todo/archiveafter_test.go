package todo_test

import (
	"context"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// A settled list that nobody changed for the time counts as archived without a
// write, and a list that is open never does. Brought back, it stays for as long
// again.
func TestArchiveAfter(t *testing.T) {
	ctx, now := context.Background(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := todo.WithClock(func() time.Time { return now })
	store := memory.New()
	board := newBoard(t, store, clock, todo.WithArchiveAfter(24*time.Hour))
	never := newBoard(t, store, clock)
	lists := board.As("")
	begin := func(key string, status todo.Status) string {
		out, err := lists.Apply(ctx, todo.Write{
			Target: todo.Target{Conversation: todo.Conversation{Key: "session:" + key}},
			Change: func(d *todo.Draft) error {
				d.Replace(todo.CoreView(), []todo.Line{{Text: key, Status: string(status)}})
				return nil
			},
		})
		checkErr(t, err)
		return out.After.List.ID
	}
	settled, open := begin("settled", todo.Failed), begin("open", todo.Pending)
	expect := func(when string, list string, want bool) {
		t.Helper()
		s, err := lists.Load(ctx, list, 0)
		checkErr(t, err)
		found, err := lists.Find(ctx, todo.Query{})
		checkErr(t, err)
		for _, f := range found {
			if f.List.ID == list && f.Archived != want {
				t.Errorf("%s: found archived %v", when, f.Archived)
			}
		}
		if s.Archived != want {
			t.Errorf("%s: loaded archived %v", when, s.Archived)
		}
	}
	now = now.Add(24*time.Hour - 1)
	expect("before", settled, false)
	now = now.Add(1)
	expect("after", settled, true)
	expect("open", open, false)
	if s, err := never.As("").Load(ctx, settled, 0); err != nil || s.Archived || s.Revision != 1 {
		t.Errorf("with no time: archived %v, revision %d, %v", s.Archived, s.Revision, err)
	}
	if s, err := lists.Load(ctx, settled, 1); err != nil || s.Archived {
		t.Errorf("a revision of its history is archived: %v, %v", s.Archived, err)
	}
	_, err := lists.Archive(ctx, settled, false, person())
	checkErr(t, err)
	expect("brought back", settled, false)
	now = now.Add(24 * time.Hour)
	expect("a day later", settled, true)
}
