package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/todo"
)

// schema makes the schema todo_mcp, with its version.
//
//go:embed schema.sql
var schema string

// version is the version of the schema of this program, as in schema.sql.
const version = 8

// schemaLock is the key of the advisory lock under which one server makes the schema.
const schemaLock = 0x746f646f // "todo"

// prepare makes the schema in a database that has none, and refuses another one. Of
// several servers that start at the same time one does it, and the others wait.
func prepare(ctx context.Context, config *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if isAway(err) {
		err = fmt.Errorf("%w: %w", todo.ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer closeConn(conn)
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock); err != nil {
			return fmt.Errorf("wait for other servers that make the schema: %w", err)
		}
		now, err := schemaVersion(ctx, tx)
		switch {
		case err != nil:
			return err
		case now == 0:
			if _, err := tx.Exec(ctx, schema); err != nil {
				return fmt.Errorf("make the schema: %w", err)
			}
		case now < version:
			return otherSchema(now, todo.ErrOtherSchema)
		case now > version:
			return otherSchema(now, todo.ErrTooNew)
		}
		// After a restore into another cluster transaction ids begin anew.
		_, err = tx.Exec(ctx, `UPDATE todo_mcp.store SET seq_offset = newest + 1 - pg_current_xact_id()::text::bigint
			FROM (SELECT coalesce(max(seq), 0) >> 16 AS newest FROM todo_mcp.lists) AS l
			WHERE newest >= seq_offset + pg_current_xact_id()::text::bigint`)
		return err
	})
}

// otherSchema is the error for a database of another program.
func otherSchema(n int, why error) error {
	return fmt.Errorf("%w: the database has version %d of it, and this program %d: "+
		"export its lists with the program that wrote it (`todo-mcp export`), and import them into another database with this one (`todo-mcp import`)", why, n, version)
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
