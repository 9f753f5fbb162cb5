// Package postgres implements board.Store in a PostgreSQL database, which any number of servers share. It keeps every
// promise of board.Store: an acknowledged save is committed, as durable as the database's synchronous_commit makes it.
//
// All tables are in the schema todo_mcp, which [Open] creates. Updates of one principal run one after the other. Most
// updates take two round trips: the first begins the transaction and reads, the second stores and commits. A server
// notifies the other servers of its saves after the commit, at most once in [noticeInterval]. If a notice is lost, the
// other servers read the saves a few seconds later (see board.Board).
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
)

// Store is a board.Store in a PostgreSQL database.
type Store struct {
	tables.Reader
	tables.Health
	tables.Used
	pool *pgxpool.Pool
	keep board.Keep
	// turns are the locks of principals in this process; several principals may share a lock. Updates that wait for a
	// lock get it in the order in which they came, and hold no connection while they wait.
	turns [1024]chan struct{}
	room  chan struct{} // a slot for each connection that updates may use: all but one, which is kept for reads
	saved chan struct{} // one slot, full if other servers are still to be notified of a save
	alive alive

	life *tables.Life
}

var _ board.Store = (*Store)(nil)

// openTimeout bounds how long Open tries to reach the database; statementTimeout bounds a statement, including its wait
// for locks. idleTimeout is how long an update whose process or network has stopped delays other updates of its
// principal.
const openTimeout, statementTimeout, idleTimeout = 10 * time.Second, 10 * time.Second, 5 * time.Second

// Open connects to the database at a postgres:// URL or a connection string of libpq, and makes the schema in it. It
// returns an error if the address leads to a pooler that loses settings or notices.
func Open(ctx context.Context, address string, keep board.Keep) (*Store, error) {
	s := &Store{keep: keep, life: tables.NewLife(keep.Before), saved: make(chan struct{}, 1)}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", errURL)
	}
	settings := config.ConnConfig.RuntimeParams
	settings["application_name"] = cmp.Or(settings["application_name"], "todo-mcp")
	for name, limit := range map[string]time.Duration{"statement_timeout": statementTimeout, "idle_in_transaction_session_timeout": idleTimeout} {
		settings[name] = cmp.Or(settings[name], fmt.Sprint(limit.Milliseconds()))
	}
	config.MaxConns = max(config.MaxConns, 2)
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	if err := prepare(ctx, config.ConnConfig, keep.Moving); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s.pool, _ = pgxpool.NewWithConfig(context.Background(), config) // cannot fail: MaxConns is not below 1
	s.room = make(chan struct{}, config.MaxConns-1)
	for i := range s.turns {
		s.turns[i] = make(chan struct{}, 1)
	}
	s.Reader = newReader(s.pool, &s.Health, s.call)
	s.life.Work.Go(s.notify)
	s.life.Work.Go(func() { s.receive(config.ConnConfig) })
	return s, nil
}

// errURL means that an address cannot be parsed. It does not wrap the parser's error, which may quote a password.
var errURL = errors.New("the address of the database is not valid: postgres://USER:PASSWORD@HOST:PORT/DATABASE")

// CheckURL returns an error unless address is a well-formed URL or connection string of a database.
func CheckURL(address string) error {
	if _, err := pgx.ParseConfig(address); err != nil {
		return errURL
	}
	return nil
}

// Redacted returns an address without password and settings; "postgres" if the address is no URL.
func Redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "postgres"
	}
	u.RawQuery = ""
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	return u.String()
}

// Close implements board.Store. It waits for running calls.
func (s *Store) Close() error {
	s.life.End()
	s.life.Work.Wait()
	select {
	case <-s.saved: // other servers were not notified of the last saves yet
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = s.tell(ctx)
		cancel()
	default:
	}
	s.pool.Close()
	return nil
}

// call runs a function unless the store is closed or ctx has ended. Errors begin with the name of the operation.
func (s *Store) call(ctx context.Context, what string, run func() error) error {
	err := s.life.Enter(ctx)
	if err == nil {
		defer s.life.Work.Done()
		if err = ctx.Err(); err == nil {
			err = run()
		}
	}
	return named(ctx, what, err)
}

// named puts the name of the failed operation before an error, and adds the error of ctx if ctx has ended. It replaces
// connection errors, since they contain the host and the user, and language models read errors.
func named(ctx context.Context, what string, err error) error {
	said, isSaid := errors.AsType[*pgconn.PgError](err)
	_, isRefused := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case err == nil:
		return nil
	case isSaid && slices.Contains(otherTables, said.Code):
		err = fmt.Errorf("%w; or its tables are missing", board.ErrTooNew)
	case isAway(err):
		err = board.ErrUnavailable
	case isRefused:
		err = errors.New("the database refuses connections")
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()) && !errors.Is(err, board.ErrUnknownOutcome):
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// otherTables are SQLSTATE codes that mean another version's tables: parts are missing, or todo_mcp.seq raised TM001.
var otherTables = []string{"3F000", "42P01", "42703", "42883", "TM001"}

// isAway reports whether a connection failed because the database does not answer, or is starting or stopping (57P…).
// It is false if the database refused the connection for another reason.
func isAway(err error) bool {
	_, failed := errors.AsType[*pgconn.ConnectError](err)
	said, isSaid := errors.AsType[*pgconn.PgError](err)
	return failed && (!isSaid || strings.HasPrefix(said.Code, "57P"))
}

// outcome wraps the error of a write in [board.ErrUnknownOutcome] unless the database refused or never received it.
func outcome(err error) error {
	refused, isRefused := errors.AsType[*pgconn.PgError](err)
	if err == nil || pgconn.SafeToRetry(err) || isRefused && !endsConnection(refused.Code) || errors.Is(err, pgx.ErrTxCommitRollback) {
		return err
	}
	return fmt.Errorf("%w (%w)", board.ErrUnknownOutcome, err)
}

// endsConnection reports whether an error code (SQLSTATE) means that the connection ended, perhaps after a commit.
func endsConnection(code string) bool {
	return code[:2] == "08" || code[:2] == "57" && code != "57014" || code == "40003" // 57014: a cancelled statement; 40003: unknown completion
}

// SessionKey returns the key that signs session ids on all servers of the database. If it has no key, it stores fresh.
func (s *Store) SessionKey(ctx context.Context, fresh []byte) (key []byte, err error) {
	return key, s.call(ctx, "read session key", func() error {
		return s.pool.QueryRow(ctx, `UPDATE todo_mcp.store SET session_key = coalesce(session_key, $1) RETURNING session_key`, fresh).Scan(&key)
	})
}

// Check is [tables.Reader.Check] in one transaction. Only data_checksums and amcheck check PostgreSQL's own structures.
func (s *Store) Check(ctx context.Context, found func(problem string)) (revisions int, err error) {
	return revisions, s.call(ctx, "check store", func() error {
		return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
			if _, err = tx.Exec(ctx, `SET LOCAL statement_timeout = 0`); err == nil {
				run := func(_ context.Context, _ string, run func() error) error { return run() }
				revisions, err = newReader(tx, &s.Health, run).Check(ctx, found)
			}
			return err
		})
	})
}

// Unsafe warns of database settings with which a crash loses acknowledged commits; warning is empty if there are none.
func (s *Store) Unsafe(ctx context.Context) (warning string, err error) {
	return warning, s.call(ctx, "read settings", func() error {
		return s.pool.QueryRow(ctx, `SELECT coalesce('the database may lose acknowledged writes when its machine fails: ' ||
			string_agg(name || ' = ' || setting, ', ' ORDER BY name), '') FROM pg_settings
			WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'`).Scan(&warning)
	})
}

// queries returns the SQL statements of package tables for PostgreSQL.
var queries = sync.OnceValue(tables.Dialect{
	Newest:   `JOIN main.history h ON h.list = l.id AND h.revision = l.revision`,
	Settled:  `(SELECT todo_mcp.settled())`,
	Position: `SELECT todo_mcp.settled() - 1`,
	Like:     `ILIKE`,
	Forget:   []string{`SELECT todo_mcp.forget(id) FROM (%s FOR UPDATE) AS l`},
	IsFree:   ` AND todo_mcp.take(principal)`,
	Lock:     ` FOR UPDATE`,
}.Queries)

// sender sends statements to the database, outside a transaction or in one.
type sender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// newReader returns a reader that sends its queries to q, each through the given function, such as [Store.call].
func newReader(q sender, health *tables.Health, call func(ctx context.Context, what string, run func() error) error) tables.Reader {
	return tables.NewReader(queries(), func(ctx context.Context, what, sql string, args []any, read func(tables.Rows) error) error {
		return call(ctx, what, func() error {
			batch := &pgx.Batch{}
			batch.Queue("WITH now AS (TABLE todo_mcp."+marker(len(steps))+") "+numbered(sql), stored(args)...).
				Query(func(found pgx.Rows) error { return read(found) })
			return q.SendBatch(ctx, batch).Close()
		})
	}, health)
}

// exec runs a statement that changes something.
func (s *Store) exec(ctx context.Context, what, sql string, args ...any) error {
	return s.call(ctx, what, func() error {
		_, err := s.pool.Exec(ctx, sql, stored(args)...)
		return outcome(err)
	})
}

// plain replaces NUL and invalid UTF-8 in a text by U+FFFD, since PostgreSQL cannot store them. Texts of users contain
// neither; ids that hosts give may.
func plain(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd")
}

// stored replaces, in place, each text among the arguments of a statement by the result of [plain].
func stored(args []any) []any {
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = plain(text)
		}
	}
	return args
}

// numbered converts SQL of package tables for PostgreSQL: ? becomes $1, $2 and so on, and "main." becomes "todo_mcp.".
func numbered(query string) string {
	before, rest, more := strings.Cut(strings.ReplaceAll(query, "main.", "todo_mcp."), "?")
	var out strings.Builder
	for n := 1; more; n++ {
		fmt.Fprint(&out, before, "$", n)
		before, rest, more = strings.Cut(rest, "?")
	}
	return out.String() + before
}
