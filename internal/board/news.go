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
	key := Key{l.principal, a.Conversation.Key}
	err = l.update(ctx, key.Conversation, func(tx Tx) error {
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
			err = tx.SetCursor(ctx, Cursor{Key: key, List: list.List.ID, Seen: list.Revision})
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("note what the agent is told: %w", err)
	}
	return list, news, err
}

// Ask says that the agent of the list that a target means waits for a person's answer to a
// question, of which [todo.OneLine] is kept, or with an empty one that it goes on. It does
// nothing where there is no list, or none with open items.
func (l Lists) Ask(ctx context.Context, t Target, question string) error {
	question = todo.OneLine(question, todo.MaxTitle)
	return l.say(ctx, t, question, false)
}

// Rest says that the agent of the list that a target means has ended its turn, with a
// question or an empty one, where [Lists.Ask] would say something.
func (l Lists) Rest(ctx context.Context, t Target, question string) error {
	return l.say(ctx, t, todo.OneLine(question, todo.MaxTitle), true)
}

// say saves what a hook says of the agent of a list. It makes no revision: a chat that asks
// a hundred times would push out what was done.
func (l Lists) say(ctx context.Context, t Target, question string, rests bool) error {
	list, err := l.Current(ctx, t)
	if err != nil || !list.Open() || l.readOnly || list.Asks == question && list.Rests == rests {
		return PassOver(err)
	}
	err = l.update(ctx, list.List.ID, func(tx Tx) error {
		newest, err := tx.Load(ctx, list.List.ID, 0)
		if err != nil || newest.Asks == question && newest.Rests == rests || !newest.Open() {
			return err
		}
		_, err = tx.Save(ctx, newest.Asking(question, rests, l.board.now()))
		return err
	})
	if err != nil {
		return fmt.Errorf("note what the agent asks: %w", err)
	}
	return nil
}

// PassOver returns no error for a list that is not there, and another error as it is.
func PassOver(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
