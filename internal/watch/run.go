package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/gdamore/tcell/v3"

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
	// suspend stops the process until the shell continues it. Tests replace it.
	suspend func()
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
	if o.suspend == nil {
		o.suspend = stopProcess
	}
	return o
}

// Run shows lists in the terminal of the process and reads keys from there. It returns
// nil when the user quits, ctx ends or the terminal is gone, and otherwise the error that
// ended the source or kept the terminal from being set up.
func Run(ctx context.Context, source Source, o Options) error {
	ctx, stop := signal.NotifyContext(ctx, endSignals()...)
	defer stop()
	return run(ctx, source, nil, o)
}

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

// viewer runs a model on a screen.
type viewer struct {
	*model
	options Options
	desk    desktop
	screen  *screen
	drawn   time.Time
	// asking is true while the standings are read; asked is when they were read
	// last, and stale is true when a list has changed since.
	asking, stale bool
	asked         time.Time
	source        Source
	keys          keyReader
	updates       chan func() // changes of the model, sent to loop by other goroutines
	wg            sync.WaitGroup
}

// run runs the viewer on a terminal; nil is the one in which the program runs.
func run(ctx context.Context, source Source, tty tcell.Tty, o Options) error {
	o = o.withDefaults()
	v := &viewer{model: newModel(o.List), options: o, desk: desktop{o.Getenv, o.start}, source: source, updates: make(chan func())}
	v.sourceName = render.Safe(o.Where)
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer v.wg.Wait()
	defer cancel(nil)
	var err error
	if v.screen, err = openScreen(tty, o.Color, o.Getenv("COLORFGBG")); err != nil {
		return fmt.Errorf("set up terminal: %w", err)
	}
	defer v.screen.unread(v.screen.Fini) // also when the code below panics
	v.wg.Go(func() { cancel(catchPanic(func() error { return v.follow(ctx) })) })
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

// follow passes what the source reports to loop. It returns when the source does.
func (v *viewer) follow(ctx context.Context) error {
	show := func(lists []todo.Snapshot, all bool) {
		v.update(ctx, func() { v.stale = true; v.receiveLists(lists, all) })
	}
	return v.source.Follow(ctx, show, func(err error) {
		v.update(ctx, func() { v.lose(err) })
	})
}

func (v *viewer) update(ctx context.Context, f func()) {
	select {
	case v.updates <- f:
	case <-ctx.Done():
	}
}

// loop draws the model, waits for an event and handles it, until the user quits,
// ctx ends or the terminal is gone.
func (v *viewer) loop(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		v.now = v.options.Now()
		v.askStandings(ctx)
		nextFrame := v.drawInTime()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-nextFrame:
		case f := <-v.updates:
			f()
			if err := v.perform(ctx, v.take()); err != nil {
				return err
			}
		case event := <-v.screen.EventQ():
			if quit, err := v.handle(ctx, event); quit || err != nil {
				return err
			}
		}
	}
}

// drawInTime draws a frame unless the last one is too recent; then it returns a
// channel that says when it is not any more.
func (v *viewer) drawInTime() <-chan time.Time {
	if wait := frameEvery - time.Since(v.drawn); wait > 0 {
		return time.After(wait)
	}
	v.width, v.height = v.screen.Size()
	v.drawn = time.Now()
	v.screen.draw(v.frame())
	return nil
}

// handle handles what happened in the terminal, and reports whether the viewer is to end.
func (v *viewer) handle(ctx context.Context, event tcell.Event) (quit bool, err error) {
	switch event.(type) {
	case *tcell.EventError:
		return true, nil // the terminal is gone
	case *tcell.EventResize:
		v.screen.shown, v.drawn = nil, time.Time{}
	}
	for _, k := range v.keys.read(event) {
		v.drawn = time.Time{} // a key is answered at once
		e := v.press(k)
		if e.quit {
			return true, nil
		}
		if err := v.perform(ctx, e); err != nil {
			return false, err
		}
	}
	return false, nil
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
		v.update(ctx, func() {
			v.asking, v.asked = false, time.Now()
			if err == nil {
				v.standings = standings
			}
		})
	})
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
		v.screen.SetClipboard([]byte(e.copy))
		v.wg.Go(func() { v.desk.copy(ctx, e.copy) })
	}
	if e.page != "" {
		v.wg.Go(func() { v.openInBrowser(ctx, e.page) })
	}
	if v.options.Notify {
		v.notify(ctx, e.notices)
	}
	if e.redraw {
		v.screen.redraw()
	}
	if e.suspend {
		return v.suspend()
	}
	return nil
}

// suspend gives the terminal back to the shell until that continues the viewer.
func (v *viewer) suspend() error {
	if err := v.screen.Suspend(); err != nil {
		return err
	}
	v.options.suspend()
	v.screen.shown = nil
	return v.screen.Resume()
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
	v.update(ctx, func() { v.drawn, v.stale = time.Time{}, true; v.edited(e, before, out, err) })
}

// openInBrowser opens a list's page, and says where it is.
func (v *viewer) openInBrowser(ctx context.Context, list string) {
	address, err := v.source.Page(ctx, list)
	if err != nil {
		v.update(ctx, func() { v.say(bad, render.Safe(err.Error())) })
		return
	}
	said, r := "Opened "+render.Safe(address), done
	if err := v.desk.browse(ctx, address); err != nil {
		said, r = "No browser here. The list is at "+render.Safe(address), warn
	}
	v.update(ctx, func() { v.say(r, said) })
}

// notify rings the bell and notifies the desktop.
func (v *viewer) notify(ctx context.Context, notices []string) {
	tty, _ := v.screen.Tty()
	for _, text := range notices {
		sequence, ok := v.desk.noticeSequence(text)
		_, _ = io.WriteString(tty, sequence)
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
	v.update(ctx, func() { v.setHistory(list, revisions, err) })
}
