package board

import (
	"context"
	"iter"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// During calls with once for each list that began before to and was saved after from, the last saved
// first: these include all that changed between the two. It holds one page of excerpts at a time.
// If now is between the two, the chats that work or wait without a list follow, as
// [todo.Chat.AsList]. It returns the first error of with.
func (l Lists) During(ctx context.Context, from, to time.Time, with todo.ChangedList) error {
	for page, err := range l.Pages(ctx, Query{UpdatedSince: from, Excerpt: true}) {
		if err != nil {
			return err
		}
		states, err := l.States(ctx, page...)
		if err != nil {
			return err
		}
		for _, s := range page {
			if !s.List.Created.Before(to) {
				continue
			}
			if err := with(states[s.List.ID], l.upTo(ctx, s.List.ID, to)); err != nil {
				return err
			}
		}
	}
	if now := l.board.now(); now.Before(from) || !now.Before(to) {
		return nil
	}
	chats, err := l.WithChats(ctx, nil)
	if err != nil {
		return err
	}
	states, err := l.States(ctx, chats...)
	for _, s := range chats {
		if st := states[s.List.ID]; err == nil && (st.State == todo.Working || st.State == todo.Waiting) {
			err = with(st, func(yield func(todo.Snapshot, error) bool) { yield(s, nil) })
		}
	}
	return err
}

// upTo returns the revisions of a list that were made before a time.
func (l Lists) upTo(ctx context.Context, list string, to time.Time) iter.Seq2[todo.Snapshot, error] {
	return func(yield func(todo.Snapshot, error) bool) {
		for s, err := range l.Revisions(ctx, list, 0) {
			if err == nil && !s.Updated.Before(to) || !yield(s, err) {
				return
			}
		}
	}
}
