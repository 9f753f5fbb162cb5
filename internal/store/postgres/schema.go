package postgres

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

//go:embed schema.sql
var schema string

// steps are SQL scripts: step n makes version n of the schema from version n-1, the first step from nothing. The number
// of steps is this program's version. A released step never changes: a change is a new step, schema002.sql etc.
var steps = []string{schema}

const schemaLock = 0x746f646f // the number of the advisory lock that a server holds while it makes the schema

// prepare makes a missing schema. If say is not nil, it upgrades an earlier schema and calls say before each step.
func prepare(ctx context.Context, config *pgx.ConnConfig, say func(text string)) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	said, isSaid := errors.AsType[*pgconn.PgError](err)
	switch {
	case isSaid && said.Code == "08P01": // PgBouncer's error for settings that it does not know
		return errPooler
	case isAway(err):
		err = fmt.Errorf("%w: %w", board.ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer closeConn(conn)
	if err := checkNotices(ctx, conn, config); err != nil {
		return err
	}
	now, err := schemaVersion(ctx, conn)
	if err == nil && now < len(steps) {
		if now > 0 {
			ctx = context.WithoutCancel(ctx) // the upgrade of a large store may take longer than openTimeout
		}
		for try := 1; try == 1 || raced(err) && try <= maxTries; try++ {
			err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return makeSchema(ctx, tx, say) })
		}
	}
	return err
}

// errPooler means that a pooler in front of the database loses settings or notices that this program needs.
var errPooler = errors.New("the address leads to a pooler (as PgBouncer) that loses settings or notices: give the database's own address")

// noticeTimeout bounds how long a notice may take to arrive while the store opens.
const noticeTimeout = 3 * time.Second

// checkNotices returns [errPooler] if a test notice does not arrive, as with a pooler that switches connections between
// transactions. It tests only connections through a pooler, whose process id differs from the database's.
func checkNotices(ctx context.Context, conn *pgx.Conn, config *pgx.ConnConfig) error {
	var process uint32
	err := conn.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeExec).Scan(&process)
	if err != nil || process == conn.PgConn().PID() {
		return err
	}
	sender, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer closeConn(sender)
	ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
	defer cancel()
	if _, err = conn.Exec(ctx, `LISTEN `+channel); err == nil {
		_, err = sender.Exec(ctx, `NOTIFY `+channel)
	}
	if err == nil {
		_, err = conn.WaitForNotification(ctx)
	}
	if err != nil {
		return errPooler
	}
	return nil
}

// makeSchema runs the steps that a database lacks. It returns [board.ErrEarlier] for an earlier schema if say is nil.
func makeSchema(ctx context.Context, tx pgx.Tx, say func(text string)) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock(%d)`, schemaLock)); err != nil {
		return fmt.Errorf("wait for other servers that make the schema: %w", err)
	}
	before, err := schemaVersion(ctx, tx.Conn())
	switch {
	case err != nil || before == len(steps):
		return err
	case before > 0 && say == nil:
		return board.ErrEarlier
	case before > 0:
		// Every update locks this table first. Running updates end before this lock is granted; later ones wait for it.
		if _, err := tx.Exec(ctx, `LOCK TABLE todo_mcp.store`); err != nil {
			return err
		}
	}
	err = tables.Step(steps, before, say, func(version int, step string) error {
		if version > 1 { // renames the marker first, since reads also lock the marker before all other tables
			step = fmt.Sprintf("ALTER TABLE todo_mcp.%s RENAME TO %s; UPDATE todo_mcp.store SET version = %d;\n%s", marker(version-1), marker(version), version, step)
		}
		_, err := tx.Exec(ctx, step)
		return err
	})
	if err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	return nil
}

// marker names the empty table of a version. Reads name that table, so they fail once a newer program has renamed it.
func marker(version int) string { return fmt.Sprint("version_", version) }

// schemaVersion returns the version of the schema in a database (0: none), or an error if this program cannot use it.
func schemaVersion(ctx context.Context, conn *pgx.Conn) (n int, err error) {
	var exists, isOurs bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('todo_mcp.store') IS NOT NULL`).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = conn.QueryRow(ctx, `SELECT version, to_regclass('todo_mcp.version_' || version) IS NOT NULL FROM todo_mcp.store`).Scan(&n, &isOurs)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && !isOurs:
		err = errors.New("the schema todo_mcp is not from this program: name another database")
	case err == nil && n > len(steps):
		err = fmt.Errorf("%w: the database has version %d of the schema, and this program %d", board.ErrTooNew, n, len(steps))
	}
	return n, err
}
