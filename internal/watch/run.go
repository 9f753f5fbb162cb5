// Package watch shows lists in a terminal while agents work on them, and lets a person edit them there.
//
// It guarantees that
//   - the screen shows the newest state received from the source, and whether the source is lost;
//   - the cursor stays at its place on the screen when agents write;
//   - the terminal is restored however the viewer ends: by a key, a signal, an error or a panic;
//   - every text of a list passes through [github.com/todo-mcp/todo-mcp/internal/render.Safe];
//   - [Plain] writes a line for each event.
//
// The viewer may skip revisions that are replaced before it draws them; the history has them.
//
// model is the state of the viewer and of [Plain], without input and output. One loop passes it keys, lists and the
// time, carries out its effects, and draws it. A pane is rows with a cursor: the board, or a list. A page is a text
// that scrolls: the keys, or a history. bindings is the table of keys.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gdamore/tcell/v3"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Options are the options of [Run] and [Plain].
type Options struct {
	List   string // the one list to show, as [render.Named] finds it; empty shows all
	Where  string // names the source for people: a file or a server
	Color  bool   // for Run
	Notify bool   // rings the terminal's bell when a list finishes, fails, is blocked or waits; for Run
	// Edit opens the items of a list in an editor. If the person changed something, it calls apply with the edit.
	Edit func(ctx context.Context, list todo.Snapshot, apply func(todo.Edit) error) error
	Now  func() time.Time
}

// Run shows lists in the terminal and handles keys. It returns nil when the user quits, ctx ends or the terminal is
// gone, else the error of the source or of the terminal's setup.
func Run(ctx context.Context, source Source, o Options) error {
	// Else these signals, too, would end the program before the terminal is restored.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	return run(ctx, source, nil, o)
}

// Changes by agents are drawn at most once every frameEvery; keys are answered at once.
const frameEvery, editTimeout = 30 * time.Millisecond, 15 * time.Second

// viewer shows a model on a screen. Only its loop changes the model; other goroutines send it functions that do that.
type viewer struct {
	*model
	Options
	source  Source
	screen  *screen
	changes chan func()
	wg      sync.WaitGroup
	drawn   time.Time
	pasting bool // between the beginning and the end of a paste
	// asking is true while standings are read; asked is when they were last read; stale is true if lists changed since.
	asking, stale bool
	asked         time.Time
}

// run runs the viewer on a terminal and restores the terminal at the end. If tty is nil it is the process's terminal.
func run(ctx context.Context, source Source, tty tcell.Tty, o Options) (err error) {
	parent := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	v := &viewer{model: newModel(o), Options: o, source: source, changes: make(chan func())}
	defer v.wg.Wait()
	defer cancel(nil)
	v.wg.Go(func() { cancel(catchPanic(func() error { return v.follow(ctx) })) })
	if v.screen, err = openScreen(tty, v.Color); err != nil {
		return fmt.Errorf("set up terminal: %w", err)
	}
	defer v.screen.Fini() // restores the terminal even after a panic
	defer v.screen.drain()
	if err := v.loop(ctx); err != nil {
		return err
	}
	if err := context.Cause(ctx); parent.Err() == nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// follow passes the source's lists to the loop. The standings of all lists come first: the board is sorted by them.
func (v *viewer) follow(ctx context.Context) error {
	show := func(lists []todo.Snapshot, all bool) {
		if all {
			if standings, err := v.source.Standings(ctx, lists); err == nil {
				v.update(ctx, func() { v.receiveStandings(byList(standings)) })
			}
		}
		v.update(ctx, func() { v.stale = true; v.receiveLists(lists, all) })
	}
	return v.source.Follow(ctx, show, func(err error) { v.update(ctx, func() { v.lost = err }) })
}

// update makes the loop call f, unless ctx ends first.
func (v *viewer) update(ctx context.Context, f func()) {
	select {
	case v.changes <- f:
	case <-ctx.Done():
	}
}

// ask runs a slow function in a goroutine. Afterwards the loop calls a second function with its result and error.
func ask[T any](ctx context.Context, v *viewer, call func() (T, error), then func(T, error)) {
	v.wg.Go(func() {
		var answer T
		err := catchPanic(func() (err error) {
			answer, err = call()
			return err
		})
		v.update(ctx, func() { then(answer, err) })
	})
}

// catchPanic returns a panic of f as an error: a panic in a goroutine ends the process with the terminal unrestored.
func catchPanic(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f()
}

// loop draws the model and handles events, until the user quits, ctx ends or the terminal is gone.
func (v *viewer) loop(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !v.effect.quit {
		if err := v.perform(ctx, v.take()); err != nil {
			return err
		}
		v.tick(v.Now())
		nextAsk, nextFrame := v.askStandings(ctx), v.drawInTime()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-nextAsk:
		case <-nextFrame:
		case change := <-v.changes:
			change()
		case event := <-v.screen.EventQ():
			for _, k := range v.readKeys(event) {
				v.press(k)
			}
		}
	}
	return nil
}

// Standings are read every standingEvery, and after changes of lists, but at least standingRest apart.
const standingEvery, standingRest = 2 * time.Second, 100 * time.Millisecond

// askStandings reads standings if that is due. It returns a channel that signals when to call it again, or nil to have
// it called after the next event.
func (v *viewer) askStandings(ctx context.Context) <-chan time.Time {
	since := time.Since(v.asked)
	switch {
	case !v.loaded, v.lost != nil, v.asking, !v.stale && since < standingEvery:
		return nil
	case since < standingRest:
		return time.After(standingRest - since)
	}
	lists := slices.Collect(maps.Values(v.lists))
	v.asking, v.stale = true, false
	ask(ctx, v, func() ([]account.ListState, error) { return v.source.Standings(ctx, lists) },
		func(standings []account.ListState, err error) {
			v.asking, v.asked = false, time.Now()
			if err == nil && v.lost == nil {
				v.receiveStandings(byList(standings))
			}
		})
	return nil
}

// drawInTime draws a frame. If the last frame is too recent, it returns a channel that signals when to try again.
func (v *viewer) drawInTime() <-chan time.Time {
	if wait := frameEvery - time.Since(v.drawn); wait > 0 {
		return time.After(wait)
	}
	v.width, v.height = v.screen.Size()
	v.drawn = time.Now()
	v.screen.draw(v.frame())
	return nil
}

// perform carries out an effect of the model, except quit.
func (v *viewer) perform(ctx context.Context, e effect) error {
	if e.history != "" {
		ask(ctx, v, func() ([]todo.Snapshot, error) { return v.source.History(ctx, e.history) }, v.showHistory)
	}
	if e.edit != nil {
		v.make(ctx, *e.edit)
	}
	if e.copy != "" {
		v.screen.SetClipboard([]byte(e.copy))
	}
	if v.Notify && e.bell {
		_ = v.screen.Beep()
	}
	if e.redraw { // other programs may have written to the terminal
		v.screen.shown = nil
		v.screen.Sync()
	}
	if e.editor != nil {
		return v.runEditor(ctx, *e.editor)
	}
	return nil
}

// runEditor lends the terminal to the person's editor, with the items of a list. Keys typed before are dropped: they
// were not meant for the editor. An error of the edit gets a page, since the error says where the typed text is.
func (v *viewer) runEditor(ctx context.Context, list todo.Snapshot) error {
	v.screen.drain()
	if err := v.screen.Suspend(); err != nil {
		return err
	}
	err := v.Edit(ctx, list, func(e todo.Edit) error {
		ctx, cancel := context.WithTimeout(ctx, editTimeout)
		defer cancel()
		out, err := v.source.Edit(ctx, list.List.ID, e)
		if err == nil {
			v.now, v.stale = v.Now(), true
			v.edited(edit{Edit: e, list: list.List.ID}, list, out, nil)
		}
		return err
	})
	if err != nil {
		v.page = &page{title: "Not changed", texts: []string{paint(plainText, render.Safe(err.Error()))}}
	}
	v.screen.shown = nil
	return v.screen.Resume()
}

// make makes an edit and passes its outcome to the model.
func (v *viewer) make(ctx context.Context, e edit) {
	before := v.lists[e.list]
	v.underWay++
	ask(ctx, v, func() (board.Outcome, error) {
		ctx, cancel := context.WithTimeout(ctx, editTimeout)
		defer cancel()
		return v.source.Edit(ctx, e.list, e.Edit)
	}, func(out board.Outcome, err error) {
		v.drawn, v.stale = time.Time{}, true
		v.underWay--
		v.edited(e, before, out, err)
	})
}

// Source provides lists and their changes, and makes a person's edits.
type Source interface {
	// Follow calls show with all lists (all is true), then with each list that changed. It misses no change, but may
	// pass a snapshot twice. When the connection breaks it calls lost, reconnects and begins again with all lists. Both
	// functions are called from one goroutine. It returns when ctx ends, or with an error that a retry cannot mend.
	Follow(ctx context.Context, show func(lists []todo.Snapshot, all bool), lost func(error)) error
	// History returns the kept revisions of a list, oldest first.
	History(ctx context.Context, list string) ([]todo.Snapshot, error)
	// Standings returns the standings of lists. Archived lists and lists without open items may be missing.
	Standings(ctx context.Context, lists []todo.Snapshot) ([]account.ListState, error)
	// Edit makes an edit. Of the outcome, After and Changed are always set.
	Edit(ctx context.Context, list string, e todo.Edit) (board.Outcome, error)
}

// maxLists limits the lists that are read at the start, most recently changed first.
const maxLists = 2000

// Local is the source for a store on this machine. Other processes may write to it.
type Local struct{ Lists board.Lists }

// Follow implements [Source]. It never calls lost: the board itself retries, and a failed first read is an error.
func (l Local) Follow(ctx context.Context, show func([]todo.Snapshot, bool), _ func(error)) error {
	watcher := l.Lists.Watch(nil)
	defer watcher.Close()
	lists, err := l.Lists.Find(ctx, board.Query{Limit: maxLists})
	if err == nil {
		lists, _, err = l.Lists.WithChats(ctx, lists)
	}
	if err != nil {
		return fmt.Errorf("read lists: %w", err)
	}
	show(lists, true)
	for {
		changed, err := watcher.Next(ctx)
		if err != nil {
			return err
		}
		show(changed, false)
	}
}

// History implements [Source].
func (l Local) History(ctx context.Context, list string) ([]todo.Snapshot, error) {
	return l.Lists.History(ctx, list, 0, 0)
}

// Standings implements [Source].
func (l Local) Standings(ctx context.Context, lists []todo.Snapshot) ([]account.ListState, error) {
	lists = slices.DeleteFunc(slices.Clone(lists), todo.Snapshot.Settled)
	states, err := l.Lists.States(ctx, lists...)
	if err != nil {
		return nil, err
	}
	return account.ListStates(account.Groups(lists, states), func(s todo.Snapshot) (todo.Snapshot, error) { return l.Lists.Saw(ctx, s) })
}

// Edit implements [Source].
func (l Local) Edit(ctx context.Context, list string, e todo.Edit) (board.Outcome, error) {
	return l.Lists.Edit(ctx, list, e, todo.Writer{Client: "todo-mcp", Variant: "watch"})
}

// Plain writes lists to out as lines: first the state of each list, then each event. A line has the time, the title,
// the progress and the event. It reports a lost source to errOut. It returns nil when ctx ends, else the error of the
// source or of a write: without an event it does not notice that the reader of out is gone.
func Plain(ctx context.Context, source Source, out, errOut io.Writer, o Options) error {
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	m := newModel(o)
	err := source.Follow(following, func(lists []todo.Snapshot, all bool) {
		states, _ := source.Standings(following, lists) // an error only makes states less exact
		said, stood := byList(states), maps.Clone(m.standings)
		for _, l := range lists {
			m.standings[l.List.ID] = said[l.List.ID]
		}
		m.now = o.Now()
		text := m.print(lists, stood, all)
		if o.List != "" && m.opened == "" {
			stop(fmt.Errorf("there is no list %q, or there are several; see `todo-mcp lists`", o.List))
		} else if text != "" {
			if _, err := io.WriteString(out, text); err != nil {
				stop(err)
			}
		}
	}, func(err error) {
		m.lost = err
		fmt.Fprintf(errOut, "todo-mcp: %s: not live, reconnecting (%s)\n", m.sourceName, rootCause(err))
	})
	switch {
	case ctx.Err() != nil:
		return nil
	case following.Err() != nil:
		return context.Cause(following)
	}
	return err
}

// print returns the lines for new and changed lists: for the named list, or for all that are or were on the board.
func (m *model) print(lists []todo.Snapshot, stood map[string]account.ListState, all bool) string {
	previous := maps.Clone(m.lists)
	m.receiveLists(lists, all)
	var b strings.Builder
	for _, l := range lists {
		before, known := previous[l.List.ID]
		wanted := known || l.OnBoard(m.now) && !l.Deleted
		if m.opened != "" {
			wanted = l.List.ID == m.opened
		}
		if l.Revision < before.Revision || !wanted {
			continue
		}
		for _, event := range m.events(before, l, stood[l.List.ID], known) {
			b.WriteString(m.plainLine(l, event))
		}
	}
	return b.String()
}

func (m *model) plainLine(l todo.Snapshot, event string) string {
	return fmt.Sprintf("%s  %s  %s  %s\n", l.Updated.In(m.now.Location()).Format(time.DateTime), render.ListTitle(l), progress(l), event)
}

// events returns the events of a list, or the state of a new list.
func (m *model) events(before, l todo.Snapshot, stood account.ListState, known bool) []string {
	if known {
		events, stands := render.Diff(before, l, m.lists[l.ReplacedBy]), m.standings[l.List.ID]
		switch {
		case l.Settled() && !before.Settled():
			events = append(events, string(m.standing(l).State))
		case l.Settled(), stands.Standing == stood.Standing:
		case stands.Asks != "":
			events = append(events, "asks: "+render.Safe(stands.Asks))
		case stood.State != "" && stands.State != "" && (len(events) == 0 || stands.State == todo.Idle):
			events = append(events, string(stands.State))
		}
		return events
	}
	f := m.group(l)
	at, _ := l.At()
	return []string{strings.TrimSuffix(string(f.State())+": "+cmp.Or(render.Question(f), render.Safe(at.Title())), ": ")}
}
