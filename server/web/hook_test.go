package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
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
