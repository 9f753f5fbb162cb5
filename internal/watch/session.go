package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// session follows a source. Other goroutines leave the model to one loop: they send it
// what to do.
type session struct {
	*model
	Options
	source  Source
	changes chan func()
	wg      sync.WaitGroup
	// asking is true while the standings are read; asked is when they were read
	// last, and stale is true when a list has changed since.
	asking, stale bool
	asked         time.Time
}

func newSession(source Source, o Options) *session {
	o = o.withDefaults()
	s := &session{model: newModel(o.List), Options: o, source: source, changes: make(chan func())}
	s.sourceName = render.Safe(o.Where)
	return s
}

// follow follows the source while loop runs. It calls show beside the loop for the lists
// that come from the source, and lost in the loop. It returns the error of the loop, or
// the one that ended the source before the context did.
func (s *session) follow(
	ctx context.Context,
	show func(ctx context.Context, lists []todo.Snapshot, all bool),
	lost func(error),
	loop func(context.Context) error,
) error {
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer s.wg.Wait()
	defer cancel(nil)
	s.wg.Go(func() {
		cancel(catchPanic(func() error {
			return s.source.Follow(ctx, func(lists []todo.Snapshot, all bool) { show(ctx, lists, all) },
				func(err error) { s.update(ctx, func() { lost(err) }) })
		}))
	})
	if err := loop(ctx); err != nil {
		return err
	}
	if err := context.Cause(ctx); parent.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// update has the loop do something.
func (s *session) update(ctx context.Context, f func()) {
	select {
	case s.changes <- f:
	case <-ctx.Done():
	}
}

// ask calls a function that takes time beside the loop, which then calls another with
// what came of it.
func ask[T any](ctx context.Context, s *session, call func() (T, error), then func(T, error)) {
	s.wg.Go(func() {
		var answer T
		err := catchPanic(func() (err error) {
			answer, err = call()
			return err
		})
		s.update(ctx, func() { then(answer, err) })
	})
}

// catchPanic calls f and returns a panic of f as an error: in a goroutine, the
// panic would end the process before the terminal is restored.
func catchPanic(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

// How the lists stand is asked every standingEvery, and after a change of a list, but not
// sooner than standingRest after the last answer.
const (
	standingEvery = 2 * time.Second
	standingRest  = 300 * time.Millisecond
)

// askStandings asks the source how the open lists stand, if it is time, and calls receive
// with what it says.
func (s *session) askStandings(ctx context.Context, receive func(open []todo.Snapshot, standings map[string]Standing)) {
	since := time.Since(s.asked)
	if !s.loaded || s.lost != nil || s.asking || since < standingRest || !s.stale && since < standingEvery {
		return
	}
	open := s.openLists()
	s.asking, s.stale = true, false
	ask(ctx, s, func() (map[string]Standing, error) { return s.source.Standings(ctx, open) },
		func(standings map[string]Standing, err error) {
			s.asking, s.asked = false, time.Now()
			if err == nil && s.lost == nil {
				receive(open, standings)
			}
		})
}

// notify tells the desktop, if the person wants it.
func (s *session) notify(ctx context.Context, notices []string) {
	if s.Notify && hasDisplay(s.Getenv) {
		for _, text := range notices {
			s.wg.Go(func() { _ = runCommand(ctx, notifier(text)) })
		}
	}
}

// openLists returns the lists whose state the source is asked for, by Seq.
func (m *model) openLists() (open []todo.Snapshot) {
	for _, l := range m.lists {
		if l.Open() || len(l.Items) == 0 {
			open = append(open, l)
		}
	}
	slices.SortFunc(open, func(a, b todo.Snapshot) int { return cmp.Compare(a.Seq, b.Seq) })
	return open
}
