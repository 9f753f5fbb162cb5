package edge_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 50: while the store does not answer, routes, calls and streams end at the timeout.
func TestStuckStoreTimesOut(t *testing.T) {
	timeout := 50 * time.Millisecond
	log := &servertest.Log{}
	s := servertest.New(t, &servertest.Failing{Store: storetest.NewMemory(), Silent: true}, func(c *server.Config) { c.Log, c.Timeout = log.Logger(), timeout })
	site := servertest.Serve(t, s, func(c *edge.Config) { c.Timeout = timeout })
	for _, route := range []string{"GET /", "GET /readyz", "GET /api/lists", "GET /api/lists/x", "GET /api/lists/x/history", "GET /api/workspace", "GET /lists/x",
		"GET /lists/x.md", "POST /lists/x/edit"} {
		t.Run(route, func(t *testing.T) {
			method, path, _ := strings.Cut(route, " ")
			servertest.Is(t, "answer", http.StatusServiceUnavailable, "did not answer in time")(
				servertest.Ask(t, method, site.URL+path, `{"do":"add","text":"A"}`, "Content-Type", "application/json"))
			if lines := log.Take(); len(lines) != 1 {
				t.Errorf("log %q", lines)
			}
		})
	}
	id := servertest.NewSession(t, site.URL+"/mcp", "tester")
	for name, message := range map[string]string{
		"tool":     servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")),
		"resource": `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"todo://list"}}`,
		"prompt":   `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"resume"}}`,
	} {
		servertest.Is(t, name, http.StatusOK, `"error"`)(servertest.Post(t, site.URL+"/mcp", message, "Mcp-Session-Id", id))
	}
	log.Take()
	for _, path := range []string{"/api/events?after=0", "/panel/events?after=0"} {
		t.Run("stream "+path, func(t *testing.T) {
			servertest.OpenStream(t, "GET", site.URL+path, "").End()
			if lines := log.Take(); len(lines) != 1 || !strings.Contains(lines[0], "catch up") {
				t.Errorf("log %q", lines)
			}
		})
	}
}

// BAD-INPUT 50: a client that disconnects during a read is not logged.
func TestDisconnectedReaderIsNotLogged(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	store := &servertest.Failing{Store: storetest.NewMemory(), Fault: func(string, string) error { leave(); return context.Canceled }}
	log := &servertest.Log{}
	get(ctx, newSite(t, store, func(c *edge.Config) { c.Log = log.Logger() }), "/panel/events?after=0")
	if ctx.Err() == nil {
		t.Error("the store was not read")
	}
	if lines := log.Take(); lines != nil {
		t.Errorf("log %q", lines)
	}
}

// A failure of the server gets one line in the log (BAD-INPUT 50), and a reached quota a warning. A caller's mistake or
// cancelled request is not logged.
func TestFailuresOfAHandler(t *testing.T) {
	log := &servertest.Log{}
	e := newSite(t, nil, func(c *edge.Config) { c.Log = log.Logger() })
	e.Handle("GET /panics", edge.JSON, func(http.ResponseWriter, *edge.Request) error { panic("bang") })
	e.Handle("GET /fails", edge.JSON, func(http.ResponseWriter, *edge.Request) error { return fmt.Errorf("bang: %w", context.Canceled) })
	e.Handle("GET /refuses", edge.JSON, func(http.ResponseWriter, *edge.Request) error {
		return fmt.Errorf("bang: %w", &todo.InputError{Problems: []todo.Problem{{Message: "too many items", Sentence: true}}})
	})
	e.Handle("GET /waits", edge.JSON, func(_ http.ResponseWriter, r *edge.Request) error { <-r.Context().Done(); return r.Context().Err() })
	e.Handle("GET /full", edge.JSON, func(http.ResponseWriter, *edge.Request) error {
		return fmt.Errorf("bang: %w", &board.FullError{Err: board.ErrTooManyLists, Detail: "prune"})
	})
	for path, want := range map[string]struct {
		status, logged int
		text           string
	}{
		"/full":   {http.StatusInsufficientStorage, 1, `{"error":"too many lists: prune"}`},
		"/panics": {http.StatusInternalServerError, 1, "the server failed"}, "/fails": {http.StatusServiceUnavailable, 1, "the store failed"},
		"/refuses": {http.StatusBadRequest, 0, `{"error":"too many items"}`}, "/livez": {http.StatusOK, 0, "ok"},
	} {
		if answer := get(t.Context(), e, path); answer.Code != want.status || !strings.Contains(answer.Body.String(), want.text) || strings.Contains(answer.Body.String(), "bang") {
			t.Errorf("%s: answer %d %s", path, answer.Code, answer.Body)
		}
		if lines := log.Take(); len(lines) != want.logged || want.logged > 0 && !strings.Contains(lines[0], "bang") {
			t.Errorf("%s: log %q", path, lines)
		} else if want.logged > 0 && strings.Contains(lines[0], "level=ERROR") != (path != "/full") {
			t.Errorf("%s: another level: %q", path, lines)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if answer, lines := get(ctx, e, "/waits"), log.Take(); lines != nil || answer.Body.Len() > 0 {
		t.Errorf("log %q, answer %s", lines, answer.Body)
	}
}

// fleet makes lists of all kinds, each with its own text: a main list with a sub-agent's list and a person's change,
// and lists that are worked on, finished, left open, archived or deleted. It returns the texts by list id, without the
// deleted list's, and the main list's id.
func fleet(t *testing.T, b *board.Board) (texts map[string]string, main string) {
	t.Helper()
	lists := b.As("")
	texts = make(map[string]string)
	write := func(key, text string, status todo.Status, begin todo.List) string {
		w := servertest.In(key)
		w.Conversation.Agent, w.Conversation.Parent, w.Conversation.Workspace = begin.Agent, begin.ParentConversation, begin.Workspace
		var id string
		for range 2 {
			id = servertest.Apply(t, lists, w, func(d *todo.Draft) {
				if len(d.Items()) == 0 {
					d.Append(text, text+" again")
				}
				for _, i := range d.Items() {
					d.SetStatus(i.ID, status)
				}
				if status == todo.InProgress {
					d.Append("Next")
				}
			}).List.ID
		}
		texts[id] = text
		return id
	}
	edit := func(id string, e todo.Edit) {
		checktest.Must(lists.Edit(t.Context(), id, e, todo.Writer{Client: "panel"}))(t)
	}
	main = write("main", "Keel", todo.InProgress, todo.List{Workspace: "/src/keel"})
	write("main/agent:helper", "Caulk", todo.InProgress, todo.List{ParentConversation: "main", Agent: "helper", Workspace: "/src/keel"})
	edit(main, todo.Edit{Do: todo.EditText, Item: "1", Text: "Keel anew"})
	write("mast", "Mast", todo.InProgress, todo.List{Workspace: "/src/mast"})
	write("sail", "Sail", todo.Completed, todo.List{Workspace: "/src/sail"})
	write("rope", "Rope", todo.Pending, todo.List{Workspace: "/src/rope"})
	checktest.Check(t, lists.Leave(t.Context(), board.Conversation{Key: "rope"}))
	edit(write("pump", "Pump", todo.Pending, todo.List{Workspace: "/src/pump"}), todo.Edit{Do: todo.EditArchive})
	gone := write("gone", "Gone", todo.Pending, todo.List{})
	edit(gone, todo.Edit{Do: todo.EditDelete})
	delete(texts, gone)
	return texts, main
}

func reads(e *edge.Edge, list string) (paths []string) {
	queries := map[string][]string{
		"/":                               {"?show=left", "?show=finished", "?show=past", "?show=archived", "?project=/src/keel", "?project=/src/none", "?q=e", "?q=keel&history=true"},
		"/lists/" + list:                  {"?revision=1", ".md", ".md?revision=1"},
		"/today":                          {"?day=2026-01-02"},
		"/panel/events":                   {"?after=0", "?list=" + list},
		"/api/lists":                      {"?limit=1", "?search=keel", "?search=keel&history=true"},
		"/api/lists/" + list:              {"?revision=1"},
		"/api/lists/" + list + "/history": {"?after=1"},
		"/api/workspace":                  {"?list=" + list, "?list=none"},
		"/api/events":                     {"?after=0", "?after=0&list=" + list},
		"/api/stream":                     {"?list=" + list},
	}
	for _, route := range e.Routes() {
		path, isRead := strings.CutPrefix(route, "GET ")
		if !isRead || path == "/mcp" || path == "/readyz" {
			continue
		}
		path = strings.NewReplacer("{$}", "", "{id}", list).Replace(path)
		paths = append(paths, path)
		for _, query := range queries[path] {
			paths = append(paths, path+query)
		}
	}
	return paths
}

func ask(t *testing.T, url string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := checktest.Must(http.NewRequestWithContext(ctx, "GET", url, nil))(t)
	res, err := http.DefaultClient.Do(req)
	checktest.Check(t, err)
	defer res.Body.Close()
	isStream := res.Header.Get("Content-Type") == "text/event-stream"
	enough := func() bool { // a stream's retry line, and its first event if one is due
		events := strings.Count(body, "\n\n")
		return isStream && (events > 1 || events == 1 && !strings.Contains(url, "/panel/") && !strings.Contains(url, "after="))
	}
	for lines := bufio.NewReader(res.Body); !enough(); {
		line, err := lines.ReadString('\n')
		if body += line; err != nil {
			break
		}
	}
	return res.StatusCode, body
}

// BAD-INPUT 50, 130: whichever read fails, the request is answered. A damaged or missing list hides no other list.
func TestEachReadThatFails(t *testing.T) {
	faults := &servertest.Nth{}
	store := &servertest.Failing{Store: storetest.NewMemory()}
	log := &servertest.Log{}
	s := servertest.New(t, store, func(c *server.Config) { c.Log = log.Logger() })
	texts, list := fleet(t, s.Board)
	store.Fault = faults.Fault
	e := servertest.Handler(t, s, nil)
	var handlers sync.WaitGroup
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		e.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { e.Close(); site.Close() })
	// A stream that its reader has left may still read the store: the next request waits for its end.
	ask := func(path string) (int, string) { defer handlers.Wait(); return ask(t, site.URL+path) }
	for _, path := range reads(e, list) {
		faults.Fail(0, nil)
		status, want := ask(path)
		if lines := log.Take(); status >= 500 || lines != nil {
			t.Fatalf("%s: %d, log %q", path, status, lines)
		}
		for _, fault := range []error{servertest.ErrDisk, context.DeadlineExceeded, board.ErrNotFound, board.ErrDamaged} {
			for n := 1; ; n++ {
				faults.Fail(n, fmt.Errorf("read: %w", fault))
				a := answered{path: path, fault: fault, want: want}
				a.status, a.body = ask(path)
				a.read, a.list = faults.Failed()
				if a.lines = log.Take(); a.read == "" {
					break // the request makes fewer reads
				}
				if problem := a.judge(texts); problem != "" {
					t.Errorf("GET %s, read %d (%s %s): %v: %s: %d %.200q, log %.600q",
						path, n, a.read, texts[a.list], fault, problem, a.status, a.body, a.lines)
				}
			}
		}
	}
}

// answered is the answer to a request during which one read failed.
type answered struct {
	path       string
	fault      error
	read, list string // the method that failed, and the list that it named
	want, body string // the answers without and with the fault
	status     int
	lines      []string // of the log
}

// isWhole reports whether the answer has all lists that it has without the fault, except the one that could not be
// read.
func (a answered) isWhole(texts map[string]string) bool {
	for id, text := range texts {
		if id != a.list && strings.Contains(a.want, text) && !strings.Contains(a.body, text) {
			return false
		}
	}
	return a.status == http.StatusOK && a.lines == nil
}

// judge says what is wrong with the answer; empty if it is right.
func (a answered) judge(texts map[string]string) string {
	isOf := a.list != "" && strings.Contains(a.path, a.list)
	isOne := errors.Is(a.fault, board.ErrNotFound) || errors.Is(a.fault, board.ErrDamaged)
	says := map[error]string{servertest.ErrDisk: "the store failed", context.DeadlineExceeded: "did not answer in time", board.ErrDamaged: "is damaged"}[a.fault]
	isFailure := a.status == http.StatusServiceUnavailable && strings.Contains(a.body, says) && len(a.lines) == 1
	isEnded := strings.Contains(a.path, "/events") && a.status == http.StatusOK && len(a.lines) == 1
	switch {
	case strings.Contains(fmt.Sprint(a.lines), "panic") || a.status == http.StatusInternalServerError:
		return "a panic"
	case a.isWhole(texts): // the answer does not need that read, e.g. of who looked at a list
	case isOne && a.read != "Load": // a store leaves out lists that it cannot read
	case isOne && !isOf:
		return "others are gone with it"
	case errors.Is(a.fault, board.ErrNotFound) && a.status == http.StatusNotFound && a.lines == nil:
	case !errors.Is(a.fault, board.ErrNotFound) && (isFailure || isEnded):
	default:
		return "not answered, and logged once, as what it is"
	}
	return ""
}
