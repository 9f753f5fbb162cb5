package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

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
			updated   INTEGER NOT NULL                    -- of the newest, Unix nanoseconds
		) WITHOUT ROWID;
		CREATE INDEX lists_seq ON lists (seq);
		CREATE INDEX lists_scope ON lists (scope, seq);
		CREATE INDEX lists_principal ON lists (principal, seq);
		CREATE INDEX lists_parent ON lists (parent, seq) WHERE parent <> '';
		CREATE INDEX lists_updated ON lists (updated);
	`, `
		-- Calls that made no revision, for the watchers in other processes.
		CREATE TABLE announcements (
			seq      INTEGER PRIMARY KEY AUTOINCREMENT,
			list     TEXT    NOT NULL,
			revision INTEGER NOT NULL,
			call     TEXT    NOT NULL,
			process  TEXT    NOT NULL
		);
		-- A list's title is its first item that was open when it began; lists of
		-- version 1 take it from their oldest revision that is kept.
		UPDATE lists SET meta = json_set(meta, '$.first', (
			SELECT json_extract(item.value, '$.text')
			FROM history, json_each(history.body, '$.items') AS item
			WHERE history.seq = (SELECT seq FROM history WHERE list = lists.id ORDER BY revision LIMIT 1)
			ORDER BY json_extract(item.value, '$.status') IN ('completed', 'failed', 'cancelled'), item.key
			LIMIT 1))
		WHERE EXISTS (
			SELECT 1 FROM history, json_each(history.body, '$.items') AS item
			WHERE history.seq = (SELECT seq FROM history WHERE list = lists.id ORDER BY revision LIMIT 1));
	`}
}

// errForeign: a database, but not one of ours.
var errForeign = errors.New("it is another program's database")

// querier is a database or one connection to it.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// check reads the version of a database; 0 is an empty one. It reads the schema
// too: a damaged file is found at the start.
func check(ctx context.Context, q querier) (version int, err error) {
	var tables, ours int
	err = q.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), count(*),
		count(*) FILTER (WHERE name IN ('lists', 'history')) FROM sqlite_schema`).Scan(&version, &tables, &ours)
	switch {
	case err != nil:
		return 0, err
	case version > len(migrations()):
		return version, fmt.Errorf("schema version %d: %w", version, todo.ErrTooNew)
	case version == 0 && tables > 0, version > 0 && ours < 2:
		return version, errForeign
	}
	return version, nil
}

// migrate brings a file to our schema. Of several processes one does it.
func migrate(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if version, err := check(ctx, conn); err != nil || version == len(migrations()) {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	version, err := check(ctx, conn) // another may have been quicker
	if err != nil {
		return err // the caller closes db, which ends the transaction
	}
	for _, m := range migrations()[version:] {
		version++
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d", m, version)); err != nil {
			return fmt.Errorf("migrate to version %d: %w", version, err)
		}
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}
