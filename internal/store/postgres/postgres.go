// Package postgres implements board.Store in a PostgreSQL database, which any number
// of servers share. It keeps every promise of board.Store: an acknowledged save is
// committed, as durable as the database's synchronous_commit makes it.
//
// Everything is in the schema todo_mcp, which [Open] makes. An update is a transaction
// that locks what it reads: mostly one round trip that begins it and reads, and one
// that stores and commits. Other servers are told of saves by notices, which are
// sent after the commit, at most one in [noticeInterval]; who misses one reads by itself
// soon after (see board.Board).
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
	// turns are locks of keys, and several keys may share one. Who waits for it gets its
	// turn in the order of arrival, and needs no connection meanwhile.
	turns   [1024]chan struct{}
	room    chan struct{}     // a slot for each connection but one, which is left to reads
	limits  map[string]string // settings of each update, where connections cannot have them: behind a pooler
	notices notices
	alive   processes
	used    tables.Used

	mu   sync.Mutex         // held by what begins while the store is not closed
	work sync.WaitGroup     // running calls, watches and notices
	ctx  context.Context    // ends with Close
	stop context.CancelFunc // ends ctx
}

var _ board.Store = (*Store)(nil)

const (
	// openTimeout bounds how long Open tries to reach the database.
	openTimeout = 10 * time.Second
	// statementTimeout bounds a statement, also one that waits for a lock.
	statementTimeout = 10 * time.Second
)

// Open connects to the database that a postgres:// URL or a connection string of
// libpq names, and makes the schema in it. It returns an error that wraps
// [board.ErrTooNew] when it has one of a newer program.
// noticeURL is an address of the same database at which notices can be received; empty for
// the same. The address may lead to a pooler that hands out a connection for each
// transaction: then statements are not prepared, and without a noticeURL the store looks
// for what is new every [lookEvery], since notices do not arrive.
func Open(ctx context.Context, address, noticeURL string, keep board.Keep) (*Store, error) {
	s := &Store{keep: keep}
	s.ctx, s.stop = context.WithCancel(context.Background())
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", errURL)
	}
	ours := config.ConnConfig
	ours.RuntimeParams["application_name"] = cmp.Or(ours.RuntimeParams["application_name"], "todo-mcp")
	limits := takeLimits(ours.RuntimeParams) // which a pooler refuses when they come with a connection
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

// takeLimits removes from the settings of a connection those that bound a statement and a
// pause in a transaction, and returns them, or [statementTimeout] where they are not set.
func takeLimits(settings map[string]string) map[string]string {
	limits := make(map[string]string)
	for _, name := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		limits[name] = cmp.Or(settings[name], fmt.Sprint(statementTimeout.Milliseconds()))
		delete(settings, name)
	}
	return limits
}

// errURL means that an address cannot be read. It does not say why: that may quote a
// password.
var errURL = errors.New("the address of the database is not valid: postgres://USER:PASSWORD@HOST:PORT/DATABASE")

// CheckURL returns an error unless url can be the address of a database.
func CheckURL(address string) error {
	if _, err := pgx.ParseConfig(address); err != nil {
		return errURL
	}
	return nil
}

// Redacted returns an address as people may see it: without password and settings.
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

// enter registers a call that Close has to wait for; the caller must end it with
// s.work.Done. After Close it registers nothing and returns [board.ErrClosed].
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

// call runs what a method does, and names it in its error.
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

// named adds to an error what was being done, and why the context ended.
func named(ctx context.Context, what string, err error) error {
	said, isSaid := errors.AsType[*pgconn.PgError](err)
	_, isRefused := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case err == nil:
		return nil
	case isSaid && slices.Contains(otherTables, said.Code):
		err = fmt.Errorf("%w; or its tables are away", board.ErrTooNew)
	case isAway(err):
		err = board.ErrUnavailable // what pgx says names the host and the user, and agents read it
	case isRefused:
		err = errors.New("the database refuses connections")
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()) && !errors.Is(err, board.ErrUnknownOutcome):
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// otherTables are what the database says (SQLSTATE) when tables are not those that a
// statement was written for: another schema, none, or undefined tables, columns, functions.
var otherTables = []string{otherSchemaCode, "3F000", "42P01", "42703", "42883"}

// otherSchemaCode is what todo_mcp.seq says to a program of another version.
const otherSchemaCode = "TM001"

// isAway reports whether no connection could be made, other than by a refusal: what the
// database says when it starts or stops is none.
func isAway(err error) bool {
	_, failed := errors.AsType[*pgconn.ConnectError](err)
	said, isSaid := errors.AsType[*pgconn.PgError](err)
	return failed && (!isSaid || strings.HasPrefix(said.Code, "57P"))
}

// outcome returns the error of what changes something. It wraps
// [board.ErrUnknownOutcome] unless the database refused it, or never received it.
func outcome(err error) error {
	refused, isRefused := errors.AsType[*pgconn.PgError](err)
	if err == nil || pgconn.SafeToRetry(err) || isRefused && !endsConnection(refused.Code) || errors.Is(err, pgx.ErrTxCommitRollback) {
		return err
	}
	return fmt.Errorf("%w (%w)", board.ErrUnknownOutcome, err)
}

// endsConnection reports whether an error code (SQLSTATE) comes with the end of the
// connection, perhaps after a commit: connection exceptions, operator
// intervention other than a cancelled statement, and what says itself that it is
// unknown.
func endsConnection(code string) bool {
	const cancelled, unknown = "57014", "40003"
	return code[:2] == "08" || code[:2] == "57" && code != cancelled || code == unknown
}

// SessionKey implements store.SessionKeeper: the key that signs the ids of sessions
// is kept with the lists, so that a session is valid on every server. fresh is the
// key that it becomes if there is none.
func (s *Store) SessionKey(ctx context.Context, fresh []byte) (key []byte, err error) {
	err = s.call(ctx, "read session key", func() error {
		return one(ctx, s.pool, []any{&key}, `UPDATE todo_mcp.store SET session_key = coalesce(session_key, $1) RETURNING session_key`, fresh)
	})
	if err == nil && len(key) < len(fresh) {
		err = fmt.Errorf("read session key: it has %d bytes, not %d", len(key), len(fresh))
	}
	return key, err
}
