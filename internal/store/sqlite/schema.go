package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"todo-mcp/internal/todo"
)

// migrations returns the SQL that leads from each schema version to the next. A
// file's version (PRAGMA user_version) is the number of migrations applied to
// it.
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
		-- A list's title is the first item that was open when the list began. For
		-- lists of version 1 it is read from the oldest revision that is still kept.
		UPDATE lists SET meta = json_set(meta, '$.first', (
			SELECT json_extract(item.value, '$.text')
			FROM history, json_each(history.body, '$.items') AS item
			WHERE history.seq = (SELECT seq FROM history WHERE list = lists.id ORDER BY revision LIMIT 1)
			ORDER BY json_extract(item.value, '$.status') IN ('completed', 'failed', 'cancelled'), item.key
			LIMIT 1))
		WHERE EXISTS (
			SELECT 1 FROM history, json_each(history.body, '$.items') AS item
			WHERE history.seq = (SELECT seq FROM history WHERE list = lists.id ORDER BY revision LIMIT 1));
	`, `
		-- Which conversations hold which lists, and what they have seen of them.
		CREATE TABLE bindings (
			principal    TEXT    NOT NULL,
			conversation TEXT    NOT NULL,
			list         TEXT    NOT NULL,  -- '' when the conversation let go of its list
			seen         INTEGER NOT NULL,  -- the newest revision shown to its agent
			process      TEXT    NOT NULL,  -- '' when it can outlive a process
			moved        INTEGER NOT NULL,  -- of a conversation's rows the largest is the list it holds
			at           INTEGER NOT NULL,  -- of the last use, Unix nanoseconds
			PRIMARY KEY (principal, conversation, list)
		) WITHOUT ROWID;
		CREATE INDEX bindings_list ON bindings (list, principal);
		CREATE INDEX bindings_at ON bindings (at);
		-- What hooks of hosts said about calls before these arrived.
		CREATE TABLE host_calls (
			principal TEXT    NOT NULL,
			id        TEXT    NOT NULL,
			session   TEXT    NOT NULL,
			agent     TEXT    NOT NULL,
			folder    TEXT    NOT NULL,
			at        INTEGER NOT NULL,     -- Unix nanoseconds
			PRIMARY KEY (principal, id)
		) WITHOUT ROWID;
		CREATE INDEX host_calls_at ON host_calls (at);
		-- A list belonged to a scope until version 2. Its conversation becomes the
		-- holder of the list, and has seen the newest revision that no person wrote.
		INSERT INTO bindings (principal, conversation, list, seen, process, moved, at)
			SELECT principal, json_extract(meta, '$.scope.conversation'), id, coalesce((
				SELECT max(revision) FROM history
				WHERE list = lists.id AND json_extract(body, '$.writer.person') IS NOT 1), 0),
				-- A key that chats shared is that of a process that has ended.
				iif(json_extract(meta, '$.scope.exclusive') IS 1, '', 'version 2'), seq, updated
			FROM lists WHERE json_extract(meta, '$.scope.conversation') <> '';
		CREATE TABLE new_lists (
			id                  TEXT    PRIMARY KEY,
			principal           TEXT    NOT NULL,
			client              TEXT    NOT NULL,
			workspace           TEXT    NOT NULL,
			parent              TEXT    NOT NULL,  -- of a list without parent_conversation
			parent_conversation TEXT    NOT NULL,  -- the parent is the list that it holds
			meta                TEXT    NOT NULL,  -- todo.List, JSON, as it began
			revision            INTEGER NOT NULL,  -- the newest
			seq                 INTEGER NOT NULL REFERENCES history (seq),
			updated             INTEGER NOT NULL   -- of the newest, Unix nanoseconds
		) WITHOUT ROWID;
		INSERT INTO new_lists (id, principal, client, workspace, parent, parent_conversation, meta, revision, seq, updated)
			SELECT id, principal, first.client, coalesce(json_extract(meta, '$.workspace'), ''), parent, '',
				json_set(meta, '$.client', first.client), lists.revision, lists.seq, updated
			FROM lists JOIN (
				SELECT list, coalesce(json_extract(body, '$.writer.client'), '') AS client, min(revision) FROM history GROUP BY list
			) AS first ON first.list = lists.id;
		DROP TABLE lists;
		ALTER TABLE new_lists RENAME TO lists;
		CREATE INDEX lists_seq ON lists (seq);
		CREATE INDEX lists_principal ON lists (principal, seq);
		CREATE INDEX lists_workspace ON lists (workspace, seq);
		CREATE INDEX lists_parent ON lists (parent) WHERE parent <> '';
		CREATE INDEX lists_parent_conversation ON lists (parent_conversation) WHERE parent_conversation <> '';
		CREATE INDEX lists_updated ON lists (updated);
	`, `
		-- Whether a person wrote a revision, to find the last one of an agent in one step.
		ALTER TABLE history ADD COLUMN person INTEGER NOT NULL DEFAULT 0;
		UPDATE history SET person = 1
			WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.writer.person') IS 1 END;
		CREATE INDEX history_person ON history (list, person, revision);
	`, `
		-- Items that several revisions of a large list share: their bodies say how
		-- they differ from them.
		CREATE TABLE bases (
			id    INTEGER PRIMARY KEY AUTOINCREMENT,
			list  TEXT    NOT NULL,
			items TEXT    NOT NULL,                              -- record, JSON
			sum   INTEGER NOT NULL
		);
		CREATE INDEX bases_list ON bases (list);
		-- sum is the checksum of what is in the row and not in the rows it refers to.
		ALTER TABLE history ADD COLUMN base INTEGER NOT NULL DEFAULT 0;         -- 0: body has all items
		ALTER TABLE history ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
		CREATE INDEX history_base ON history (list, base) WHERE base > 0;
		ALTER TABLE lists ADD COLUMN base INTEGER NOT NULL DEFAULT 0;           -- of the newest revision
		ALTER TABLE lists ADD COLUMN drift INTEGER NOT NULL DEFAULT 0;          -- bytes of the differences to base so far
		ALTER TABLE lists ADD COLUMN deleted INTEGER NOT NULL DEFAULT 0;        -- of the newest revision
		ALTER TABLE lists ADD COLUMN conversation TEXT NOT NULL DEFAULT '';     -- began the list
		ALTER TABLE lists ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;          -- by the store's clock, Unix nanoseconds
		ALTER TABLE lists ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
		ALTER TABLE bindings ADD COLUMN server TEXT NOT NULL DEFAULT '';        -- the process that was called last
		ALTER TABLE bindings ADD COLUMN until INTEGER NOT NULL DEFAULT 0;       -- Unix nanoseconds; 0: while server is alive
		ALTER TABLE bindings ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
		UPDATE lists SET
			conversation = coalesce(CASE WHEN json_valid(meta) THEN coalesce(json_extract(meta, '$.conversation'), json_extract(meta, '$.scope.conversation')) END, ''),
			begun = coalesce(CASE WHEN json_valid(meta) THEN unixepoch(json_extract(meta, '$.created')) * 1000000000 END, 0);
		CREATE INDEX lists_conversation ON lists (conversation, begun);
		CREATE INDEX lists_abandoned ON lists (principal, updated) WHERE revision = 1;
		CREATE INDEX lists_deleted ON lists (updated) WHERE deleted = 1;
		UPDATE history SET sum = ` + historySum + `;
		UPDATE lists SET sum = ` + listSum + `;
		UPDATE bindings SET sum = ` + bindingSum + `;
		-- How many lists each principal has, apart from deleted ones.
		CREATE TABLE list_counts (principal TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
		INSERT INTO list_counts SELECT principal, count(*) FROM lists GROUP BY principal;
		CREATE TRIGGER lists_begun AFTER INSERT ON lists WHEN NOT new.deleted BEGIN
			INSERT INTO list_counts VALUES (new.principal, 1) ON CONFLICT DO UPDATE SET n = n + 1;
		END;
		CREATE TRIGGER lists_gone AFTER DELETE ON lists WHEN NOT old.deleted BEGIN
			UPDATE list_counts SET n = n - 1 WHERE principal = old.principal;
		END;
		CREATE TRIGGER lists_moved AFTER UPDATE OF deleted ON lists WHEN new.deleted <> old.deleted BEGIN
			INSERT INTO list_counts VALUES (new.principal, 0) ON CONFLICT DO NOTHING;
			UPDATE list_counts SET n = n + old.deleted - new.deleted WHERE principal = new.principal;
		END;
	`}
}

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
	case version > len(migrations()):
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
	if version, err := schemaVersion(ctx, conn); err != nil || version == len(migrations()) {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	version, err := schemaVersion(ctx, conn) // check again: another process may have migrated it
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
