package sse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"todo-mcp/internal/todo"
)

// Following describes which changes a stream sends. Lists, Want and Send are
// required.
type Following struct {
	Lists todo.Lists
	// Want reports whether the stream follows the list of a snapshot.
	Want func(todo.Snapshot) bool
	// Resume makes the stream first send the lists that changed after the
	// snapshot with Seq After (see [todo.Snapshot]).
	Resume bool
	After  int64
	// ReadTimeout limits each read of the store.
	ReadTimeout time.Duration
	// Idle is how long the stream waits for a change before it calls Send without
	// one; 0 is without end.
	Idle time.Duration
	// Send sends the newest snapshots of lists that changed, by Seq ascending;
	// changed may be empty. An error ends the stream.
	Send func(changed []todo.Snapshot) error
}

// Follow sends changes until the stream ends, the store cannot be read or
// f.Send fails, and returns that error; it is never nil. watch must watch
// f.Want, and must have been created before this call.
func (s *Stream) Follow(f Following, watch *todo.Watcher) error {
	sent := int64(0) // the Seq up to which catchUp has sent everything
	if f.Resume {
		var err error
		if sent, err = s.catchUp(f); err != nil {
			return err
		}
	}
	for {
		changed, err := s.next(watch, f.Idle)
		if err != nil {
			return err
		}
		changed = slices.DeleteFunc(changed, func(l todo.Snapshot) bool { return l.Seq <= sent })
		if err := f.Send(changed); err != nil {
			return err
		}
	}
}

// next waits for changes, for at most idle unless that is 0.
func (s *Stream) next(watch *todo.Watcher, idle time.Duration) ([]todo.Snapshot, error) {
	if idle <= 0 {
		return watch.Next(s.ctx)
	}
	ctx, cancel := context.WithTimeout(s.ctx, idle)
	defer cancel()
	changed, err := watch.Next(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.ctx.Err()
	}
	return changed, err
}

// catchUpPage is how many snapshots catching up reads at a time.
const catchUpPage = 500

// catchUp sends the lists that changed after f.After, a page at a time, and
// returns the Seq up to which it has sent everything. An f.After above the
// store's newest Seq comes from another store; then catchUp sends all lists.
func (s *Stream) catchUp(f Following) (sent int64, err error) {
	after := f.After
	newest, err := s.read(f, todo.Query{Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(newest) > 0 && newest[0].Seq < after {
		after = 0
	}
	for {
		missed, err := s.read(f, todo.Query{AfterSeq: after, OldestFirst: true, Limit: catchUpPage})
		if err != nil {
			return after, err
		}
		if len(missed) > 0 {
			after = missed[len(missed)-1].Seq
		}
		if err := f.Send(slices.DeleteFunc(slices.Clone(missed), func(l todo.Snapshot) bool { return !f.Want(l) })); err != nil {
			return after, err
		}
		if len(missed) < catchUpPage {
			return after, nil
		}
	}
}

// read reads lists within f.ReadTimeout.
func (s *Stream) read(f Following, q todo.Query) ([]todo.Snapshot, error) {
	ctx, cancel := context.WithTimeout(s.ctx, f.ReadTimeout)
	defer cancel()
	found, err := f.Lists.Find(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("catch up: %w", err)
	}
	return found, nil
}

// ErrPlace means that the place to resume after is no Seq. Its text is for the sender
// of the request.
var ErrPlace = errors.New("Last-Event-ID or ?after= must be a whole number, 0 or more")

// FollowRequest returns the [Following] that a request describes: ?list=
// restricts it to one list, by its id or name, those with which its conversation goes
// on ([todo.Chain]) and their sub-agents' lists, and Last-Event-ID or
// ?after= is the Seq to resume after. The caller must set Send. It returns
// [ErrPlace], or an error of the store.
func FollowRequest(r *http.Request, lists todo.Lists, readTimeout time.Duration) (Following, error) {
	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	chain, err := lists.Chain(ctx, r.URL.Query().Get("list"))
	if err != nil {
		return Following{}, err
	}
	f := Following{Lists: lists, ReadTimeout: readTimeout, Want: func(s todo.Snapshot) bool {
		return chain.Has(s.List) || chain.HasParent(s.List)
	}}
	after := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	if after == "" {
		return f, nil
	}
	if f.After, err = strconv.ParseInt(after, 10, 64); err != nil || f.After < 0 {
		return f, ErrPlace
	}
	f.Resume = true
	return f, nil
}
