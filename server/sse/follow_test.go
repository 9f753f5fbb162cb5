package sse_test

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server/sse"
)

// A stream without changes calls Send again and again if its following says how
// long it is idle, and still sends a change that comes meanwhile.
func TestIdleFollowing(t *testing.T) {
	board := todo.NewBoard(memory.New())
	defer board.Close()
	stream := sse.Open(t.Context(), httptest.NewRecorder(), sse.Limits{})
	defer stream.Close()
	lists := board.As("")
	watch := lists.Watch(nil)
	defer watch.Close()
	idle, done := 0, errors.New("done")
	err := stream.Follow(sse.Following{Lists: lists, Idle: time.Millisecond, Send: func(changed []todo.Snapshot) error {
		if len(changed) > 0 {
			return done
		}
		if idle++; idle != 3 {
			return nil
		}
		_, err := lists.Apply(t.Context(), todo.Write{Target: todo.Target{Append: true}, Change: func(d *todo.Draft) error { d.Append("A"); return nil }})
		return err
	}}, watch)
	if !errors.Is(err, done) || idle < 3 {
		t.Errorf("after %d idle times: %v", idle, err)
	}
}
