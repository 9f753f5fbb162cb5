package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

//go:embed schema.sql
var schema string

// steps are SQL scripts: step n makes version n of the schema from version n-1, the first step from an empty file. The
// number of steps is the version (PRAGMA user_version). A released step never changes: a later change is a new step.
var steps = []string{schema}

// applicationID marks every store file ("todo" in ASCII).
const applicationID = 0x746f646f

// errForeign means that a file is a database, but not one of this program.
var errForeign = errors.New("it is another program's database")

// schemaOf returns the version of a database (0: empty), or an error for a damaged, foreign, earlier or newer database.
func schemaOf(ctx context.Context, db *sql.DB) (version int, err error) {
	var id, tables int
	err = db.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id),
		count(*) FROM sqlite_schema`).Scan(&version, &id, &tables)
	switch isOurs := id == applicationID; {
	case err != nil:
		return 0, err
	case isOurs && version > len(steps):
		err = board.ErrTooNew
	case isOurs && version < len(steps):
		err = board.ErrEarlier
	case !isOurs && (id != 0 || version > 0 || tables > 0):
		return 0, errForeign
	}
	if err != nil {
		err = fmt.Errorf("schema version %d: %w", version, err)
	}
	return version, err
}

// makeSchema prepares the database at path for writing, by one connection. In a new one, it syncs the folders above and
// makes the tables in one transaction. If say is not nil, it upgrades an earlier store and calls say per step.
func makeSchema(ctx context.Context, db *sql.DB, path string, say func(text string)) error {
	look := func() (version int, err error) {
		if version, err = schemaOf(ctx, db); say != nil && errors.Is(err, board.ErrEarlier) {
			err = nil
		}
		return version, err
	}
	version, err := look() // before anything is written: the file may be another program's
	if err != nil {
		return err
	}
	settings := "PRAGMA journal_mode = WAL; PRAGMA user_version" // reading user_version makes SQLite create the log
	switch version {
	case len(steps):
	case 0: // only in a new file: in any other file, SQLite would write the setting again
		settings = "PRAGMA auto_vacuum = INCREMENTAL; " + settings
	default: // merges the log as [writer.settleLog] does
		settings += "; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = 600000"
	}
	if _, err := db.ExecContext(ctx, settings); err != nil || version == len(steps) {
		return err
	}
	if _, err := db.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	version, err = look()
	for dir := range atomicfile.Above(path) {
		if err == nil && version == 0 { // the process that made the schema has synced the folders
			syncFolder(dir)
		}
	}
	if err == nil && version < len(steps) {
		err = tables.Step(steps, version, say, func(version int, step string) error {
			_, err := db.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d; PRAGMA application_id = %d", step, version, applicationID))
			if failedWith(err, sqlite3.SQLITE_ERROR) { // hides the code, which [describe] would take for a newer schema
				err = errors.New(err.Error())
			}
			return err
		})
	}
	if err != nil {
		return err // the caller closes db, which ends the transaction
	}
	_, err = db.ExecContext(ctx, "COMMIT")
	return err
}

// upgrade brings an earlier store to the schema of this program, and calls say before each step.
func upgrade(path string, say func(text string)) error {
	f, err := openWriter(context.Background(), path, nil, say)
	if err == nil {
		err = f.release()
		// A process that has the file open checks the version only after the file's time has changed.
		now := time.Now()
		_ = os.Chtimes(path, now, now)
	}
	return err
}
