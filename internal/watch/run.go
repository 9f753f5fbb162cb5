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

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// Options are the options of [Run] and [Plain].
type Options struct {
	// List names the one list to show, by id, name, or four or more characters
	// from the beginning of its id; empty shows all lists.
	List string
	// Where names the source for people: a file or a server.
	Where string
	// Color enables colours. [Plain] never uses them.
	Color bool
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Run shows lists in the terminal out and reads keys from in; if in is nil or not
// a terminal, there are no keys. It returns nil when the user quits, ctx ends or
// the terminal is gone, and otherwise the error that ended the source or kept the
// terminal from being set up.
func Run(ctx context.Context, source Source, in, out *os.File, o Options) error {
	return run(ctx, source, tty{in: in, out: out}, o)
}

// escapeWait is how long the viewer waits after an ESC byte for the rest of a
// sequence.
const escapeWait = 50 * time.Millisecond

// viewer runs a model on a console.
type viewer struct {
	*model
	source  Source
	console console
	screen  screen
	clock   func() time.Time
	keys    keyDecoder
	updates chan func() effect // changes of the model, sent to loop by other goroutines
	input   chan []byte
	restore func()
	wg      sync.WaitGroup
}

func run(ctx context.Context, source Source, c console, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	v := &viewer{model: newModel(o.List), source: source, console: c, screen: screen{out: c}, clock: o.Now,
		updates: make(chan func() effect), input: make(chan []byte)}
	v.color, v.sourceName = o.Color, render.Safe(o.Where)
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer v.wg.Wait()
	defer cancel(nil)
	if err := v.enter(); err != nil {
		return fmt.Errorf("set up terminal: %w", err)
	}
	defer v.leave() // also when the code below panics
	v.wg.Go(func() { cancel(catchPanic(func() error { return v.follow(ctx) })) })
	keyInput, stop, err := c.keys()
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	defer stop()
	v.wg.Go(func() { v.readInput(ctx, keyInput) })
	if err := v.loop(ctx); err != nil {
		return err
	}
	if err := context.Cause(ctx); parent.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
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

func (v *viewer) enter() (err error) {
	restore, err := v.console.raw()
	if err != nil {
		return err
	}
	v.restore = restore
	v.screen.invalidate()
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

// follow passes what the source reports to loop. It returns when the source does.
func (v *viewer) follow(ctx context.Context) error {
	show := func(lists []todo.Snapshot, all bool) {
		v.update(ctx, func() effect { return v.receiveLists(lists, all) })
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

func (v *viewer) readInput(ctx context.Context, r io.Reader) {
	for {
		buf := make([]byte, 256)
		n, err := r.Read(buf)
		if n > 0 {
			select {
			case v.input <- buf[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// loop draws the model, waits for an event and handles it, until the user quits,
// ctx ends or the terminal is gone.
func (v *viewer) loop(ctx context.Context) error {
	resized, stop := v.console.resized()
	defer stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var escapeTimeout <-chan time.Time
	for {
		v.now = v.clock()
		v.updateSize()
		if err := v.screen.draw(v.frame()); err != nil {
			return nil // the terminal is gone
		}
		var keys []key
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-resized:
		case f := <-v.updates:
			v.perform(ctx, f())
		case data := <-v.input:
			keys = v.keys.feed(data)
		case <-escapeTimeout:
			keys = v.keys.flush()
		}
		for _, k := range keys {
			if e := v.press(k); e.quit {
				return nil
			} else if err := v.perform(ctx, e); err != nil {
				return err
			}
		}
		if escapeTimeout = nil; v.keys.waiting() {
			escapeTimeout = time.After(escapeWait)
		}
	}
}

// updateSize reads the size of the terminal. If it changed, the next frame is
// drawn in full.
func (v *viewer) updateSize() {
	width, height := v.console.size()
	if width != v.width || height != v.height {
		v.width, v.height = width, height
		v.screen.invalidate()
	}
}

// perform carries out an effect of the model, except quit.
func (v *viewer) perform(ctx context.Context, e effect) error {
	if e.history != "" {
		v.wg.Go(func() { v.readHistory(ctx, e.history) })
	}
	if e.redraw {
		v.screen.invalidate()
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
	err := catchPanic(func() (err error) {
		revisions, err = v.source.History(ctx, list)
		return err
	})
	v.update(ctx, func() effect { return v.setHistory(list, revisions, err) })
}
