package watch

import (
	"context"
	"fmt"

	"todo-mcp/internal/remote"
	"todo-mcp/internal/todo"
)

// Source is where lists come from.
type Source interface {
	// Follow calls show with all the lists there are (all is true; what was
	// shown before is void), and from then on with the newest snapshot of each
	// that changed. Between the two nothing is missed; a snapshot may come
	// twice. When the connection breaks it calls lost, goes on trying, and
	// begins again with all. Both are called from one goroutine. It returns
	// when ctx ends, or when trying again is of no use.
	Follow(ctx context.Context, show func(lists []todo.Snapshot, all bool), lost func(error)) error
	// History reads the revisions of a list that are kept, oldest first.
	History(ctx context.Context, list string) ([]todo.Snapshot, error)
}

var (
	_ Source = Local{}
	_ Source = (*remote.Client)(nil)
)

// maxLists bounds how many lists are read to begin with, the last changed
// first.
const maxLists = 2000

// Local is the source on this machine: lists on a store that other processes may
// write to.
type Local struct{ Lists todo.Lists }

// Follow implements [Source]. A store that cannot be read at the start is an
// error; later on the board heals by itself.
func (l Local) Follow(ctx context.Context, show func([]todo.Snapshot, bool), _ func(error)) error {
	watcher := l.Lists.Watch(nil)
	defer watcher.Close()
	lists, err := l.Lists.Find(ctx, todo.Query{Limit: maxLists})
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
