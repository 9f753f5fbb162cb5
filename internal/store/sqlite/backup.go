package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// BackUp writes a copy of the store, as it is at one moment, to a new file that only its owner may read. It checks the
// whole copy as [Store.Check] does, and returns the number of its revisions. Without an error the copy is on the disk.
func (s *Store) BackUp(ctx context.Context, to string, found func(problem string)) (revisions int, err error) {
	part := to + ".part"
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up store: %w", err)
		}
		_ = os.Remove(part)
	}()
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return 0, errors.Join(err, fmt.Errorf("%s is there already: name another file, or move it away", to))
	}
	if err := os.WriteFile(part, nil, 0o600); err != nil { // VACUUM INTO accepts an empty file
		return 0, err
	}
	db := openDatabase(s.path, 1, "mode=rw", "busy_timeout(10000)", "synchronous(FULL)", "fullfsync(1)")
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, part) // this statement also syncs the copy
	if err = errors.Join(describe(s.path, err), db.Close()); err != nil {
		return 0, err
	}
	if revisions, err = check(ctx, part, found); err == nil {
		err = os.Rename(part, to)
	}
	atomicfile.SyncFolder(filepath.Dir(to))
	return revisions, err
}

// Restore replaces the content of the store by that of a copy, in one transaction. Processes that have the store open
// go on, and watchers see every list as just saved. A copy with a problem is refused, and changes nothing.
func (s *Store) Restore(ctx context.Context, from string, found func(problem string)) (revisions int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore store: %w; nothing was changed", err)
		}
	}()
	if from, err = filepath.Abs(from); err != nil {
		return 0, err
	}
	copied, err := os.Stat(from)
	if err != nil {
		return 0, err
	}
	if own, err := os.Stat(s.path); err == nil && os.SameFile(own, copied) {
		return 0, fmt.Errorf("%s is the store itself", from)
	}
	isWhole := true
	revisions, err = check(ctx, from, func(problem string) {
		isWhole = false
		found(problem)
	})
	if err != nil {
		return 0, fmt.Errorf("%s is not a copy of a store that can be read: %w", from, err)
	}
	if isWhole && revisions == 0 {
		return 0, fmt.Errorf("%s is not a copy of a store: it is empty", from)
	}
	if !isWhole {
		return 0, fmt.Errorf("%s is damaged; `todo-mcp export --keep-going --store sqlite:%[1]s` writes all that can be read of it", from)
	}
	f, err := openWriter(ctx, s.path, []string{"busy_timeout(10000)"}, nil)
	if err != nil {
		return 0, err
	}
	err = describe(s.path, takeAll(ctx, f.db, from))
	if err = errors.Join(err, f.release()); err == nil {
		Say(s.path)
	}
	return revisions, err
}

// takeAll replaces all rows of a database by the rows of a file. db must be limited to one connection.
func takeAll(ctx context.Context, db *sql.DB, from string) error {
	if _, err := db.ExecContext(ctx, `ATTACH ? AS copy`, from); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // what was not committed
	// The copied rows get Seqs above all Seqs that this store has given, so that they count as newer.
	if _, err := tx.ExecContext(ctx, `DELETE FROM lists; DELETE FROM history; DELETE FROM seen; DELETE FROM names; DELETE FROM chats; DELETE FROM keys; DELETE FROM list_counts`); err != nil {
		return err
	}
	var last int64
	if err := tx.QueryRowContext(ctx, lastSeq).Scan(&last); err != nil {
		return err
	}
	for _, table := range []string{"history", "lists", "seen", "names", "chats", "keys"} { // triggers fill list_counts
		var columns, values string
		if err := tx.QueryRowContext(ctx, `SELECT group_concat(name), group_concat(CASE name WHEN 'seq' THEN 'seq + ?1' ELSE name END)
			FROM main.pragma_table_info(?)`, table).Scan(&columns, &values); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`INSERT OR ROLLBACK INTO main.%s (%s) SELECT %s FROM copy.%[1]s`, table, columns, values), last); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE main.store SET session_key = coalesce(session_key, (SELECT session_key FROM copy.store))`); err != nil {
		return err
	}
	return tx.Commit()
}

func check(ctx context.Context, path string, found func(string)) (revisions int, err error) {
	s, err := Open(path, board.Keep{})
	if err != nil {
		return 0, err
	}
	revisions, err = s.Check(ctx, found)
	return revisions, errors.Join(err, s.Close())
}

// Check is [tables.Reader.Check], and lets SQLite check its own structures.
func (s *Store) Check(ctx context.Context, found func(problem string)) (revisions int, err error) {
	query := func(ctx context.Context, what, query string, args []any, read func(tables.Rows) error) error {
		err := s.query(ctx, what, query, args, read)
		if failedWith(err, sqlite3.SQLITE_CORRUPT) { // other queries may still work
			found(err.Error())
			return nil
		}
		return err
	}
	return tables.NewReader(queries(), query, &s.Health).Check(ctx, found)
}

// Unsafe returns no warning: the store itself makes all settings on which the safety of saves depends.
func (s *Store) Unsafe(context.Context) (warning string, err error) { return "", nil }

// Compact gives the space of removed lists back to the file system, in steps of milliseconds. Others write in between.
func (s *Store) Compact(ctx context.Context) (err error) {
	db := openDatabase(s.path, 1, "mode=rw", "busy_timeout(10000)", "synchronous(FULL)")
	statements := &statements{db: db}
	for before, now := math.MaxInt, 0; err == nil; before = now {
		err = db.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&now)
		if err != nil || now == 0 || now >= before { // other writers use as much space as a step frees
			break
		}
		began := time.Now()
		err = statements.query(ctx, `PRAGMA incremental_vacuum(256)`, nil, func(rows tables.Rows) error {
			for rows.Next() { // each row moves a page; no other connection can write before the last row
				continue
			}
			return rows.Err()
		})
		if err == nil {
			board.Sleep(ctx, time.Since(began)) // so that other connections can write
		}
	}
	if err == nil {
		_, err = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	}
	if err = errors.Join(describe(s.path, err), db.Close()); err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	return nil
}
