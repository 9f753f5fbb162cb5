package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// schema is the SQL that makes the tables of version 1.
//
//go:embed schema.sql
var schema string

// steps lead to the schema of this program: each makes its version from the one before, the
// first one from an empty file. Their number is the version, which a file has as PRAGMA
// user_version. What was released is never changed: a change of the schema is one more step,
// in a file of its own, schema002.sql and so on.
var steps = []string{schema}

// applicationID is in every file ("todo").
const applicationID = 0x746f646f

// errForeign means that a file is a database, but not one of this program.
var errForeign = errors.New("it is another program's database")

// schemaOf returns the version of a database, 0 of an empty one. It returns board.ErrTooNew,
// board.ErrEarlier or errForeign for a database that this program cannot use, or not yet. It
// also reads the list of tables, so that opening finds a damaged file.
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

// makeSchema sets how a database with one connection is written, unless it is not a store of
// this version, and makes the tables in one that has none, in one transaction: of several
// processes that try at the same time only one makes them. It calls first before. With say it
// does so, too, with an earlier store: it waits for those who write, and says each step that it
// runs.
func makeSchema(ctx context.Context, db *sql.DB, first func(), say func(text string)) error {
	look := func() (version int, err error) {
		if version, err = schemaOf(ctx, db); say != nil && errors.Is(err, board.ErrEarlier) {
			err = nil
		}
		return version, err
	}
	version, err := look() // before anything is written: it may be another program's
	if err != nil {
		return err
	}
	settings := "PRAGMA journal_mode = WAL; PRAGMA user_version" // a read, so that the log is there
	switch version {
	case len(steps):
	case 0: // in a file that has it, it would be a write of what is so already
		settings = "PRAGMA auto_vacuum = INCREMENTAL; " + settings
	default: // the log is merged as by [writer.settleLog]
		settings += "; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = 600000"
	}
	if _, err := db.ExecContext(ctx, settings); err != nil || version == len(steps) {
		return err
	}
	if _, err := db.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	version, err = look()
	if err == nil && version == 0 {
		first()
	}
	if err == nil && version < len(steps) {
		err = tables.Step(steps, version, say, func(version int, step string) error {
			_, err := db.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d; PRAGMA application_id = %d", step, version, applicationID))
			if failedWith(err, codeError) { // it says nothing of the store, see [describe]
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

// upgrade moves an earlier store to the schema of this program, and says each step.
func upgrade(path string, say func(text string)) error {
	f, err := openWriter(context.Background(), path, nil, say)
	if err == nil {
		err = f.release()
		// A process that has it open looks at the version when the file has another time.
		now := time.Now()
		_ = os.Chtimes(path, now, now)
	}
	return err
}
