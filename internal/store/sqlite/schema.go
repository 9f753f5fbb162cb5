package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"todo-mcp/internal/todo"
)

// migrations lead from each schema version to the next; the version of a file
// is how many were applied (PRAGMA user_version).
func migrations() []string {
	return []string{`
		CREATE TABLE history (
			seq       INTEGER PRIMARY KEY AUTOINCREMENT, -- the order of commits
			list      TEXT    NOT NULL,
			revision  INTEGER NOT NULL,
			operation TEXT    NOT NULL,                   -- id of the write
			body      TEXT    NOT NULL,                   -- record, JSON
			UNIQUE (list, revision)
		);
		CREATE UNIQUE INDEX history_operation ON history (operation) WHERE operation <> '';
		CREATE TABLE lists (
			id        TEXT    PRIMARY KEY,
			scope     TEXT    NOT NULL,
			exclusive TEXT    UNIQUE,                     -- the scope again, when it holds one list
			principal TEXT    NOT NULL,
			parent    TEXT    NOT NULL,
			meta      TEXT    NOT NULL,                   -- todo.List, JSON, as it began
			revision  INTEGER NOT NULL,                   -- the newest
			seq       INTEGER NOT NULL REFERENCES history (seq),
			updated   INTEGER NOT NULL                    -- of the newest, Unix milliseconds
		) WITHOUT ROWID;
		CREATE INDEX lists_seq ON lists (seq);
		CREATE INDEX lists_scope ON lists (scope, seq);
		CREATE INDEX lists_principal ON lists (principal, seq);
		CREATE INDEX lists_parent ON lists (parent, seq) WHERE parent <> '';
	`}
}

// schemaVersion reads the version of a file; 0 is one without our schema.
func schemaVersion(ctx context.Context, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (version int, err error) {
	if err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return 0, err
	}
	if version > len(migrations()) {
		return version, fmt.Errorf("schema version %d: %w", version, todo.ErrTooNew)
	}
	// Touch the schema too: a damaged file is found at the start.
	var tables int
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	return version, nil
}

// migrate brings a file to our schema. Of several processes one does it.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	version, err := schemaVersion(ctx, tx)
	if err != nil {
		return err
	}
	if version == len(migrations()) {
		return nil
	}
	for _, m := range migrations()[version:] {
		if _, err := tx.ExecContext(ctx, m); err != nil {
			return fmt.Errorf("migrate from version %d: %w", version, err)
		}
		version++
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
		return fmt.Errorf("set schema version: %w", err)
	}
	return tx.Commit()
}

// checkHeader looks at a file's first bytes without opening it as a database,
// for opening one can change it.
func checkHeader(path string) error {
	if info, err := stat(path); info == nil || err != nil {
		return err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer f.Close()
	header := make([]byte, 100)
	if _, err := io.ReadFull(f, header); err != nil || string(header[:16]) != "SQLite format 3\x00" {
		return fmt.Errorf("open store %s: %w: it is no SQLite database; move the file away or name another with --store", path, todo.ErrCorrupt)
	}
	if version := binary.BigEndian.Uint32(header[60:]); version > uint32(len(migrations())) {
		return describe(path, fmt.Errorf("schema version %d: %w", version, todo.ErrTooNew))
	}
	return nil
}
