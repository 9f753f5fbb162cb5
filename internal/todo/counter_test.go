package todo_test

import (
	"context"

	"todo-mcp/internal/todo"
)

// counter counts the updates of a store, and in them the snapshots that are read and what
// is stored.
type counter struct {
	todo.Store
	own                    string // the id of a list
	updates, reads, others int    // others are the reads of any list but own
	stored                 int    // snapshots and cursors
}

func (c *counter) Update(ctx context.Context, key todo.Key, change func(todo.Tx) error) error {
	c.updates++
	return c.Store.Update(ctx, key, func(tx todo.Tx) error { return change(countingTx{tx, c}) })
}

type countingTx struct {
	todo.Tx
	*counter
}

func (tx countingTx) count(lists []todo.Snapshot, err error) ([]todo.Snapshot, error) {
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		tx.reads++
		if l.List.ID != tx.own {
			tx.others++
		}
	}
	return lists, nil
}

func (tx countingTx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	tx.stored++
	return tx.Tx.Save(ctx, next)
}

func (tx countingTx) SetCursor(ctx context.Context, c todo.Cursor) error {
	tx.stored++
	return tx.Tx.SetCursor(ctx, c)
}

func (tx countingTx) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	l, err := tx.Tx.Load(ctx, list, revision)
	_, _ = tx.count([]todo.Snapshot{l}, err)
	return l, err
}

func (tx countingTx) LastBy(ctx context.Context, list string, person bool, upTo int64) (todo.Snapshot, error) {
	l, err := tx.Tx.LastBy(ctx, list, person, upTo)
	_, _ = tx.count([]todo.Snapshot{l}, err)
	return l, err
}

func (tx countingTx) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	return tx.count(tx.Tx.History(ctx, list, after, limit))
}

func (tx countingTx) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	return tx.count(tx.Tx.Find(ctx, q))
}
