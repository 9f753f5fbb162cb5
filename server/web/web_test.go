package web_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/tools"
)

func event(name, more string) string {
	return `{"session_id":"chat","cwd":"/home/ada/parser","hook_event_name":"` + name + `"` + more + `}`
}

const todoWrite = `,"tool_name":"TodoWrite","tool_input":{"todos":[{"content":"Write","status":"in_progress","activeForm":"Writing"}]}`

// A host posts its events to the server that its agent calls. The agent's list then has the event's folder, a list of
// the host's own tool is on the board, a person's change is in one answer only, and with ?finish the end of a turn with
// open items is refused.
func TestHookOverHTTP(t *testing.T) {
	s, url := servertest.Site(t)
	post := func(path, event, want string) {
		t.Helper()
		if status, _, answer := servertest.Post(t, url+path, event); status != 200 || strings.TrimSpace(answer) != want {
			t.Errorf("%s is answered with %d %s, want %s", event, status, answer, want)
		}
	}
	post("/hook", event("PreToolUse", `,"tool_name":"mcp__todo__TodoWrite","tool_use_id":"toolu_1"`), "{}")
	call := servertest.WithMeta(servertest.Call(2, "TodoWrite", servertest.Todos("pending", "Read", "Write")), `"claudecode/toolUseId":"toolu_1"`)
	servertest.Sender(t, url, "claude-code")(call)
	lists := s.Board.As("")
	who := board.Target{Conversation: board.Conversation{Key: todo.ChatKey("chat")}}
	list, err := lists.Current(t.Context(), who)
	if err != nil || list.List.Workspace != "/home/ada/parser" {
		t.Fatalf("%+v, %v", list.List, err)
	}
	checktest.Must(lists.Edit(t.Context(), list.List.ID, todo.Edit{Do: todo.EditText, Item: "2", Text: "Write it"}, todo.Writer{Person: true}))(t)
	post("/hook", event("PostToolBatch", ""), `{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"The user changed the list: reworded \"Write\" to \"Write it\""}}`)
	post("/hook", event("PostToolBatch", ""), "{}")
	post("/hook", event("Stop", ""), "{}")
	servertest.Is(t, "a turn ends", 200, `{"decision":"block"`)(servertest.Post(t, url+"/hook?finish", event("Stop", "")))
	post("/hook", event("PostToolUse", todoWrite), "{}")
	mirrored, err := lists.Current(t.Context(), board.Target{Conversation: board.Conversation{Key: todo.ChatKey("chat"), Mirrors: true}})
	if err != nil || mirrored.Title() != "Write" || !mirrored.List.Mirrored {
		t.Errorf("%+v, %v", mirrored, err)
	}
}

// BAD-INPUT 98
func TestBadEventsOverHTTP(t *testing.T) {
	s, url := servertest.Site(t)
	for name, c := range map[string]struct {
		event  string
		want   int
		header []string
	}{
		"cut":            {event("PostToolUse", todoWrite)[:90], 400, nil},
		"nothing":        {"", 400, nil},
		"a list":         {"[]", 400, nil},
		"huge":           {event("PostToolUse", todoWrite+`,"x":"`+strings.Repeat("x", todo.MaxRequest)+`"`), 413, nil},
		"no chat":        {strings.Replace(event("PostToolUse", todoWrite), `"chat"`, `""`, 1), 400, nil},
		"a long chat":    {strings.Replace(event("PostToolUse", todoWrite), "chat", strings.Repeat("x", 5000), 1), 400, nil},
		"a bad status":   {strings.Replace(event("PostToolUse", todoWrite), "in_progress", "begun", 1), 400, nil},
		"unknown moment": {event("Whatever", todoWrite), 200, nil},
		"as text":        {event("PostToolUse", todoWrite), 415, []string{"Content-Type", "text/plain"}},
		"a foreign page": {event("PostToolUse", todoWrite), 403, []string{"Origin", "https://evil.example"}},
	} {
		status, _, answer := servertest.Post(t, url+"/hook", c.event, c.header...)
		if status != c.want || len(answer) > 500 {
			t.Errorf("%s is answered with %d %s, want %d", name, status, answer, c.want)
		}
	}
	if all, err := s.Board.As("").Find(t.Context(), board.Query{}); err != nil || len(all) > 0 {
		t.Errorf("there are %d lists, %v", len(all), err)
	}
}

// When the store fails, the answer is 503, and the log has nothing of what the sender wrote.
func TestHookOnAStoreThatFails(t *testing.T) {
	log := &servertest.Log{}
	st := &servertest.Failing{Store: storetest.NewMemory()}
	site := servertest.Serve(t, servertest.New(t, st, nil), func(c *edge.Config) { c.Log = log.Logger() })
	st.Broken.Store(true)
	status, _, _ := servertest.Post(t, site.URL+"/hook", event("PostToolUse", strings.Replace(todoWrite, "TodoWrite", marker, 1)))
	if lines := log.Take(); status != http.StatusServiceUnavailable || len(lines) != 1 || strings.Contains(lines[0], marker) {
		t.Errorf("%d, logged %q", status, lines)
	}
}

// marker is in every text of the lists and of the requests.
const marker = "zzmarker"

// forged is a text that would begin a false line in the log.
const forged = "\ntime=2026 level=ERROR msg=" + marker

func messages(list string) (messages []string) {
	for _, name := range append(tools.Names(), "todo_list_view", "todo_list_tick") {
		for _, args := range []string{servertest.Todos("pending", forged), servertest.Todos(marker, marker), `{"items":["` + marker + `"]}`, `{"todos":[{"title":"` + marker + `","status":"done"}]}`,
			`{"id":"1","status":"completed"}`, `{"id":"` + marker + `","status":"` + marker + `"}`, `{"list_id":"` + list + `"}`, `{"` + marker + `":1}`} {
			messages = append(messages, servertest.Call(1, name, args))
		}
	}
	for _, message := range []string{`"resources/read","params":{"uri":"todo://list"}`, `"resources/read","params":{"uri":"todo://lists/` + marker + `"}`, `"resources/read","params":{"uri":"todo://lists/` + list + `"}`,
		`"prompts/get","params":{"name":"resume"}`, `"prompts/get","params":{"name":"plan","arguments":{"goal":"` + marker + `"}}`, `"resources/subscribe","params":{"uri":"todo://list"}`,
		`"` + marker + `"`} {
		messages = append(messages, `{"jsonrpc":"2.0","id":1,"method":`+message+`}`)
	}
	return append(messages, `{"`+marker+`":`)
}

// send sends a request and reads its answer, unless that is a stream: then it disconnects once the stream has begun.
func send(t *testing.T, method, url, body string, headers ...string) {
	t.Helper()
	req := checktest.Must(http.NewRequest(method, url, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	checktest.Check(t, err)
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") || method == http.MethodPost {
		_, _ = io.Copy(io.Discard, res.Body)
	}
}

func askRoutes(t *testing.T, site *httptest.Server, list string) {
	t.Helper()
	edge, ok := site.Config.Handler.(*edge.Edge)
	if !ok {
		t.Fatal("no edge")
	}
	for _, pattern := range edge.Routes() {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			continue // /mcp, which gets the messages
		}
		bodies := []string{`{"do":"add","text":"` + marker + `"}`, `{"do":"` + marker + `"}`, `{"` + marker, "",
			`{"session_id":"` + marker + `","hook_event_name":"` + marker + `"}`,
			`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"TodoWrite","tool_input":{"todos":[{"content":"` + marker + `","status":"pending"},{"content":"` + marker + `","status":"` + marker + `"}]}}`,
			`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"TodoWrite","cwd":"/` + marker + `","tool_input":{"todos":[{"content":"` + marker + `","status":"pending"}]}}`,
			`{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"` + marker + `"}`}
		if method == http.MethodGet {
			bodies = []string{""}
		}
		for _, id := range []string{list, list + ".md", marker} {
			url := site.URL + strings.NewReplacer("{id}", id, "{revision}", "1", "{$}", "").Replace(path) + "?q=" + marker + "&list=" + marker
			for _, body := range bodies {
				send(t, method, url, body)
			}
			send(t, method, url, "", "Origin", "https://"+marker, "Last-Event-ID", marker)
		}
	}
}

func askEverything(t *testing.T, s *server.Server, site *httptest.Server, list string) {
	t.Helper()
	askRoutes(t, site, list)
	session := servertest.NewSession(t, site.URL+"/mcp", forged)
	pipe := servertest.NewPipe(t, s)
	go func() { _, _ = io.Copy(io.Discard, pipe.Out) }()
	for _, message := range messages(list) {
		send(t, http.MethodPost, site.URL+"/mcp", message, "Mcp-Session-Id", session)
		pipe.Send(message)
	}
	pipe.In.Close()
	checktest.Check(t, <-pipe.Done)
	send(t, http.MethodGet, site.URL+"/mcp", "", "Mcp-Session-Id", session)
	send(t, http.MethodDelete, site.URL+"/mcp", "", "Mcp-Session-Id", session)
}

// BAD-INPUT 91: Any text, by any way, while the store works or fails → Not in the log, at any level
//
// BAD-INPUT 41: A line break and a forged log record in a text or name → One log line
func TestLogHasNoTexts(t *testing.T) {
	log := &servertest.Log{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	st := &servertest.Failing{Store: storetest.NewMemory()}
	s := servertest.New(t, st, func(c *server.Config) { c.Log = logger })
	site := servertest.Serve(t, s, func(c *edge.Config) { c.Log = logger })
	w := servertest.In(marker)
	w.Target.Conversation.Client, w.Target.Conversation.Workspace = marker, "/"+marker
	list := servertest.Apply(t, s.Board.As(""), w, func(d *todo.Draft) { d.Append(marker) }).List.ID
	askEverything(t, s, site, list)
	worked := log.Take()
	st.Broken.Store(true)
	askEverything(t, s, site, list)
	failed := log.Take()
	if len(failed) < 20 {
		t.Errorf("%d lines of a store that fails", len(failed))
	}
	for _, line := range append(worked, failed...) {
		if strings.Contains(line, marker) {
			t.Error(line)
		}
	}
}

type site struct {
	http.Handler
	store board.Store
	list  string
}

func newSite(t *testing.T, first, second todo.Item, name string) *site {
	t.Helper()
	s := &site{store: storetest.NewMemory()}
	server := servertest.New(t, s.store, nil)
	h := servertest.Handler(t, server, func(c *edge.Config) { c.Now = func() time.Time { return time.Unix(2e9, 0) } })
	t.Cleanup(h.Close)
	s.Handler = h
	w := servertest.In("c")
	w.Target.Conversation.Client, w.Target.Conversation.Workspace = name, name
	w.Writer = todo.Writer{Client: name, Variant: name, Agent: name}
	s.list = servertest.Apply(t, server.Board.As(""), w, func(d *todo.Draft) {
		d.Append("first", "second") // so that the ids 1 and 2 are in use
		d.Restore([]todo.Item{first, second})
	}).List.ID
	return s
}

// recorder records an answer. A flush ends the request: only streams are flushed, and a stream would stay open.
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
	return checktest.Must(s.store.Load(t.Context(), s.list, 0))(t)
}

func pending(id, text string) todo.Item { return todo.Item{ID: id, Text: text, Status: todo.Pending} }

// Any address, query, cookie and Last-Event-ID is answered, never with a failure of the server, and reading changes
// nothing.
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

// No text in a list can add an element, an attribute or a script to a page: the page has as many <, > and quotes as
// with a plain text (BAD-INPUT 37). The panel's own elements for bold and code do not count.
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
			return // the page leaves out empty and repeated texts
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

func clean(text string) string {
	text, err := todo.CleanText(todo.Cut(text, 200))
	if err != nil || (todo.Item{Text: text, Status: todo.Pending}).Check() != nil {
		return ""
	}
	return text
}
