//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// pooled returns a function that makes a database and returns its address by way of a
// pooler, with what is added to the address.
func pooled(t testing.TB, add string, settings ...string) func(testing.TB) string {
	t.Helper()
	pooler := must(postgrestest.NewPooler(server(t), settings...))(t)
	t.Cleanup(pooler.Close)
	return func(t testing.TB) string {
		t.Helper()
		address := must(pooler.Through(newDatabase(t)))(t)
		return address + add
	}
}

// Behind a pooler of transactions a store keeps every promise, as its address is, without a
// setting of the pooler or of the store: each transaction may be on another connection,
// which has no prepared statement and no setting of this program. Here is what a connection
// of its own would give: every statement, in a transaction and beside one, and the locks of
// two stores on the same keys and lists.
func TestPooler(t *testing.T) {
	address := pooled(t, "")
	storetest.RunBeside(t, func(t testing.TB) board.Store { return open(t, address(t)) })
	url := ""
	storetest.RunDurable(t, func(string) (board.Store, error) {
		if url == "" {
			url = address(t)
		}
		return Open(t.Context(), url, "", board.Keep{})
	})
}

// It is so in every mode that pgx has, also where the pooler is told to take what it does
// not know.
func TestPoolerModes(t *testing.T) {
	for _, mode := range []string{"", "cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol", "told"} {
		t.Run(mode, func(t *testing.T) {
			add, settings := "&default_query_exec_mode="+mode, []string{}
			switch mode {
			case "told":
				add, settings = "", []string{"ignore_startup_parameters=statement_timeout,idle_in_transaction_session_timeout"}
			case "":
				add = ""
			}
			a := open(t, pooled(t, add, settings...)(t), board.Keep{Revisions: 2, Lists: 20, Begun: 20})
			defer a.Close()
			var writing sync.WaitGroup
			for w := range 4 {
				writing.Go(func() {
					list := fmt.Sprint("list", w)
					for n := int64(1); n <= 5; n++ {
						if _, err := storetest.Save(t.Context(), a, snapshot(list, n), board.Seen{Key: board.Key{Principal: "p", Chat: list}, List: list, Revision: n, Current: true}); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			writing.Wait()
			if purged, err := storetest.Purge(t.Context(), a, todo.Writer{}, time.Now(), "list1", "b"); len(purged) != 1 || err != nil {
				t.Error(purged, err)
			}
		})
	}
}

// What others save is seen at once behind a pooler, too, where notices do not arrive.
func TestPoolerWatch(t *testing.T) {
	address := pooled(t, "")(t)
	a, b := open(t, address), open(t, address)
	t.Cleanup(func() { a.Close(); b.Close() })
	ctx, stop := context.WithCancel(t.Context())
	hints := make(chan struct{}, 100)
	var watching sync.WaitGroup
	watching.Go(func() { _ = b.Watch(ctx, func() { hints <- struct{}{} }) })
	defer watching.Wait()
	defer stop()
	position := int64(0)
	var took []time.Duration
	for n := range 10 {
		saved := time.Now()
		must(storetest.Save(ctx, a, snapshot(fmt.Sprint(n), 1)))(t)
		for {
			found := must(b.Find(ctx, board.Query{AfterSeq: position, OldestFirst: true}))(t)
			if len(found) > 0 {
				position = found[len(found)-1].Seq
				break
			}
			<-hints
		}
		took = append(took, time.Since(saved))
	}
	t.Log(took)
	for _, d := range took {
		if d > time.Second {
			t.Error("seen after", d)
		}
	}
}

// An address may set the limits of a statement; behind a pooler each update has them.
func TestPoolerTimeouts(t *testing.T) {
	s := open(t, pooled(t, "&statement_timeout=1234")(t))
	defer s.Close()
	err := s.Update(t.Context(), board.Key{Chat: "c"}, func(found board.Tx) error {
		var limit, idle string
		if err := found.(*tx).Scan(t.Context(), `SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')`, nil, &limit, &idle); err != nil {
			return err
		}
		if limit != "1234ms" || idle != "10s" {
			t.Error(limit, idle)
		}
		return nil
	})
	if err != nil || !strings.Contains(s.pool.Config().ConnString(), "1234") {
		t.Error(err)
	}
}
