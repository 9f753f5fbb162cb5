package board

import (
	"context"
	"errors"
	"fmt"

	"todo-mcp/internal/todo"
)

// News returns the list that a target means, and what others changed in it since the
// conversation's agent last saw it, which the agent has seen from now on: nobody is told
// the same twice. Where nothing is new nothing is written. It returns [ErrNotFound] when
// there is no list.
func (l Lists) News(ctx context.Context, t Target) (list todo.Snapshot, news todo.Report, err error) {
	a, err := l.choose(ctx, t)
	if err != nil || l.readOnly || a.seen(a.list) >= a.list.Revision {
		return a.list, news, err
	}
	key := Key{l.principal, a.Conversation.Key, a.Conversation.Mirrors}
	err = l.update(ctx, key, func(tx Tx) error {
		news = todo.Report{}
		b := &attempt{Board: l.board, Write: a.Write, read: tx, tx: tx, all: l.all}
		if err := b.choose(ctx); err != nil {
			return err
		}
		list = b.list
		saw, err := b.saw(ctx, list)
		if err == nil && saw.Revision != list.Revision {
			b.tell(saw, list, &news)
		}
		if err == nil && b.seen(list) < list.Revision {
			err = tx.See(ctx, Seen{Key: key, List: list.List.ID, Revision: list.Revision})
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("note what the agent is told: %w", err)
	}
	return list, news, err
}

// PassOver returns no error for a list that is not there, and another error as it is.
func PassOver(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
