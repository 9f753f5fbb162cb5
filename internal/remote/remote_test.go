package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/server/web"
	"todo-mcp/tools"
)

// realServer is our own server on a board.
func realServer(t *testing.T) (*todo.Board, *httptest.Server) {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "todo.db"))
	if err != nil {
		t.Fatal(err)
	}
	board := todo.NewBoard(store)
	texts, err := prompts.New("short", "")
	if err != nil {
		t.Fatal(err)
	}
	options := tools.Defaults()
	options.Texts = texts
	list, err := tools.New(options)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Board: board, Tools: list, Publish: []string{"all"}, Texts: texts, Version: "v0"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := web.New(s, web.Config{Board: s.Board, SessionKey: func() []byte { return make([]byte, 32) }})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); ts.Close(); s.Close(); board.Close(); store.Close() })
	return board, ts
}

func write(t *testing.T, board *todo.Board, name string, texts ...string) {
	t.Helper()
	_, err := board.As("").Apply(context.Background(), todo.Write{
		Target: todo.Target{Scope: todo.Scope{Conversation: "name:" + name, Exclusive: true}}, Begin: todo.List{Name: name},
		Writer: todo.Writer{Client: "tester", Variant: "create_todos"},
		Change: func(d *todo.Draft) error { d.Append(texts...); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
}

// told is one call of show or lost.
type told struct {
	lists []todo.Snapshot
	all   bool
	lost  error
}

func (s told) String() string {
	if s.lost != nil {
		return "lost"
	}
	text := "changed"
	if s.all {
		text = "all"
	}
	for _, l := range s.lists {
		text += fmt.Sprintf(" %s:%d", l.List.Name, l.Revision)
	}
	return text
}

// follow starts to follow; what is told comes out one by one, ended gets why it
// ended.
func follow(t *testing.T, c *Client) (next func() string, ended chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan told)
	ended = make(chan error, 1)
	tell := func(s told) {
		select {
		case calls <- s:
		case <-ctx.Done():
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- c.Follow(ctx, func(lists []todo.Snapshot, all bool) { tell(told{lists: lists, all: all}) },
			func(err error) { tell(told{lost: err}) })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() string {
		t.Helper()
		select {
		case s := <-calls:
			return s.String()
		case err := <-ended:
			return fmt.Sprint("ended: ", err)
		case <-time.After(10 * time.Second):
			t.Fatal("nothing is told")
			return ""
		}
	}, ended
}

func expect(t *testing.T, next func() string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := next(); got != w {
			t.Fatalf("told %q, want %q", got, w)
		}
	}
}

func newClient(t *testing.T, url, token string) *Client {
	t.Helper()
	c, err := New(url, token)
	if err != nil {
		t.Fatal(err)
	}
	c.pause = func(context.Context, int) {}
	return c
}

// A real server, followed over two breaks: what happens in between is told when
// it is there again.
func TestFollow(t *testing.T) {
	board, ts := realServer(t)
	c := newClient(t, ts.URL+"/", "")
	during := func() {}
	c.pause = func(context.Context, int) { during() }
	write(t, board, "release", "A")
	write(t, board, "website", "B")
	next, _ := follow(t, c)
	expect(t, next, "all website:1 release:1")
	write(t, board, "release", "C")
	expect(t, next, "changed release:2")
	during = func() { write(t, board, "website", "D") }
	ts.CloseClientConnections()
	expect(t, next, "lost", "all website:2 release:2")
	write(t, board, "website", "E")
	expect(t, next, "changed website:3")

	history, err := c.History(t.Context(), mustFind(t, board, "website").List.ID)
	if err != nil || len(history) != 3 || len(history[2].Items) != 3 || history[2].Writer.Client != "tester" {
		t.Errorf("history %+v, %v", history, err)
	}
	if _, err := c.History(t.Context(), "../../livez"); err == nil {
		t.Error("no list has that id")
	}
}

func mustFind(t *testing.T, board *todo.Board, name string) todo.Snapshot {
	t.Helper()
	s, err := board.As("").Resolve(t.Context(), todo.Target{Scope: todo.Scope{Conversation: "name:" + name}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const document = `{"list":"x","name":"x","revision":%d,"seq":%d,"items":[]}`

// A change between the lists and the stream is not missed: the stream resumes
// after what the lists had.
func TestResumesAfterLists(t *testing.T) {
	asked := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("/todo/api/lists", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "[%s,%s]", fmt.Sprintf(document, 3, 41), strings.ReplaceAll(fmt.Sprintf(document, 1, 42), `"x"`, `"y"`))
	})
	mux.HandleFunc("/todo/api/events", func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Last-Event-ID") + " " + r.Header.Get("Authorization")
		// Comments, CRLF, several data lines, other events, and nonsense.
		io.WriteString(w, "retry: 5\r\n\r\n: alive\n\nevent: other\ndata: {}\n\ndata: nonsense\n\n"+
			"id: 43\r\nevent: todos:update\r\ndata:{\"list\":\"x\",\"name\":\"x\",\ndata: \"revision\":4,\"items\":[]}\r\n\r\n"+
			"data: {\"list\":\"cut off\"")
	})
	ts := httptest.NewServer(mux)
	defer ts.Close()
	next, _ := follow(t, newClient(t, ts.URL+"/todo", "s3cret"))
	expect(t, next, "all x:3 y:1", "changed x:4", "lost", "all x:3 y:1")
	if got := <-asked; got != "42 Bearer s3cret" {
		t.Errorf("asked for %q", got)
	}
}

// A server that says nothing any more is lost, although the connection stands.
func TestSilence(t *testing.T) {
	stop := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/api/lists", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "[]") })
	mux.HandleFunc("/api/events", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	ts := httptest.NewServer(mux)
	defer ts.Close()
	defer close(stop)
	c := newClient(t, ts.URL, "")
	c.silence = 20 * time.Millisecond
	var reason error
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Follow(ctx, func([]todo.Snapshot, bool) {}, func(err error) { reason = err; cancel() })
	if !errors.Is(err, context.Canceled) || !errors.Is(reason, errSilent) {
		t.Errorf("ended with %v after %v", err, reason)
	}
}
