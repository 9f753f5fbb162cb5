package subscriptions

import (
	"context"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// The goroutine of a stream that was replaced takes from the next one's nothing by
// which that is woken.
func TestAReplacedStreamLeavesTheWake(t *testing.T) {
	board := todo.NewBoard(memory.New())
	defer board.Close()
	r := New(Config{Board: board})
	defer r.Close()
	sub, woken := r.subscriber(Client{}), false
	sub.wake = func() { woken = true }
	watcher := sub.lists.Watch(nil)
	defer watcher.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	r.notify(ended, sub, watcher, nil)
	if sub.awake(); !woken {
		t.Error("the next stream's goroutine is not woken")
	}
}
