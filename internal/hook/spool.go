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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"todo-mcp/internal/atomicfile"
	"todo-mcp/internal/board"
)

// Opener opens the lists, until done is called.
type Opener func() (lists board.Lists, done func(), err error)

// Spool is a folder with what hooks were told and what is not in the store yet, each event
// in a file whose name orders it by when the process of its hook began. It is the front of
// the store, see [Spool.Before].
type Spool struct {
	// Folder is its path; empty for none. It is made when it is needed.
	Folder string
	// Left is called when an event was left there, which is on the disk. Nil is for a store
	// whose other users do not look there: an event is applied at once.
	Left func()
	// Log is told of events that were refused or damaged, without their texts.
	Log func(error)
}

// spooled is an event of a spool, and what it asks for.
type spooled struct {
	Event
	act *act
}

const (
	// maxSpooled and maxSpool are how many events there may be, and of how many bytes. From
	// maxLeft on a hook applies them.
	maxSpooled, maxSpool, maxLeft = 1000, 64 << 20, 64
	// keepFor is how long an event is kept that the store fails on.
	keepFor = 24 * time.Hour
	// lateAfter is from which time between a process's beginning and its event on many
	// begin at once, and maxSettle how long then the events of others are waited for.
	lateAfter, maxSettle = 30 * time.Millisecond, 400 * time.Millisecond
	// lockEvery is how often the lock is tried.
	lockEvery = 5 * time.Millisecond

	eventFile = ".json"
)

// Do does what an event asks for, as [Do] does, with lists of a store behind the spool. What
// its host gets no answer to is left there for whoever uses the store next.
func (s Spool) Do(ctx context.Context, e Event, open Opener) (told string, err error) {
	e.id = newID()
	a, err := e.action()
	if err != nil || a == nil || a.when != inOrder || s.Folder == "" {
		return e.do(ctx, a, err, open)
	}
	if err := s.put(e); err != nil { // out of order rather than not at all
		_, failed := e.do(ctx, a, nil, open)
		return "", errors.Join(failed, e.describe(err))
	}
	if s.Left != nil && len(s.ids()) < maxLeft {
		s.Left()
		return "", nil
	}
	lists, done, err := open()
	if err == nil {
		defer done()
		_, err = lists.Load(ctx, "", 0) // to read anything applies what is there
	}
	return "", e.describe(board.PassOver(err))
}

// newID returns the id of an event of this process. In their order are the processes that
// began in theirs; of some that began at once, in the order of their own ids.
func newID() string {
	began, now := clock()
	return fmt.Sprintf("%016d-%010d-%016d", began.UnixMicro(), os.Getpid(), now.UnixMicro())
}

func (s Spool) file(id string) string { return filepath.Join(s.Folder, id+eventFile) }

// put writes an event to its file, which nobody reads before it is whole, and which is on the
// disk then.
func (s Spool) put(e Event) error {
	data, err := json.Marshal(e, json.OmitZeroStructFields(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if s.isFull(len(data)) {
		return fmt.Errorf("%d events or %d bytes wait for the store: no more are kept", maxSpooled, maxSpool)
	}
	unfinished := filepath.Join(s.Folder, e.id+".new")
	err = writeFile(unfinished, data)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(s.Folder, 0o700); err == nil {
			err = writeFile(unfinished, data)
		}
		for dir := range atomicfile.Above(s.Folder) {
			atomicfile.SyncFolder(dir)
		}
	}
	if err == nil {
		err = os.Rename(unfinished, s.file(e.id))
	}
	if err != nil {
		_ = os.Remove(unfinished)
		return err
	}
	atomicfile.SyncFolder(s.Folder)
	return nil
}

// writeFile writes a new file, which is on the disk then.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
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

// Drain applies all events to the lists of a store. It waits while another process does. An
// error is of the store, or of ctx, and the events stay.
func (s Spool) Drain(ctx context.Context, st board.Store) error {
	for len(s.ids()) > 0 {
		unlock, err := atomicfile.TryLock(filepath.Join(s.Folder, "lock"))
		if errors.Is(err, atomicfile.ErrLocked) && board.Sleep(ctx, lockEvery) {
			continue
		}
		if err != nil {
			return err
		}
		err = s.applyAll(ctx, st)
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// applyAll applies one event after the other, the first that is there each time, at the time
// when it was put there. One that the store fails on keeps back those of its chat alone.
func (s Spool) applyAll(ctx context.Context, st board.Store) error {
	var at time.Time
	b := board.NewBoard(st, board.WithClock(func() time.Time { return at }))
	defer b.Close()
	lists := b.As("")
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
		if wait := settles(ids[0], took); wait > 0 && board.Sleep(ctx, wait) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d events wait for the store: %w", len(ids), err)
		}
		at = s.when(ids[0])
		chat, err := s.apply(ctx, ids[0], lists, chats)
		if err != nil || chats[chat] {
			chats[chat], kept[ids[0]] = true, true
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}

// when returns when an event was put there; now where that is not known, or in the future.
func (s Spool) when(id string) time.Time {
	now := time.Now()
	if info, err := os.Lstat(s.file(id)); err == nil && info.ModTime().Before(now) {
		return info.ModTime()
	}
	return now
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
func (s Spool) apply(ctx context.Context, id string, lists board.Lists, back map[string]bool) (chat string, err error) {
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
	if err != nil && !board.IsRefusal(err) && !errors.Is(err, errPanic) && !isTooOld {
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
	e.id = id
	a, err := e.action()
	if err == nil && (a == nil || a.when != inOrder) {
		err = ErrNotNeeded
	}
	return spooled{e, a}, e.describe(err)
}

var errPanic = errors.New("panic")

// run does what the event asks for.
func (e spooled) run(ctx context.Context, lists board.Lists) (err error) {
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
func (e Event) isLate(ctx context.Context, lists board.Lists, w board.Write) bool {
	if w.Lines == nil || late(e.id) < lateAfter {
		return false
	}
	now, err := lists.Current(ctx, board.Target{Conversation: w.Conversation})
	return err == nil && now.Writer.Variant == w.Writer.Variant && len(now.Operation.ID) == len(e.id) && now.Operation.ID > e.id
}
