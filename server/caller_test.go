package server_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// docs/spec/architecture.md, "Who is calling": the first step that applies
// decides the key of the conversation.
func TestConversationKeys(t *testing.T) {
	environment := map[string]string{"CLAUDE_CODE_SESSION_ID": "claude-1", "COPILOT_AGENT_SESSION_ID": "copilot-1"}
	for name, c := range map[string]struct {
		list   string // --list
		client string // "" is tester
		meta   string
		stdio  bool
		http   chattest.Transport // "" is in a session
		query  string             // over HTTP
		want   string             // "*" is any text
	}{
		"--list":                              {list: "mine", meta: `"threadId":"t"`, stdio: true, want: "chat:t"},
		"?list=":                              {meta: `"threadId":"t"`, query: "?list=mine", want: "chat:t"},
		"?list= before --list":                {list: "other", query: "?list=mine", want: "session:*@name:mine"},
		"1 hook":                              {meta: `"claudecode/toolUseId":"toolu_1","threadId":"t"`, stdio: true, want: "chat:s-1"},
		"1 hook of a sub-agent":               {meta: `"claudecode/toolUseId":"toolu_2"`, stdio: true, want: "chat:s-1/agent:a-1"},
		"1 a call without hook":               {meta: `"claudecode/toolUseId":"toolu_3"`, stdio: true, want: "process:*"},
		"2 todo-mcp's key":                    {meta: `"threadId":"t","todo-mcp/conversation":"c"`, stdio: true, want: "chat:c"},
		"2 VS Code":                           {meta: `"vscode.conversationId":"v"`, stdio: true, want: "chat:v"},
		"2 Codex over a session":              {meta: `"threadId":"t","sessionId":"t"`, want: "chat:t"},
		"2 Codex, a sub-agent":                {meta: `"threadId":"t2","sessionId":"t"`, stdio: true, want: "chat:t/agent:t2"},
		"2 opencode":                          {meta: `"sessionID":"s"`, stdio: true, want: "chat:s"},
		"2 opencode 2":                        {meta: `"ai.opencode/sessionID":"s"`, stdio: true, want: "chat:s"},
		"2 Antigravity":                       {meta: `"antigravity.google/conversation_id":"s"`, stdio: true, want: "chat:s"},
		"2 ZCode":                             {meta: `"com.zcode/request-context":{"session_id":"z"}`, stdio: true, want: "chat:z"},
		"2 id is not a string":                {meta: `"threadId":{"a":1}`, stdio: true, want: "process:*"},
		"3 session":                           {want: "session:*"},
		"3 a shared session":                  {client: "cursor", want: "shared:session:*"},
		"4 Claude Code":                       {client: "claude-code", stdio: true, want: "chat:claude-1"},
		"4 Copilot":                           {client: "copilot-cli", stdio: true, want: "chat:copilot-1"},
		"4 not over HTTP":                     {client: "claude-code", want: "session:*"},
		"5 the process":                       {stdio: true, want: "process:*"},
		"5 a shared process":                  {client: "cursor", stdio: true, want: "shared:process:*"},
		"6 neither session nor conversation":  {http: chattest.Sessionless, want: "shared:http:tester:"},
		"6 a session for each call":           {client: "openai-mcp", want: "shared:http:openai-mcp:"},
		"a sub-agent":                         {meta: `"todo-mcp/conversation":"c","todo-mcp/agent":"x"`, stdio: true, want: "chat:c/agent:x"},
		"a sub-agent of another conversation": {meta: `"todo-mcp/parent":"p","todo-mcp/agent":"x"`, stdio: true, want: "chat:p/agent:x"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &chattest.Rig{T: t, By: cmp.Or(c.http, chattest.Session), Store: chattest.Memory()}
			if c.stdio {
				r.By = chattest.Stdio
			}
			hookSays(r, "", board.CallKey, "toolu_1", heard("s-1", "", ""), time.Now())
			hookSays(r, "", board.CallKey, "toolu_2", heard("s-1", "a-1", ""), time.Now())
			chat := r.Start(func(cfg *server.Config) {
				cfg.List, cfg.Getenv = c.list, func(name string) string { return environment[name] }
			}).Chat(cmp.Or(c.client, "tester"))
			chat.At(chat.URL+c.query).With("%s", c.meta).Writes("p:A")
			got := r.Found()
			if len(got) != 1 {
				t.Fatalf("begun: %+v", got)
			}
			key, isShared := strings.CutPrefix(c.want, "shared:")
			key = strings.Replace(key, "process:*", "process:"+got[0].Writer.Process, 1)
			key = strings.Replace(key, "session:*", "session:"+todo.Digest(chat.Session), 1)
			if by := got[0].List.Conversation; by != todo.ChatID("", "", key, isShared) {
				t.Errorf("begun by %s, want that of %s", by, c.want)
			}
		})
	}
}

// A client that declares roots receives one roots/list request. The first root
// is the workspace of its lists, and resume prefers lists of that workspace.
// Responses to requests that were never sent are ignored.
func TestRoots(t *testing.T) {
	r := &chattest.Rig{T: t, By: chattest.Stdio, Store: chattest.Memory()}
	for _, folder := range []string{"/home/me/app", "/elsewhere"} {
		r.Write("", board.Write{Target: board.Target{Conversation: board.Conversation{Key: folder, Workspace: folder}}, Change: chattest.Adds("Left in " + folder)})
	}
	p := servertest.NewPipe(t, servertest.New(t, r.Store, nil))
	go p.Send(strings.Replace(servertest.Initialize(1, "tester"), `"capabilities":{}`, `"capabilities":{"roots":{}}`, 1), initialized)
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
	if l := r.Found()[0].List; l.Workspace != "/home/me/app" {
		t.Errorf("workspace: %+v", l)
	}
}

// BAD-INPUT 109: A header `Todo-Folder` that is a literal `${PWD}`, relative, an address
// elsewhere, or huge → Unknown. A whole path or its `file:` address on any system counts; what is
// not UTF-8 is Latin-1
func TestFolderInHeader(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "${PWD}": "", "/home/${USER}": "", "{env:PWD}": "", "/work/{env:NAME}": "", "$PWD": "", "%CD%": "",
		"work": "", "./work": "", "../work": "", "C:": "", "C:work": "", `\work`: "", `\\`: "", "https://example.com/work": "", "file:": "", "file:work": "",
		"file:///w/%zz": "", "\xff": "", " ": "",
		"/": "/", "/work": "/work", "/work/a b/": "/work/a b", "/work//x/../y/.": "/work/y", "/50%20": "/50%20", "/日本": "/日本", "/caf\xe9": "/café",
		"file:///w/a%20b/": "/w/a b", "file:///C:/work": "C:/work", `C:\work\`: `C:\work`, "d:/x": "d:/x", `\\server\share`: `\\server\share`,
		"file://localhost/w": "/w", "file://server/share/a%20b/": `\\server\share\a b`, "file://wsl.localhost/Ubuntu/home/sam": `\\wsl.localhost\Ubuntu\home\sam`,
		"file:////server/share/p": `\\server\share\p`, "file://Server:80/share": "", "file://server": "", "file://server/": "",
	} {
		if got := server.HeaderFolder(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		c.Folder = "/" + strings.Repeat("é", todo.MaxWorkspace)
		c.Writes("p:A")
		if n := len(r.Load(r.Newest()).List.Workspace); n != todo.MaxWorkspace-1 {
			t.Errorf("a workspace of %d bytes", n)
		}
	}, chattest.Sessionless)
}

const missing = "zzzzzzzzzzzzzzzzzzzzzzzzzz"

// BAD-INPUT 34: by whatever message; the list is not held afterwards, and in no list of lists.
func TestForeignListIsUnknownOverTheWire(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
		foreign := chattest.Foreign(t, r.Store)
		for _, conn := range []*chattest.Chat{r.Connect(), open().Connect()} {
			for i, c := range []*chattest.Chat{conn, conn.Conversation("a"), conn.Conversation("a").Agent("x")} {
				for name, m := range map[string][2]string{
					"read":        {"tools/call", `{"name":"SetTodoList","arguments":{"list_id":"LIST"}}`},
					"write":       {"tools/call", `{"name":"TodoWrite","arguments":{"list_id":"LIST","todos":[{"content":"theirs","activeForm":"x","status":"completed"}]}}`},
					"clear":       {"tools/call", `{"name":"TodoWrite","arguments":{"list_id":"LIST","todos":[]}}`},
					"add":         {"tools/call", `{"name":"create_todos","arguments":{"list_id":"LIST","items":["A"]}}`},
					"one item":    {"tools/call", `{"name":"update_todo","arguments":{"list_id":"LIST","id":"1","status":"completed"}}`},
					"page":        {"tools/call", `{"name":"todo_list_view","arguments":{"list_id":"LIST"}}`},
					"tick":        {"tools/call", `{"name":"todo_list_tick","arguments":{"list_id":"LIST","item_id":"1","status":"completed","revision":1}}`},
					"resource":    {"resources/read", `{"uri":"todo://lists/LIST"}`},
					"resume":      {"prompts/get", `{"name":"resume","arguments":{"list":"LIST"}}`},
					"completion":  {"completion/complete", `{"ref":{"type":"ref/prompt","name":"resume"},"argument":{"name":"list","value":"LIST"}}`},
					"subscribing": {"resources/subscribe", `{"uri":"todo://lists/LIST"}`},
				} {
					ask := func(list string) string {
						a := servertest.Must(c.Send(t.Context(), c.Message(1, m[0], strings.ReplaceAll(m[1], "LIST", list))))(t)
						return strings.ReplaceAll(a.Raw, list, "LIST")
					}
					if got, want := ask(foreign), ask(missing); got != want {
						t.Errorf("34: %d %s: %s\nunknown: %s", i, name, got, want)
					}
				}
				if got := c.Resource("todo://lists"); strings.Contains(got, foreign) {
					t.Errorf("34: todo://lists: %s", got)
				}
				if got := c.Current(); got != "" {
					t.Errorf("34: the conversation holds %s", got)
				}
			}
		}
		if l := r.Load(foreign); l.Revision != 1 || chattest.Show(l.Items) != "p:theirs" {
			t.Errorf("34: the list is %s at revision %d", chattest.Show(l.Items), l.Revision)
		}
		r.Expect()
	})
}
