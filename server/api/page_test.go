package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

type weighing struct {
	board.Store
	most atomic.Int64
}

func (w *weighing) weigh(lists ...todo.Snapshot) {
	var sum int64
	for _, l := range lists {
		for _, i := range l.Items {
			sum += int64(len(i.Text))
		}
	}
	w.most.Store(max(w.most.Load(), sum))
}

func (w *weighing) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s, err := w.Store.Load(ctx, list, revision)
	w.weigh(s)
	return s, err
}

func (w *weighing) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	lists, err := w.Store.Find(ctx, q)
	w.weigh(lists...)
	return lists, err
}

func (w *weighing) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	lists, err := w.Store.History(ctx, list, after, limit)
	w.weigh(lists...)
	return lists, err
}

func longHistory(t *testing.T, revisions, length int) *weighing {
	t.Helper()
	store := &weighing{Store: storetest.NewMemory()}
	items := make([]todo.Item, 1000)
	for n := range items {
		items[n] = todo.Item{ID: fmt.Sprint(n + 1), Text: strings.Repeat("x", length), Status: todo.Pending}
	}
	for n := range revisions {
		checktest.Must(storetest.Save(t.Context(), store, todo.Snapshot{List: todo.List{ID: "a"}, Revision: int64(n + 1), Items: items, LastID: 1000}))(t)
	}
	return store
}

// pageOf returns the body of an answer, and the address in its header Link with the given relation; empty without one.
func pageOf(t *testing.T, address, relation string) (body []byte, linked string) {
	t.Helper()
	status, header, text := servertest.Ask(t, http.MethodGet, address, "")
	servertest.Is(t, address, 200)(status, header, text)
	if link, ok := strings.CutSuffix(header.Get("Link"), `>; rel="`+relation+`"`); ok {
		base := checktest.Must(url.Parse(address))(t)
		to := checktest.Must(base.Parse(strings.TrimPrefix(link, "<")))(t)
		linked = to.String()
	}
	return []byte(text), linked
}

// walk follows an answer's links of a relation, calls each with the body of every page, and counts the pages.
func walk(t *testing.T, address, relation string, each func(body []byte)) (pages int) {
	t.Helper()
	for ; address != ""; pages++ {
		var body []byte
		body, address = pageOf(t, address, relation)
		each(body)
	}
	return pages
}

// BAD-INPUT 60: GET of a history of 204 revisions of 256 kB → A page of a megabyte, or one larger revision
// (`/api/lists`: 8 MB); `Link` has the next page
func TestHistoryIsNeverHeldWhole(t *testing.T) {
	const revisions, length = 204, todo.MaxText / 4
	store := longHistory(t, revisions, length)
	web := servertest.Serve(t, servertest.New(t, store, nil), func(c *edge.Config) { c.Timeout = time.Minute })
	for path, forms := range map[string]int{
		"/api/lists/a/history":         1,
		"/api/lists/a/history?limit=0": 1,
		"/api/workspace":               3, // the list, the message and its parsed form
		"/api/workspace?list=a":        3,
		"/lists/a":                     4, // each text twice, for the list and for the shown revision
		"/lists/a?revision=100":        4,
	} {
		store.most.Store(0)
		body, _ := pageOf(t, web.URL+path, "")
		// The active text of write_todos repeats the text; the rest of an item has 200 bytes.
		if most := forms * 1000 * (2*length + 200); len(body) > most {
			t.Errorf("%s answers with %d bytes, more than %d", path, len(body), most)
		}
		if got := store.most.Load(); got > 8*1000*length {
			t.Errorf("%s makes the store return %d bytes at once, eight revisions have %d", path, got, 8*1000*length)
		}
	}
}

// BAD-INPUT 60: the pages together have each revision of the history once.
func TestHistoryPages(t *testing.T) {
	const revisions = 40
	web := servertest.Serve(t, servertest.New(t, longHistory(t, revisions, 100), nil), nil)
	var seen []int64
	pages := walk(t, web.URL+"/api/lists/a/history?limit=30", "next", func(body []byte) {
		var part []struct{ Revision int64 }
		if err := json.Unmarshal(body, &part); err != nil || len(part) == 0 || len(body) > 1<<20+1<<10 {
			t.Fatalf("%d revisions in %d bytes, %v", len(part), len(body), err)
		}
		for _, p := range part {
			seen = append(seen, p.Revision)
		}
	})
	if len(seen) != revisions || seen[0] != 1 || seen[revisions-1] != revisions || pages < 3 {
		t.Errorf("%d pages have revisions %v", pages, seen)
	}
	if body, next := pageOf(t, web.URL+"/api/lists/a/history?after=40", "next"); string(body) != "[]\n" || next != "" {
		t.Errorf("behind the newest: %s, next %q", body, next)
	}
}

// BAD-INPUT 60: a stream that catches up reads a few lists at a time.
func TestStreamsCatchUpInPieces(t *testing.T) {
	const lists = 40
	store := &weighing{Store: storetest.NewMemory()}
	s := servertest.New(t, store, nil)
	for n := range lists {
		servertest.Apply(t, s.Board.As(""), servertest.In(fmt.Sprint(n)), func(d *todo.Draft) { d.Append(strings.Repeat("x", 4000)) })
	}
	web := servertest.Serve(t, s, nil)
	store.most.Store(0)
	stream := servertest.OpenStream(t, http.MethodGet, web.URL+"/api/events?after=0", "")
	for range lists {
		stream.Until("event: todos:update")
	}
	if most := store.most.Load(); most > 5*4000 {
		t.Errorf("60: a stream makes the store return %d bytes at once", most)
	}
}

type inTurn struct {
	board.Store
	reading, most atomic.Int64
}

func (s *inTurn) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	s.most.Store(max(s.most.Load(), s.reading.Add(1)))
	defer s.reading.Add(-1)
	for range 10_000 {
		runtime.Gosched() // other requests may begin
	}
	return s.Store.Find(ctx, q)
}

// BAD-INPUT 60: of many requests that each read all lists, only two read at a time.
func TestAllListsAreReadByFew(t *testing.T) {
	for _, path := range []string{"/", "/lists/none", "/api/lists", "/api/states"} {
		store := &inTurn{Store: storetest.NewMemory()}
		web := servertest.Serve(t, servertest.New(t, store, nil), nil)
		var asked sync.WaitGroup
		for range 20 {
			asked.Go(func() { servertest.Ask(t, http.MethodGet, web.URL+path, "") })
		}
		if asked.Wait(); store.most.Load() > 2 {
			t.Errorf("60: %s is read by %d at once", path, store.most.Load())
		}
	}
}

// BAD-INPUT 60: the pages together have each list once.
func TestListPages(t *testing.T) {
	s, base := servertest.Site(t)
	const lists = 110
	for n := range lists {
		servertest.Apply(t, s.Board.As(""), servertest.In(fmt.Sprint(n)), func(d *todo.Draft) {
			for range 40 {
				d.Append(strings.Repeat("x", 2000))
			}
		})
	}
	for first, fewest := range map[string]int{"/api/lists": 2, "/api/lists?limit=50": 3} {
		seen := map[string]bool{}
		pages := walk(t, base+first, "next", func(body []byte) {
			var part []struct{ List string }
			if err := json.Unmarshal(body, &part); err != nil || len(part) == 0 || len(body) > 8<<20+200 {
				t.Fatalf("%s: %d lists in %d bytes, %v", first, len(part), len(body), err)
			}
			for _, l := range part {
				seen[l.List] = true
			}
		})
		if len(seen) != lists || pages < fewest {
			t.Errorf("%s: %d pages have %d lists", first, pages, len(seen))
		}
	}
}

// BAD-INPUT 63: More streams than `--max-streams`, or half that from one address or user; a large change with many open
// → 429 with `Retry-After`; the change is encoded once, lagging readers are closed
func TestStreamsShareOneEncoding(t *testing.T) {
	for path, last := range map[string]string{"/api/events": "event: todos:update", "/api/stream": `data: {"type":"content_block_start"`, "/panel/events": "event: list"} {
		t.Run(path, func(t *testing.T) {
			server := servertest.New(t, nil, nil)
			site := servertest.Serve(t, server, nil)
			address := strings.TrimPrefix(site.URL, "http://")
			const streams = 100
			var got sync.WaitGroup
			for range streams {
				conn := checktest.Must(net.Dial("tcp", address))(t)
				defer conn.Close()
				fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address)
				lines := bufio.NewReaderSize(conn, 4<<10)
				until := func(prefix string) {
					for {
						line, err := lines.ReadSlice('\n')
						if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
							t.Error(err)
							return
						}
						if bytes.HasPrefix(line, []byte(prefix)) {
							return
						}
					}
				}
				until("retry: ") // the stream follows changes from here on
				got.Go(func() { until(last) })
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			servertest.Apply(t, server.Board.As(""), servertest.In("c"), func(d *todo.Draft) {
				for range todo.MaxSize / 1000 {
					d.Append(strings.Repeat("x", 1000))
				}
			})
			got.Wait()
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d MB allocated for %d streams", allocated, streams)
			if allocated > 150 {
				t.Errorf("63: %d MB allocated for %d streams", allocated, streams)
			}
		})
	}
}
