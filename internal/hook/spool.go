package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"todo-mcp/internal/atomicfile"
	"todo-mcp/internal/todo"
)

// Opener opens the lists, until done is called.
type Opener func() (lists todo.Lists, done func(), err error)

// Spool is a folder with what hooks were told and what is not in the store yet, each event
// in a file whose name orders it by when the process of its hook began. Whoever has the
// folder's lock applies them, also those of others.
type Spool struct {
	// Folder is its path; empty for none. It is made when it is needed.
	Folder string
	Open   Opener
	// Log is told of events that were refused or damaged, without their texts.
	Log func(error)

	own *spooled // what this process put there; may be nil
}

// spooled is an event of a spool, and what it asks for.
type spooled struct {
	Event
	act *act
}

const (
	// maxSpooled and maxSpool are how many events there may be, and of how many bytes.
	maxSpooled, maxSpool = 1000, 64 << 20
	// keepFor is how long an event is kept that the store fails on.
	keepFor = 24 * time.Hour
	// lateAfter is from which time between a process's beginning and its event on many
	// begin at once, and maxSettle how long then the events of others are waited for.
	lateAfter, maxSettle = 30 * time.Millisecond, 400 * time.Millisecond
	// lockEvery is how often the lock is tried, and maxTurn for how long a hook does so
	// that needs no answer: then what it was told is left to who has the lock.
	lockEvery, maxTurn = 5 * time.Millisecond, 250 * time.Millisecond

	eventFile = ".json"
)

// Do does what an event asks for, as [Do] does. What its host gets no answer to is done in
// order with what others were told, and kept if it cannot be done now: an error says why.
func (s Spool) Do(ctx context.Context, e Event) (told string, err error) {
	e.id = newID()
	a, err := e.action()
	switch {
	case a == nil || a.when == atOnce || s.Folder == "":
		return e.do(ctx, a, err, s.Open)
	case a.when == inOrder:
		return "", s.take(ctx, spooled{e, a})
	}
	for err = s.Drain(ctx); errors.Is(err, atomicfile.ErrLocked) && todo.Sleep(ctx, lockEvery); {
		err = s.Drain(ctx)
	}
	if err != nil {
		return "", e.describe(err)
	}
	return e.do(ctx, a, nil, s.Open)
}

// Answer does what an event asks for that a server is told, which has the store open: at
// once, but after what others were told before. An error says why it is not done.
func (s Spool) Answer(ctx context.Context, e Event) (told string, err error) {
	if s.Folder != "" {
		if err = s.Drain(ctx); err != nil && !errors.Is(err, atomicfile.ErrLocked) {
			return "", e.describe(err)
		}
	}
	return Do(ctx, e, s.Open)
}

// take puts an event into the spool, and applies what is there unless another process
// does. What is left there is durable.
func (s Spool) take(ctx context.Context, e spooled) error {
	if err := s.put(e.Event); err != nil { // out of order rather than not at all
		_, failed := e.do(ctx, e.act, nil, s.Open)
		return errors.Join(failed, e.describe(err))
	}
	s.own = &e
	err := s.Drain(ctx)
	for waited := time.Duration(0); errors.Is(err, atomicfile.ErrLocked) && waited < maxTurn && todo.Sleep(ctx, lockEvery); waited += lockEvery {
		err = s.Drain(ctx)
	}
	if errors.Is(err, atomicfile.ErrLocked) {
		err = nil
	}
	if f, gone := os.OpenFile(s.file(e.id), os.O_RDWR, 0); gone == nil {
		err = errors.Join(err, f.Sync(), f.Close())
		atomicfile.SyncFolder(s.Folder)
		atomicfile.SyncFolder(filepath.Dir(s.Folder))
	}
	return e.describe(err)
}

// newID returns the id of an event of this process. In their order are the processes that
// began in theirs; of some that began at once, in the order of their own ids.
func newID() string {
	began, now := clock()
	return fmt.Sprintf("%016d-%010d-%016d", began.UnixMicro(), os.Getpid(), now.UnixMicro())
}

func (s Spool) file(id string) string { return filepath.Join(s.Folder, id+eventFile) }

// put writes an event to its file, which nobody reads before it is whole.
func (s Spool) put(e Event) error {
	data, err := json.Marshal(e, json.OmitZeroStructFields(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = os.MkdirAll(s.Folder, 0o700)
	}
	if err != nil {
		return err
	}
	if s.isFull(len(data)) {
		return fmt.Errorf("%d events or %d bytes wait for the store: no more are kept", maxSpooled, maxSpool)
	}
	unfinished := filepath.Join(s.Folder, e.id+".new")
	if err = os.WriteFile(unfinished, data, 0o600); err == nil {
		err = os.Rename(unfinished, s.file(e.id))
	}
	if err != nil {
		_ = os.Remove(unfinished)
	}
	return err
}

func (s Spool) isFull(more int) bool {
	ids, size := s.ids(), int64(more)
	for _, id := range ids {
		if info, err := os.Lstat(s.file(id)); err == nil {
			size += info.Size()
		}
	}
	return len(ids) >= maxSpooled || size > maxSpool
}

// ids returns the ids of the events, in order.
func (s Spool) ids() (ids []string) {
	all, _ := os.ReadDir(s.Folder) // sorted; none where there is no folder
	for _, entry := range all {
		if id, ok := strings.CutSuffix(entry.Name(), eventFile); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// Drain applies all events of the spool. It returns [atomicfile.ErrLocked] while another
// process does: that one then looks for more after it has let go of the lock, so that none
// is left. Another error is of the store, and the events stay.
func (s Spool) Drain(ctx context.Context) error {
	for len(s.ids()) > 0 {
		unlock, err := atomicfile.TryLock(filepath.Join(s.Folder, "lock"))
		if err != nil {
			return err
		}
		err = s.drain(ctx)
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// drain applies one event after the other, the first that is there each time. One that the
// store fails on keeps back those of its chat alone.
func (s Spool) drain(ctx context.Context) error {
	lists, done, err := s.Open()
	if err != nil {
		return err
	}
	defer func() {
		if ctx.Err() != nil {
			go done() // a locked store takes its time to close
		} else {
			done()
		}
	}()
	s.sweep()
	var took time.Duration
	var failed error
	chats, kept := map[string]bool{}, map[string]bool{}
	next := func() []string {
		return slices.DeleteFunc(s.ids(), func(id string) bool { return kept[id] })
	}
	for ids := next(); len(ids) > 0; ids = next() {
		for _, id := range ids {
			took = max(took, late(id))
		}
		if wait := settles(ids[0], took); wait > 0 && todo.Sleep(ctx, wait) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d events wait for the store: %w", len(ids), err)
		}
		chat, err := s.apply(ctx, ids[0], lists, chats)
		if err != nil || chats[chat] {
			chats[chat], kept[ids[0]] = true, true
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}

// sweep removes what processes left that were killed while they wrote.
func (s Spool) sweep() {
	unfinished, _ := filepath.Glob(filepath.Join(s.Folder, "*.new"))
	for _, path := range unfinished {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(path)
		}
	}
}

// settles returns for how long the first event is not applied yet. Where many processes begin
// at once, one that began earlier may put its event there later: as much later as the
// slowest of them so far took.
func settles(first string, took time.Duration) time.Duration {
	if took < lateAfter {
		return 0
	}
	began, _ := times(first)
	_, now := clock()
	return min(took+took/2, maxSettle) - now.Sub(began)
}

// late returns how long the process of an event took until it put the event there.
func late(id string) time.Duration {
	began, put := times(id)
	return put.Sub(began)
}

// times returns when the process of an event began and when the event was put there, as
// its id says; zero for an id of another form.
func times(id string) (began, put time.Time) {
	var first, process, second int64
	if _, err := fmt.Sscanf(id, "%d-%d-%d", &first, &process, &second); err != nil {
		return began, put
	}
	return time.UnixMicro(first), time.UnixMicro(second)
}

// apply applies an event and removes its file, unless it is of one of the chats that are kept
// back. It returns its chat, and an error if it is to be tried again.
func (s Spool) apply(ctx context.Context, id string, lists todo.Lists, back map[string]bool) (chat string, err error) {
	e, err := s.read(id)
	switch {
	case err != nil:
		s.Log(fmt.Errorf("an event that waited for the store is set aside as %s: %w", asideFile, err))
		aside := filepath.Join(s.Folder, asideFile)
		return id, errors.Join(os.RemoveAll(aside), os.Rename(s.file(id), aside))
	case back[e.Session]:
		return e.Session, nil
	}
	err = e.run(ctx, lists)
	began, _ := times(id)
	isTooOld := ctx.Err() == nil && time.Since(began) > keepFor
	if err != nil && !todo.IsRefusal(err) && !errors.Is(err, errPanic) && !isTooOld {
		return e.Session, err
	}
	if err != nil {
		s.Log(e.describe(err))
	}
	return e.Session, os.Remove(s.file(id))
}

// asideFile is the name of the last event that could not be read.
const asideFile = "damaged"

// read reads an event that was put there.
func (s Spool) read(id string) (spooled, error) {
	if s.own != nil && s.own.id == id {
		return *s.own, nil
	}
	info, err := os.Lstat(s.file(id))
	if err == nil && (!info.Mode().IsRegular() || info.Size() > MaxEvent) {
		err = fmt.Errorf("no file of at most %d bytes", MaxEvent)
	}
	if err != nil {
		return spooled{}, err
	}
	data, err := os.ReadFile(s.file(id))
	if err != nil {
		return spooled{}, err
	}
	e, err := Read(bytes.NewReader(data))
	if err != nil {
		return spooled{}, err
	}
	e.id, e.waited = id, true
	a, err := e.action()
	if err == nil && (a == nil || a.when != inOrder) {
		err = ErrNotNeeded
	}
	return spooled{e, a}, e.describe(err)
}

var errPanic = errors.New("panic")

// run does what the event asks for.
func (e spooled) run(ctx context.Context, lists todo.Lists) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errPanic, v)
		}
	}()
	_, err = e.act.do(ctx, lists)
	return err
}

// isLate reports whether the list was written by a later event than this one, which came
// late to the spool.
func (e Event) isLate(ctx context.Context, lists todo.Lists, w todo.Write) bool {
	if w.Lines == nil || late(e.id) < lateAfter {
		return false
	}
	now, err := lists.Current(ctx, todo.Target{Conversation: w.Conversation})
	return err == nil && now.Writer.Variant == w.Writer.Variant && len(now.Operation.ID) == len(e.id) && now.Operation.ID > e.id
}

// leftAfter is after which time a server writes what hooks put there: until then they do it.
const leftAfter = 3 * time.Second

// Empty drains the spool until nothing is there or ctx ends.
func (s Spool) Empty(ctx context.Context) {
	for ok := true; ok && len(s.ids()) > 0; ok = todo.Sleep(ctx, leftAfter) {
		if err := s.Drain(ctx); err != nil && !errors.Is(err, atomicfile.ErrLocked) {
			s.Log(err)
		}
	}
}

// Watch empties the spool now and each time that hooks leave something there, until ctx ends.
// A folder that is not there yet is not watched, and is not made: a server makes nothing on
// disk before there is a list. As long as no hook is run it does nothing.
func (s Spool) Watch(ctx context.Context) {
	watcher, err := fsnotify.NewBufferedWatcher(100)
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(s.Folder)
	}
	s.Empty(ctx)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.Log(fmt.Errorf("watch what hooks are told: %w", err))
		}
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-watcher.Errors: // some changes were not told
		case <-watcher.Events:
		}
		if !todo.Sleep(ctx, leftAfter) {
			return
		}
		for len(watcher.Events) > 0 {
			<-watcher.Events
		}
		s.Empty(ctx)
	}
}
