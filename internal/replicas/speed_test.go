//go:build e2e && linux

package replicas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/store/postgres"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// speedClients is how many clients write at once; each has a list.
const speedClients = 16

// save makes the next save of a client.
type save func(ctx context.Context, client int) error

// rate has all clients save one after the other for a time and returns how many
// saves a second there were, and how long each took, in order of size. pace is the
// time between two saves of one client; 0 is none.
func rate(b testing.TB, next save, lasts, pace time.Duration) (perSecond float64, took []time.Duration) {
	b.Helper()
	var mu sync.Mutex
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	began := time.Now()
	forAll(speedClients, func(client int) {
		var own []time.Duration
		due := began.Add(pace * time.Duration(client) / speedClients)
		for time.Since(began) < lasts {
			if pace > 0 {
				<-time.After(time.Until(due))
			}
			start := time.Now()
			if pace > 0 {
				start = due // a save that waits for the one before it is late
			}
			if err := next(ctx, client); err != nil {
				b.Error(err)
				return
			}
			own = append(own, time.Since(start))
			due = due.Add(pace)
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, own...)
	})
	slices.Sort(took)
	return float64(len(took)) / time.Since(began).Seconds(), took
}

// raw saves by the statement of the store alone, on a connection for each client,
// with arguments that are prepared.
func raw(b testing.TB, address string) save {
	b.Helper()
	const statement = `SELECT (todo_mcp.save($1::text, $2::bigint, $3, false, $4, $5, false, 0, 0, NULL, $6, '', 'tester', '', '', '', $7::text, $5,
		ARRAY[ROW('', $7::text, $1::text, $2::bigint, 'process', $2::bigint = 1, 'process', 0)::todo_mcp.new_binding], '', ROW(1000, 0, 100000, 1000, 0, 0, 0)::todo_mcp.keep)).status`
	ctx := context.Background()
	var conns []*pgx.Conn
	for range speedClients {
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close(ctx) })
		conns = append(conns, conn)
	}
	run, revisions := todo.NewID(), make([]int64, speedClients)
	body := `{"items":[` + strings.Repeat(`{"id":"1","text":"Write the tests of the store","active":"Writing","status":"pending","created":"2026-11-21T20:00:00Z"},`, 4) + `{}],"writer":{"client":"tester","variant":"TodoWrite","process":"process"},"last":5}`
	return func(ctx context.Context, client int) error {
		revisions[client]++
		n, id := revisions[client], fmt.Sprint(run, client)
		var meta *string
		if n == 1 {
			text := `{"id":"` + id + `"}`
			meta = &text
		}
		var status string
		err := conns[client].QueryRow(ctx, statement, id, n, fmt.Sprint(id, "-", n), body, time.Now().UnixNano(), meta, "c"+id).Scan(&status)
		if err == nil && status != "saved" {
			err = fmt.Errorf("revision %d of %s: %s", n, id, status)
		}
		return err
	}
}

// stores saves through two stores, in this process.
func stores(b testing.TB, address string) save {
	b.Helper()
	var two []*postgres.Store
	for range 2 {
		s, err := postgres.Open(context.Background(), address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { s.Close() })
		two = append(two, s)
	}
	run, revisions := todo.NewID(), make([]int64, speedClients)
	return func(ctx context.Context, client int) error {
		revisions[client]++
		n, id, now := revisions[client], fmt.Sprint(run, client), time.Now().UTC()
		next := todo.Snapshot{List: todo.List{ID: id, Client: "tester", Conversation: "c" + id, Created: now}, Revision: n, Updated: now, LastID: 5,
			Operation: todo.Operation{ID: fmt.Sprint(id, "-", n), Digest: "d"}}
		for i := range 5 {
			next.Items = append(next.Items, todo.Item{ID: fmt.Sprint(i + 1), Text: "Write the tests of the store", Active: "Writing", Status: todo.Pending})
		}
		_, err := storetest.Save(ctx, two[client%2], next, todo.Cursor{Key: todo.Key{Conversation: "c" + id}, List: id, Seen: n, Process: "process", Current: true})
		return err
	}
}

// servers saves through two replicas, by MCP calls in a session each.
func servers(b testing.TB, f *fleet) save {
	b.Helper()
	clients := make([]*chattest.Chat, speedClients)
	for i := range clients {
		clients[i] = converse(b, f.replicas[i%2], "")
	}
	calls := make([]int, speedClients)
	return func(_ context.Context, client int) error {
		calls[client]++
		plan := []string{"p", "i"}[calls[client]%2] + ":Write the tests of the store"
		a, err := clients[client].Try("TodoWrite", chattest.Arguments("TodoWrite", plan))
		return errors.Join(err, a.Refused())
	}
}

// p99 returns how many milliseconds a save takes at a rate, the 99th percentile.
func p99(b testing.TB, next save, perSecond float64) float64 {
	b.Helper()
	_, took := rate(b, next, roundLasts, time.Duration(speedClients/perSecond*float64(time.Second)))
	return float64(took[len(took)*99/100].Microseconds()) / 1000
}

// roundLasts is how long each measurement of a round takes.
const roundLasts = 2 * time.Second

// Of what the database takes of one statement from so many clients, two stores take
// at least 70 %, each beside the other in the same run, and a save takes less than
// 20 ms at half of that rate (the 99th percentile; the medians of all rounds), or, on
// a disk that is slower, not much more than the statement alone. Beside them: whole calls of a tool over HTTP at two replicas, with the clients and the
// database on the same processors.
func BenchmarkSaves(b *testing.B) {
	db := newDatabase(b)
	byStatement, byStores := raw(b, db.address), stores(b, db.address)
	byServers := servers(b, newFleet(b, 2, db.address, "--max-rate", "0"))
	measured := map[string][]float64{}
	note := func(unit string, value float64) { measured[unit] = append(measured[unit], value) }
	for b.Loop() {
		floor, _ := rate(b, byStatement, roundLasts, 0)
		note("raw/s", floor)
		note("raw-p99-ms", p99(b, byStatement, floor/2))
		for name, next := range map[string]save{"stores": byStores, "servers": byServers} {
			n, _ := rate(b, next, roundLasts, 0)
			note(name+"/s", n)
			note(name+"-of-raw", n/floor)
			note(name+"-p99-ms", p99(b, next, n/2))
		}
	}
	for unit, values := range measured {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
		b.Logf("%s: %.2f", unit, values)
		measured[unit] = values[len(values)/2:]
	}
	late := max(20, 1.5*measured["raw-p99-ms"][0])
	if ratio, p99 := measured["stores-of-raw"][0], measured["stores-p99-ms"][0]; ratio < 0.7 || p99 > late {
		b.Errorf("%.0f %% of the statement's rate, and %.1f ms at half of it; want at least 70 %% and at most %.1f ms", 100*ratio, p99, late)
	}
}
