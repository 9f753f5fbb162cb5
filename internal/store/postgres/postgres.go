// Package postgres implements board.Store in a PostgreSQL database, which any number of servers share. It keeps every
// promise of board.Store: an acknowledged save is committed, as durable as the database's synchronous_commit makes it.
//
// All tables are in the schema todo_mcp, which [Open] creates. An update is a transaction that locks what it reads. Mostly
// it takes two round trips: one begins it and reads, one stores and commits. A server notifies others of its saves after
// the commit, at most once in [noticeInterval]; if a notice is lost, they read soon after (see board.Board).
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	pool *pgxpool.Pool
	keep board.Keep
	// turns are locks of keys; several keys may share one. Who waits gets it in the order of arrival, and needs no
	// connection.
	turns   [1024]chan struct{}
	room    chan struct{}     // a slot for each connection that updates may use: all but one, which is left to reads
	limits  map[string]string // settings of each update, where a pooler prevents settings of connections
	notices notices
	alive   processes
	used    tables.Used

	mu   sync.Mutex         // held while work is added to, and while Close ends ctx
	work sync.WaitGroup     // running calls, watches and notices
	ctx  context.Context    // ends with Close
	stop context.CancelFunc // ends ctx
}

var _ board.Store = (*Store)(nil)

// openTimeout bounds how long Open tries to reach the database, and statementTimeout a statement with its wait for locks.
const openTimeout, statementTimeout = 10 * time.Second, 10 * time.Second

// Open connects to the database at a postgres:// URL or a connection string of libpq, and makes the schema in it. It
// returns an error that wraps [board.ErrTooNew] if the schema is of a newer program.
// noticeURL is another address of the database at which notices arrive; empty for the same address. Open detects a
// pooler that assigns a connection to each transaction. Then statements are not prepared, and without a noticeURL the
// store polls every [lookEvery], since notices do not arrive through a pooler.
func Open(ctx context.Context, address, noticeURL string, keep board.Keep) (*Store, error) {
	s := &Store{keep: keep}
	s.ctx, s.stop = context.WithCancel(context.Background())
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", errURL)
	}
	ours := config.ConnConfig
	ours.RuntimeParams["application_name"] = cmp.Or(ours.RuntimeParams["application_name"], "todo-mcp")
	limits := takeLimits(ours.RuntimeParams) // a pooler refuses them as settings of a connection
	config.MaxConns = max(config.MaxConns, 2)
	notice, err := pgx.ParseConfig(cmp.Or(noticeURL, address))
	if err != nil {
		return nil, fmt.Errorf("open store: notices: %w", errURL)
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	takeLimits(notice.RuntimeParams)
	pooled, err := prepare(ctx, ours, keep.Moving)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if pooled {
		s.limits = limits
		if ours.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
			ours.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
	} else {
		maps.Copy(ours.RuntimeParams, limits)
	}
	if s.pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s.room = make(chan struct{}, config.MaxConns-1)
	for i := range s.turns {
		s.turns[i] = make(chan struct{}, 1)
	}
	s.Reader = newReader(s.pool, &s.Health, s.call)
	s.notices.pool, s.notices.receiver, s.notices.wake = s.pool, notice, make(chan struct{}, 1)
	s.work.Go(func() { s.notices.run(s.ctx) })
	if pooled && noticeURL == "" {
		s.work.Go(func() { s.notices.look(s.ctx) })
	} else {
		s.work.Go(func() { s.notices.receive(s.ctx) })
	}
	return s, nil
}

// takeLimits moves the timeouts of statements and idle transactions out of settings; the default is [statementTimeout].
func takeLimits(settings map[string]string) map[string]string {
	limits := make(map[string]string)
	for _, name := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		limits[name] = cmp.Or(settings[name], fmt.Sprint(statementTimeout.Milliseconds()))
		delete(settings, name)
	}
	return limits
}

// errURL means that an address cannot be parsed. It does not wrap the parser's error, which may quote a password.
var errURL = errors.New("the address of the database is not valid: postgres://USER:PASSWORD@HOST:PORT/DATABASE")

// CheckURL returns an error unless a text is a well-formed address of a database.
func CheckURL(address string) error {
	if _, err := pgx.ParseConfig(address); err != nil {
		return errURL
	}
	return nil
}

// Redacted returns an address without password and settings.
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
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.work.Wait()
	s.pool.Close()
	return nil
}

// enter registers a call for which Close waits until s.work.Done, or returns [board.ErrClosed] after Close.
func (s *Store) enter(ctx context.Context) error {
	if s.keep.Before != nil {
		s.keep.Before(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return board.ErrClosed
	}
	s.work.Add(1)
	return nil
}

// call runs a method's function, and adds what it did to its error.
func (s *Store) call(ctx context.Context, what string, run func() error) error {
	err := s.enter(ctx)
	if err == nil {
		defer s.work.Done()
		if err = ctx.Err(); err == nil {
			err = run()
		}
	}
	return named(ctx, what, err)
}

// named adds to an error what was being done, and that of a context that ended. It replaces pgx's errors of connections:
// models read them, and they contain the host and the user.
func named(ctx context.Context, what string, err error) error {
	said, isSaid := errors.AsType[*pgconn.PgError](err)
	_, isRefused := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case err == nil:
		return nil
	case isSaid && slices.Contains(otherTables, said.Code):
		err = fmt.Errorf("%w; or its tables are away", board.ErrTooNew)
	case isAway(err):
		err = board.ErrUnavailable
	case isRefused:
		err = errors.New("the database refuses connections")
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()) && !errors.Is(err, board.ErrUnknownOutcome):
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// otherTables are the error codes (SQLSTATE) for a schema, table, column or function that is not there.
var otherTables = []string{otherSchemaCode, "3F000", "42P01", "42703", "42883"}

// otherSchemaCode is the error code that todo_mcp.seq raises for a program of another version.
const otherSchemaCode = "TM001"

// isAway reports whether no connection could be made, unless the database refused it. 57P… (it starts or stops) is no
// refusal.
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
	const cancelled, unknown = "57014", "40003"
	return code[:2] == "08" || code[:2] == "57" && code != cancelled || code == unknown
}

// SessionKey returns the key that signs session ids on all servers of the database: fresh, if there was none.
func (s *Store) SessionKey(ctx context.Context, fresh []byte) (key []byte, err error) {
	err = s.call(ctx, "read session key", func() error {
		return one(ctx, s.pool, []any{&key}, `UPDATE todo_mcp.store SET session_key = coalesce(session_key, $1) RETURNING session_key`, fresh)
	})
	if err == nil && len(key) < len(fresh) {
		err = fmt.Errorf("read session key: it has %d bytes, not %d", len(key), len(fresh))
	}
	return key, err
}

// Check is [tables.Reader.Check] of one moment. For the database's own structures there are data_checksums and amcheck.
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

// Unsafe names the settings of the database with which a crash loses acknowledged commits; empty for none.
func (s *Store) Unsafe(ctx context.Context) (setting string, err error) {
	return setting, s.call(ctx, "read settings", func() error {
		return one(ctx, s.pool, []any{&setting}, `SELECT coalesce(string_agg(name || ' = ' || setting, ', ' ORDER BY name), '') FROM pg_settings
			WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'`)
	})
}
