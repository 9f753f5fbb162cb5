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

// Spool is a file with the events of hooks that are not in the store yet, in the order in which they came. See [Front].
//
// Two files beside it are locks: one for adding and removing events, held while the file is open, and
// one for applying them.
type Spool struct {
	File string // its path, made when needed; empty for no spool
	// Left is called after an event was added and synced. If it is nil, nobody else looks into the spool
	// and events are applied at once.
	Left func()
	Log  func(error) // gets errors about refused or damaged events, without their texts
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
func (s Spool) Do(ctx context.Context, e Event, open Opener) (told string, err error) {
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
func (s Spool) add(ctx context.Context, e Event) (waiting int, err error) {
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
	line := record(waits, max(time.Now().UnixNano(), f.last+1), event)
	end := f.size + int64(len(line))
	if f.waiting >= maxSpooled || end > maxSpool {
		return 0, fmt.Errorf("%d events, %d bytes, wait for the store: no more than %d or %d bytes are kept", f.waiting, f.size, maxSpooled, maxSpool)
	}
	_, err = f.WriteAt(line, f.size)
	if err = errors.Join(err, f.Truncate(end)); err != nil { // a process that was killed may have left half a line
		return 0, errors.Join(err, f.Truncate(f.size))
	}
	return f.waiting + 1, nil
}

// lock waits for a lock. It returns nil if the file becomes smaller than size: another process has done the work.
func (s Spool) lock(ctx context.Context, name string, size int64) (unlock func(), err error) {
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

func (s Spool) bytes() int64 {
	info, err := os.Lstat(s.File)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Drain applies all events to a store, or waits while another process does. After an error, of the store
// or of ctx, the events that failed stay in the spool.
func (s Spool) Drain(ctx context.Context, st board.Store) error {
	size := s.bytes()
	unlock, err := s.lock(ctx, applyLock, max(size, emptySize+1))
	if errors.Is(err, atomicfile.ErrLocked) && s.bytes() != size {
		return nil // another process applies them
	}
	if err != nil || unlock == nil {
		return err
	}
	defer unlock()
	ctx = context.WithValue(ctx, draining{}, true)
	return errors.Join(s.applyAll(ctx, st), s.tidy(context.WithoutCancel(ctx)))
}

// applyAll applies the events in order, with the times when they came. If one fails, the others of its chat wait.
func (s Spool) applyAll(ctx context.Context, st board.Store) (failed error) {
	f, err := s.open(0)
	if err != nil {
		return err
	}
	defer f.Close()
	var at time.Time
	board := board.NewBoard(st, board.WithClock(func() time.Time { return at }))
	defer board.Close()
	lists, back := board.As(""), map[string]bool{}
	for n, r := range f.all {
		if ctx.Err() != nil {
			return fmt.Errorf("%d events wait for the store: %w", len(f.all)-n, ctx.Err())
		}
		if r.state == isDone {
			continue
		}
		at = time.Unix(0, min(r.id, time.Now().UnixNano()))
		state, err := s.apply(ctx, r, lists, back)
		failed = cmp.Or(failed, err)
		if state != r.state {
			if _, err := f.WriteAt([]byte{state}, r.at); err != nil {
				return err
			}
		}
	}
	return failed
}

// apply applies an event, unless its chat is in back, and returns the state of its line. With an error it
// is to be tried again, and apply adds its chat to back.
func (s Spool) apply(ctx context.Context, r spooled, lists board.Lists, back map[string]bool) (state byte, err error) {
	e, act, err := r.event()
	switch {
	case err != nil:
		s.Log(fmt.Errorf("an event that waited for the store is set aside in %s: %w", s.File+asideSuffix, err))
		return isDamaged, nil
	case back[e.Session]:
		return waits, nil
	}
	err = act.run(ctx, lists)
	isTooOld := ctx.Err() == nil && time.Since(time.Unix(0, r.id)) > keepFor
	switch {
	case err == nil:
		return isDone, nil
	case board.IsRefusal(err):
		s.Log(e.describe(err))
		return isDone, nil
	case errors.Is(err, errPanic) || isTooOld:
		s.Log(fmt.Errorf("set aside in %s: %w", s.File+asideSuffix, e.describe(err)))
		return isDamaged, nil
	}
	back[e.Session] = true
	return waits, err
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

// tidy removes the events that are done, and moves damaged ones to a file beside it. It keeps the greatest
// id, so that ids grow even if the clock is set back.
func (s Spool) tidy(ctx context.Context) error {
	unlock, err := s.lock(ctx, addLock, 0)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := s.open(0)
	if err != nil {
		return err
	}
	var rest, aside []byte
	var last int64
	for _, r := range f.all {
		switch r.state {
		case waits:
			rest, last = append(rest, r.line...), r.id
		case isDamaged:
			aside = append(aside, r.line...)
		}
	}
	if last < f.last {
		rest = append(rest, record(isDone, f.last, nil)...)
	}
	if last == 0 && aside == nil { // not synced: to apply an event again changes nothing
		_, err = f.WriteAt(rest, 0)
		return errors.Join(err, f.Truncate(int64(len(rest))), f.Close())
	}
	err = f.Close() // Windows cannot replace an open file; while a hook has it open, the next tidy does it
	if err == nil && aside != nil {
		err = atomicfile.Write(s.File+asideSuffix, append(s.aside(), aside...), nil)
	}
	if err == nil && int64(len(rest)) != f.size {
		err = atomicfile.Write(s.File, rest, nil)
	}
	return err
}

// aside returns the lines that were set aside earlier, as far as they can be read.
func (s Spool) aside() (lines []byte) {
	f, err := Spool{File: s.File + asideSuffix}.open(0)
	if err != nil {
		return nil
	}
	defer f.Close()
	for _, r := range f.all {
		lines = append(lines, r.line...)
	}
	return lines
}

// spooled is a line of the file: state, id, checksum of id and event, event. The ids grow from line to line.
type spooled struct {
	at    int64 // the offset in the file
	line  []byte
	state byte
	id    int64 // the time when it came, in Unix nanoseconds, or the least one above the previous id
}

// The states of an event. They are overwritten in place, so the checksum leaves them out.
const waits, isDone, isDamaged = '+', '-', '!'

const headSize, emptySize = 31, 32 // the size of a line before its event, and of a file that only keeps an id

func record(state byte, id int64, event []byte) []byte {
	return append(append(head(state, id, event), event...), '\n')
}

// head returns the first headSize bytes of a line.
func head(state byte, id int64, event []byte) []byte {
	line := fmt.Appendf(nil, "%c%020d ", state, id)
	sum := crc32.Update(crc32.ChecksumIEEE(line[1:]), crc32.IEEETable, event)
	return fmt.Appendf(line, "%08x ", sum)
}

// event returns the event of a line, and what is to be done for it.
func (r spooled) event() (e Event, a *act, err error) {
	if r.state == isDamaged {
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

// spoolFile is the open file, with its complete lines, their size in bytes and the greatest id.
type spoolFile struct {
	*os.File
	all        []spooled
	waiting    int // how many of all wait
	size, last int64
}

// open opens and reads the file; flags may be os.O_CREATE. It refuses links, pipes and all but regular files.
func (s Spool) open(flags int) (*spoolFile, error) {
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
		r := spooled{at: f.size, line: line, state: isDamaged}
		f.size += int64(len(line))
		if len(line) >= emptySize {
			id, _ := strconv.ParseInt(string(line[1:21]), 10, 64)
			if bytes.HasPrefix(line, head(line[0], id, line[headSize:len(line)-1])) {
				r.id, f.last = id, max(f.last, id)
				if r.state = line[0]; r.state != isDone && r.state != isDamaged {
					r.state = waits
					f.waiting++
				}
			}
		}
		f.all = append(f.all, r)
	}
	return nil
}

// Front applies the events of a spool before anybody uses the store, each with the time when its hook was told.
type Front struct {
	Spool
	// Store is the store to which events are applied; its Keep.Before calls Settle. If nil, no event is applied.
	Store board.Store

	mu    sync.Mutex
	stuck int64     // the size of the file when none of its events could be applied
	again time.Time // when to try again if it still has that size
}

const (
	// settleTimeout is how long a read or a write waits for the events; then it goes on without them.
	settleTimeout = time.Second
	settleAgain   = 3 * time.Second
)

// Settle applies the waiting events. Calls from within Drain, which uses the same store, return at once.
func (f *Front) Settle(ctx context.Context) {
	if f.Store == nil || ctx.Value(draining{}) != nil {
		return
	}
	if info, err := os.Lstat(f.File); err != nil || info.Size() <= emptySize {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	size := f.bytes()
	if size <= emptySize || size == f.stuck && time.Now().Before(f.again) {
		return
	}
	// Not canceled with its caller: other callers wait for the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := f.Drain(ctx, f.Store); err != nil {
		f.Log(err)
		if f.bytes() == size {
			f.stuck, f.again = size, time.Now().Add(settleAgain)
		}
	}
}

type draining struct{} // the key of a value in the contexts of [Spool.Drain]
