package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// writeItems appends items to a named list, and returns its id.
func writeItems(t *testing.T, lists board.Lists, name string, texts ...string) string {
	t.Helper()
	w := board.Write{Target: board.Target{Conversation: board.Conversation{Key: "name:" + name, Name: name}}, Writer: todo.Writer{Client: "tester", Variant: "create_todos"}}
	return servertest.Apply(t, lists, w, func(d *todo.Draft) { d.Append(texts...) }).List.ID
}

// follow runs c.Follow until the test ends. next returns the next callback as text; at the end "ended: " and an error.
func follow(t *testing.T, c *Client) (next func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan string)
	send := func(text string) {
		select {
		case calls <- text:
		case <-ctx.Done():
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := c.Follow(ctx, func(lists []todo.Snapshot, all bool) {
			text := "changed"
			if all {
				text = "all"
			}
			for _, l := range lists {
				text += fmt.Sprintf(" %s:%d", l.List.Name, l.Revision)
			}
			send(text)
		}, func(error) { send("lost") })
		send(fmt.Sprint("ended: ", err))
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() string { return <-calls }
}

func expect(t *testing.T, next func() string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := next(); got != w {
			t.Fatalf("got %q, want %q", got, w)
		}
	}
}

func newClient(t *testing.T, url, token string) *Client {
	t.Helper()
	c := checktest.Must(New(url, token))(t)
	c.pause = func(context.Context) {}
	return c
}

// Follow reports changes of a real server and, after a reconnection, the changes made in between.
func TestFollow(t *testing.T) {
	s := servertest.New(t, nil, nil)
	lists, ts := s.Board.As(""), servertest.Serve(t, s, nil)
	c := newClient(t, ts.URL+"/", "")
	onPause := func() {}
	c.pause = func(context.Context) { onPause() }
	writeItems(t, lists, "release", "A")
	id := writeItems(t, lists, "website", "B")
	next := follow(t, c)
	expect(t, next, "all website:1 release:1")
	writeItems(t, lists, "release", "C")
	expect(t, next, "changed release:2")
	onPause = func() { writeItems(t, lists, "website", "D") }
	ts.CloseClientConnections()
	expect(t, next, "lost", "all website:2 release:2")
	writeItems(t, lists, "website", "E")
	expect(t, next, "changed website:3")

	history, err := c.History(t.Context(), id)
	if err != nil || len(history) != 3 || len(history[2].Items) != 3 || history[2].Writer.Client != "tester" {
		t.Errorf("history %+v, %v", history, err)
	}
	checktest.Fails(t, "History accepted an id that no list has", checktest.Err(c.History(t.Context(), "../../livez")))
}

// serve starts a server with these handlers for lists and for events, and returns its address.
func serve(t *testing.T, lists, events http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/todo/api/lists", lists)
	mux.HandleFunc("/todo/api/events", events)
	ts := httptest.NewServer(mux)
	t.Cleanup(ts.Close)
	return ts.URL + "/todo"
}

func noLists(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "[]") }

// untilLost follows a server until the connection is lost or refused, and returns the reason.
func untilLost(t *testing.T, c *Client) (reason error) {
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Follow(ctx, func([]todo.Snapshot, bool) {}, func(err error) { reason = err; cancel() })
	return cmp.Or(reason, err)
}

const document = `{"list":"x","name":"x","revision":%d,"seq":%d,"items":[]}`

// Follow reads all pages of the lists. It misses no change between reading the lists and opening the stream: the stream
// resumes after the highest Seq of the lists.
func TestResumesAfterLists(t *testing.T) {
	requests := make(chan string, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "before=42" {
			fmt.Fprintf(w, "["+document+"]", 3, 41)
			return
		}
		w.Header().Set("Link", `<?before=42>; rel="next"`)
		fmt.Fprintf(w, "["+strings.ReplaceAll(document, `"x"`, `"y"`)+"]", 1, 42)
	}, func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Header.Get("Last-Event-ID") + " " + r.Header.Get("Authorization")
		// The stream has comments, CRLF, another event, nonsense, and an event that is cut off.
		io.WriteString(w, "retry: 5\r\n\r\n: alive\n\nevent: other\ndata: {}\n\ndata: nonsense\n\n"+
			"id: 43\r\nevent: todos:update\r\ndata:{\"list\":\"x\",\"name\":\"x\",\"revision\":4,\"items\":[]}\r\n\r\n"+
			"data: {\"list\":\"cut off\"")
	})
	next := follow(t, newClient(t, url, "s3cret"))
	expect(t, next, "all y:1 x:3", "changed x:4", "lost", "all y:1 x:3")
	checktest.Same(t, "Last-Event-ID and Authorization", <-requests, "42 Bearer s3cret")
}

// A server that stops sending counts as lost, although the connection is open.
func TestSilentServerIsLost(t *testing.T) {
	c := newClient(t, serve(t, noLists, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}), "")
	c.maxSilence = 20 * time.Millisecond
	if reason := untilLost(t, c); !errors.Is(reason, errSilent) {
		t.Errorf("ended with %v", reason)
	}
}

// A permanent refusal ends Follow with an error that says why or what to do; after a temporary one Follow retries.
func TestRefusals(t *testing.T) {
	for _, a := range []struct {
		status     int
		body, want string
	}{
		{401, `{"error":"no"}`, "--token"},
		{403, `{"error":"this Host\u001b[2J is not served"}`, `this Host\x1b[2J is not served`},
		{404, "gone", "not found"},
		{200, "<html>", "not a todo-mcp server"},
		{200, "null", "not a todo-mcp server"},
		{500, "", "lost"},
		{503, "", "lost"},
		{429, "", "lost"},
	} {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(a.status)
			io.WriteString(w, a.body)
		}))
		next := follow(t, newClient(t, ts.URL, "s3cret"))
		if got := next(); !strings.Contains(got, a.want) || strings.Contains(got, "s3cret") {
			t.Errorf("%d %s: %q, want %q in it", a.status, a.body, got, a.want)
		}
		ts.Close()
	}
}

// Nothing is sent to the target of a redirect, not even the token, and the error names the target.
//
// BAD-INPUT 119: The server of `watch --server` redirects, or answers without end → The target gets nothing, and is
// named; answers have at most 64 MB, events 8 MB
func TestRedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("119: the other server is sent %s %s, Authorization %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	ts := httptest.NewServer(http.RedirectHandler(other.URL+"/elsewhere", http.StatusTemporaryRedirect))
	defer ts.Close()
	c := newClient(t, ts.URL, "s3cret")
	checktest.Has(t, "119", follow(t, c)(), "307: it sends on to "+other.URL+"/elsewhere")
	checktest.Fails(t, "119: an edit was sent on", checktest.Err(c.Edit(t.Context(), "x", todo.Edit{Do: "archive"})))
}

// An endless answer or event is read only up to the most that a todo-mcp server may send.
func TestEndlessAnswer(t *testing.T) {
	var sent atomic.Int64
	endless := func(w http.ResponseWriter, _ *http.Request) {
		piece := bytes.Repeat([]byte(" "), 1<<20)
		for err := error(nil); err == nil && sent.Load() < 1<<30; sent.Add(int64(len(piece))) {
			_, err = w.Write(piece)
		}
	}
	for _, url := range []string{serve(t, endless, noLists), serve(t, noLists, endless)} {
		sent.Store(0)
		if reason := untilLost(t, newClient(t, url, "")); !errors.Is(reason, errTooLarge) || sent.Load() > 2*maxResponse {
			t.Errorf("119: %v after %d MB", reason, sent.Load()>>20)
		}
	}
}

// Once connected, Follow retries after wrong responses, which a proxy may send while the server restarts, but still
// ends when the credentials are rejected.
func TestRefusalsAfterConnecting(t *testing.T) {
	answers := []struct {
		status int
		body   string
	}{{200, "[]"}, {404, ""}, {200, "<html>"}, {502, ""}, {200, "[]"}, {401, ""}}
	n := 0
	next := follow(t, newClient(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(answers[n].status)
		io.WriteString(w, answers[n].body)
		n++
	}, func(http.ResponseWriter, *http.Request) {}), "")) // the stream ends at once
	expect(t, next, "all", "lost", "lost", "lost", "lost", "all", "lost")
	checktest.Has(t, "the end", next(), "another token")
}

// Follow keeps trying to reach a server that is not up yet.
func TestServerNotYetUp(t *testing.T) {
	ts := httptest.NewServer(http.NotFoundHandler())
	ts.Close()
	c := newClient(t, ts.URL, "")
	tries := 0
	ctx, cancel := context.WithCancel(t.Context())
	c.Follow(ctx, nil, func(error) {
		if tries++; tries == 3 {
			cancel()
		}
	})
	checktest.Same(t, "tries", tries, 3)
}

// New rejects bad addresses and tokens.
func TestNew(t *testing.T) {
	for _, bad := range []string{"", "localhost:8765", "ftp://x", "http://", "http://a b", "/x"} {
		checktest.Fails(t, bad, checktest.Err(New(bad, "")), "http://127.0.0.1:8765")
	}
	if _, err := New("http://x", "a\nb"); err == nil || strings.Contains(err.Error(), "a\nb") {
		t.Errorf("token: %v", err)
	}
	if c := newClient(t, "https://user:pass@x/y?q#f", ""); c.Where() != "https://user:xxxxx@x/y" {
		t.Errorf("where: %s", c.Where())
	}
}

// Whatever a server sends, readEvents reads the same events from single bytes as from the whole stream. The events
// together have no more bytes than the stream, and readEvents returns errEnded.
func FuzzEvents(f *testing.F) {
	for _, stream := range []string{
		"retry: 1000\n\nid: 7\nevent: list:update\ndata: {\"list\":\"a\",\"items\":[]}\n\n: alive\n\n", "data:a\n\ndata: b\n\n", "data: a\r\n\r\ndata\n\n", "data: cut off",
		"\n\n\ndata:\n\n", "data: {\"list\":\"\\u001b[2J\",\"items\":[{\"id\":\"1\",\"text\":\"\\u009b\"}]}\n\n", "\xff\x00data: x\n\n",
	} {
		f.Add([]byte(stream))
	}
	events := func(t *testing.T, in io.Reader) (all string) {
		lines := 0
		err := readEvents(in, func() { lines++ }, func(data []byte) {
			all += string(data) + "\n"
			var d render.ListDocument
			if json.Unmarshal(data, &d) == nil {
				d.Snapshot()
			}
		})
		if !errors.Is(err, errEnded) || strings.Count(all, "\n") > lines {
			t.Fatalf("%q, %v after %d lines", all, err, lines)
		}
		return all
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		want := events(t, bytes.NewReader(stream))
		if got := events(t, iotest.OneByteReader(bytes.NewReader(stream))); got != want || len(got) > len(stream) {
			t.Fatalf("byte by byte %q, at once %q", got, want)
		}
	})
}

// Whatever a server says in a refusal, the error is safe to print and has at most 40 kB.
func FuzzRefusal(f *testing.F) {
	f.Add(404, "application/json", `{"error":"\u001b[2J\u202e"}`)
	f.Add(403, "text/plain; charset=utf-8", "\x1b]0;x\a no\r\n")
	f.Add(500, "text/html", "<h1>\x9b</h1>")
	f.Add(-1, "", "")
	f.Fuzz(func(t *testing.T, status int, mediaType, body string) {
		err := newRefused(&http.Response{StatusCode: status, Header: http.Header{"Content-Type": {mediaType}}, Body: io.NopCloser(strings.NewReader(body))})
		if text := err.Error(); render.Safe(text) != text || len(text) > 40<<10 {
			t.Fatalf("%q", text)
		}
	})
}
