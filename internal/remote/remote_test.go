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
	"todo-mcp/server/edge"
	"todo-mcp/server/web"
	"todo-mcp/tools"
)

// startServer starts a todo-mcp server and returns it with its board.
func startServer(t *testing.T) (*todo.Board, *httptest.Server) {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "todo.db"))
	if err != nil {
		t.Fatal(err)
	}
	board := todo.NewBoard(store)
	texts, err := prompts.New("")
	if err != nil {
		t.Fatal(err)
	}
	options := tools.Defaults()
	options.Texts = texts
	list, err := tools.New(options)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Board: board, Tools: list, Publish: []string{"all"}, Texts: texts, Version: "v0", SessionKey: func() []byte { return make([]byte, 32) }})
	if err != nil {
		t.Fatal(err)
	}
	h, err := web.New(s, edge.Config{Board: s.Board})
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); ts.Close(); s.Close(); board.Close(); store.Close() })
	return board, ts
}

func writeItems(t *testing.T, board *todo.Board, name string, texts ...string) {
	t.Helper()
	_, err := board.As("").Apply(context.Background(), todo.Write{
		Target: todo.Target{Conversation: todo.Conversation{Key: "name:" + name, Name: name}},
		Writer: todo.Writer{Client: "tester", Variant: "create_todos"},
		Change: func(d *todo.Draft) error { d.Append(texts...); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
}

// callback records one invocation of show or lost.
type callback struct {
	lists []todo.Snapshot
	all   bool
	lost  error
}

func (c callback) String() string {
	if c.lost != nil {
		return "lost"
	}
	text := "changed"
	if c.all {
		text = "all"
	}
	for _, l := range c.lists {
		text += fmt.Sprintf(" %s:%d", l.List.Name, l.Revision)
	}
	return text
}

// follow runs c.Follow until the test ends. next returns the next callback as
// text, or "ended: " and Follow's error; ended receives the error if next has
// not.
func follow(t *testing.T, c *Client) (next func() string, ended chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan callback)
	ended = make(chan error, 1)
	send := func(c callback) {
		select {
		case calls <- c:
		case <-ctx.Done():
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- c.Follow(ctx, func(lists []todo.Snapshot, all bool) { send(callback{lists: lists, all: all}) },
			func(err error) { send(callback{lost: err}) })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() string {
		t.Helper()
		select {
		case c := <-calls:
			return c.String()
		case err := <-ended:
			return fmt.Sprint("ended: ", err)
		case <-time.After(10 * time.Second):
			t.Fatal("Follow made no callback")
			return ""
		}
	}, ended
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
	c, err := New(url, token)
	if err != nil {
		t.Fatal(err)
	}
	c.pause = func(context.Context, int) {}
	return c
}

// Follow reports changes of a real server, and after a reconnection those made
// while it was disconnected.
func TestFollow(t *testing.T) {
	board, ts := startServer(t)
	c := newClient(t, ts.URL+"/", "")
	onPause := func() {}
	c.pause = func(context.Context, int) { onPause() }
	writeItems(t, board, "release", "A")
	writeItems(t, board, "website", "B")
	next, _ := follow(t, c)
	expect(t, next, "all website:1 release:1")
	writeItems(t, board, "release", "C")
	expect(t, next, "changed release:2")
	onPause = func() { writeItems(t, board, "website", "D") }
	ts.CloseClientConnections()
	expect(t, next, "lost", "all website:2 release:2")
	writeItems(t, board, "website", "E")
	expect(t, next, "changed website:3")

	history, err := c.History(t.Context(), mustFind(t, board, "website").List.ID)
	if err != nil || len(history) != 3 || len(history[2].Items) != 3 || history[2].Writer.Client != "tester" {
		t.Errorf("history %+v, %v", history, err)
	}
	if _, err := c.History(t.Context(), "../../livez"); err == nil {
		t.Error("History accepted an id that no list has")
	}
}

// States, edits and restores go to a real server, and say what it refuses.
func TestEdit(t *testing.T) {
	board, ts := startServer(t)
	c := newClient(t, ts.URL, "")
	writeItems(t, board, "release", "A", "B")
	id := mustFind(t, board, "release").List.ID
	out, err := c.Edit(t.Context(), id, todo.Edit{Do: "status", Item: "2", Status: todo.Completed})
	if err != nil || !out.Changed || out.After.Revision != 2 || out.After.Items[1].Status != todo.Completed {
		t.Errorf("after an edit %+v, %v", out, err)
	}
	if out, err = c.Edit(t.Context(), id, todo.Edit{Do: "status", Item: "2", Status: todo.Completed}); err != nil || out.Changed || out.After.Revision != 2 {
		t.Errorf("after the same edit %+v, %v", out, err)
	}
	states, err := c.States(t.Context())
	if err != nil || len(states) != 1 || fmt.Sprint(states[id].Unseen) != "[2]" {
		t.Errorf("states %+v, %v", states, err)
	}
	if out, err = c.Edit(t.Context(), id, todo.Edit{Do: "restore", Revision: 1}); err != nil || !out.Changed || out.After.Revision != 3 || out.After.Items[1].Status != todo.Pending {
		t.Errorf("after a restore %+v, %v", out, err)
	}
	if _, err := c.Edit(t.Context(), id, todo.Edit{Do: "status", Item: "9", Status: todo.Completed}); err == nil || !strings.Contains(err.Error(), "not on the list any more") {
		t.Errorf("an item that is gone: %v", err)
	}
	if got, want := c.Page(id), ts.URL+"/lists/"+id; got != want {
		t.Errorf("page %q, want %q", got, want)
	}
}

// What a person does to a whole list goes to a real server, an edit is merged
// from the revision that the person saw, and an undo leaves what came after.
func TestEditLists(t *testing.T) {
	board, ts := startServer(t)
	c := newClient(t, ts.URL, "")
	writeItems(t, board, "release", "A", "B", "C")
	id := mustFind(t, board, "release").List.ID
	for _, step := range []struct {
		edit todo.Edit
		want string
	}{
		{todo.Edit{Do: "remove", Item: "1", Seen: 1}, "2: release [B C]"},
		{todo.Edit{Do: "rename", Text: "Title"}, "3: Title [B C]"},
		{todo.Edit{Do: "undo", From: 1, Seen: 2}, "4: Title [A B C]"},
		{todo.Edit{Do: "undo", From: 2, Seen: 3}, "5: release [A B C]"},
		{todo.Edit{Do: "archive"}, "6: release [A B C] archived"},
		{todo.Edit{Do: "unarchive"}, "7: release [A B C]"},
		{todo.Edit{Do: "delete"}, "8: release [A B C] deleted"},
		{todo.Edit{Do: "undelete"}, "9: release [A B C]"},
		// A came back beside the rename, and so as a new item.
		{todo.Edit{Do: "remove", Item: "4", Seen: 9}, "10: release [B C]"},
		// The person still sees A first: C goes between A, which is gone, and B.
		{todo.Edit{Do: "move", Item: "3", To: 1, Seen: 9}, "11: release [C B]"},
	} {
		out, err := c.Edit(t.Context(), id, step.edit)
		got := fmt.Sprintf("%d: %s %v", out.After.Revision, out.After.Title(), texts(out.After))
		if out.After.Archived {
			got += " archived"
		}
		if out.After.Deleted {
			got += " deleted"
		}
		if err != nil || !out.Changed || got != step.want {
			t.Errorf("%+v: %q, changed %v, %v; want %q", step.edit, got, out.Changed, err, step.want)
		}
	}
	for want, e := range map[string]todo.Edit{
		"undo needs the revisions": {Do: "undo", Seen: 2},
		"do must be":               {Do: "burn"},
	} {
		if _, err := c.Edit(t.Context(), id, e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", e, err, want)
		}
	}
}

func texts(s todo.Snapshot) (texts []string) {
	for _, i := range s.Items {
		texts = append(texts, i.Text)
	}
	return texts
}

func mustFind(t *testing.T, board *todo.Board, name string) todo.Snapshot {
	t.Helper()
	s, err := board.As("").Held(t.Context(), todo.Target{Conversation: todo.Conversation{Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const document = `{"list":"x","name":"x","revision":%d,"seq":%d,"items":[]}`

// A change between reading the lists and opening the stream is not missed: the
// stream resumes after the highest Seq of the lists.
func TestResumesAfterLists(t *testing.T) {
	requests := make(chan string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("/todo/api/lists", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "[%s,%s]", fmt.Sprintf(document, 3, 41), strings.ReplaceAll(fmt.Sprintf(document, 1, 42), `"x"`, `"y"`))
	})
	mux.HandleFunc("/todo/api/events", func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Header.Get("Last-Event-ID") + " " + r.Header.Get("Authorization")
		// Comments, CRLF, several data lines, other events, and nonsense.
		io.WriteString(w, "retry: 5\r\n\r\n: alive\n\nevent: other\ndata: {}\n\ndata: nonsense\n\n"+
			"id: 43\r\nevent: todos:update\r\ndata:{\"list\":\"x\",\"name\":\"x\",\ndata: \"revision\":4,\"items\":[]}\r\n\r\n"+
			"data: {\"list\":\"cut off\"")
	})
	ts := httptest.NewServer(mux)
	defer ts.Close()
	next, _ := follow(t, newClient(t, ts.URL+"/todo", "s3cret"))
	expect(t, next, "all x:3 y:1", "changed x:4", "lost", "all x:3 y:1")
	if got := <-requests; got != "42 Bearer s3cret" {
		t.Errorf("Last-Event-ID and Authorization: %q", got)
	}
}

// A server that stops sending counts as lost, although the connection is open.
func TestSilentServerIsLost(t *testing.T) {
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
	c.maxSilence = 20 * time.Millisecond
	var reason error
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Follow(ctx, func([]todo.Snapshot, bool) {}, func(err error) { reason = err; cancel() })
	if !errors.Is(err, context.Canceled) || !errors.Is(reason, errSilent) {
		t.Errorf("ended with %v after %v", err, reason)
	}
}
