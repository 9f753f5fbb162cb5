package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Edit makes a person's edit. It returns the errors of [Lists.Apply] and [todo.Edit.Clean], or [todo.ErrItemGone].
func (l Lists) Edit(ctx context.Context, list string, e todo.Edit, by todo.Writer) (Outcome, error) {
	e, err := e.Clean()
	if err != nil {
		return Outcome{}, err
	}
	if list == "" {
		return Outcome{}, ErrNotFound // with no id, Apply would begin a list
	}
	by.Person = true
	w := Write{Target: Target{List: list, deleted: !e.OfItems()}, Writer: by}
	if e.Operation != "" {
		w.Operation = todo.Operation{ID: "edit:" + todo.Cut(e.Operation, 64), Digest: todo.Digest(fmt.Sprintf("%s %+v", list, e))}
	}
	if e.After || e.Later != nil {
		s, err := l.load(ctx, list, 0)
		if err != nil {
			return Outcome{}, err
		}
		if isInTurn, err := l.InTurn(ctx, s); err != nil {
			return Outcome{}, err
		} else if !isInTurn {
			e = e.AtOnce()
		}
	}
	w.Change = func(d *todo.Draft) error { return d.Edit(e) }
	if e.OfItems() && e.Do != todo.EditNow { // EditNow moves all waiting items, seen by the person or not
		w.Seen = e.Seen
	}
	switch e.Do {
	case todo.EditRestore:
		w.Seen = 0 // a restore also replaces what was written since
		w.damaged = true
		w.Change, err = l.undoing(ctx, list, e.Revision, e.Revision)
	case todo.EditUndo:
		w.Change, err = l.undoing(ctx, list, e.From, e.Seen)
	}
	if err != nil {
		return Outcome{}, err
	}
	out, err := l.Apply(ctx, w)
	if err == nil {
		l.Look(ctx, out.After)
	}
	return out, err
}

// InTurn reports whether items of a list may wait for the end of its agent's turn: the host's hooks say that a turn is
// under way, and will report its end. It is false for mirrored lists and for sub-agents' (no item can delay their end).
func (l Lists) InTurn(ctx context.Context, s todo.Snapshot) (bool, error) {
	return l.isInTurn(ctx, l.board.store, s)
}

// isInTurn is [Lists.InTurn] with a reader, which may be a transaction.
func (l Lists) isInTurn(ctx context.Context, r Reader, s todo.Snapshot) (bool, error) {
	if s.List.Agent != "" || s.List.Mirrored {
		return false, nil
	}
	on, err := r.SeenOn(ctx, s.List.Principal, s.List.ID)
	if err != nil {
		return false, err
	}
	return anyChat(ctx, r, on, func(s Seen) bool { return s.Current }, func(c todo.Chat) bool { return c.Doing.InTurn() && l.board.isHere(c) })
}

// undoing returns a change by [todo.Draft.Undo] from revision seen back to revision from; [ErrNotFound] if one is gone.
func (l Lists) undoing(ctx context.Context, list string, from, seen int64) (todo.Change, error) {
	old, err := l.Load(ctx, list, from)
	saw, failed := l.Load(ctx, list, seen)
	return func(d *todo.Draft) error { d.Undo(old, saw); return nil }, cmp.Or(err, failed)
}

// hasDue reports whether items wait for the end of a turn, and that turn has ended or none is known to be under way.
func (a *attempt) hasDue(ctx context.Context, ended bool) (bool, error) {
	if len(a.list.Later) == 0 || ended {
		return len(a.list.Later) > 0, nil
	}
	isInTurn, err := a.isInTurn(ctx, a.read, a.list)
	return !isInTurn, err
}

// release moves items that waited for the end of a turn into the list, if that is due, as a person's edit.
func (a *attempt) release(ctx context.Context, ended bool) error {
	isDue, err := a.hasDue(ctx, ended)
	if err != nil || !isDue {
		return err
	}
	step := todo.Step{Change: func(d *todo.Draft) error { return d.Edit(todo.Edit{Do: todo.EditNow}) },
		Sent: &todo.Sent{}, Author: todo.PersonChat, At: a.board.now()}
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

// News returns the list that a target means, and others' changes of it since the conversation's agent last saw it.
// It notes that the agent has seen these changes, so that no change is told twice; without any it writes nothing. If
// ended is true, or no turn is known to be under way, it moves items that waited for the end of a turn into the list.
// It returns [ErrNotFound] when there is no list.
func (l Lists) News(ctx context.Context, t Target, ended bool) (list todo.Snapshot, news todo.Report, err error) {
	a, err := l.choose(ctx, t)
	if err != nil || l.id.ReadOnly {
		return a.list, news, err
	}
	if isDue, err := a.hasDue(ctx, ended); err != nil || !isDue && a.seen(a.list) >= a.list.Revision {
		return a.list, news, err
	}
	err = l.update(ctx, a.key, func(tx Tx) error {
		news = todo.Report{}
		b := &attempt{Lists: l, Write: a.Write, read: tx, tx: tx}
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

// PassOver returns an error unchanged, but nil for an [ErrNotFound].
func PassOver(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
