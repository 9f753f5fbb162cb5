//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
)

var laterSteps = []string{
	`ALTER TABLE todo_mcp.lists ADD COLUMN colour text NOT NULL DEFAULT 'red'`,
	`ALTER TABLE todo_mcp.chats ADD COLUMN colour text NOT NULL DEFAULT 'red'`,
}

// moveInChild is what a child process runs: it opens a database as a program of the later
// version, and prints what it says.
func moveInChild(url string) (status int) {
	steps = append(steps, laterSteps...)
	s, err := Open(context.Background(), url, "", board.Keep{Moving: func(text string) { fmt.Println(text) }})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_ = s.Close()
	return 0
}

func moved(t testing.TB, url string) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TODO_TEST_MOVE="+url)
	out, err := cmd.Output()
	if err != nil {
		t.Error(err)
	}
	return string(out)
}

// newer runs do as a program of a later version, with some steps more.
func newer(t *testing.T, do func(t *testing.T), more ...string) {
	t.Helper()
	t.Run("newer", func(t *testing.T) {
		before := steps
		t.Cleanup(func() { steps = before })
		steps = append(steps[:len(steps):len(steps)], more...)
		do(t)
	})
}

func mustSave(t *testing.T, s *Store, id string, revision int64) {
	t.Helper()
	must(storetest.Save(t.Context(), s, snapshot(id, revision)))(t)
}

func mustBeAt(t *testing.T, s *Store, id string, revision int64) {
	t.Helper()
	if got, err := s.Load(t.Context(), id, 0); err != nil || got.Revision != revision {
		t.Errorf("%s is at revision %d, not %d, %v", id, got.Revision, revision, err)
	}
}

// Several newer servers that start at once move an earlier database once, and say each step.
// BAD-INPUT 52: a server of before that goes on meanwhile stores what it is told, or is told
// with its next read and write that the store was moved; it stores nothing afterwards.
func TestMovedBeside(t *testing.T) {
	url := newDatabase(t)
	old := open(t, url)
	mustSave(t, old, "idle", 1)
	for range 10 { // then the database keeps a plan
		mustBeAt(t, old, "idle", 1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers sync.WaitGroup
	begun := make(chan bool, 4)
	saved := make([]int64, 4)
	for i := range saved {
		writers.Go(func() {
			for {
				_, err := storetest.Save(ctx, old, snapshot(fmt.Sprint("busy", i), saved[i]+1))
				if err != nil {
					if !errors.Is(err, board.ErrTooNew) {
						t.Errorf("52: %v", err)
					}
					return
				}
				if saved[i]++; saved[i] == 5 {
					begun <- true
				}
			}
		})
	}
	for range saved {
		<-begun
	}
	said := make(chan string)
	for range 3 {
		go func() { said <- moved(t, url) }()
	}
	want := fmt.Sprintf("moving the store to schema %d of %d…\nmoving the store to schema %[2]d of %[2]d…\n", len(steps)+1, len(steps)+2)
	if all := <-said + <-said + <-said; all != want {
		t.Errorf("they said %q", all)
		cancel()
	}
	writers.Wait()
	_, reading := old.Load(t.Context(), "idle", 0)
	_, writing := storetest.Save(t.Context(), old, snapshot("idle", 2))
	for what, err := range map[string]error{"reading": reading, "writing": writing} {
		if !errors.Is(err, board.ErrTooNew) || !strings.Contains(err.Error(), "restart your client") {
			t.Errorf("52: %s: %v", what, err)
		}
	}
	newer(t, func(t *testing.T) {
		s := open(t, url)
		mustBeAt(t, s, "idle", 1)
		mustSave(t, s, "idle", 2)
		for i, revision := range saved {
			mustBeAt(t, s, fmt.Sprint("busy", i), revision)
		}
		fresh := must(server(t).NewDatabase())(t)
		s2 := open(t, fresh, board.Keep{Moving: func(string) {}})
		mustSave(t, s2, "a", 1)
	}, laterSteps...)
}

// A server whose connection is lost while it moves the database leaves it as it was, and so
// does a step that fails, whose error says the file; the next one moves it. Who has no time
// for it says what does.
func TestMoveFails(t *testing.T) {
	url := newDatabase(t)
	old := open(t, url)
	mustSave(t, old, "a", 1)
	kill := func(string) {
		must(old.pool.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1`, schemaLock))(t)
	}
	file := fmt.Sprintf("schema%03d.sql", len(steps)+1)
	for _, c := range []struct {
		say  func(string)
		step string
		says string
	}{
		{kill, laterSteps[0], "57P01"}, {func(string) {}, `INSERT INTO todo_mcp.nothing VALUES (1)`, file}, {nil, laterSteps[0], board.ErrEarlier.Error()},
	} {
		newer(t, func(t *testing.T) {
			if _, err := Open(t.Context(), url, "", board.Keep{Moving: c.say}); err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, board.ErrTooNew) {
				t.Errorf("%v, without %s", err, c.says)
			}
		}, c.step)
		mustBeAt(t, old, "a", 1)
	}
	mustSave(t, old, "a", 2)
	newer(t, func(t *testing.T) {
		s := open(t, url, board.Keep{Moving: func(string) {}})
		mustBeAt(t, s, "a", 2)
	}, laterSteps...)
}

// No statement of a move has a limit of time, of the role or of the address.
func TestMoveTakesItsTime(t *testing.T) {
	url := newDatabase(t)
	config := must(pgx.ParseConfig(url))(t)
	config.RuntimeParams["statement_timeout"], config.RuntimeParams["lock_timeout"] = "500", "500"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "500"
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	newer(t, func(t *testing.T) {
		must(prepare(ctx, config, func(string) { cancel() }))(t)
	}, `SELECT pg_sleep(1)`)
}

// The move waits for an update that has read the version of before, whatever it will store.
func TestMoveWaitsForUpdates(t *testing.T) {
	url := newDatabase(t)
	old := open(t, url)
	done := make(chan string, 1)
	err := old.Update(t.Context(), board.Key{Chat: "x"}, func(tx board.Tx) error {
		go func() { done <- moved(t, url) }()
		waitsFor := ""
		for waitsFor == "" && len(done) == 0 {
			if err := one(t.Context(), old.pool, []any{&waitsFor}, `SELECT coalesce(min(relation::regclass::text), '') FROM pg_locks WHERE NOT granted`); err != nil {
				return err
			}
		}
		if waitsFor != "todo_mcp.store" {
			t.Errorf("it waits for %q", waitsFor)
		}
		_, err := tx.Save(t.Context(), snapshot("a", 1))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	<-done
	newer(t, func(t *testing.T) {
		s := open(t, url)
		mustBeAt(t, s, "a", 1)
	}, laterSteps...)
}
