package board

import (
	"context"
	"errors"
	"fmt"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// hasDue reports whether items that wait for the end of a turn are due: the turn of the
// conversation's agent has ended, or no agent of the list is known to be in one.
func (a *attempt) hasDue(ctx context.Context, ended bool) (bool, error) {
	if len(a.list.Later) == 0 || ended {
		return len(a.list.Later) > 0, nil
	}
	isInTurn, err := a.isInTurn(ctx, a.read, a.list)
	return !isInTurn, err
}

// release puts on the list what waited for the end of a turn, if it is due, as a person's edit.
func (a *attempt) release(ctx context.Context, ended bool) error {
	isDue, err := a.hasDue(ctx, ended)
	if err != nil || !isDue {
		return err
	}
	step := todo.Step{Change: func(d *todo.Draft) error { return d.Edit(todo.Edit{Do: todo.EditNow}) },
		Sent: &todo.Sent{}, Author: todo.PersonChat, At: a.now()}
	draft, err := step.Draft(a.list, a.list)
	if err == nil {
		err = step.Settle(draft, a.list, &todo.Report{})
	}
	if err != nil {
		return err
	}
	released, err := a.saveBeside(ctx, draft, todo.Writer{Person: true, Variant: string(todo.EditNow)})
	if a.current.List.ID == a.list.List.ID {
		a.current = released
	}
	a.list = released
	return err
}

// News returns the list that a target means, and what others changed in it since the
// conversation's agent last saw it. It notes that the agent has now seen that, so that nothing is
// told twice; if nothing is new it writes nothing. Items that waited for the end of a turn are on
// the list if the turn has ended, or none is known. It returns [ErrNotFound] when there is no list.
func (l Lists) News(ctx context.Context, t Target, ended bool) (list todo.Snapshot, news todo.Report, err error) {
	a, err := l.choose(ctx, t)
	if err != nil || l.readOnly {
		return a.list, news, err
	}
	if isDue, err := a.hasDue(ctx, ended); err != nil || !isDue && a.seen(a.list) >= a.list.Revision {
		return a.list, news, err
	}
	err = l.update(ctx, a.key, func(tx Tx) error {
		news = todo.Report{}
		b := &attempt{Board: l.board, Write: a.Write, read: tx, tx: tx, all: l.all}
		err := b.choose(ctx)
		if err == nil {
			err = b.release(ctx, ended)
		}
		if err != nil {
			return err
		}
		list = b.list
		saw, err := b.saw(ctx, list)
		if err == nil && saw.Revision != list.Revision {
			b.tell(saw, list, &news)
		}
		if err == nil && b.seen(list) < list.Revision {
			err = tx.See(ctx, Seen{Key: a.key, List: list.List.ID, Revision: list.Revision})
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("note what the agent is told: %w", err)
	}
	return list, news, err
}

// PassOver returns an error unless it is an [ErrNotFound].
func PassOver(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
