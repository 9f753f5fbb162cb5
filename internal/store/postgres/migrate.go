package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/todo"
)

// migrations has the SQL that leads from each schema version to the next: N.sql to
// version N. What was released never changes.
//
//go:embed migrations/*.sql
var migrations embed.FS

// version is the schema version of this program.
const version = 1

// migrationLock is the key of the advisory lock under which one server migrates.
const migrationLock = 0x746f646f // "todo"

// migrate brings a database to the current schema, in one transaction. Of several
// servers that start at the same time one does it, and the others wait.
func migrate(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // everything is committed or failed already
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, migrationLock); err != nil {
			return fmt.Errorf("wait for other servers that migrate the database: %w", err)
		}
		now, err := schemaVersion(ctx, tx)
		switch {
		case err != nil:
			return err
		case now > version:
			return fmt.Errorf("schema version %d: %w", now, todo.ErrTooNew)
		}
		for n := now + 1; n <= version; n++ {
			if err := apply(ctx, tx, n); err != nil {
				return fmt.Errorf("migrate the database to version %d: %w", n, err)
			}
		}
		// After a restore into another cluster transaction ids begin anew.
		_, err = tx.Exec(ctx, `UPDATE todo_mcp.store SET seq_offset = newest + 1 - pg_current_xact_id()::text::bigint
			FROM (SELECT coalesce(max(seq), 0) AS newest FROM todo_mcp.lists) AS l
			WHERE newest >= seq_offset + pg_current_xact_id()::text::bigint`)
		return err
	})
}

// schemaVersion returns the schema version of a database; 0 when it has no schema.
func schemaVersion(ctx context.Context, tx pgx.Tx) (n int, err error) {
	var exists bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass('todo_mcp.store') IS NOT NULL`).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = tx.QueryRow(ctx, `SELECT version FROM todo_mcp.store`).Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, errors.New("the schema todo_mcp has no version: it is not one of this program")
	}
	return n, err
}

func apply(ctx context.Context, tx pgx.Tx, n int) error {
	sql, err := migrations.ReadFile(fmt.Sprintf("migrations/%d.sql", n))
	if err != nil {
		return err
	}
	if n == 1 {
		_, err = tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS todo_mcp;
			CREATE TABLE todo_mcp.store (one boolean PRIMARY KEY DEFAULT true CHECK (one), version int NOT NULL, seq_offset bigint NOT NULL,
				session_key bytea); -- signs the ids of sessions, on every server
			INSERT INTO todo_mcp.store (version, seq_offset) VALUES (0, 0)`)
	}
	if err == nil {
		_, err = tx.Exec(ctx, string(sql))
	}
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE todo_mcp.store SET version = $1`, n)
	}
	return err
}
