package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"todo-mcp/internal/todo"
)

// migrations has the SQL that leads from each schema version to the next: N.sql to
// version N. What was released never changes.
//
//go:embed migrations/*.sql
var migrations embed.FS

// newestVersion is the schema version of this program. A file has its own as
// PRAGMA user_version.
const newestVersion = 5

// errForeign means that a file is a database, but not one of this program.
var errForeign = errors.New("it is another program's database")

// querier is a *sql.DB or a *sql.Conn.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schemaVersion returns the schema version of a database; 0 means an empty one.
// It returns todo.ErrTooNew or errForeign for a database that this version
// cannot use. It also reads the list of tables, so that opening finds a damaged
// file.
func schemaVersion(ctx context.Context, q querier) (version int, err error) {
	var tables, storeTables int
	err = q.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), count(*),
		count(*) FILTER (WHERE name IN ('lists', 'history')) FROM sqlite_schema`).Scan(&version, &tables, &storeTables)
	switch {
	case err != nil:
		return 0, err
	case version > newestVersion:
		return version, fmt.Errorf("schema version %d: %w", version, todo.ErrTooNew)
	case version == 0 && tables > 0, version > 0 && storeTables < 2:
		return version, errForeign
	}
	return version, nil
}

// migrate brings a database to the current schema, in one transaction. If
// several processes try at the same time, only one applies the migrations.
func migrate(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if version, err := schemaVersion(ctx, conn); err != nil || version == newestVersion {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn) // check again: another process may have migrated it
	if err != nil {
		return err // the caller closes db, which ends the transaction
	}
	for n := version + 1; n <= newestVersion; n++ {
		if err := applyMigration(ctx, conn, n); err != nil {
			return fmt.Errorf("migrate to version %d: %w", n, err)
		}
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

func applyMigration(ctx context.Context, conn *sql.Conn, n int) error {
	steps, err := migrations.ReadFile(fmt.Sprintf("migrations/%d.sql", n))
	if err == nil {
		_, err = conn.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d", steps, n))
	}
	return err
}
