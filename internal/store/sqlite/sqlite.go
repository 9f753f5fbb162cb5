// Package sqlite implements board.Store in one SQLite file, which several processes may share. It keeps every promise of
// board.Store: an acknowledged save is in the file (WAL, synchronous=FULL) and survives kill -9 and power loss.
//
// The first Update creates the file and its folder. Updates that wait at the same time share a transaction. Every call
// uses the file that is at the path now. If a used file is gone from its path, calls fail: a new file would show an
// empty board, as if there never were lists.
package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite" // the driver

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// Store is a board.Store in an SQLite file.
type Store struct {
	tables.Reader
	tables.Health
	tables.Used
	path      string
	log       string      // SQLite's log (-wal), beside the file
	temporary string      // the folder that Close removes; empty for none
	pragmas   []string    // more pragmas of the writing connection
	reading   chan *file  // one slot, used as a lock: the database to read from; nil if not open
	had       atomic.Bool // a file was open once, so one must be at the path

	queue   chan *request  // requests for the writer goroutine
	writing sync.WaitGroup // the writer goroutine
	batches atomic.Int64   // committed transactions, for tests

	keep board.Keep
	life *tables.Life
	end  func() error // waits for running calls, then closes everything; it runs once
}

var _ board.Store = (*Store)(nil)

// Open returns a store in the file at path, which need not exist. If it cannot use the file, the file stays unchanged.
// An empty path stands for a file in a temporary folder, which Close removes; its saves do not wait for the disk.
func Open(path string, keep board.Keep) (s *Store, err error) {
	s = &Store{keep: keep, life: tables.NewLife(keep.Before), reading: make(chan *file, 1), queue: make(chan *request, maxBatch)}
	if path == "" {
		if s.temporary, err = os.MkdirTemp("", "todo-mcp-"); err != nil {
			return nil, fmt.Errorf("make a folder for lists that end with the program: %w: name another by the variable TMPDIR", err)
		}
		path, s.pragmas = filepath.Join(s.temporary, "todo.db"), []string{"synchronous(OFF)"}
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // SQLite puts -wal and -shm beside the target of a symlink
	}
	err = probe(path)
	if errors.Is(err, board.ErrEarlier) && keep.Moving != nil {
		err = upgrade(path, keep.Moving)
	}
	if err != nil {
		return nil, err
	}
	s.path, s.log = path, path+"-wal"
	s.reading <- nil
	s.Reader = tables.NewReader(queries(), s.query, &s.Health)
	s.end = sync.OnceValue(s.release)
	s.writing.Go(s.writeLoop)
	return s, nil
}

// Close implements board.Store. It waits for running calls, but no longer than twice the grace period: on a very slow
// disk the last commit may end later. The hint function of Watch must not call Close.
func (s *Store) Close() error {
	s.life.End()
	ended := make(chan error, 1)
	go func() { ended <- s.end() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(2 * gracePeriod):
		return nil
	}
}

func (s *Store) release() error {
	s.life.Work.Wait()
	close(s.queue)
	s.writing.Wait()
	f := <-s.reading
	err := f.release()
	if s.temporary != "" {
		err = errors.Join(err, os.RemoveAll(s.temporary))
	}
	if err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// use returns the database to read from, which the caller must release; nil if there is no file yet, or no schema in it.
func (s *Store) use(ctx context.Context) (f *file, err error) {
	select {
	case f = <-s.reading:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { s.reading <- f }()
	f, err = s.renew(ctx, f)
	if f != nil {
		f.users.Add(1)
	}
	return f, err
}

// renew returns f if the path still names it. Otherwise it releases f, which may be nil, and opens the file at the path.
func (s *Store) renew(ctx context.Context, f *file) (*file, error) {
	info, err := s.stat()
	isCurrent := err == nil && f != nil && info != nil && os.SameFile(f.info, info) && !(f.fixed && isChanged(s.path, f.info, info))
	if isCurrent && f.log != nil {
		// If the log that f reads was deleted, f stays current until a writer begins a new log.
		log, err := os.Stat(s.log)
		isCurrent = err != nil || log.Size() == 0 || os.SameFile(f.log, log)
	}
	if isCurrent {
		if info.ModTime().Equal(f.info.ModTime()) {
			return f, nil
		}
		// The time changes when a log is merged or when a newer program upgrades the file.
		if _, err = schemaOf(ctx, f.db); err == nil {
			f.info = info
			return f, nil
		}
		err = describe(s.path, err)
	}
	err = errors.Join(err, f.release())
	if info == nil || err != nil {
		return nil, err
	}
	f, err = openReader(ctx, s.path, info)
	if f != nil {
		s.had.Store(true)
	}
	return f, err
}

// stat is [look], but returns nil for an empty file. If a file was open before, a missing or empty file is an error.
func (s *Store) stat() (fs.FileInfo, error) {
	info, err := look(s.path)
	if info != nil && info.Size() == 0 {
		info = nil
	}
	if info == nil && err == nil && s.had.Load() {
		err = fmt.Errorf("open store: %s was moved, removed or emptied while it was in use: put it back, restore a backup (`todo-mcp backup --restore FILE`), or restart this program, which then begins a new store", s.path)
	}
	return info, err
}

// SessionKey returns the stored key that signs session ids. If there is none, it first stores fresh as the key.
func (s *Store) SessionKey(ctx context.Context, fresh []byte) (key []byte, err error) {
	key, err = tables.Value[[]byte](ctx, s.Reader, "read session key", `SELECT session_key FROM store`)
	if err == nil && key == nil {
		err = s.Update(ctx, board.Key{}, func(t board.Tx) error { // another process may have set it meanwhile
			return t.(*writer).Scan(ctx, `UPDATE store SET session_key = coalesce(session_key, ?) RETURNING session_key`, []any{fresh}, &key)
		})
	}
	return key, err
}

// queries returns the SQL of package tables for SQLite. A list whose newest revision is missing counts as damaged.
var queries = sync.OnceValue(tables.Dialect{
	Newest:   `LEFT JOIN history h ON h.seq = l.seq`,
	Sum:      `todo_sum`,
	Position: lastSeq,
	Size:     `SELECT ((SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)) * (SELECT page_size FROM pragma_page_size)`,
	Like:     `LIKE`,
	Checks:   []string{`SELECT 'SQLite: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`},
	Forget:   []string{`DELETE FROM history WHERE list IN (%s)`, `DELETE FROM seen WHERE list IN (%s)`, `DELETE FROM names WHERE list IN (%s)`, `DELETE FROM lists WHERE id IN (%s)`},
}.Queries)

// query is the [tables.Query] of the store. It finds no rows if there is no file. It waits while the file is locked.
func (s *Store) query(ctx context.Context, what, query string, args []any, read func(tables.Rows) error) error {
	if err := s.life.Enter(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer s.life.Work.Done()
	try := func() error {
		f, err := s.use(ctx)
		if f == nil || err != nil {
			return err
		}
		defer f.release() //nolint:errcheck // everything is read already
		if err = f.statements.query(ctx, query, args, read); err != nil {
			err = describe(s.path, err)
		}
		return err
	}
	err := try()
	isLocked := err != nil && busy(err)
	for err != nil && busy(err) && board.Sleep(ctx, 2*time.Millisecond) {
		err = try()
	}
	switch ended := ctx.Err(); {
	case ended != nil && isLocked:
		err = fmt.Errorf("%w: another program has %s locked; end it, or name another store with --store", ended, s.path)
	case ended != nil: // the query was interrupted because ctx ended
		err = ended
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func init() {
	sqlite.MustRegisterFunction("todo_sum", &sqlite.FunctionImpl{NArgs: -1, Deterministic: true, VolatileArgs: true, Scalar: sumOf})
}

// sumOf is the SQL function todo_sum. It returns the checksum (CRC-32 + 1) of columns. Each row stores the checksum of
// its content, because SQLite does not notice when a disk returns other bytes than were written (BAD-INPUT 130).
// VolatileArgs is set, since the driver would otherwise cut text arguments at a NUL.
func sumOf(_ *sqlite.FunctionContext, columns []driver.Value) (driver.Value, error) {
	crc := uint32(0)
	number := func(n int64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // the same 64 bits
		crc = crc32.Update(crc, crc32.IEEETable, b[:])
	}
	text := func(b []byte) { // the length separates it from the next text
		number(int64(len(b)))
		crc = crc32.Update(crc, crc32.IEEETable, b)
	}
	for _, column := range columns {
		switch v := column.(type) {
		case string:
			text([]byte(v))
		case []byte:
			text(v)
		case int64:
			number(v)
		}
	}
	return int64(crc) + 1, nil
}
