package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

func withMeta(message, meta string) string {
	return strings.Replace(message, `"params":{`, `"params":{"_meta":{`+meta+`},`, 1)
}

// scopes are the conversations of the lists in a store.
func scopes(t *testing.T, st todo.Store) (out []string) {
	t.Helper()
	lists, err := st.Find(context.Background(), todo.Query{OldestFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		out = append(out, l.List.Scope.Conversation)
	}
	return out
}

// ARCHITECTURE.md, "Who is calling": the first step that applies.
func TestScopeSteps(t *testing.T) {
	call := callTool(1, "TodoWrite", todos("pending", "A"))
	for name, c := range map[string]struct {
		list    string // --list
		message string
		http    string // the query; "-" is stdio
		want    string
	}{
		"1 --list":                {"mine", withMeta(call, `"threadId":"t"`), "-", "name:mine"},
		"1 ?list=":                {"", withMeta(call, `"threadId":"t"`), "?list=mine", "name:mine"},
		"1 ?list= before --list":  {"other", call, "?list=mine", "name:mine"},
		"2 our own key":           {"", withMeta(call, `"threadId":"t","todo-mcp/conversation":"c"`), "-", "conversation:todo-mcp/conversation:c"},
		"2 VS Code":               {"", withMeta(call, `"vscode.conversationId":"v"`), "-", "conversation:vscode.conversationId:v"},
		"2 Codex, over a session": {"", withMeta(call, `"threadId":"t"`), "", "conversation:threadId:t"},
		"2 opencode":              {"", withMeta(call, `"sessionID":"s"`), "-", "conversation:sessionID:s"},
		"2 configured":            {"", withMeta(call, `"acme/chat":"x"`), "-", "conversation:acme/chat:x"},
		"2 of another shape":      {"", withMeta(call, `"threadId":{"a":1}`), "-", "stdio:tester:/work/project"},
		"3 session":               {"", call, "", "session:"},
		"4 stdio":                 {"", call, "-", "stdio:tester:/work/project"},
	} {
		store := memory.New()
		s := newServer(t, store, func(cfg *server.Config) { cfg.List, cfg.Conversations = c.list, []string{"acme/chat"} })
		if c.http == "-" {
			p := newPipe(t, s)
			go p.send(initialize(0, "tester"), c.message)
			p.read()
			p.read()
		} else {
			url := newHTTP(t, s, nil).URL + "/mcp"
			post(t, url+c.http, c.message, "Mcp-Session-Id", session(t, url, "tester"))
		}
		if got := scopes(t, store); len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	store := memory.New()
	url := newHTTP(t, newServer(t, store, nil), nil).URL + "/mcp"
	post(t, url, modernCall(1, "TodoWrite", todos("pending", "A")), modernHeaders("tools/call", "TodoWrite")...)
	post(t, url, call, "Mcp-Session-Id", session(t, url, "openai-mcp"))
	if got := scopes(t, store); fmt.Sprint(got) != "[http]" {
		t.Errorf("5 neither session nor conversation: %v", got)
	}
}

// Two chats share one stdio process without harm; reads and appends mean the
// list this process wrote last; one item's change finds the open list that has
// it, and says so; list_id overrides inside the scope alone.
func TestTwoChatsOnStdio(t *testing.T) {
	store := memory.New()
	first := newPipe(t, newServer(t, store, nil))
	say := func(p *pipe, tool, args string) string {
		t.Helper()
		go p.send(callTool(1, tool, args))
		a := p.read()
		if a.Error != nil {
			t.Fatal(a.raw)
		}
		return a.text()
	}
	if got := say(first, "SetTodoList", `{}`); got != "The todo list is empty." {
		t.Error(got)
	}
	say(first, "TodoWrite", todos("pending", "A1", "A2", "A3"))
	say(first, "TodoWrite", todos("pending", "B1", "B2"))
	say(first, "TodoWrite", todos("completed", "A1", "A2", "A3", "A4"))
	if got := say(first, "SetTodoList", `{}`); !strings.Contains(got, "A4") {
		t.Errorf("the list written last: %s", got)
	}
	if got := say(first, "update_todo", `{"id":"2","status":"completed"}`); !strings.Contains(got, "A2") {
		t.Errorf("an item the current list has: %s", got)
	}
	say(first, "TodoWrite", todos("completed", "B1", "B2"))
	say(first, "create_todos", `{"items":["B3"]}`)
	lists, _ := store.Find(t.Context(), todo.Query{})
	if len(lists) != 2 || len(lists[0].Items) != 3 || len(lists[1].Items) != 4 {
		t.Fatalf("lists: %v", lists)
	}

	// A restarted process begins without a list, and finds it by what is
	// written.
	again := newPipe(t, newServer(t, store, nil))
	if got := say(again, "SetTodoList", `{}`); got != "The todo list is empty." {
		t.Errorf("an old plan leaks into a new chat: %s", got)
	}
	if got := say(again, "update_todo", `{"id":"3","status":"running"}`); !strings.Contains(got, `#3 "B3" → running`) || !strings.Contains(got, "This is another open list: "+lists[0].List.ID) {
		t.Errorf("an item of another open list: %s", got)
	}
	if got := say(again, "TodoWrite", todos("pending", "A1", "A2", "A3", "A5")); !strings.Contains(got, "4 pending") {
		t.Error(got)
	}
	if l, _ := store.Load(t.Context(), lists[1].List.ID, 0); len(l.Items) != 4 || l.Items[3].Text != "A5" {
		t.Errorf("the list was not found again: %v", l.Items)
	}
	// list_id, in the scope and out of it.
	if got := say(again, "SetTodoList", `{"list_id":"`+lists[0].List.ID+`"}`); !strings.Contains(got, "B3") {
		t.Errorf("list_id: %s", got)
	}
	for _, id := range []string{"unknown", foreign(t, store)} {
		if got := say(again, "SetTodoList", `{"list_id":"`+id+`"}`); !strings.Contains(got, "There is no such list here. Leave list_id out") {
			t.Errorf("list_id %s: %s", id, got)
		}
	}
}

// foreign makes a list of another scope.
func foreign(t *testing.T, st todo.Store) string {
	t.Helper()
	b := todo.NewBoard(st)
	defer b.Close()
	out, err := b.As("somebody").Apply(t.Context(), todo.Write{Target: todo.Target{Scope: todo.Scope{Principal: "somebody", Conversation: "x"}},
		Change: func(d *todo.Draft) error { d.Append("theirs"); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return out.After.List.ID
}

// Resume: the prompt hands over a digest, and the next write goes on with that
// list, in a session that never saw it.
func TestResumeInANewSession(t *testing.T) {
	store := memory.New()
	url := newHTTP(t, newServer(t, store, nil), nil).URL + "/mcp"
	old := session(t, url, "tester")
	post(t, url, callTool(1, "TodoWrite", `{"todos":[{"content":"Done before","activeForm":"x","status":"completed"},{"content":"Left open","activeForm":"Leaving open","status":"in_progress"}]}`), "Mcp-Session-Id", old)
	fresh := session(t, url, "tester")
	_, _, body := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"resume"}}`, "Mcp-Session-Id", fresh)
	if !strings.Contains(body, "- #2 Left open (in_progress)") || !strings.Contains(body, "- #1 Done before (completed)") {
		t.Errorf("digest: %s", body)
	}
	post(t, url, callTool(3, "TodoWrite", todos("completed", "Something else now")), "Mcp-Session-Id", fresh)
	lists, _ := store.Find(t.Context(), todo.Query{})
	if len(lists) != 1 || lists[0].Revision != 2 {
		t.Errorf("the next write begins another list: %v", lists)
	}
	if _, _, body := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"resume","arguments":{"list":"none"}}}`, "Mcp-Session-Id", fresh); !strings.Contains(body, "no unfinished todo list of that id") {
		t.Errorf("unknown list: %s", body)
	}
}

// BAD-INPUT 44: a repeated operation id gives the same answer for the same
// call, and is refused for another.
func TestRepeatedOperation(t *testing.T) {
	store := memory.New()
	p := newPipe(t, newServer(t, store, nil))
	call := withMeta(callTool(1, "create_todos", `{"items":["A"]}`), `"todo-mcp/conversation":"c","todo-mcp/operation":"op-1"`)
	go p.send(call, call, strings.Replace(call, `["A"]`, `["B"]`, 1))
	first, second, third := p.read(), p.read(), p.read()
	if first.text() != second.text() || !strings.Contains(first.text(), "1 created") {
		t.Errorf("44: %s\n%s", first.raw, second.raw)
	}
	if !third.Result.IsError || !strings.Contains(third.text(), "operation id was used for a different call") {
		t.Errorf("44: another call: %s", third.raw)
	}
	lists, _ := store.Find(t.Context(), todo.Query{})
	if len(lists) != 1 || lists[0].Revision != 1 {
		t.Errorf("44: %v", lists)
	}
}

// A client that says it has roots is asked for them once; its lists are of that
// folder, and resume offers those of the same folder first. What it answers to
// nothing is passed over.
func TestRoots(t *testing.T) {
	store := memory.New()
	b := todo.NewBoard(store)
	defer b.Close()
	for _, folder := range []string{"/home/me/app", "/elsewhere"} {
		if _, err := b.As("").Apply(t.Context(), todo.Write{Target: todo.Target{Scope: todo.Scope{Conversation: folder}}, Begin: todo.List{Workspace: folder},
			Change: func(d *todo.Draft) error { d.Append("Left in " + folder); return nil }}); err != nil {
			t.Fatal(err)
		}
	}
	p := newPipe(t, newServer(t, store, nil))
	withRoots := strings.Replace(initialize(1, "tester"), `"capabilities":{}`, `"capabilities":{"roots":{}}`, 1)
	go p.send(withRoots, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.read()
	if a := p.read(); a.Method != "roots/list" || string(a.ID) != `"todo-mcp-roots"` {
		t.Fatalf("asked %s", a.raw)
	}
	go p.send(`{"jsonrpc":"2.0","id":"todo-mcp-roots","result":{"roots":[{"uri":"file:///home/me/app","name":"app"}]}}`,
		`{"jsonrpc":"2.0","id":99,"error":{"code":-32601,"message":"no"}}`, `{"jsonrpc":"2.0","id":98,"result":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"resume"}}`, callTool(3, "TodoWrite", todos("pending", "New")))
	if a := p.read(); string(a.ID) != "2" || !strings.Contains(a.raw, "Left in /home/me/app") {
		t.Errorf("resume: %s", a.raw)
	}
	p.read()
	lists, _ := store.Find(t.Context(), todo.Query{Limit: 1})
	if lists[0].List.Workspace != "/home/me/app" {
		t.Errorf("workspace: %+v", lists[0].List)
	}
}

// BAD-INPUT 34: another principal's list is, by every way there is, the same as
// one that does not exist.
func TestAnothersListIsNone(t *testing.T) {
	store := memory.New()
	theirs := foreign(t, store)
	const none = "zzzzzzzzzzzzzzzzzzzzzzzzzz"
	s := newServer(t, store, nil)
	web := newHTTP(t, s, nil)
	id := session(t, web.URL+"/mcp", "tester")
	both := map[string]func(list string) string{
		"list_id": func(l string) string { return callTool(1, "SetTodoList", `{"list_id":"`+l+`"}`) },
		"write":   func(l string) string { return callTool(1, "create_todos", `{"items":["A"],"list_id":"`+l+`"}`) },
		"resource": func(l string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"todo://lists/` + l + `"}}`
		},
		"resume": func(l string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"resume","arguments":{"list":"` + l + `"}}}`
		},
		"app": func(l string) string { return callTool(1, "todo_list_view", `{"list_id":"`+l+`"}`) },
	}
	for name, message := range both {
		status1, _, body1 := post(t, web.URL+"/mcp", message(theirs), "Mcp-Session-Id", id)
		status2, _, body2 := post(t, web.URL+"/mcp", message(none), "Mcp-Session-Id", id)
		if status1 != status2 || strings.ReplaceAll(body1, theirs, none) != body2 {
			t.Errorf("34: %s: %d %s\nunknown: %d %s", name, status1, body1, status2, body2)
		}
	}
	for _, path := range []string{"/api/lists/LIST", "/api/lists/LIST/history", "/api/workspace?list=LIST", "/lists/LIST", "/lists/LIST.md", "/lists/LIST.json", "/lists/LIST/at/1", "/lists/LIST/edit", "POST /lists/LIST/restore/1", "POST /lists/LIST/edit"} {
		get := func(list string) string {
			method, path, posted := strings.Cut(path, " ")
			if !posted {
				method, path = "GET", method
			}
			req, err := http.NewRequest(method, web.URL+strings.ReplaceAll(path, "LIST", list), strings.NewReader(`{"do":"add","text":"A"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			data, _ := io.ReadAll(res.Body)
			return fmt.Sprint(res.StatusCode, strings.ReplaceAll(string(data), list, "LIST"))
		}
		if got, want := get(theirs), get(none); got != want {
			t.Errorf("34: %s: %s\nunknown: %s", path, got, want)
		}
	}
	var lists []map[string]any
	if getJSON(t, web.URL+"/api/lists", &lists); len(lists) != 0 {
		t.Errorf("34: listed: %v", lists)
	}
	streams := []*events{openStream(t, "GET", web.URL+"/api/events?after=0", ""), openStream(t, "GET", web.URL+"/api/stream", ""), openStream(t, "GET", web.URL+"/panel/events?after=0", "")}
	b := todo.NewBoard(store)
	defer b.Close()
	if _, err := b.As("somebody").Restore(t.Context(), theirs, 1, todo.Writer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.As("somebody").Apply(t.Context(), todo.Write{Target: todo.Target{Scope: todo.Scope{Principal: "somebody", Conversation: "x"}, List: theirs},
		Change: func(d *todo.Draft) error { d.Append("secret"); return nil }}); err != nil {
		t.Fatal(err)
	}
	post(t, web.URL+"/mcp", callTool(1, "TodoWrite", todos("pending", "ours")), "Mcp-Session-Id", id)
	for i, s := range streams {
		if data := s.until("ours"); strings.Contains(data, "secret") || strings.Contains(data, theirs) {
			t.Errorf("34: stream %d tells %s", i, data)
		}
	}
}

// until reads all of a stream up to a text.
func (e *events) until(text string) (all string) {
	e.t.Helper()
	for !strings.Contains(all, text) {
		line, err := e.body.ReadString('\n')
		if err != nil {
			e.t.Fatal("stream ended:", err)
		}
		all += line
	}
	return all
}
