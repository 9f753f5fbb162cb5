package hook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
)

// Opener opens the lists, until done is called.
type Opener func() (lists board.Lists, done func(), err error)

// Spool is a file with the events of hooks that are not in the store yet, in the order in which they came. They are
// applied before anybody uses the store, each with the time when its hook was told.
//
// Two files beside it are locks: one for adding and removing events, held while the file is open, and
// one for applying them.
type Spool struct {
	File string // its path, made when needed; empty for no spool
	// Left is called after an event was added and synced. If it is nil, nobody else looks into the spool
	// and events are applied at once.
	Left func()
	Log  func(error) // gets errors about refused or damaged events, without their texts
	// Store is the store to which Settle applies events; its Keep.Before calls Settle. If it is nil, Settle does nothing.
	Store board.Store

	mu    sync.Mutex
	stuck int64     // the size of the file when none of its events could be applied
	again time.Time // when to try again if it still has that size
}

const (
	maxSpooled, maxSpool = 1000, 64 << 20 // how many events there may be, and of how many bytes
	maxLeft              = 64             // a hook that finds so many applies them itself
	keepFor              = 24 * time.Hour // how long the store may fail on an event before it is set aside
	lockTimeout          = 2 * time.Second
	lockEvery            = 2 * time.Millisecond // how often a lock is tried

	// What is added to the file's name for the locks and for the file of damaged events.
	addLock, applyLock, asideSuffix = "-add", "-apply", "-damaged"
)

// Do handles an event as [Do] does. An event whose host waits for no answer is only added to the spool.
func (s *Spool) Do(ctx context.Context, e Event, open Opener) (told string, err error) {
	a, err := e.action()
	if err != nil || a == nil || !a.isLater || s.File == "" {
		return Do(ctx, e, open)
	}
	waiting, err := s.add(ctx, e)
	if err != nil { // out of order rather than not at all
		if _, failed := Do(ctx, e, open); failed != nil {
			return "", fmt.Errorf("an event of a hook is lost: %w; %w", failed, err)
		}
		return "", e.describe(fmt.Errorf("it was applied at once, since it could not be queued: %w", err))
	}
	if s.Left != nil && waiting < maxLeft {
		s.Left()
		return "", nil
	}
	lists, done, err := open()
	if err == nil {
		defer done()
		_, err = lists.Load(ctx, "", 0) // any read applies the spool
	}
	return "", e.describe(board.PassOver(err))
}

// add appends an event, syncs the file, and returns how many events wait now.
func (s *Spool) add(ctx context.Context, e Event) (waiting int, err error) {
	event, err := json.Marshal(e, json.OmitZeroStructFields(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(s.File), 0o700); err != nil {
		return 0, err
	}
	unlock, err := s.lock(ctx, addLock, 0)
	if err != nil {
		return 0, err
	}
	f, err := s.open(os.O_CREATE)
	if err == nil {
		defer f.Close()
		waiting, err = f.add(event)
	}
	unlock() // before the sync, so that one sync serves all who add at once
	if err == nil {
		err = f.Sync()
	}
	return waiting, err
}

// add appends an event, and returns how many wait now.
func (f *spoolFile) add(event []byte) (waiting int, err error) {
	if f.size == 0 { // the file, and folders above it, may be new
		for dir := range atomicfile.Above(f.Name()) {
			atomicfile.SyncFolder(dir)
		}
	}
	line := slices.Concat(head(max(time.Now().UnixNano(), f.last+1), event), event, []byte("\n"))
	end := f.size + int64(len(line))
	if waiting = len(f.all); waiting >= maxSpooled || end > maxSpool {
		return 0, fmt.Errorf("%d events, %d bytes, wait for the store: no more than %d or %d bytes are kept", waiting, f.size, maxSpooled, maxSpool)
	}
	_, err = f.WriteAt(line, f.size)
	if err = errors.Join(err, f.Truncate(end)); err != nil { // a process that was killed may have left half a line
		return 0, errors.Join(err, f.Truncate(f.size))
	}
	return waiting + 1, nil
}

// lock waits for a lock. It returns nil if the file becomes smaller than size: another process has done the work.
func (s *Spool) lock(ctx context.Context, name string, size int64) (unlock func(), err error) {
	for began := time.Now(); s.bytes() >= size; {
		unlock, err = atomicfile.TryLock(s.File + name)
		if !errors.Is(err, atomicfile.ErrLocked) {
			return unlock, err
		}
		if time.Since(began) > lockTimeout || !board.Sleep(ctx, lockEvery) {
			return nil, fmt.Errorf("%s: %w", s.File+name, err)
		}
	}
	return nil, nil
}

func (s *Spool) bytes() int64 {
	info, err := os.Lstat(s.File)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Drain applies all events to a store, in order, with the times when they came. It waits instead while another process
// does. If an event fails, by an error of the store or of ctx, it stays in the spool with the later ones of its chat.
func (s *Spool) Drain(ctx context.Context, st board.Store) error {
	size := s.bytes()
	unlock, err := s.lock(ctx, applyLock, max(size, 1))
	if errors.Is(err, atomicfile.ErrLocked) && s.bytes() != size {
		return nil // another process applies them
	}
	if err != nil || unlock == nil {
		return err
	}
	defer unlock()
	f, err := s.open(0)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return err
	}
	var at time.Time
	board := board.NewBoard(st, board.WithClock(func() time.Time { return at }))
	defer board.Close()
	var failed error
	var rest, aside []byte
	lists, back := board.As(""), map[string]bool{}
	for _, r := range f.all {
		at = time.Unix(0, min(r.id, time.Now().UnixNano()))
		waits, isDamaged, err := s.apply(context.WithValue(ctx, draining{}, true), r, lists, back)
		failed = cmp.Or(failed, err)
		switch {
		case waits:
			rest = append(rest, r.line...)
		case isDamaged:
			aside = append(aside, r.line...)
		}
	}
	return errors.Join(failed, s.tidy(context.WithoutCancel(ctx), f.size, rest, aside))
}

// apply applies an event, unless its chat is in back. If the event waits, it is to be tried again, and its chat is in
// back; if it is damaged, it is to be set aside.
func (s *Spool) apply(ctx context.Context, r spooled, lists board.Lists, back map[string]bool) (waits, isDamaged bool, err error) {
	e, act, err := r.event()
	switch {
	case err != nil:
		s.Log(fmt.Errorf("an event that waited for the store is set aside in %s: %w", s.File+asideSuffix, err))
		return false, true, nil
	case back[e.Session]:
		return true, false, nil
	case ctx.Err() != nil:
		return true, false, fmt.Errorf("events wait for the store: %w", ctx.Err())
	}
	err = act.run(ctx, lists)
	isTooOld := ctx.Err() == nil && time.Since(time.Unix(0, r.id)) > keepFor
	switch {
	case err == nil:
		return false, false, nil
	case board.IsRefusal(err):
		s.Log(e.describe(err))
		return false, false, nil
	case errors.Is(err, errPanic) || isTooOld:
		s.Log(fmt.Errorf("set aside in %s: %w", s.File+asideSuffix, e.describe(err)))
		return false, true, nil
	}
	back[e.Session] = true
	return true, false, err
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

// tidy replaces the first size bytes of the file by the lines that stay, and adds damaged ones to a file beside it.
func (s *Spool) tidy(ctx context.Context, size int64, rest, aside []byte) error {
	unlock, err := s.lock(ctx, addLock, 0)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := s.open(0)
	if err != nil {
		return err
	}
	for _, r := range f.all {
		if r.at >= size {
			rest = append(rest, r.line...)
		}
	}
	if rest == nil && aside == nil { // not synced: to apply an event again changes nothing
		return errors.Join(f.Truncate(0), f.Close())
	}
	err = f.Close() // Windows cannot replace an open file; while a hook has it open, the next tidy does it
	if err == nil && aside != nil {
		err = atomicfile.Write(s.File+asideSuffix, append(readFile(s.File+asideSuffix, 2*maxSpool, true), aside...), nil)
	}
	if err == nil && int64(len(rest)) != f.size {
		err = atomicfile.Write(s.File, rest, nil)
	}
	return err
}

// spooled is a line of the file: a plus sign, id, checksum of id and event, event. The ids grow from line to line.
type spooled struct {
	at        int64 // the offset in the file
	line      []byte
	id        int64 // the time when it came, in Unix nanoseconds, or the least one above the previous id
	isDamaged bool  // the checksum does not fit
}

const headSize = 31 // the size of a line before its event

// head returns the first headSize bytes of a line.
func head(id int64, event []byte) []byte {
	line := fmt.Appendf(nil, "+%020d ", id)
	sum := crc32.Update(crc32.ChecksumIEEE(line[1:]), crc32.IEEETable, event)
	return fmt.Appendf(line, "%08x ", sum)
}

// event returns the event of a line, and what is to be done for it.
func (r spooled) event() (e Event, a *act, err error) {
	if r.isDamaged {
		return e, nil, errors.New("its line is damaged")
	}
	if e, err = Read(bytes.NewReader(r.line[headSize:])); err != nil {
		return e, nil, err
	}
	e.id = "hook " + string(r.line[1:headSize-1])
	a, err = e.action()
	if err == nil && (a == nil || !a.isLater) {
		err = ErrNotNeeded
	}
	return e, a, e.describe(err)
}

// spoolFile is the open file, with its complete lines, their size in bytes and the last id.
type spoolFile struct {
	*os.File
	all        []spooled
	size, last int64
}

// open opens and reads the file; flags may be os.O_CREATE. It refuses links, pipes and all but regular files.
func (s *Spool) open(flags int) (*spoolFile, error) {
	info, err := os.Lstat(s.File)
	switch {
	case err != nil:
		flags |= os.O_EXCL // refuses links, too
	case !info.Mode().IsRegular() || info.Size() > 2*maxSpool:
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes: move it away", s.File, 2*maxSpool)
	default:
		flags = 0
	}
	opened, err := os.OpenFile(s.File, flags|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	f := &spoolFile{File: opened}
	now, err := f.Stat()
	if err == nil && info != nil && !os.SameFile(info, now) {
		err = fmt.Errorf("%s was replaced as it was opened", s.File)
	}
	if err == nil {
		err = f.read(now.Size())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// read reads the complete lines. A process that was killed may have left an incomplete one.
func (f *spoolFile) read(size int64) error {
	data := make([]byte, size)
	if n, err := f.ReadAt(data, 0); n < len(data) {
		return err
	}
	for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
		r := spooled{at: f.size, line: line, isDamaged: true}
		f.size += int64(len(line))
		if len(line) > headSize {
			r.id, _ = strconv.ParseInt(string(line[1:21]), 10, 64)
			r.isDamaged = !bytes.HasPrefix(line, head(r.id, line[headSize:len(line)-1]))
		}
		if !r.isDamaged {
			f.last = r.id
		}
		f.all = append(f.all, r)
	}
	return nil
}

const (
	// settleTimeout is how long a read or a write waits for the events; then it goes on without them.
	settleTimeout = time.Second
	settleAgain   = 3 * time.Second
)

// Settle applies the waiting events. Calls from within Drain, which uses the same store, return at once.
func (s *Spool) Settle(ctx context.Context) {
	if s.Store == nil || ctx.Value(draining{}) != nil || s.bytes() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size := s.bytes()
	if size == s.stuck && time.Now().Before(s.again) {
		return
	}
	// Not canceled with its caller: other callers wait for the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := s.Drain(ctx, s.Store); err != nil {
		s.Log(err)
		if s.bytes() == size {
			s.stuck, s.again = size, time.Now().Add(settleAgain)
		}
	}
}

type draining struct{} // the key of a value in the contexts of [Spool.Drain]
