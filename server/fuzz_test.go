package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/tools"
)

type fuzzed struct {
	store   board.Store
	server  *server.Server
	foreign todo.Snapshot
}

// secret is the item of the other principal's list. No fuzzed message can guess it.
const secret = "theirs \u2603 8d0c41"

func newFuzzed(t *testing.T) *fuzzed {
	t.Helper()
	f := &fuzzed{store: storetest.NewMemory()}
	f.server = servertest.New(t, f.store, nil)
	f.foreign = servertest.Write(t, f.store, "somebody", board.Write{Target: board.Target{Conversation: board.Conversation{Key: "x"}}, Change: servertest.Adds(secret)})
	return f
}

func (f *fuzzed) own(t *testing.T) []todo.Snapshot {
	t.Helper()
	own := ""
	return checktest.Must(f.store.Find(t.Context(), board.Query{Principal: &own}))(t)
}

// answer passes a message to the server as the transports do, and returns the client's answer as JSON: an error, a
// result, or null for a notification.
func (f *fuzzed) answer(t *testing.T, message string) (raw string, refused bool) {
	t.Helper()
	var answer any
	m, bad := jsonrpc.Read([]byte(message))
	if bad != nil {
		answer = bad.Answer(m.ID)
	} else {
		answer, _ = f.server.Handle(t.Context(), server.Peer{Process: true}, m)
	}
	data := checktest.Must(json.Marshal(answer))(t)
	if !utf8.Valid(data) || strings.Contains(string(data), "8d0c41") {
		t.Fatalf("%s is answered %s", message, data)
	}
	var a struct {
		ID     json.RawMessage
		Result struct{ IsError bool }
		Error  *struct{ Message string }
	}
	checktest.Check(t, json.Unmarshal(data, &a))
	return string(data), a.Error != nil || a.Result.IsError
}

func (f *fuzzed) check(t *testing.T) {
	t.Helper()
	if now, err := f.store.Load(t.Context(), f.foreign.List.ID, 0); err != nil || !now.Equal(f.foreign) {
		t.Fatalf("another principal's list: %+v, %v", now, err)
	}
	for _, l := range f.own(t) {
		checktest.Check(t, l.Check())
		if l.List.Name != "" && todo.CheckName(l.List.Name) != nil || len(l.List.Workspace) > todo.MaxWorkspace {
			t.Fatalf("%+v", l.List)
		}
		for _, label := range []string{l.List.Agent, l.List.Client, l.List.Parent, l.Writer.Client, l.Writer.Agent, l.Writer.Variant, l.Operation.ID} {
			if len(label) > todo.MaxLabel || !utf8.ValidString(label) {
				t.Fatalf("label %q of %+v", label, l)
			}
		}
	}
}

// Any tool is called with any arguments and any _meta, in both eras of the protocol. A refused call changes nothing, an
// applied one leaves valid lists, and its repeat with the same operation id changes nothing. Another principal's list
// is neither shown nor changed.
func FuzzCall(f *testing.F) {
	for n, args := range []string{
		servertest.Todos("pending", "A", "B"), `{"todos":[{"title":"A","status":"done"}]}`, `{"items":["A","\ud800"]}`, `{"id":"1","status":"completed"}`,
		`{"items":[{"text":"A"}],"list_id":"zzz"}`, `{"todos":"[{\"content\":\"A\",\"status\":\"pending\"}]"}`,
	} {
		for _, meta := range []string{
			``, `"todo-mcp/conversation":"c"`, `"threadId":"t","sessionId":"s","callId":"1"`, `"todo-mcp/agent":"a\u0000b","todo-mcp/parent":"c","todo-mcp/ended":true`,
			`"todo-mcp/operation":"o","claudecode/toolUseId":"u"`, `"com.zcode/request-context":{"session_id":"é"},"progressToken":{}`, `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"x=\u0001"`,
			servertest.Meta[len(`"_meta":{`) : len(servertest.Meta)-1],
		} {
			f.Add(uint8(n), args, meta)
		}
	}
	f.Fuzz(func(t *testing.T, tool uint8, args, meta string) {
		s := newFuzzed(t)
		name := tools.Names()[int(tool)%len(tools.Names())]
		if _, refused := s.answer(t, servertest.Call(0, "TodoWrite", servertest.Todos("pending", "first"))); refused {
			t.Fatal("the first plan is refused")
		}
		before := s.own(t)
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{%s}}}`, name, args, meta)
		answer, refused := s.answer(t, message)
		s.check(t)
		after := s.own(t)
		if refused && (len(after) != len(before) || !after[0].Equal(before[0])) {
			t.Fatalf("%s is refused: %s, and there is %+v", message, answer, after)
		}
		again, _ := s.answer(t, message)
		s.check(t)
		if strings.Contains(meta, `"todo-mcp/operation":"o"`) && !refused && (again != answer || len(s.own(t)) != len(after)) {
			t.Fatalf("%s\nis answered %s\nand repeated %s", message, answer, again)
		}
	})
}
