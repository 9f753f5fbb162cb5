package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// reader implements board.Reader, for the store and for a transaction.
type reader struct {
	store *Memory
	now   func(context.Context) *state
}

// look runs a read on the current state. Errors begin with the name of the operation.
func look[T any](ctx context.Context, r reader, what string, read func(*state) (T, error)) (found T, err error) {
	now := r.now(ctx)
	if err = r.store.checkUsable(ctx); err == nil {
		found, err = read(now)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return found, err
}

// withParent returns a snapshot with the parent that its list has now.
func (now *state) withParent(s todo.Snapshot) todo.Snapshot {
	if l := &s.List; l.ParentConversation != "" {
		l.Parent = board.Current(now.seen[board.Key{Principal: l.Principal, Chat: l.ParentConversation, Mirrors: l.Mirrored}])
	}
	return s
}

// Load implements board.Reader.
func (r reader) Load(ctx context.Context, id string, n int64) (todo.Snapshot, error) {
	return look(ctx, r, "read snapshot", func(now *state) (todo.Snapshot, error) {
		for _, s := range slices.Backward(now.lists[id].revisions) {
			if n == 0 || s.Revision == n {
				return now.withParent(clone(s)), nil
			}
		}
		return todo.Snapshot{}, board.ErrNotFound
	})
}

// Find implements board.Reader. It looks at every list, or for an operation at every revision of its list.
func (r reader) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	return look(ctx, r, "read snapshots", func(now *state) (found []todo.Snapshot, err error) {
		add := func(s todo.Snapshot) {
			if s = now.withParent(s); matches(q, s) && now.lists[s.List.ID].says(q.Text) {
				found = append(found, s)
			}
		}
		if q.Operation != "" {
			for _, s := range r.by(q.Operation, now) {
				add(s)
			}
		} else {
			for _, l := range now.lists {
				add(l.newest())
			}
		}
		slices.SortFunc(found, func(a, b todo.Snapshot) int {
			if q.OldestFirst {
				a, b = b, a
			}
			return cmp.Compare(b.Seq, a.Seq)
		})
		found = atMost(q.Limit, found)
		for i, s := range found {
			found[i] = clone(now.shown(q, s))
		}
		return found, nil
	})
}

// by returns the revision that an operation saved; empty if the state has no such revision.
func (r reader) by(operation string, now *state) []todo.Snapshot {
	all := now.lists[r.listOf(operation, now)].revisions
	i := slices.IndexFunc(all, func(s todo.Snapshot) bool { return s.Operation.ID == operation })
	return all[max(i, 0) : i+1]
}

// listOf returns the id of the list that has the revision of an operation; empty for none.
func (r reader) listOf(operation string, now *state) string {
	for _, o := range slices.Backward(now.operations) {
		if o.operation == operation {
			return o.list
		}
	}
	index := &r.store.operations
	index.RLock()
	defer index.RUnlock()
	return index.lists[operation]
}

// shown returns how a query shows a list that matches: its last revision with q.Text, its excerpt, or s itself.
func (now *state) shown(q board.Query, s todo.Snapshot) todo.Snapshot {
	switch {
	case q.Text != "":
		saying, _ := now.lists[s.List.ID].saying(q.Text)
		return now.withParent(saying)
	case q.Excerpt && q.Operation == "":
		return s.Excerpt()
	}
	return s
}

func (l kept) says(text string) bool {
	_, ok := l.saying(text)
	return text == "" || ok
}

// saying returns the last revision that has a text, see [todo.Snapshot.Saying].
func (l kept) saying(text string) (todo.Snapshot, bool) {
	for _, s := range slices.Backward(l.revisions) {
		if s.Saying(text) != "" {
			return s, true
		}
	}
	return todo.Snapshot{}, false
}

// atMost returns the first snapshots up to the limit, or all if the limit is 0.
func atMost(limit int, all []todo.Snapshot) []todo.Snapshot {
	if limit > 0 && len(all) > limit {
		return all[:limit]
	}
	return all
}

func matches(q board.Query, s todo.Snapshot) bool {
	return (q.Principal == nil || *q.Principal == s.List.Principal) &&
		(q.Client == "" || q.Client == s.List.Client) &&
		(q.Workspace == nil || *q.Workspace == s.List.Workspace) &&
		(q.Parent == "" || q.Parent == s.List.Parent) &&
		(q.Deleted || q.Operation != "" || !s.Deleted) &&
		!s.Updated.Before(q.UpdatedSince) && s.Seq > q.AfterSeq && (q.BeforeSeq == 0 || s.Seq < q.BeforeSeq)
}

// History implements board.Reader.
func (r reader) History(ctx context.Context, id string, after int64, limit int) ([]todo.Snapshot, error) {
	return look(ctx, r, "read snapshots", func(now *state) (out []todo.Snapshot, err error) {
		revisions := now.lists[id].revisions
		from, _ := slices.BinarySearchFunc(revisions, after+1, func(s todo.Snapshot, n int64) int { return cmp.Compare(s.Revision, n) })
		for _, s := range atMost(limit, revisions[from:]) {
			out = append(out, now.withParent(clone(s)))
		}
		return out, nil
	})
}

// Seen implements board.Reader.
func (r reader) Seen(ctx context.Context, of board.Key) ([]board.Seen, error) {
	return look(ctx, r, "read what chats have seen", func(now *state) ([]board.Seen, error) { return slices.Clone(now.seen[of]), nil })
}

// SeenOn implements board.Reader.
func (r reader) SeenOn(ctx context.Context, principal, id string) ([]board.Seen, error) {
	return look(ctx, r, "read what chats have seen", func(now *state) (found []board.Seen, err error) {
		for of, all := range now.seen {
			for _, c := range all {
				if of.Principal == principal && (c.List == id || id == "" && c.Current) {
					found = append(found, c)
				}
			}
		}
		slices.SortFunc(found, func(a, b board.Seen) int { return cmp.Compare(a.Chat, b.Chat) })
		return found, nil
	})
}
