package server

import (
	"context"
	"fmt"

	"todo-mcp/internal/todo"
)

// owned is a store as one principal may read it: another's list is the same as
// none (BAD-INPUT 34). It hides nothing of writes; the board holds those to a
// scope.
type owned struct {
	todo.Store
	principal string
}

// store is what requests read. Without authentication everybody is the server's
// own principal.
func (s *Server) store() todo.Store { return owned{Store: s.Board.Store()} }

// watch watches the lists that requests may read and want admits.
func (s *Server) watch(want func(todo.Snapshot) bool) *todo.Watcher {
	return s.Board.Watch(func(l todo.Snapshot) bool { return owned{}.may(l) && want(l) })
}

func (o owned) may(s todo.Snapshot) bool { return s.List.Scope.Principal == o.principal }

// Load implements todo.Store.
func (o owned) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s, err := o.Store.Load(ctx, list, revision)
	if err == nil && !o.may(s) {
		return todo.Snapshot{}, fmt.Errorf("read snapshot: %w", todo.ErrNotFound)
	}
	return s, err
}

// History implements todo.Store.
func (o owned) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	revisions, err := o.Store.History(ctx, list, after, limit)
	if len(revisions) > 0 && !o.may(revisions[0]) {
		return nil, err
	}
	return revisions, err
}

// Find implements todo.Store.
func (o owned) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	q.Principal = &o.principal
	return o.Store.Find(ctx, q)
}
