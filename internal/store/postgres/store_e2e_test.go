//go:build e2e

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
)

var private struct {
	once   sync.Once
	server *postgrestest.Server
	err    error
}

func TestMain(m *testing.M) {
	if url := os.Getenv("TODO_TEST_MOVE"); url != "" {
		os.Exit(moveInChild(url))
	}
	code := m.Run()
	if private.server != nil {
		if said, err := os.ReadFile(private.server.Log()); err != nil || bytes.Contains(said, []byte("deadlock detected")) {
			fmt.Printf("updates waited for each other: %s, %v", said, err)
			code = 1
		}
		private.server.Close()
	}
	os.Exit(code)
}

func server(t testing.TB) *postgrestest.Server {
	t.Helper()
	private.once.Do(func() {
		// New tables have no statistics, so the planner would choose nested loops; these are switched off.
		if private.server, private.err = postgrestest.New("fsync=off", "autovacuum=off", "enable_nestloop=off", "jit=off", "deadlock_timeout=50ms"); private.err == nil {
			private.err = private.server.SetTemplate(func(address string) error {
				s, err := Open(context.Background(), address, board.Keep{})
				if err != nil {
					return err
				}
				return s.Close()
			})
		}
	})
	if private.err != nil {
		t.Fatal(private.err)
	}
	return private.server
}

func newDatabase(t testing.TB) string {
	t.Helper()
	address := checktest.Must(server(t).NewDatabase())(t)
	return address
}

var used = make(chan string, 100)

// emptied returns the address of a database without lists, perhaps a database of an earlier test: emptying a database
// takes a tenth of the time of making one. A test that calls emptied must not alter tables.
func emptied(t testing.TB) (address string) {
	t.Helper()
	select {
	case address = <-used:
		conn, err := pgx.Connect(t.Context(), address)
		if err == nil {
			_, err = conn.Exec(t.Context(), `SET lock_timeout = 5000; DELETE FROM todo_mcp.lists; DELETE FROM todo_mcp.history; DELETE FROM todo_mcp.list_counts; DELETE FROM todo_mcp.seen;
				DELETE FROM todo_mcp.names; DELETE FROM todo_mcp.chats; DELETE FROM todo_mcp.keys; DELETE FROM todo_mcp.processes`)
			err = errors.Join(err, conn.Close(t.Context()))
		}
		checktest.Check(t, err)
	default:
		address = newDatabase(t)
	}
	t.Cleanup(func() { used <- address })
	return address
}

func open(t testing.TB, url string, keep ...board.Keep) *Store {
	t.Helper()
	s := checktest.Must(Open(context.Background(), url, append(keep, board.Keep{})[0]))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

// fresh returns a store in an empty database, and [both] returns two stores in one empty database.
func fresh(t testing.TB, keep ...board.Keep) *Store {
	t.Helper()
	return open(t, emptied(t), keep...)
}

func both(t testing.TB) (a, b *Store) {
	t.Helper()
	url := emptied(t)
	return open(t, url), open(t, url)
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t testing.TB) board.Store { return open(t, emptied(t)) })
}

func TestKeep(t *testing.T) {
	storetest.RunKeep(t, func(t testing.TB, keep board.Keep) board.Store { return open(t, emptied(t), keep) })
}

func TestDurable(t *testing.T) {
	url := ""
	storetest.RunDurable(t, func(string) (board.Store, error) {
		if url == "" {
			url = newDatabase(t)
		}
		return Open(t.Context(), url, board.Keep{})
	})
}

func TestAging(t *testing.T) {
	storetest.RunAging(t, func(t testing.TB) (board.Store, func(time.Duration)) {
		s := open(t, emptied(t))
		return s, func(by time.Duration) {
			checktest.Must(s.pool.Exec(t.Context(), `UPDATE todo_mcp.seen SET at = at - $1`, by.Nanoseconds()))(t)
		}
	})
}

// Open refuses an invalid address without showing the password in it, and soon gives up on a database that it cannot
// reach.
func TestOpenRefusals(t *testing.T) {
	for _, url := range []string{"postgres://user:secret@host:port/x", "postgres://user:secret@127.0.0.1:1/x?connect_timeout=1"} {
		begun := time.Now()
		_, err := Open(t.Context(), url, board.Keep{})
		if err == nil || strings.Contains(err.Error(), "secret") || time.Since(begun) > openTimeout+time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	}
}

func TestCheck(t *testing.T) {
	s := fresh(t)
	storetest.RunCheck(t, s, "todo_mcp.", func(sql string) {
		checktest.Must(s.pool.Exec(t.Context(), sql))(t)
	})
}

// Open refuses a pooler that gives each transaction another connection (pool_mode=transaction), and one with
// pool_mode=session that rejects our settings.
func TestPooler(t *testing.T) {
	told := "ignore_startup_parameters=statement_timeout,idle_in_transaction_session_timeout"
	for _, c := range []struct {
		settings []string
		good     bool
	}{
		{[]string{"pool_mode=transaction"}, false},
		{[]string{"pool_mode=transaction", told}, false},
		{[]string{"pool_mode=session"}, false},
		{[]string{"pool_mode=session", told}, true},
	} {
		pooler := checktest.Must(postgrestest.NewPooler(server(t), c.settings...))(t)
		t.Cleanup(pooler.Close)
		s, err := Open(t.Context(), checktest.Must(pooler.Through(newDatabase(t)))(t), board.Keep{})
		if c.good {
			checktest.Check(t, err)
			t.Cleanup(func() { s.Close() })
			checktest.Must(storetest.Save(t.Context(), s, snapshot("a", 1)))(t)
		} else if !errors.Is(err, errPooler) {
			t.Errorf("%q: %v", c.settings, err)
		}
	}
}

// An address may set statement_timeout; idle_in_transaction_session_timeout keeps its default.
func TestLimits(t *testing.T) {
	s := open(t, emptied(t)+"&statement_timeout=1234")
	var limit, idle string
	err := s.pool.QueryRow(t.Context(), `SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')`).Scan(&limit, &idle)
	if err != nil || limit != "1234ms" || idle != "5s" {
		t.Error(err, limit, idle)
	}
}
