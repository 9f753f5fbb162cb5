package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// site serves one list of an item with a text, which is the id "1".
type site struct {
	http.Handler
	store board.Store
	list  string
}

func newSite(t *testing.T, first, second todo.Item, name string) *site {
	t.Helper()
	s := &site{store: memory.New()}
	server := servertest.New(t, s.store, nil)
	h := servertest.Handler(t, server, func(c *edge.Config) { c.Now = func() time.Time { return time.Unix(2e9, 0) } })
	t.Cleanup(h.Close)
	s.Handler = h
	w := servertest.In("c")
	w.Target.Conversation.Client, w.Target.Conversation.Workspace = name, name
	w.Writer = todo.Writer{Client: name, Variant: name, Agent: name}
	s.list = servertest.Apply(t, server.Board.As(""), w, func(d *todo.Draft) {
		d.Append("first", "second") // so that their ids are given
		d.Restore([]todo.Item{first, second})
	}).List.ID
	return s
}

// recorder records an answer and ends its request when it is flushed: then it is a
// stream that stays open.
type recorder struct {
	*httptest.ResponseRecorder
	end context.CancelFunc
}

func (r recorder) Flush() { r.end() }

func (s *site) send(t *testing.T, method, path, query, body string, header http.Header) recorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	r := httptest.NewRequest("GET", "http://localhost/", strings.NewReader(body)).WithContext(ctx)
	r.Method, r.URL.Path, r.URL.RawQuery, r.Header = method, strings.ReplaceAll(path, "LIST", s.list), query, header
	w := recorder{httptest.NewRecorder(), cancel}
	s.ServeHTTP(w, r)
	if ctx.Err() == context.DeadlineExceeded {
		t.Fatalf("%s %s did not end", method, path)
	}
	return w
}

func (s *site) newest(t *testing.T) todo.Snapshot {
	t.Helper()
	return servertest.Must(s.store.Load(t.Context(), s.list, 0))(t)
}

func pending(id, text string) todo.Item { return todo.Item{ID: id, Text: text, Status: todo.Pending} }

// Any address, query, cookie and Last-Event-ID is answered, never as the server's
// own failure, and reading changes nothing.
func FuzzGet(f *testing.F) {
	for _, path := range []string{"/", "/lists/LIST", "/lists/LIST.md", "/lists/LIST/edit", "/lists/..%2f", "/api/lists", "/api/lists/LIST", "/api/lists/LIST/history",
		"/api/workspace", "/api/events", "/api/stream", "/panel/events", "/livez", "/readyz", "//x", "/lists/\x00", "/mcp"} {
		f.Add(path, "", "", "")
		f.Add(path, "list=LIST&revision=1&after=0&before=2&limit=1", "7", "theme=dark; x=\"")
		f.Add(path, "limit=-1&after=9223372036854775808&revision=%zz&before=x", "x", ";=;")
	}
	f.Fuzz(func(t *testing.T, path, query, lastEventID, cookie string) {
		if _, err := url.ParseRequestURI("/?" + query); err != nil {
			return // net/http does not take the request
		}
		s := newSite(t, pending("1", "A"), pending("2", "B"), "tester")
		before := s.newest(t)
		w := s.send(t, "GET", path, query, "", http.Header{"Last-Event-Id": {lastEventID}, "Cookie": {cookie}})
		if w.Code >= 500 || w.Code < 200 {
			t.Fatalf("status %d: %q", w.Code, w.Body)
		}
		checkHeader(t, w)
		// The mux of net/http answers an unclean path with a link that repeats the query.
		byMux := w.Code == http.StatusTemporaryRedirect || w.Code == http.StatusMovedPermanently
		if !byMux && !strings.HasPrefix(w.Header().Get("Content-Type"), "image/") && !utf8.Valid(w.Body.Bytes()) {
			t.Fatalf("not UTF-8: %q", w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("not JSON: %q", w.Body)
		}
		if !s.newest(t).Equal(before) {
			t.Fatal("a read changed the list")
		}
	})
}

func checkHeader(t *testing.T, w recorder) {
	t.Helper()
	for name, values := range w.Header() {
		if text := name + strings.Join(values, ""); strings.ContainsFunc(text, unicode.IsControl) || strings.HasPrefix(name, "Access-Control-") {
			t.Fatalf("header %q: %q", name, values)
		}
	}
	if w.Code < 300 && w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Fatalf("sniffed: %v", w.Header())
	}
}

// No text in a list can add an element, an attribute or a script to a page: it
// brings no character by which HTML has structure (BAD-INPUT 37). Bold and code, which
// the panel draws, are elements without an attribute.
func FuzzPages(f *testing.F) {
	marks := strings.NewReplacer("<code>", "", "</code>", "", "<strong>", "", "</strong>", "")
	for _, text := range []string{"<script>alert(1)</script>", `" onmouseover="x`, "' autofocus onfocus='x", "<!--", "]]>", "javascript:alert(1)", "&lt;b&gt;", "</textarea><b>", "\u202e\x1b[2J", "`${x}`"} {
		f.Add(text, "A")
		f.Add("A", text)
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		item := func(text, other string) todo.Item {
			return todo.Item{ID: "1", Text: text, Active: other, Status: todo.InProgress, Priority: other, DueDate: other}
		}
		blocked := func(text, other string) todo.Item {
			return todo.Item{ID: "2", Text: other, Reason: text, Status: todo.Blocked}
		}
		text, other = clean(text), clean(other)
		if text == "" || other == "" || text == other {
			return // the page leaves out what is empty or twice the same
		}
		hostile := newSite(t, item(text, other), blocked(text, other), text)
		plain := newSite(t, item("text", "other"), blocked("text", "other"), "text")
		for _, path := range []string{"/", "/?show=left", "/?show=past", "/lists/LIST", "/lists/LIST?revision=1"} {
			path, query, _ := strings.Cut(path, "?")
			got, want := hostile.send(t, "GET", path, query, "", http.Header{}), plain.send(t, "GET", path, query, "", http.Header{})
			if got.Code != 200 || want.Code != 200 || !utf8.Valid(got.Body.Bytes()) {
				t.Fatalf("%s: %d", path, got.Code)
			}
			shown, plainly := marks.Replace(got.Body.String()), marks.Replace(want.Body.String())
			for _, structure := range []string{"<", ">", `"`, "'", "<script", "href="} {
				if n, m := strings.Count(shown, structure), strings.Count(plainly, structure); n != m {
					t.Fatalf("%s has %d of %s, and with plain text %d:\n%s", path, n, structure, m, got.Body)
				}
			}
		}
	})
}

// clean returns what a tool would store of a text; empty if it is refused.
func clean(text string) string {
	text, err := todo.CleanText(todo.Cut(text, 200))
	if err != nil || (todo.Item{Text: text, Status: todo.Pending}).Check() != nil {
		return ""
	}
	return text
}
