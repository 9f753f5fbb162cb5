package server_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/server/stdio"
	"github.com/todo-mcp/todo-mcp/tools"
)

// docs/spec/architecture.md, "Who is calling": the first step that applies decides the conversation's key.
func TestConversationKeys(t *testing.T) {
	environment := map[string]string{"CLAUDE_CODE_SESSION_ID": "claude-1", "COPILOT_AGENT_SESSION_ID": "copilot-1"}
	for name, c := range map[string]struct {
		list   string // --list
		client string // "" is tester
		meta   string
		stdio  bool
		http   servertest.Transport // "" is in a session
		query  string               // over HTTP
		want   string               // "*" is any text
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
		"2 opencode":                          {meta: `"ai.opencode/sessionID":"s"`, stdio: true, want: "chat:s"},
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
		"6 neither session nor conversation":  {http: servertest.Sessionless, want: "shared:http:tester:"},
		"6 a session for each call":           {client: "openai-mcp", want: "shared:http:openai-mcp:"},
		"a sub-agent":                         {meta: `"todo-mcp/conversation":"c","todo-mcp/agent":"x"`, stdio: true, want: "chat:c/agent:x"},
		"a sub-agent of another conversation": {meta: `"todo-mcp/parent":"p","todo-mcp/agent":"x"`, stdio: true, want: "chat:p/agent:x"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &servertest.Rig{T: t, By: cmp.Or(c.http, servertest.Session), Store: servertest.Memory()}
			if c.stdio {
				r.By = servertest.Stdio
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

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// A client that declares roots receives one roots/list request. Its first root is the workspace of its lists, and
// resume prefers lists of that workspace. Responses to requests that were never sent are ignored.
func TestRoots(t *testing.T) {
	r := &servertest.Rig{T: t, By: servertest.Stdio, Store: servertest.Memory()}
	for _, folder := range []string{"/home/me/app", "/elsewhere"} {
		r.Write("", board.Write{Target: board.Target{Conversation: board.Conversation{Key: folder, Workspace: folder}}, Change: servertest.Adds("Left in " + folder)})
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

// BAD-INPUT 109: A header `Todo-Folder` that is a literal `${PWD}`, relative, or an address elsewhere
// (`file://server/share` too); a huge one → Unknown; the huge one: cut. Absolute paths and `file:` addresses of any
// system count; non-UTF-8 is Latin-1
func TestFolderInHeader(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "${PWD}": "", "/home/${USER}": "", "{env:PWD}": "", "/work/{env:NAME}": "", "$PWD": "", "%CD%": "",
		"work": "", "./work": "", "../work": "", "C:": "", "C:work": "", `\work`: "", `\\`: "", "https://example.com/work": "", "file:": "", "file:work": "",
		"file:///w/%zz": "", "\xff": "", " ": "",
		"/": "/", "/work": "/work", "/work/a b/": "/work/a b", "/work//x/../y/.": "/work/y", "/50%20": "/50%20", "/日本": "/日本", "/caf\xe9": "/café",
		"file:///w/a%20b/": "/w/a b", "file:///C:/work": `C:\work`, `C:\work\`: `C:\work`, "d:/x": "d:/x", `\\server\share`: `\\server\share`,
		"file://localhost/w": "/w", "file://server/share/a": "", "file:////server/share/p": "",
	} {
		if got := server.HeaderFolder(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
	servertest.Over(t, func(r *servertest.Rig) {
		c := r.Connect()
		c.Folder = "/" + strings.Repeat("é", todo.MaxWorkspace)
		c.Writes("p:A")
		if n := len(r.Load(r.Newest()).List.Workspace); n != todo.MaxWorkspace-1 {
			t.Errorf("a workspace of %d bytes", n)
		}
	}, servertest.Sessionless)
}

const missing = "zzzzzzzzzzzzzzzzzzzzzzzzzz"

// BAD-INPUT 34: every message with another principal's list is answered as for an unknown id, and changes nothing.
// Afterwards the conversation does not hold the list, and todo://lists lacks it.
func TestForeignListIsUnknownOverTheWire(t *testing.T) {
	servertest.OverFile(t, func(r *servertest.Rig, open func() *servertest.Rig) {
		foreign := servertest.Foreign(t, r.Store)
		for _, conn := range []*servertest.Chat{r.Connect(), open().Connect()} {
			for i, c := range []*servertest.Chat{conn, conn.Conversation("a"), conn.Conversation("a").Agent("x")} {
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
					"subscribing": {"resources/subscribe", `{"uri":"todo://lists/LIST"}`},
				} {
					ask := func(list string) string {
						a := checktest.Must(c.Send(t.Context(), c.Message(1, m[0], strings.ReplaceAll(m[1], "LIST", list))))(t)
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
		if l := r.Load(foreign); l.Revision != 1 || chattest.ShowPlan(l.Items) != "p:theirs" {
			t.Errorf("34: the list is %s at revision %d", chattest.ShowPlan(l.Items), l.Revision)
		}
		r.Expect()
	})
}

// The client of the official Go SDK works over HTTP and over a pipe, in both eras: tools of two
// variants, resources, prompts and a subscription.
func TestOfficialClient(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *server.Server) mcp.Transport{
		"http": func(t *testing.T, s *server.Server) mcp.Transport {
			return &mcp.StreamableClientTransport{Endpoint: servertest.Serve(t, s, nil).URL + "/mcp"}
		},
		"stdio": func(t *testing.T, s *server.Server) mcp.Transport {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			go func() { stdio.Serve(context.Background(), s, inR, outW); outW.Close() }()
			t.Cleanup(func() { inW.Close() })
			return &mcp.IOTransport{Reader: outR, Writer: inW}
		},
	} {
		for _, era := range []string{servertest.Legacy, servertest.Modern} {
			t.Run(name+" "+era, func(t *testing.T) { useAsClient(t, connect(t, servertest.New(t, nil, nil)), era) })
		}
	}
}

func useAsClient(t *testing.T, transport mcp.Transport, era string) {
	ctx := t.Context()
	updated := make(chan string, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	session := checktest.Must(client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era}))(t)
	defer session.Close()
	checktest.Has(t, "protocol version", session.InitializeResult().ProtocolVersion, era)
	checktest.Check(t, session.Subscribe(ctx, &mcp.SubscribeParams{URI: "todo://list"}))
	if list := checktest.Must(session.ListTools(ctx, nil))(t); len(list.Tools) != len(tools.Names()) {
		t.Fatalf("%d tools", len(list.Tools))
	}
	item := func(text, status string) map[string]any {
		return map[string]any{"content": text, "activeForm": "Doing " + text, "status": status}
	}
	call := func(tool string, args map[string]any, want string) {
		t.Helper()
		res := checktest.Must(session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args}))(t)
		checktest.Has(t, tool, res.Content[0].(*mcp.TextContent).Text, want)
		if res.IsError || res.StructuredContent == nil {
			t.Errorf("%s: no structured content", tool)
		}
	}
	call("TodoWrite", map[string]any{"todos": []any{item("A", "in_progress"), item("B", "pending")}}, "Todo list updated: 0 completed, 1 in_progress, 1 pending")
	checktest.Has(t, "updated", <-updated, "todo://list")
	call("update_todo", map[string]any{"id": "1", "status": "completed"}, "[x] #1 A")
	read := checktest.Must(session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "todo://list"}))(t)
	checktest.Has(t, "todo://list", read.Contents[0].Text, `"status":"completed"`)
	checktest.Has(t, "todo://list", read.Contents[1].Text, "- [x] A")
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "todo://lists/unknown"}); err == nil {
		t.Error("an unknown list was read")
	}
	for name, of := range map[string]struct {
		arguments map[string]string
		want      string
	}{"resume": {nil, "- #2 B"}, "plan": {map[string]string{"goal": "ship {{goal}}"}, "ship {{goal}}"}} {
		prompt := checktest.Must(session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: of.arguments}))(t)
		checktest.Has(t, name, prompt.Messages[0].Content.(*mcp.TextContent).Text, of.want)
	}
}

// A panic ends only its own request, on stdio too. The answer says nothing of the cause; the log has it, in one line.
func TestPanicEndsTheRequestAlone(t *testing.T) {
	log := &servertest.Log{}
	store := &servertest.Failing{Store: servertest.Memory(), Fault: func(string, string) error { panic("secret") }}
	r := &servertest.Rig{T: t, By: servertest.Stdio, Store: store}
	c := r.Start(func(c *server.Config) { c.Log = log.Logger() }).Chat("tester")
	for params, method := range map[string]string{
		`{"name":"TodoWrite","arguments":{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}}`: "tools/call",
		`{"uri":"todo://list"}`: "resources/read", `{"uri":"todo://lists/x"}`: "resources/read", `{"name":"resume"}`: "prompts/get",
	} {
		a := c.Asks(method, params)
		if a.Error == nil || !strings.Contains(a.Error.Message, "the server failed; its log says why") || strings.Contains(a.Raw, "secret") {
			t.Errorf("%s %s: answer %s", method, params, a.Raw)
		}
		if lines := log.Take(); len(lines) != 1 || !strings.Contains(lines[0], "request failed") {
			t.Errorf("%s %s: log %q", method, params, lines)
		}
	}
}

// BAD-INPUT 44, 51: two processes that call at once with one operation id get one answer, and one change is made.
func TestRepeatAtOnceSameAnswer(t *testing.T) {
	servertest.OverFile(t, func(r *servertest.Rig, open func() *servertest.Rig) {
		chats := []*servertest.Chat{r.Connect().Conversation("c"), open().Connect().Conversation("c")}
		const times = 40
		for n := range times {
			var work sync.WaitGroup
			answers := make([]string, len(chats))
			for i, c := range chats {
				work.Go(func() { answers[i] = c.InOperation(fmt.Sprint("op-", n)).Adds("Step").Says("1 created").Text() })
			}
			work.Wait()
			if answers[0] != answers[1] {
				t.Errorf("44: %d: answers\n%s\n%s", n, answers[0], answers[1])
			}
		}
		r.Expect(strings.TrimSpace(strings.Repeat("p:Step ", times)))
	})
}

// For a list that only people wrote, as after an import, the app page gets no revision by an agent.
func TestNoRevisionByAnAgent(t *testing.T) {
	servertest.Over(t, func(r *servertest.Rig) {
		l := r.Write("", board.Write{Target: board.Target{Conversation: board.Conversation{Key: "x"}},
			Writer: todo.Writer{Person: true}, Change: servertest.Adds("A")})
		a := r.Connect().Does("todo_list_view", fmt.Sprintf(`{"list_id":%q}`, l.List.ID))
		if said := string(a.Result.Meta["todo-mcp/list"]); !strings.Contains(said, `"revision":1`) || strings.Contains(said, `"written"`) {
			t.Error(said)
		}
	})
}

// BAD-INPUT 64: Subscriptions to foreign or huge addresses, or too many → Refused; too many: over 100 of a session or
// stream, 5,000 of a user, 10,000 of all. Sessions without stream keep subscriptions for a minute
func TestOnlyOwnResourcesAreSubscribed(t *testing.T) {
	c := (&servertest.Rig{T: t, By: servertest.Session, Store: servertest.Memory()}).Connect()
	grew := servertest.Grows(t)
	long := strings.Repeat("x", 900<<10)
	for n := range 4 {
		for _, uri := range []string{"todo://lists/", "file:///" + long, fmt.Sprint("todo://lists/", n, long)} {
			a := c.Asks("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri))
			if err := a.Refused(); err == nil || !strings.Contains(err.Error(), "no such resource") {
				t.Errorf("64: %.30s is answered %.200s", uri, a.Raw)
			}
		}
	}
	grew("64", 4<<20)
}

// A session's next stream begins with a notice of each subscribed resource, which may have changed meanwhile. The
// stream follows the list that the conversation took up while no stream was open.
func TestTheNextStreamKnowsWhatChanged(t *testing.T) {
	s := (&servertest.Rig{T: t, By: servertest.Session, Store: servertest.Memory()}).Start(nil)
	a, b := s.Chat("tester"), s.Chat("tester")
	a.Writes("p:Own")
	b.Writes("p:Other")
	const list = `"uri":"todo://list"`
	stream := func() *servertest.Events {
		return servertest.OpenStream(t, "GET", a.URL, "", "Mcp-Session-Id", a.Session)
	}
	first := stream()
	a.Subscribe("todo://list")
	a.Writes("c:Own")
	first.Expect(list)
	checktest.Check(t, first.Close())
	a.Resume("Other").Says("Other")
	second := stream()
	second.Expect(list)
	for _, plan := range []string{"i:Other", "c:Other"} {
		b.Writes(plan)
		second.Expect(list)
	}
}

// The acknowledgement is the first message of a stream of subscriptions/listen, even if the request subscribes to
// nothing and is answered at once. mcp-go alone may send the acknowledgement after the answer, or drop it.
func TestListenIsAcknowledgedFirst(t *testing.T) {
	servertest.Over(t, func(r *servertest.Rig) {
		c := r.Connect()
		for range 100 {
			message := c.Message("L", "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
			a, err := c.Send(t.Context(), message)
			note := c.NoteNow() // what came before the answer
			if err != nil || !strings.Contains(note, "notifications/subscriptions/acknowledged") || a.Result.ResultType != "complete" {
				c.Fatalf("a stream without subscriptions: %q %s %v", note, a.Raw, err)
			}
		}
	}, servertest.StdioModern, servertest.Sessionless)
}

// told checks c's notifications up to the beacon's change: todo://list is among them if want is true, else none came.
func told(c *servertest.Chat, beacon *servertest.Beacon, want bool, what string) {
	c.Helper()
	if got := beacon.Before(c); slices.Contains(got, "todo://list") != want || !want && len(got) > 0 {
		c.Errorf("told of %s: %q, want %t", what, got, want)
	}
}

// Two streams of subscriptions/listen on one connection, for two conversations: each is notified of its own
// conversation's list, under its own id.
func TestTwoListenStreams(t *testing.T) {
	servertest.Over(t, func(r *servertest.Rig) {
		c := r.Connect()
		chats := map[string]*servertest.Chat{"LA": c.Conversation("a"), "LB": c.Conversation("b")}
		for id, who := range chats {
			who.Writes("p:" + id)
			who.Listens(id, "todo://list")
		}
		early := make(map[string]bool) // a change while a stream begins may be notified twice
		for n := range 5 {
			for id, who := range chats {
				who.Adds(fmt.Sprint("Step", n))
				_, got := c.Updated()
				for got != id && !early[got] {
					early[got] = true
					_, got = c.Updated()
				}
				if got != id {
					t.Errorf("%s's write is told as %s", id, got)
				}
			}
		}
	}, servertest.StdioModern, servertest.Sessionless)
}
