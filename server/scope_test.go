package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// scopes returns the conversation of each list in a store, oldest first.
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

// docs/spec/architecture.md, "Who is calling": the first step that applies
// decides the scope.
func TestScopeSteps(t *testing.T) {
	call := servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))
	for name, c := range map[string]struct {
		list    string // --list
		message string
		http    string // the query; "-" is stdio
		want    string
	}{
		"1 --list":                {"mine", servertest.WithMeta(call, `"threadId":"t"`), "-", "name:mine"},
		"1 ?list=":                {"", servertest.WithMeta(call, `"threadId":"t"`), "?list=mine", "name:mine"},
		"1 ?list= before --list":  {"other", call, "?list=mine", "name:mine"},
		"2 todo-mcp's key":        {"", servertest.WithMeta(call, `"threadId":"t","todo-mcp/conversation":"c"`), "-", "conversation:todo-mcp/conversation:c"},
		"2 VS Code":               {"", servertest.WithMeta(call, `"vscode.conversationId":"v"`), "-", "conversation:vscode.conversationId:v"},
		"2 Codex, over a session": {"", servertest.WithMeta(call, `"threadId":"t"`), "", "conversation:threadId:t"},
		"2 opencode":              {"", servertest.WithMeta(call, `"sessionID":"s"`), "-", "conversation:sessionID:s"},
		"2 configured":            {"", servertest.WithMeta(call, `"acme/chat":"x"`), "-", "conversation:acme/chat:x"},
		"2 id is not a string":    {"", servertest.WithMeta(call, `"threadId":{"a":1}`), "-", "stdio:tester:/work/project"},
		"3 session":               {"", call, "", "session:"},
		"4 stdio":                 {"", call, "-", "stdio:tester:/work/project"},
	} {
		store := memory.New()
		s := servertest.New(t, store, func(cfg *server.Config) { cfg.List, cfg.Conversations = c.list, []string{"acme/chat"} })
		if c.http == "-" {
			p := servertest.NewPipe(t, s)
			go p.Send(servertest.Initialize(0, "tester"), c.message)
			p.Read()
			p.Read()
		} else {
			url := servertest.Serve(t, s, nil).URL + "/mcp"
			servertest.Post(t, url+c.http, c.message, "Mcp-Session-Id", servertest.Session(t, url, "tester"))
		}
		if got := scopes(t, store); len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	store := memory.New()
	url := servertest.Serve(t, servertest.New(t, store, nil), nil).URL + "/mcp"
	servertest.Post(t, url, servertest.ModernCall(1, "TodoWrite", servertest.Todos("pending", "A")), servertest.ModernHeaders("tools/call", "TodoWrite")...)
	servertest.Post(t, url, call, "Mcp-Session-Id", servertest.Session(t, url, "openai-mcp"))
	if got := scopes(t, store); fmt.Sprint(got) != "[http]" {
		t.Errorf("5 neither session nor conversation: %v", got)
	}
}

// Two chats in one stdio process do not overwrite each other's lists. Reads and
// appends mean the list that this process wrote last. A change of one item
// finds the open list that has the item, and its answer names that list.
// list_id chooses only among the lists of the scope.
func TestTwoChatsOnStdio(t *testing.T) {
	store := memory.New()
	first := servertest.NewPipe(t, servertest.New(t, store, nil))
	call := func(p *servertest.Pipe, tool, args string) string {
		t.Helper()
		go p.Send(servertest.Call(1, tool, args))
		a := p.Read()
		if a.Error != nil {
			t.Fatal(a.Raw)
		}
		return a.Text()
	}
	if got := call(first, "SetTodoList", `{}`); got != "The todo list is empty." {
		t.Error(got)
	}
	call(first, "TodoWrite", servertest.Todos("pending", "A1", "A2", "A3"))
	call(first, "TodoWrite", servertest.Todos("pending", "B1", "B2"))
	call(first, "TodoWrite", servertest.Todos("completed", "A1", "A2", "A3", "A4"))
	if got := call(first, "SetTodoList", `{}`); !strings.Contains(got, "A4") {
		t.Errorf("the list written last: %s", got)
	}
	if got := call(first, "update_todo", `{"id":"2","status":"completed"}`); !strings.Contains(got, "A2") {
		t.Errorf("an item of the current list: %s", got)
	}
	call(first, "TodoWrite", servertest.Todos("completed", "B1", "B2"))
	call(first, "create_todos", `{"items":["B3"]}`)
	lists, _ := store.Find(t.Context(), todo.Query{})
	if len(lists) != 2 || len(lists[0].Items) != 3 || len(lists[1].Items) != 4 {
		t.Fatalf("lists: %v", lists)
	}

	// A restarted process has no current list; a write finds its list by the
	// texts.
	again := servertest.NewPipe(t, servertest.New(t, store, nil))
	if got := call(again, "SetTodoList", `{}`); got != "The todo list is empty." {
		t.Errorf("an old plan leaks into a new chat: %s", got)
	}
	if got := call(again, "update_todo", `{"id":"3","status":"running"}`); !strings.Contains(got, `#3 "B3" → running`) || !strings.Contains(got, "This is another open list: "+lists[0].List.ID) {
		t.Errorf("an item of another open list: %s", got)
	}
	if got := call(again, "TodoWrite", servertest.Todos("pending", "A1", "A2", "A3", "A5")); !strings.Contains(got, "4 pending") {
		t.Error(got)
	}
	if l, _ := store.Load(t.Context(), lists[1].List.ID, 0); len(l.Items) != 4 || l.Items[3].Text != "A5" {
		t.Errorf("the list was not found again: %v", l.Items)
	}
	// list_id inside the scope and outside of it.
	if got := call(again, "SetTodoList", `{"list_id":"`+lists[0].List.ID+`"}`); !strings.Contains(got, "B3") {
		t.Errorf("list_id: %s", got)
	}
	for _, id := range []string{"unknown", foreignList(t, store)} {
		if got := call(again, "SetTodoList", `{"list_id":"`+id+`"}`); !strings.Contains(got, "There is no such list here. Leave list_id out") {
			t.Errorf("list_id %s: %s", id, got)
		}
	}
}

// The prompt resume returns the list's items, and the next write of the session
// that used it changes that list, although another session began it.
func TestResumeInANewSession(t *testing.T) {
	store := memory.New()
	url := servertest.Serve(t, servertest.New(t, store, nil), nil).URL + "/mcp"
	old := servertest.Session(t, url, "tester")
	servertest.Post(t, url, servertest.Call(1, "TodoWrite", `{"todos":[{"content":"Done before","activeForm":"x","status":"completed"},{"content":"Left open","activeForm":"Leaving open","status":"in_progress"}]}`), "Mcp-Session-Id", old)
	fresh := servertest.Session(t, url, "tester")
	_, _, body := servertest.Post(t, url, `{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"resume"}}`, "Mcp-Session-Id", fresh)
	if !strings.Contains(body, "- #2 Left open (in_progress)") || !strings.Contains(body, "- #1 Done before (completed)") {
		t.Errorf("resume: %s", body)
	}
	servertest.Post(t, url, servertest.Call(3, "TodoWrite", servertest.Todos("completed", "Something else now")), "Mcp-Session-Id", fresh)
	lists, _ := store.Find(t.Context(), todo.Query{})
	if len(lists) != 1 || lists[0].Revision != 2 {
		t.Errorf("the next write begins another list: %v", lists)
	}
	if _, _, body := servertest.Post(t, url, `{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"resume","arguments":{"list":"none"}}}`, "Mcp-Session-Id", fresh); !strings.Contains(body, "no unfinished todo list of that id") {
		t.Errorf("unknown list: %s", body)
	}
}

// BAD-INPUT 44: a repeated operation id returns the same answer for the same
// call and an error for a different call.
func TestRepeatedOperation(t *testing.T) {
	store := memory.New()
	p := servertest.NewPipe(t, servertest.New(t, store, nil))
	call := servertest.WithMeta(servertest.Call(1, "create_todos", `{"items":["A"]}`), `"todo-mcp/conversation":"c","todo-mcp/operation":"op-1"`)
	go p.Send(call, call, strings.Replace(call, `["A"]`, `["B"]`, 1))
	first, second, third := p.Read(), p.Read(), p.Read()
	if first.Text() != second.Text() || !strings.Contains(first.Text(), "1 created") {
		t.Errorf("44: %s\n%s", first.Raw, second.Raw)
	}
	if !third.Result.IsError || !strings.Contains(third.Text(), "operation id was used for a different call") {
		t.Errorf("44: another call: %s", third.Raw)
	}
	lists, _ := store.Find(t.Context(), todo.Query{})
	if len(lists) != 1 || lists[0].Revision != 1 {
		t.Errorf("44: %v", lists)
	}
}

// A client that declares roots receives one roots/list request. The first root
// is the workspace of its lists, and resume prefers lists of that workspace.
// Responses to requests that were never sent are ignored.
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
	p := servertest.NewPipe(t, servertest.New(t, store, nil))
	withRoots := strings.Replace(servertest.Initialize(1, "tester"), `"capabilities":{}`, `"capabilities":{"roots":{}}`, 1)
	go p.Send(withRoots, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.Read()
	if a := p.Read(); a.Method != "roots/list" || string(a.ID) != `"todo-mcp-roots"` {
		t.Fatalf("the server sent %s", a.Raw)
	}
	go p.Send(`{"jsonrpc":"2.0","id":"todo-mcp-roots","result":{"roots":[{"uri":"file:///home/me/app","name":"app"}]}}`,
		`{"jsonrpc":"2.0","id":99,"error":{"code":-32601,"message":"no"}}`, `{"jsonrpc":"2.0","id":98,"result":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"resume"}}`, servertest.Call(3, "TodoWrite", servertest.Todos("pending", "New")))
	if a := p.Read(); string(a.ID) != "2" || !strings.Contains(a.Raw, "Left in /home/me/app") {
		t.Errorf("resume: %s", a.Raw)
	}
	p.Read()
	lists, _ := store.Find(t.Context(), todo.Query{Limit: 1})
	if lists[0].List.Workspace != "/home/me/app" {
		t.Errorf("workspace: %+v", lists[0].List)
	}
}
