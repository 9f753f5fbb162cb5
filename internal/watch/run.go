package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// Options are the options of [Run] and [Plain].
type Options struct {
	// List names the one list to show, as [render.Named] finds it; empty shows all
	// lists.
	List string
	// Where names the source for people: a file or a server.
	Where string
	// Color enables colours. [Plain] never uses them.
	Color bool
	// Notify tells the person what finished, failed, is blocked or waits: by the
	// bell, and on the desktop.
	Notify bool
	// Getenv returns a variable of the environment, which says what the terminal
	// and the desktop understand; nil means os.Getenv.
	Getenv func(string) string
	// Now returns the current time; nil means time.Now.
	Now func() time.Time

	// start runs a program of the desktop; nil means to run it. Tests replace it.
	start func(ctx context.Context, input, name string, args ...string) error
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.start == nil {
		o.start = startProgram
	}
	return o
}

// Run shows lists in the terminal out and reads keys from in; if in is nil or not
// a terminal, there are no keys. It returns nil when the user quits, ctx ends or
// the terminal is gone, and otherwise the error that ended the source or kept the
// terminal from being set up.
func Run(ctx context.Context, source Source, in, out *os.File, o Options) error {
	ctx, stop := signal.NotifyContext(ctx, endSignals()...)
	defer stop()
	return run(ctx, source, tty{in: in, out: out}, o)
}

// escapeWait is how long the viewer waits after an ESC byte for the rest of a
// sequence.
const escapeWait = 50 * time.Millisecond

// The screen is drawn at most every frameEvery because of what agents write; a
// key is answered at once. How the lists stand is asked every standingEvery, and
// after a change of a list, but not sooner than standingRest after the last
// answer.
const (
	frameEvery    = 30 * time.Millisecond
	standingEvery = 2 * time.Second
	standingRest  = 300 * time.Millisecond
	// editTimeout is how long an edit may take.
	editTimeout = 15 * time.Second
)

// viewer runs a model on a console.
type viewer struct {
	*model
	options Options
	desk    desktop
	// exact makes the sequence of an exact colour; nil where there are 16.
	exact func(hex string) string
	drawn time.Time
	// asking is true while the standings are read; asked is when they were read
	// last, and stale is true when a list has changed since.
	asking, stale bool
	asked         time.Time
	source        Source
	console       console
	screen        screen
	clock         func() time.Time
	keys          keyDecoder
	updates       chan func() effect // changes of the model, sent to loop by other goroutines
	input         chan []byte
	restore       func()
	wg            sync.WaitGroup
}

func run(ctx context.Context, source Source, c console, o Options) error {
	o = o.withDefaults()
	v := &viewer{model: newModel(o.List), options: o, desk: desktop{o.Getenv, o.start}, source: source, console: c, screen: screen{out: c}, clock: o.Now,
		updates: make(chan func() effect), input: make(chan []byte)}
	v.sourceName = render.Safe(o.Where)
	if o.Color {
		v.theme, v.exact = basic(), exactColours(o.Getenv)
	}
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
	sequence := enterScreen
	if v.exact != nil {
		sequence += askBackground
	}
	_, err = io.WriteString(v.console, sequence)
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
		v.update(ctx, func() effect { v.stale = true; return v.receiveLists(lists, all) })
	}
	return v.source.Follow(ctx, show, func(err error) {
		v.update(ctx, func() effect { return v.lose(err) })
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
		v.askStandings(ctx)
		nextFrame, err := v.drawInTime()
		if err != nil {
			return nil // the terminal is gone
		}
		var keys []key
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-nextFrame:
		case <-resized:
			v.drawn = time.Time{}
		case f := <-v.updates:
			if err := v.perform(ctx, f()); err != nil {
				return err
			}
		case data := <-v.input:
			keys = v.keys.feed(data)
		case <-escapeTimeout:
			keys = v.keys.flush()
		}
		if quit, err := v.pressAll(ctx, keys); quit || err != nil {
			return err
		}
		if escapeTimeout = nil; v.keys.waiting() {
			escapeTimeout = time.After(escapeWait)
		}
	}
}

// drawInTime draws a frame unless the last one is too recent; then it returns a
// channel that says when it is not any more.
func (v *viewer) drawInTime() (<-chan time.Time, error) {
	if wait := frameEvery - time.Since(v.drawn); wait > 0 {
		return time.After(wait), nil
	}
	v.updateSize()
	v.drawn = time.Now()
	return nil, v.screen.draw(v.frame())
}

// pressAll handles keys, and reports whether one of them quits.
func (v *viewer) pressAll(ctx context.Context, keys []key) (quit bool, err error) {
	for _, k := range keys {
		v.drawn = time.Time{}
		if answer, ok := strings.CutPrefix(string(k), string(keyBackground)); ok {
			if light, ok := isLight(answer); ok && v.exact != nil {
				v.theme = exact(light, v.exact)
			}
			continue
		}
		if e := v.press(k); e.quit {
			return true, nil
		} else if err := v.perform(ctx, e); err != nil {
			return false, err
		}
	}
	return false, nil
}

// askStandings asks the source how the open lists stand, if it is time.
func (v *viewer) askStandings(ctx context.Context) {
	since := time.Since(v.asked)
	if !v.loaded || v.lost != nil || v.asking || since < standingRest || !v.stale && since < standingEvery {
		return
	}
	open := v.openLists()
	v.asking, v.stale = true, false
	v.wg.Go(func() {
		var standings map[string]Standing
		err := catchPanic(func() (err error) {
			standings, err = v.source.Standings(ctx, open)
			return err
		})
		v.update(ctx, func() effect {
			v.asking, v.asked = false, time.Now()
			if err == nil {
				v.standings = standings
			}
			return effect{}
		})
	})
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
	if e.edit != nil {
		before := v.lists[e.edit.list]
		v.wg.Go(func() { v.apply(ctx, *e.edit, before) })
	}
	if e.copy != "" {
		_, _ = io.WriteString(v.console, copySequence(e.copy))
		v.wg.Go(func() { v.desk.copy(ctx, e.copy) })
	}
	if e.page != "" {
		v.wg.Go(func() { v.openInBrowser(ctx, e.page) })
	}
	if v.options.Notify {
		v.tell(ctx, e.notices)
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

// apply makes an edit and passes its outcome to the model.
func (v *viewer) apply(ctx context.Context, e edit, before todo.Snapshot) {
	var out todo.Outcome
	err := catchPanic(func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, editTimeout)
		defer cancel()
		out, err = v.source.Edit(ctx, e.list, e.Edit)
		return err
	})
	v.update(ctx, func() effect { v.drawn, v.stale = time.Time{}, true; return v.edited(e, before, out, err) })
}

// openInBrowser opens a list's page, and says where it is.
func (v *viewer) openInBrowser(ctx context.Context, list string) {
	address, err := v.source.Page(ctx, list)
	if err != nil {
		v.update(ctx, func() effect { v.say(bad, render.Safe(err.Error())); return effect{} })
		return
	}
	said, r := "Opened "+render.Safe(address), done
	if err := v.desk.browse(ctx, address); err != nil {
		said, r = "No browser here. The list is at "+render.Safe(address), warn
	}
	v.update(ctx, func() effect { v.say(r, said); return effect{} })
}

// tell rings the bell and notifies the desktop.
func (v *viewer) tell(ctx context.Context, notices []string) {
	for _, text := range notices {
		sequence, ok := v.desk.noticeSequence(text)
		_, _ = io.WriteString(v.console, sequence)
		if !ok {
			v.wg.Go(func() { v.desk.notify(ctx, text) })
		}
	}
}

func (v *viewer) readHistory(ctx context.Context, list string) {
	var revisions []todo.Snapshot
	err := catchPanic(func() (err error) {
		revisions, err = v.source.History(ctx, list)
		return err
	})
	v.update(ctx, func() effect { return v.setHistory(list, revisions, err) })
}
