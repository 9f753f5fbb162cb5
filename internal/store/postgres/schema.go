package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/board"
)

// schema makes the schema todo_mcp, with its version.
//
//go:embed schema.sql
var schema string

// version is the version of the schema of this program, as in schema.sql.
const version = 11

// schemaLock is the key of the advisory lock under which one server makes the schema.
const schemaLock = 0x746f646f // "todo"

// prepare makes the schema in a database that has none, and refuses another one. Of
// several servers that start at the same time one does it, and the others wait. pooled
// is true when a pooler is in between: the process that answers is not the one that the
// connection was made to.
func prepare(ctx context.Context, config *pgx.ConnConfig) (pooled bool, err error) {
	config = config.Copy()
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing is known of a pooler yet
	conn, err := pgx.ConnectConfig(ctx, config)
	if isAway(err) {
		err = fmt.Errorf("%w: %w", board.ErrUnavailable, err)
	}
	if err != nil {
		return false, fmt.Errorf("connect to the database: %w", err)
	}
	defer closeConn(conn)
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var process uint32
		if err := tx.QueryRow(ctx, `SELECT pg_backend_pid()`).Scan(&process); err != nil {
			return err
		}
		pooled = process != conn.PgConn().PID()
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
			return otherSchema(now, board.ErrOtherSchema)
		case now > version:
			return otherSchema(now, board.ErrTooNew)
		}
		return nil
	})
	return pooled, err
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
