package web_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/tools"
)

// event returns what a host posts of a chat.
func event(name, more string) string {
	return `{"session_id":"chat","cwd":"/home/ada/parser","hook_event_name":"` + name + `"` + more + `}`
}

const todoWrite = `,"tool_name":"TodoWrite","tool_input":{"todos":[{"content":"Write","status":"in_progress","activeForm":"Writing"}]}`

// A host posts its events to the server that the agent calls: the folder is known, a list of
// the host's own tool stands on the board, what a person changed is in the answer, once, and
// a turn is kept from ending where that was asked for.
func TestHookOverHTTP(t *testing.T) {
	s, url := servertest.Site(t)
	post := func(path, event, want string) {
		t.Helper()
		status, _, answer := servertest.Post(t, url+path, event)
		if status != http.StatusOK || strings.TrimSpace(answer) != want {
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
	servertest.Must(lists.Edit(t.Context(), list.List.ID, todo.Edit{Do: todo.EditText, Item: "2", Text: "Write it"}, todo.Writer{Person: true}))(t)
	post("/hook", event("PostToolBatch", ""), `{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"The user changed the list: reworded \"Write\" to \"Write it\""}}`)
	post("/hook", event("PostToolBatch", ""), "{}")
	post("/hook", event("Stop", ""), "{}")
	if status, _, answer := servertest.Post(t, url+"/hook?finish", event("Stop", "")); status != http.StatusOK || !strings.HasPrefix(answer, `{"decision":"block"`) {
		t.Errorf("%d %s", status, answer)
	}
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
		"no JSON":        {"hook", 400, nil},
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

// A store that fails is the server's fault, which it says, and logs without what the sender wrote.
func TestHookOnAStoreThatFails(t *testing.T) {
	log := &servertest.Log{}
	st := &servertest.Failing{Store: memory.New()}
	site := servertest.Serve(t, servertest.New(t, st, nil), func(c *edge.Config) { c.Log = log.Logger() })
	st.Broken.Store(true)
	status, _, _ := servertest.Post(t, site.URL+"/hook", event("PostToolUse", strings.Replace(todoWrite, "TodoWrite", marker, 1)))
	if lines := log.Take(); status != http.StatusServiceUnavailable || len(lines) != 1 || strings.Contains(lines[0], marker) {
		t.Errorf("%d, logged %q", status, lines)
	}
}

// marker is in every text of the lists and of the requests.
const marker = "zzmarker"

// messages returns calls of every tool, and requests of every other kind, with the
// marker wherever a text may be.
func messages(list string) (messages []string) {
	for _, name := range append(tools.Names(), "todo_list_view", "todo_list_tick") {
		for _, args := range []string{servertest.Todos("pending", marker), servertest.Todos(marker, marker), `{"items":["` + marker + `"]}`, `{"todos":[{"title":"` + marker + `","status":"done"}]}`,
			`{"id":"1","status":"completed"}`, `{"id":"` + marker + `","status":"` + marker + `"}`, `{"list_id":"` + list + `"}`, `{"` + marker + `":1}`} {
			messages = append(messages, servertest.Call(1, name, args))
		}
	}
	for _, message := range []string{`"resources/read","params":{"uri":"todo://list"}`, `"resources/read","params":{"uri":"todo://lists/` + marker + `"}`, `"resources/read","params":{"uri":"todo://lists/` + list + `"}`,
		`"prompts/get","params":{"name":"resume"}`, `"prompts/get","params":{"name":"plan","arguments":{"goal":"` + marker + `"}}`, `"resources/subscribe","params":{"uri":"todo://list"}`,
		`"completion/complete","params":{"ref":{"type":"ref/prompt","name":"resume"},"argument":{"name":"list","value":"` + marker + `"}}`, `"` + marker + `"`} {
		messages = append(messages, `{"jsonrpc":"2.0","id":1,"method":`+message+`}`)
	}
	return append(messages, `{"`+marker+`":`)
}

// send sends a request and reads its answer, unless that is a stream: then it leaves
// as soon as it has begun.
func send(t *testing.T, method, url, body string, headers ...string) {
	t.Helper()
	req := servertest.Must(http.NewRequest(method, url, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res := servertest.Must(http.DefaultClient.Do(req))(t)
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") || method == http.MethodPost {
		_, _ = io.Copy(io.Discard, res.Body)
	}
}

// askRoutes sends requests to every route, with the marker wherever a text may be.
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

// askEverything sends requests to every route, and all messages over HTTP and on stdio.
func askEverything(t *testing.T, s *server.Server, site *httptest.Server, list string) {
	t.Helper()
	askRoutes(t, site, list)
	session := servertest.Session(t, site.URL+"/mcp", marker)
	pipe := servertest.NewPipe(t, s)
	go func() { _, _ = io.Copy(io.Discard, pipe.Out) }()
	for _, message := range messages(list) {
		send(t, http.MethodPost, site.URL+"/mcp", message, "Mcp-Session-Id", session)
		pipe.Send(message)
	}
	pipe.In.Close()
	if err := <-pipe.Done; err != nil {
		t.Error(err)
	}
	send(t, http.MethodGet, site.URL+"/mcp", "", "Mcp-Session-Id", session)
	send(t, http.MethodDelete, site.URL+"/mcp", "", "Mcp-Session-Id", session)
}

// BAD-INPUT 91: Any text, by any way, while the store works or fails → Not in the log, at any level
func TestLogHasNoTexts(t *testing.T) {
	log := &servertest.Log{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	st := &servertest.Failing{Store: memory.New()}
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
