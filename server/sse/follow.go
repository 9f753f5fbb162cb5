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

// Following says what a stream follows.
type Following struct {
	Lists todo.Lists
	// Want admits the lists to follow.
	Want func(todo.Snapshot) bool
	// Resume says to send what changed after the place After first (a
	// [todo.Snapshot]'s Seq).
	Resume bool
	After  int64
	// ReadTimeout bounds each read of the store.
	ReadTimeout time.Duration
	// Send sends the newest snapshots of lists that changed, in the order they
	// were saved; an error ends the stream.
	Send func(changed []todo.Snapshot) error
}

// Follow sends what changes until the stream ends or the store cannot be read;
// then it says why. Watch must be a watcher of f.Want that was begun before.
func (s *Stream) Follow(f Following, watch *todo.Watcher) error {
	sent := int64(0) // the place up to which catching up has sent everything
	if f.Resume {
		var err error
		if sent, err = s.catchUp(f); err != nil {
			return err
		}
	}
	for {
		changed, err := watch.Next(s.ctx)
		if err != nil {
			return err
		}
		changed = slices.DeleteFunc(changed, func(l todo.Snapshot) bool { return l.Seq <= sent })
		if err := f.Send(changed); err != nil {
			return err
		}
	}
}

// catchUpPage is how many snapshots catching up reads at a time.
const catchUpPage = 500

// catchUp sends what changed after a place, a page at a time, and returns the
// place it came to. A place that the store has not come to is another store's:
// then everything was missed.
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

func (s *Stream) read(f Following, q todo.Query) ([]todo.Snapshot, error) {
	ctx, cancel := context.WithTimeout(s.ctx, f.ReadTimeout)
	defer cancel()
	found, err := f.Lists.Find(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("catch up: %w", err)
	}
	return found, nil
}

// FollowRequest reads from a request what it wants to follow: ?list= restricts to
// one list and its sub-agents' lists; Last-Event-ID or ?after= is the place to
// resume after. The error says what is wrong. Send is left to the caller.
func FollowRequest(r *http.Request, lists todo.Lists, readTimeout time.Duration) (Following, error) {
	only := r.URL.Query().Get("list")
	f := Following{Lists: lists, ReadTimeout: readTimeout, Want: func(s todo.Snapshot) bool {
		return only == "" || s.List.ID == only || s.List.Parent == only
	}}
	place := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	if place == "" {
		return f, nil
	}
	var err error
	if f.After, err = strconv.ParseInt(place, 10, 64); err != nil || f.After < 0 {
		return f, errors.New("Last-Event-ID must be a whole number, 0 or more")
	}
	f.Resume = true
	return f, nil
}
