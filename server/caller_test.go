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
	environment := map[string]string{"CLAUDE_CODE_SESSION_ID": "claude-1", "COPILOT_AGENT_SESSION_ID": "copilot-1"}
	for name, c := range map[string]struct {
		list   string // --list
		client string // "" is tester
		meta   string
		stdio  bool
		query  string // over HTTP
		want   string // "*" is any text
	}{
		"--list":                              {list: "mine", meta: `"threadId":"t"`, stdio: true, want: "conversation:threadId:t@name:mine"},
		"?list=":                              {meta: `"threadId":"t"`, query: "?list=mine", want: "conversation:threadId:t@name:mine"},
		"?list= before --list":                {list: "other", query: "?list=mine", want: "session:*@name:mine"},
		"1 hook":                              {meta: `"claudecode/toolUseId":"toolu_1","threadId":"t"`, stdio: true, want: "chat:s-1"},
		"1 hook of a sub-agent":               {meta: `"claudecode/toolUseId":"toolu_2"`, stdio: true, want: "chat:s-1/agent:a-1"},
		"1 a call without hook":               {meta: `"claudecode/toolUseId":"toolu_3"`, stdio: true, want: "process:*"},
		"2 todo-mcp's key":                    {meta: `"threadId":"t","todo-mcp/conversation":"c"`, stdio: true, want: "conversation:todo-mcp/conversation:c"},
		"2 VS Code":                           {meta: `"vscode.conversationId":"v"`, stdio: true, want: "conversation:vscode.conversationId:v"},
		"2 Codex over a session":              {meta: `"threadId":"t","sessionId":"t"`, want: "conversation:threadId:t"},
		"2 Codex, a sub-agent":                {meta: `"threadId":"t2","sessionId":"t"`, stdio: true, want: "conversation:threadId:t2"},
		"2 opencode":                          {meta: `"sessionID":"s"`, stdio: true, want: "conversation:sessionID:s"},
		"2 opencode 2":                        {meta: `"ai.opencode/sessionID":"s"`, stdio: true, want: "conversation:ai.opencode/sessionID:s"},
		"2 Antigravity":                       {meta: `"antigravity.google/conversation_id":"s"`, stdio: true, want: "conversation:antigravity.google/conversation_id:s"},
		"2 ZCode":                             {meta: `"com.zcode/request-context":{"session_id":"z"}`, stdio: true, want: "conversation:com.zcode/request-context:z"},
		"2 id is not a string":                {meta: `"threadId":{"a":1}`, stdio: true, want: "process:*"},
		"3 session":                           {want: "session:*"},
		"3 a shared session":                  {client: "cursor", want: "shared:session:*"},
		"4 Claude Code":                       {client: "claude-code", stdio: true, want: "chat:claude-1"},
		"4 Copilot":                           {client: "copilot-cli", stdio: true, want: "chat:copilot-1"},
		"4 not over HTTP":                     {client: "claude-code", want: "session:*"},
		"5 the process":                       {stdio: true, want: "process:*"},
		"5 a shared process":                  {client: "cursor", stdio: true, want: "shared:process:*"},
		"6 a session for each call":           {client: "openai-mcp", want: "shared:http:openai-mcp:"},
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
				cfg.List, cfg.Getenv = c.list, func(name string) string { return environment[name] }
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
	if got := beganBy(t, store); fmt.Sprint(got) != "[shared:http:tester:]" {
		t.Errorf("6 neither session nor conversation: %v", got)
	}
}

// Two chats in one stdio process of a client that shares it (rule 4) do not overwrite
// each other's lists. Reads and additions mean the list that was written last. A
// change of one item finds the open list that has the item, and its answer names that
// list. list_id chooses any list of the principal. A restarted process is another
// conversation, which goes on with a list by writing it again, and says so.
func TestTwoChatsOnStdio(t *testing.T) {
	over(t, func(r *rig) {
		p := r.start(nil)
		first := p.chat("cursor")
		if got := first.calls("SetTodoList", `{}`); got != "The todo list is empty." {
			t.Error(got)
		}
		first.writes("p:A1 p:A2 p:A3")
		first.writes("p:B1 p:B2")
		first.writes("c:A1 c:A2 c:A3 c:A4")
		if got := first.calls("SetTodoList", `{}`); !strings.Contains(got, "A4") {
			t.Errorf("the list written last: %s", got)
		}
		if got := first.calls("update_todo", `{"id":"2","status":"completed"}`); !strings.Contains(got, "A2") {
			t.Errorf("an item of the current list: %s", got)
		}
		first.writes("c:B1 c:B2")
		first.adds("B3")
		b := first.held()
		first.writes("p:C1 p:C2 p:C3 p:C4")
		list := first.held()
		r.expect("p:C1 p:C2 p:C3 p:C4", "p:B3", "c:B1 c:B2", "c:A1 c:A2 c:A3 c:A4")
		id := r.load(b).Items[0].ID
		if got := first.calls("update_todo", fmt.Sprintf(`{"id":%q,"status":"running"}`, id)); !strings.Contains(got, fmt.Sprintf(`#%s "B3" → running`, id)) || !strings.Contains(got, "This is another open list: "+b) {
			t.Errorf("an item of another open list: %s", got)
		}
		if got := first.writes("i:C1 p:C2 p:C3 p:C5 p:C4"); strings.Contains(got, "Continues") {
			t.Errorf("its own list: %s", got)
		}

		p.end()
		again := r.start(nil).chat("cursor")
		again.shows("")
		if got := again.writes("c:C1 p:C2 p:C3 p:C4 p:New"); !strings.Contains(got, `Continues "C1" of an earlier session`) {
			t.Errorf("the list of an earlier process: %s", got)
		}
		if l := r.load(list); len(l.Items) != 5 || l.Items[4].Text != "New" {
			t.Errorf("the list was not found again: %v", l.Items)
		}
		if got := again.calls("SetTodoList", `{"list_id":"`+b+`"}`); !strings.Contains(got, "B3") {
			t.Errorf("list_id: %s", got)
		}
		for _, id := range []string{"unknown", foreignList(t, r.store)} {
			if got := again.calls("SetTodoList", `{"list_id":"`+id+`"}`); !strings.Contains(got, "There is no such list here. Leave list_id out") {
				t.Errorf("list_id %s: %s", id, got)
			}
		}
	}, onStdio, onStdioNew)
}

// The prompt resume returns the list's items, and the next write of the session
// that used it changes that list, although another session began it. A write that has
// nothing in common with it begins the next list (rule 3).
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
	servertest.Post(t, url, servertest.Call(3, "TodoWrite", servertest.Todos("completed", "Left open", "Something else now")), "Mcp-Session-Id", fresh)
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
