package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"todo-mcp/internal/todo"
)

// Options say what to show and how.
type Options struct {
	// List is the one list to show, by id, name or the beginning of the id;
	// empty shows all.
	List string
	// Where tells people what is followed: a file or a server.
	Where string
	// Color allows colours.
	Color bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Run shows lists in the terminal that in and out are, until the user leaves or
// ctx ends, both without an error, or the source fails for good. in may be
// something else than a terminal: then there are no keys.
func Run(ctx context.Context, source Source, in, out *os.File, o Options) error {
	return run(ctx, source, tty{in: in, out: out}, o)
}

// escapeWait is how long an Escape waits for the rest of a sequence.
const escapeWait = 50 * time.Millisecond

// viewer runs a model on a console.
type viewer struct {
	*model
	source  Source
	console console
	screen  screen
	clock   func() time.Time
	keys    keyReader
	updates chan func() effect // what happened elsewhere, to be done here
	typed   chan []byte
	restore func()
	work    sync.WaitGroup
}

func run(ctx context.Context, source Source, c console, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &viewer{model: newModel(o.List), source: source, console: c, screen: screen{out: c}, clock: o.Now,
		updates: make(chan func() effect), typed: make(chan []byte)}
	v.color, v.where = o.Color, o.Where
	asked := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer v.work.Wait()
	defer cancel(nil)
	if err := v.enter(); err != nil {
		return fmt.Errorf("set up terminal: %w", err)
	}
	defer v.leave() // a panic below finds the terminal restored, too
	v.work.Go(func() { cancel(guard(func() error { return v.follow(ctx) })) })
	typed, stop, err := c.keys()
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	defer stop()
	v.work.Go(func() { v.read(ctx, typed) })
	if err := v.loop(ctx); err != nil {
		return err
	}
	if err := context.Cause(ctx); asked.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// guard turns a panic into an error, so that it cannot end the process with the
// terminal as the viewer had it.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

func (v *viewer) enter() (err error) {
	if v.restore, err = v.console.raw(); err != nil {
		return err
	}
	v.screen.forget()
	_, err = io.WriteString(v.console, enterScreen)
	if err != nil {
		v.restore()
	}
	return err
}

func (v *viewer) leave() {
	_, _ = io.WriteString(v.console, leaveScreen)
	v.restore()
}

// follow brings what the source says to the loop.
func (v *viewer) follow(ctx context.Context) error {
	show := func(lists []todo.Snapshot, all bool) {
		v.update(ctx, func() effect { return v.show(lists, all) })
	}
	return v.source.Follow(ctx, show, func(err error) {
		v.update(ctx, func() effect { v.lost = err; return effect{} })
	})
}

func (v *viewer) update(ctx context.Context, f func() effect) {
	select {
	case v.updates <- f:
	case <-ctx.Done():
	}
}

func (v *viewer) read(ctx context.Context, typed io.Reader) {
	for {
		buf := make([]byte, 256)
		n, err := typed.Read(buf)
		if n > 0 {
			select {
			case v.typed <- buf[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// loop draws, waits for something to happen, and begins again.
func (v *viewer) loop(ctx context.Context) error {
	resized, stop := v.console.resized()
	defer stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var patience <-chan time.Time
	for {
		v.now = v.clock()
		v.measure()
		if err := v.screen.draw(v.view()); err != nil {
			return nil // the terminal has gone, and we with it
		}
		var keys []key
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-resized:
		case f := <-v.updates:
			v.perform(ctx, f())
		case data := <-v.typed:
			keys = v.keys.feed(data)
		case <-patience:
			keys = v.keys.flush()
		}
		for _, k := range keys {
			if e := v.press(k); e.quit {
				return nil
			} else if err := v.perform(ctx, e); err != nil {
				return err
			}
		}
		if patience = nil; v.keys.waiting() {
			patience = time.After(escapeWait)
		}
	}
}

// measure looks at the size of the terminal; a new one is drawn from scratch.
func (v *viewer) measure() {
	width, height := v.console.size()
	if width != v.width || height != v.height {
		v.width, v.height = width, height
		v.screen.forget()
	}
}

// perform does what the model cannot do itself.
func (v *viewer) perform(ctx context.Context, e effect) error {
	if e.history != "" {
		v.work.Go(func() { v.readHistory(ctx, e.history) })
	}
	if e.redraw {
		v.screen.forget()
	}
	if e.suspend {
		v.leave()
		v.console.suspend()
		return v.enter()
	}
	return nil
}

func (v *viewer) readHistory(ctx context.Context, list string) {
	var revisions []todo.Snapshot
	err := guard(func() (err error) {
		revisions, err = v.source.History(ctx, list)
		return err
	})
	v.update(ctx, func() effect { return v.setHistory(list, revisions, err) })
}
