package hook

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
)

// Opener opens the lists, which stay open until done is called.
type Opener func() (lists board.Lists, done func(), err error)

// Spool is a folder of hooks' events. Each event waits for the store in its own file, whose name begins with the
// event's time. The events are applied in order, each as of its time, before anybody uses the store.
type Spool struct {
	Folder string // the folder's path, made when needed; if empty, each event is applied at once
	// Left is called after an event was added and synced. If it is nil, no other process looks into the spool, and Do
	// applies events at once.
	Left func()
	Log  func(error) // gets errors about refused or damaged events, without their texts
	// Store is where Settle applies events; the store's Keep.Before calls Settle. If it is nil, Settle does nothing.
	Store board.Store

	mu    sync.Mutex
	stuck []string  // the names of the waiting events when one of them failed
	again time.Time // when to try again if the same events still wait
}

const (
	maxSpooled, maxSpool = 1000, 64 << 20 // the most events in the spool, and the most bytes
	maxLeft              = 64             // when this many events wait, a hook applies them itself
	keepFor              = 24 * time.Hour // how long the store may fail on an event before the event is set aside
	lockTimeout          = 2 * time.Second
	lockEvery            = 2 * time.Millisecond // how long to wait between tries to take the lock

	// Suffixes of the spool folder's path: for the lock while events are applied, and for the folder of damaged events.
	lockSuffix, asideSuffix = "-apply", "-damaged"
)

// Do handles an event, and returns a text for the agent, empty for none. It calls open only if it needs the lists. If
// the host waits for no answer, Do adds the event to the spool, if there is one. If that fails, Do applies the event at
// once, perhaps out of order. An error, such as [ErrNotNeeded], contains no text of a list.
func (s *Spool) Do(ctx context.Context, e Event, open Opener) (told string, err error) {
	a, err := e.action()
	if err != nil || a == nil {
		return "", e.describe(err)
	}
	do, failure := a.do, error(nil)
	if a.isLater && s.Folder != "" {
		var waiting int
		if waiting, failure = s.add(e); failure == nil {
			if s.Left != nil && waiting < maxLeft {
				s.Left()
				return "", nil
			}
			do = func(ctx context.Context, lists board.Lists) (string, error) {
				_, err := lists.Load(ctx, "", 0) // any read applies the spooled events
				return "", board.PassOver(err)
			}
		}
	}
	lists, done, err := open()
	if err == nil {
		defer done()
		told, err = do(ctx, lists)
	}
	switch {
	case failure != nil && err != nil:
		err = fmt.Errorf("an event of a hook is lost: %w; %w", err, failure)
	case failure != nil:
		err = fmt.Errorf("it was applied at once, since it could not be queued: %w", failure)
	}
	return told, e.describe(err)
}

// add adds an event, syncs its file, and returns how many events wait now. The file gets its final name, which decides
// the event's place in the order, only when all its content is on the disk.
func (s *Spool) add(e Event) (waiting int, err error) {
	event, err := json.Marshal(e, json.OmitZeroStructFields(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return 0, err
	}
	_, missing := os.Lstat(s.Folder)
	all, err := s.names()
	if err == nil {
		err = os.MkdirAll(s.Folder, 0o700)
	}
	if err != nil {
		return 0, err
	}
	size := int64(len(event))
	for _, name := range all {
		if info, err := os.Lstat(filepath.Join(s.Folder, name)); err == nil {
			size += info.Size()
		}
	}
	if len(all) >= maxSpooled || size > maxSpool {
		return 0, fmt.Errorf("%d events, %d bytes with this one, wait for the store: no more than %d or %d bytes are kept", len(all), size, maxSpooled, maxSpool)
	}
	f, err := os.CreateTemp(s.Folder, "new-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) // fails harmlessly after the rename
	_, err = f.Write(event)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	id := time.Now().UnixNano()
	if len(all) > 0 {
		id = max(id, came(all[len(all)-1]).UnixNano()+1) // so ids grow even if the clock was set back
	}
	err = os.Rename(f.Name(), filepath.Join(s.Folder, fmt.Sprintf("%020d-%s", id, rand.Text())))
	atomicfile.SyncFolder(s.Folder)
	if missing != nil { // the spool's folder is new, and the folders above it may be
		for dir := range atomicfile.Above(s.Folder) {
			atomicfile.SyncFolder(dir)
		}
	}
	return len(all) + 1, err
}

var eventName = regexp.MustCompile(`^\d{20}-[A-Z0-9]+$`)

// sweep removes files, over an hour old, of hooks that were killed before add renamed their event's file.
func (s *Spool) sweep() {
	files, _ := os.ReadDir(s.Folder)
	for _, f := range files {
		if info, err := f.Info(); err == nil && !eventName.MatchString(f.Name()) && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(s.Folder, f.Name()))
		}
	}
}

// names returns the file names of the waiting events, in order. It skips all other files, such as unfinished ones.
func (s *Spool) names() (all []string, err error) {
	info, err := os.Lstat(s.Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder: move it away", s.Folder)
	}
	files, err := os.ReadDir(s.Folder)
	for _, f := range files {
		if f.Type().IsRegular() && eventName.MatchString(f.Name()) {
			all = append(all, f.Name())
		}
	}
	return all, err
}

// came returns the time in a file's name: when its event came, but after the events that waited then.
func came(name string) time.Time {
	id, _ := strconv.ParseInt(name[:20], 10, 64)
	return time.Unix(0, id)
}

// lock takes the lock under which events are applied. It returns nil if another process has applied all events.
func (s *Spool) lock(ctx context.Context) (unlock func(), err error) {
	for began := time.Now(); ; {
		if all, err := s.names(); err != nil || len(all) == 0 {
			return nil, err
		}
		unlock, err = atomicfile.TryLock(s.Folder + lockSuffix)
		if !errors.Is(err, atomicfile.ErrLocked) {
			return unlock, err
		}
		if time.Since(began) > lockTimeout || !board.Sleep(ctx, lockEvery) {
			return nil, fmt.Errorf("%s: %w", s.Folder+lockSuffix, err)
		}
	}
}

// Drain applies all events to a store, in order, as of the times when they came. It first waits for another process
// that applies events. If the store or ctx makes an event fail, that event and its chat's later events stay.
func (s *Spool) Drain(ctx context.Context, st board.Store) error {
	unlock, err := s.lock(ctx)
	if err != nil || unlock == nil {
		return err
	}
	defer unlock()
	s.sweep()
	all, failed := s.names()
	var at time.Time
	board := board.NewBoard(st, board.WithClock(func() time.Time { return at }))
	defer board.Close()
	lists, back := board.As(""), map[string]bool{}
	for n, name := range all {
		if ctx.Err() != nil {
			return cmp.Or(failed, fmt.Errorf("%d events wait for the store: %w", len(all)-n, ctx.Err()))
		}
		if at = came(name); at.After(time.Now()) {
			at = time.Now()
		}
		failed = cmp.Or(failed, s.apply(context.WithValue(ctx, draining{}, true), name, lists, back))
	}
	return failed
}

// apply applies an event and removes its file. If the store fails, the file stays for another try, and apply adds the
// chat to back. Events of chats in back are skipped, which keeps their order.
func (s *Spool) apply(ctx context.Context, name string, lists board.Lists, back map[string]bool) error {
	f, err := os.Open(filepath.Join(s.Folder, name))
	if err != nil {
		return err
	}
	e, act, err := queued(f, "hook "+name)
	_ = f.Close() // Windows cannot move an open file
	switch {
	case err != nil:
		return s.setAside(name, err)
	case back[e.Session]:
		return nil
	}
	err = act.run(ctx, lists)
	isTooOld := ctx.Err() == nil && time.Since(came(name)) > keepFor
	switch {
	case board.IsRefusal(err):
		s.Log(e.describe(err))
	case errors.Is(err, errPanic) || err != nil && isTooOld:
		return s.setAside(name, e.describe(err))
	case err != nil:
		back[e.Session] = true
		return err
	}
	return os.Remove(f.Name()) // not synced: applying an event again changes nothing
}

// queued reads an event of the spool, sets its operation id, and returns the event and its act.
func queued(in io.Reader, id string) (e Event, a *act, err error) {
	if e, err = Read(in); err != nil {
		return e, nil, err
	}
	e.id = id
	a, err = e.action()
	if err == nil && (a == nil || !a.isLater) {
		err = ErrNotNeeded
	}
	return e, a, e.describe(err)
}

// setAside moves an event that can never be applied to a folder beside the spool, and logs why. If that folder is full,
// setAside empties it first.
func (s *Spool) setAside(name string, why error) error {
	aside := s.Folder + asideSuffix
	if files, _ := os.ReadDir(aside); len(files) >= maxSpooled {
		_ = os.RemoveAll(aside)
	}
	s.Log(fmt.Errorf("an event that waited for the store is set aside in %s: %w", aside, why))
	err := os.MkdirAll(aside, 0o700)
	if err == nil {
		err = os.Rename(filepath.Join(s.Folder, name), filepath.Join(aside, name))
	}
	return err
}

var errPanic = errors.New("panic")

// run calls a.do, and turns a panic into an error.
func (a *act) run(ctx context.Context, lists board.Lists) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errPanic, v)
		}
	}()
	_, err = a.do(ctx, lists)
	return err
}

const (
	// settleTimeout is how long a read or a write waits for the events; then it goes on without them.
	settleTimeout = time.Second
	settleAgain   = 3 * time.Second
)

// Settle applies the waiting events. Calls from within Drain, which uses the same store, return at once.
func (s *Spool) Settle(ctx context.Context) {
	if s.Store == nil || ctx.Value(draining{}) != nil {
		return
	}
	all, _ := s.names()
	if len(all) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(all, s.stuck) && time.Now().Before(s.again) {
		return
	}
	// The end of the caller's context does not stop Drain: other callers wait for the same events.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := s.Drain(ctx, s.Store); err != nil {
		s.Log(err)
		s.stuck, s.again = all, time.Now().Add(settleAgain)
	}
}

type draining struct{} // the context key by which Settle recognizes a call from [Spool.Drain]
