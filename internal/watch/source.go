package watch

import (
	"context"
	"fmt"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/remote"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Source provides lists and their changes, and makes a person's edits.
type Source interface {
	// Follow calls show with all lists (all is true), then with each list that changed. It misses no change, but may
	// pass a snapshot twice. When the connection breaks it calls lost, reconnects and begins again with all lists. Both
	// functions are called from one goroutine. It returns when ctx ends, or with an error that a retry cannot mend.
	Follow(ctx context.Context, show func(lists []todo.Snapshot, all bool), lost func(error)) error
	// History returns the kept revisions of a list, oldest first.
	History(ctx context.Context, list string) ([]todo.Snapshot, error)
	// Standings returns the states of lists by id. Lists without open items may be missing.
	Standings(ctx context.Context, lists []todo.Snapshot) (map[string]Standing, error)
	// Edit makes an edit. Of the outcome, After and Changed are always set.
	Edit(ctx context.Context, list string, e todo.Edit) (board.Outcome, error)
}

// Standing is the state of a list, and what became of a person's edits.
type Standing = remote.Standing

// maxLists limits the lists that are read at the start, most recently changed first.
const maxLists = 2000

// Local is the source for a store on this machine. Other processes may write to it.
type Local struct{ Lists board.Lists }

// Follow implements [Source]. It never calls lost: a store that cannot be read at the start is an error, and later
// the board retries.
func (l Local) Follow(ctx context.Context, show func([]todo.Snapshot, bool), _ func(error)) error {
	watcher := l.Lists.Watch(nil)
	defer watcher.Close()
	lists, err := l.Lists.Find(ctx, board.Query{Limit: maxLists})
	if err == nil {
		lists, err = l.Lists.WithChats(ctx, lists)
	}
	if err != nil {
		return fmt.Errorf("read lists: %w", err)
	}
	show(lists, true)
	for {
		changed, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		show(changed, false)
	}
}

// History implements [Source].
func (l Local) History(ctx context.Context, list string) ([]todo.Snapshot, error) {
	return l.Lists.History(ctx, list, 0, 0)
}

// Standings implements [Source].
func (l Local) Standings(ctx context.Context, lists []todo.Snapshot) (map[string]Standing, error) {
	lists = slices.DeleteFunc(slices.Clone(lists), todo.Snapshot.Settled)
	states, err := l.Lists.States(ctx, lists...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Standing, len(lists))
	for _, s := range lists {
		saw, err := l.Lists.Saw(ctx, s)
		if err != nil {
			return nil, err
		}
		out[s.List.ID] = Standing{Standing: states[s.List.ID], Edits: account.EditsOf(saw, s)}
	}
	return out, nil
}

// Edit implements [Source].
func (l Local) Edit(ctx context.Context, list string, e todo.Edit) (board.Outcome, error) {
	return l.Lists.Edit(ctx, list, e, todo.Writer{Client: "todo-mcp", Variant: "watch"})
}
