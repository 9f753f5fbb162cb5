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

// Source provides lists and their changes, and makes the changes of a person.
type Source interface {
	// Follow calls show with all lists (all is true, and they replace the lists
	// passed before), and from then on with the newest snapshot of each list
	// that changed. It misses no change, but may pass a snapshot twice. When the
	// connection breaks it calls lost, reconnects, and starts again with all
	// lists. It calls both functions from one goroutine. It returns when ctx
	// ends, or with an error that a retry cannot mend.
	Follow(ctx context.Context, show func(lists []todo.Snapshot, all bool), lost func(error)) error
	// History returns the revisions of a list that are kept, oldest first.
	History(ctx context.Context, list string) ([]todo.Snapshot, error)
	// Standings returns how lists stand now, by id. A list may be missing: how one stands
	// whose items are settled, its snapshot says.
	Standings(ctx context.Context, lists []todo.Snapshot) (map[string]Standing, error)
	// Edit makes an edit of a list. The outcome has After and Changed at least.
	Edit(ctx context.Context, list string, e todo.Edit) (board.Outcome, error)
}

// Standing is how a list stands.
type Standing = remote.Standing

// maxLists is how many lists are read at the start, the last changed first.
const maxLists = 2000

// Local is the source for a store on this machine, which other processes may
// write to.
type Local struct{ Lists board.Lists }

// Follow implements [Source]. It never calls lost: if the store cannot be read at
// the start it returns an error, and later the board retries.
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
