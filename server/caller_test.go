package server_test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// beganBy returns the key of the conversation that began each list in a store,
// oldest first.
func beganBy(t *testing.T, st todo.Store) (out []string) {
	t.Helper()
	lists, err := st.Find(context.Background(), todo.Query{OldestFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lists {
		out = append(out, l.List.Conversation)
	}
	return out
}

// docs/spec/architecture.md, "Who is calling": the first step that applies
// decides the key of the conversation.
func TestConversationKeys(t *testing.T) {
	environment := map[string]string{"CLAUDE_CODE_SESSION_ID": "claude-1", "COPILOT_AGENT_SESSION_ID": "copilot-1", "ACME_CHAT": "acme-1"}
	for name, c := range map[string]struct {
		list   string // --list
		client string // "" is tester
		meta   string
		stdio  bool
		query  string // over HTTP
		env    string // --session-variables
		want   string // "*" is any text
	}{
		"--list":                              {list: "mine", meta: `"threadId":"t"`, stdio: true, want: "conversation:threadId:t@name:mine"},
		"?list=":                              {meta: `"threadId":"t"`, query: "?list=mine", want: "conversation:threadId:t@name:mine"},
		"?list= before --list":                {list: "other", query: "?list=mine", want: "session:*@name:mine"},
		"1 hook":                              {meta: `"claudecode/toolUseId":"toolu_1","threadId":"t"`, stdio: true, want: "chat:s-1"},
		"1 hook of a sub-agent":               {meta: `"claudecode/toolUseId":"toolu_2"`, stdio: true, want: "chat:s-1/agent:a-1"},
		"1 a call without hook":               {meta: `"claudecode/toolUseId":"toolu_3"`, stdio: true, want: "stdio:tester:/work/project"},
		"2 todo-mcp's key":                    {meta: `"threadId":"t","todo-mcp/conversation":"c"`, stdio: true, want: "conversation:todo-mcp/conversation:c"},
		"2 VS Code":                           {meta: `"vscode.conversationId":"v"`, stdio: true, want: "conversation:vscode.conversationId:v"},
		"2 Codex over a session":              {meta: `"threadId":"t","sessionId":"t"`, want: "conversation:threadId:t"},
		"2 Codex, a sub-agent":                {meta: `"threadId":"t2","sessionId":"t"`, stdio: true, want: "conversation:threadId:t2"},
		"2 opencode":                          {meta: `"sessionID":"s"`, stdio: true, want: "conversation:sessionID:s"},
		"2 opencode 2":                        {meta: `"ai.opencode/sessionID":"s"`, stdio: true, want: "conversation:ai.opencode/sessionID:s"},
		"2 Antigravity":                       {meta: `"antigravity.google/conversation_id":"s"`, stdio: true, want: "conversation:antigravity.google/conversation_id:s"},
		"2 ZCode":                             {meta: `"com.zcode/request-context":{"session_id":"z"}`, stdio: true, want: "conversation:com.zcode/request-context:z"},
		"2 configured":                        {meta: `"acme/chat":"x"`, stdio: true, want: "conversation:acme/chat:x"},
		"2 id is not a string":                {meta: `"threadId":{"a":1}`, stdio: true, want: "stdio:tester:/work/project"},
		"3 session":                           {want: "session:*"},
		"4 Claude Code":                       {client: "claude-code", stdio: true, want: "chat:claude-1"},
		"4 Copilot":                           {client: "copilot-cli", stdio: true, want: "chat:copilot-1"},
		"4 configured":                        {client: "acme", stdio: true, env: "ACME_CHAT", want: "chat:acme-1"},
		"4 not over HTTP":                     {client: "claude-code", want: "session:*"},
		"5 one process a chat":                {client: "gemini-cli-mcp-client", stdio: true, want: "process:*"},
		"6 client and workspace":              {stdio: true, want: "stdio:tester:/work/project"},
		"6 a session for each call":           {client: "openai-mcp", want: "http:openai-mcp:"},
		"a sub-agent":                         {meta: `"todo-mcp/conversation":"c","todo-mcp/agent":"x"`, stdio: true, want: "conversation:todo-mcp/conversation:c/agent:x"},
		"a sub-agent of another conversation": {meta: `"todo-mcp/parent":"p","todo-mcp/agent":"x"`, stdio: true, want: "conversation:todo-mcp/conversation:p/agent:x"},
	} {
		t.Run(name, func(t *testing.T) {
			store := memory.New()
			for id, agent := range map[string]string{"toolu_1": "", "toolu_2": "a-1"} {
				if err := store.NoteHostCall(t.Context(), "", todo.HostCall{ID: id, Session: "s-1", Agent: agent}, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			s := servertest.New(t, store, func(cfg *server.Config) {
				cfg.List, cfg.Conversations, cfg.Getenv = c.list, []string{"acme/chat"}, func(name string) string { return environment[name] }
				if c.env != "" {
					cfg.SessionVariables = []string{c.env}
				}
			})
			client := cmp.Or(c.client, "tester")
			message := servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))
			if c.meta != "" {
				message = servertest.WithMeta(message, c.meta)
			}
			if c.stdio {
				p := servertest.NewPipe(t, s)
				go p.Send(servertest.Initialize(0, client), message)
				p.Read()
				p.Read()
			} else {
				url := servertest.Serve(t, s, nil).URL + "/mcp"
				servertest.Post(t, url+c.query, message, "Mcp-Session-Id", servertest.Session(t, url, client))
			}
			got := beganBy(t, store)
			if pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(c.want), `\*`, ".+") + "$"; len(got) != 1 || !regexp.MustCompile(pattern).MatchString(got[0]) {
				t.Errorf("began by %v, want %s", got, c.want)
			}
		})
	}
	store := memory.New()
	url := servertest.Serve(t, servertest.New(t, store, nil), nil).URL + "/mcp"
	servertest.Post(t, url, servertest.ModernCall(1, "TodoWrite", servertest.Todos("pending", "A")), servertest.ModernHeaders("tools/call", "TodoWrite")...)
	if got := beganBy(t, store); fmt.Sprint(got) != "[http:tester:]" {
		t.Errorf("6 neither session nor conversation: %v", got)
	}
}

// Two chats in one stdio process do not overwrite each other's lists. Reads and
// additions mean the list that was written last, also in a restarted process. A
// change of one item finds the open list that has the item, and its answer names
// that list. list_id chooses any list of the principal.
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
	call(first, "TodoWrite", servertest.Todos("pending", "C1", "C2", "C3", "C4"))
	lists, _ := store.Find(t.Context(), todo.Query{})
	if len(lists) != 4 || len(lists[0].Items) != 4 || len(lists[1].Items) != 1 || len(lists[2].Items) != 2 || len(lists[3].Items) != 4 {
		t.Fatalf("lists: %v", lists)
	}

	again := servertest.NewPipe(t, servertest.New(t, store, nil))
	if got := call(again, "SetTodoList", `{}`); !strings.Contains(got, "C4") {
		t.Errorf("the list written last: %s", got)
	}
	if got := call(again, "TodoWrite", servertest.Todos("in_progress", "B3")); !strings.Contains(got, "1 in_progress") {
		t.Error(got)
	}
	if got := call(again, "update_todo", `{"id":"4","status":"running"}`); !strings.Contains(got, `#4 "C4" → running`) || !strings.Contains(got, "This is another open list: "+lists[0].List.ID) {
		t.Errorf("an item of another open list: %s", got)
	}
	if got := call(again, "TodoWrite", servertest.Todos("pending", "C1", "C2", "C3", "C5")); !strings.Contains(got, "4 pending") {
		t.Error(got)
	}
	if l, _ := store.Load(t.Context(), lists[0].List.ID, 0); len(l.Items) != 4 || l.Items[3].Text != "C5" {
		t.Errorf("the list was not found again: %v", l.Items)
	}
	if got := call(again, "SetTodoList", `{"list_id":"`+lists[1].List.ID+`"}`); !strings.Contains(got, "B3") {
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
		if _, err := b.As("").Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: folder, Workspace: folder}},
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
