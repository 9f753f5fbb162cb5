package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"todo-mcp/internal/board"
)

// schema is the SQL that makes the tables of a new file.
//
//go:embed schema.sql
var schema string

// schemaVersion is the version of the schema. A file has its own as PRAGMA
// user_version. Before the first release another version is another store: versions
// below 11 were written by earlier programs.
const schemaVersion = 19

// errForeign means that a file is a database, but not one of this program.
var errForeign = errors.New("it is another program's database")

// querier is a *sql.DB or a *sql.Conn.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// hasSchema reports whether a database has this program's schema; an empty one has
// none. It returns board.ErrTooNew, board.ErrOtherSchema or errForeign for a database
// that this program cannot use. It also reads the list of tables, so that opening
// finds a damaged file.
func hasSchema(ctx context.Context, q querier) (bool, error) {
	var version, tables, storeTables int
	err := q.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), count(*),
		count(*) FILTER (WHERE name IN ('lists', 'history')) FROM sqlite_schema`).Scan(&version, &tables, &storeTables)
	switch {
	case err != nil:
		return false, err
	case version > schemaVersion:
		return false, fmt.Errorf("schema version %d: %w", version, board.ErrTooNew)
	case version == 0 && tables > 0, version > 0 && storeTables < 2:
		return false, errForeign
	case version > 0 && version < schemaVersion:
		return false, fmt.Errorf("schema version %d: %w", version, board.ErrOtherSchema)
	}
	return version > 0, nil
}

// makeSchema sets how a database is written, unless it is not a store of this version, and
// makes the tables in one that has none, in one transaction: of several processes that try
// at the same time only one makes them. It calls first before.
func makeSchema(ctx context.Context, db *sql.DB, first func()) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	exists, err := hasSchema(ctx, conn) // before anything is written: it may be another program's
	if err != nil {
		return err
	}
	settings := "PRAGMA journal_mode = WAL; PRAGMA user_version" // a read, so that the log is there
	if !exists {                                                 // in a file that has it, it would be a write of what is so already
		settings = "PRAGMA auto_vacuum = INCREMENTAL; " + settings
	}
	if _, err := conn.ExecContext(ctx, settings); err != nil || exists {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	exists, err = hasSchema(ctx, conn)
	if err == nil && !exists {
		first()
		_, err = conn.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d", schema, schemaVersion))
	}
	if err != nil {
		return err // the caller closes db, which ends the transaction
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}
