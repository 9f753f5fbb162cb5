//go:build e2e && linux

package replicas

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// copyLists makes n copies of the list of an id.
func copyLists(b testing.TB, address, id string, n int) {
	b.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, statement := range []string{
		`INSERT INTO todo_mcp.lists SELECT 'copy' || n, principal, client, workspace, parent, parent_conversation, 'copy' || n, begun,
			replace(meta, $1, 'copy' || n), revision, seq, updated, deleted, bytes, spare FROM todo_mcp.lists, generate_series(1, $2::int) AS n WHERE id = $1`,
		`INSERT INTO todo_mcp.history SELECT 'copy' || n, revision, seq, updated, '', replace(body, $1, 'copy' || n) FROM todo_mcp.history, generate_series(1, $2::int) AS n WHERE list = $1`,
	} {
		if _, err := conn.Exec(ctx, statement, id, n); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := conn.Exec(ctx, `ANALYZE`); err != nil {
		b.Fatal(err)
	}
}

// memory returns a value of a process's status, see [programtest.Process.Memory].
func (r *replica) memory(b testing.TB, what string) int {
	b.Helper()
	bytes, err := r.Memory(what)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// openStream opens the stream of a session, on which nobody reads after its header.
func openStream(b testing.TB, r *replica, session string) {
	conn, err := net.Dial("tcp", r.url.Host)
	if err != nil {
		b.Error(err)
		return
	}
	b.Cleanup(func() { conn.Close() })
	_, _ = io.WriteString(conn, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: "+session+"\r\n\r\n")
	if status, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(status, " 200 ") {
		b.Errorf("stream: %s %v", status, err)
	}
}

// One replica with 50,000 lists and 20,000 open sessions, which each have written a
// list, and with as many streams as may be open by default, stays under 512 MiB, with a page of
// the panel, a front end, and calls meanwhile.
func BenchmarkMemory(b *testing.B) {
	const lists, sessions, streams, most = 50_000, 20_000, 4000, 512 << 20
	db := newDatabase(b)
	f := newFleet(b, 1, db.address, "--max-streams", "8192", "--max-rate", "0")
	r := f.replicas[0]
	for b.Loop() {
		a := newAgents(b, f, 1)[0]
		done, ok := a.write(b.Context())
		if !ok {
			b.Fatal("no list")
		}
		copyLists(b, db.address, done.List, lists-sessions)
		go r.read("/api/events") // until the replica ends
		go r.read("/panel/events")
		began := time.Now()
		forAll(20, func(int) {
			for n := range sessions / 20 {
				c := converse(b, r, "")
				c.Writes("p:one p:two")
				if n < streams/20 {
					openStream(b, r, c.Session)
				}
			}
		})
		b.Logf("%d sessions with a list each and %d streams opened in %s", sessions, streams, ms(time.Since(began)))
		for _, path := range []string{"/", "/api/lists", "/"} {
			r.get(b, path)
		}
		for range 100 {
			if _, ok := a.write(b.Context()); !ok {
				b.Fatal("no write")
			}
		}
	}
	b.ReportMetric(float64(r.memory(b, "VmRSS"))/(1<<20), "MiB")
	peak := r.memory(b, "VmHWM")
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	if peak > most {
		b.Errorf("%d MiB, want at most %d", peak>>20, most>>20)
	}
}

// get reads a page whole.
func (r *replica) get(b testing.TB, path string) {
	b.Helper()
	if err := r.read(path); err != nil {
		b.Fatal(err)
	}
}

// read reads an answer up to its end.
func (r *replica) read(path string) error {
	res, err := http.Get(r.url.String() + path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err = io.Copy(io.Discard, res.Body); err == nil && res.StatusCode != http.StatusOK {
		err = errors.New(res.Status)
	}
	return err
}

// A replica that starts on a migrated database is ready in less than 300 ms (the
// median of all starts).
func BenchmarkStart(b *testing.B) {
	f := newFleet(b, 1, newDatabase(b).address)
	var took []time.Duration
	for b.Loop() {
		f.replicas[0].Kill()
		began := time.Now()
		f.start(0) // and it is ready
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	median := took[len(took)/2]
	b.ReportMetric(float64(median.Milliseconds()), "ms-to-ready")
	if median > 300*time.Millisecond {
		b.Errorf("ready after %s", median)
	}
}
