package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type calls struct {
	mu    sync.Mutex
	ended map[string]int
}

func (c *calls) count(_ time.Duration, labels ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[strings.Join(labels, " ")]++
}

// An observer is told of writes and of reads of lists, with the word for how each ended.
func TestObservedTells(t *testing.T) {
	c := &calls{ended: map[string]int{}}
	st := &store.Opened{Store: memory.NewKeeping(board.Keep{Lists: 1}), Observer: c.count}
	ctx, gone := context.WithCancel(t.Context())
	gone()
	begin := todo.Snapshot{List: todo.List{ID: "a"}, Revision: 1}
	refuse := func(err error) error {
		return st.Update(t.Context(), board.Key{}, func(board.Tx) error { return err })
	}
	_ = []error{ // what each is, the outcomes say
		second(storetest.Save(t.Context(), st, begin)), second(storetest.Save(t.Context(), st, todo.Snapshot{List: todo.List{ID: "b"}, Revision: 1})),
		second(storetest.Save(ctx, st, begin)), refuse(&todo.InputError{}), refuse(board.ErrNotFound), refuse(errors.New("disk on fire")),
		refuse(context.DeadlineExceeded), refuse(fmt.Errorf("update: %w (%w)", board.ErrUnknownOutcome, context.Canceled)),
		second(st.Load(t.Context(), "a", 0)), second(st.Load(t.Context(), "x", 0)),
		second(st.Find(t.Context(), board.Query{})), second(st.History(t.Context(), "a", 0, 0)),
	}
	func() {
		defer func() { _ = recover() }()
		_ = st.Update(t.Context(), board.Key{}, func(board.Tx) error { panic("on purpose") })
	}()
	want := map[string]int{
		"update applied": 1, "update full": 1, "update cancelled": 1, "update refused": 1, "update missing": 1, "update failed": 3, "update unknown": 1,
		"load applied": 1, "load missing": 1, "find applied": 1, "history applied": 1,
	}
	if diff := cmp.Diff(want, c.ended); diff != "" {
		t.Error(diff)
	}
}

func second[T any](_ T, err error) error { return err }
