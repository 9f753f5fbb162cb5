package jsonrpc_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 16: JSON deeper than 64 levels, a key twice or in two cases, a control character in a
// key, a protocol key in another case, bytes behind the message, a batch, invalid UTF-8 → Refused
//
// BAD-INPUT 21: An id that is neither a string of at most 256 bytes nor an integer between -2^53
// and 2^53 → Refused, with id null. 7.0 is 7
func TestRefusalsCarryTheirID(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"16 deep":          {`{"jsonrpc":"2.0","id":4,"method":"ping","params":` + strings.Repeat(`{"":`, 100) + `1` + strings.Repeat(`}`, 100) + `}`, `"id":4`},
		"17 duplicate key": {`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"a":1,"a":2}}`, `"id":4`},
		"18 case":          {`{"jsonrpc":"2.0","method":"ping","Method":"ping","id":"x"}`, `"id":"x"`},
		"21 odd id":        {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":null`},
		"21 long id":       {`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 255) + `","method":"ping"}`, `"id":null`},
		"64 long listen":   {`{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":"` + strings.Repeat("x", 64<<10) + `"}`, `"id":4`},
		"17 two ids":       {`{"jsonrpc":"2.0","id":4,"id":5,"method":"ping"}`, `"id":null`},
		"26 UTF-8":         {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":\"\xff\"}", `"id":4`},
		"a response":       {`{"jsonrpc":"2.0","id":4,"result":{"a":1,"a":2}}`, `"id":null`},
		"id last":          {"{\"params\":\"\\\"id\\\":9\", \"params\":0, \"method\":\"ping\",\n\"\\u0069d\" : \"seven\"}", `"id":"seven"`},
		"a cut id":         {`{"method":"ping","id":12`, `"id":null`},
		"cut off":          {`{"id":7,"method":"ping","params":"`, `"id":7`},
		"not JSON":         {`hello`, `"id":null`},
	} {
		m, refused := jsonrpc.Read([]byte(c.message))
		if refused == nil {
			t.Fatalf("%s: the message was accepted", name)
		}
		answer, err := json.Marshal(refused.Answer(m.ID))
		if err != nil || !strings.Contains(string(answer), c.want) {
			t.Errorf("%s: answer %s, %v", name, answer, err)
		}
	}
}

// BAD-INPUT 16
func TestKeysOfLargeObjects(t *testing.T) {
	for n := range 24 {
		message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{`
		for i := range 24 {
			message += fmt.Sprintf(`"key%d":1,`, i)
		}
		message += fmt.Sprintf(`"KEY%d":2}}}`, n)
		if _, err := jsonrpc.Read([]byte(message)); err == nil || !strings.Contains(err.Message, "only in case") {
			t.Errorf("18: KEY%d: %v", n, err)
		}
	}
}

// mcp-go gets a tool call without its arguments, and any other message as it is.
func TestBrief(t *testing.T) {
	for _, c := range []struct{ message, arguments, brief string }{
		{`{"id":1,"method":"tools/call","params":{"arguments" : {"a":{"arguments":{}}} ,"name":"x"}}`, `{"a":{"arguments":{}}}`,
			`{"id":1,"method":"tools/call","params":{"arguments" : {} ,"name":"x"}}`},
		{`{"id":1,"method":"tools/call","params":{"_meta":{"arguments":{"a":1}},"arguments":{}}}`, `{}`, ``},
		{`{"id":1,"method":"tools/call","params":{"arguments":"{}"}}`, ``, ``},
		{`{"id":1,"method":"tools/call","arguments":{"a":1}}`, ``, ``},
		{`{"id":1,"method":"prompts/get","params":{"arguments":{"a":"b"}}}`, ``, ``},
	} {
		m, err := jsonrpc.Read([]byte(c.message))
		if err != nil || string(m.Arguments) != c.arguments || string(m.Brief) != cmp.Or(c.brief, c.message) {
			t.Errorf("%s became %s and %s, %v", c.message, m.Brief, m.Arguments, err)
		}
		checkBrief(t, []byte(c.message), m)
	}
}

// What Read takes, every reader of JSON reads alike. What it refuses leaves at most one
// valid id, and quotes nothing of the message.
func FuzzMessage(f *testing.F) {
	for name, message := range servertest.BadMessages() {
		if !strings.Contains(name, "deep") { // 400 kB each
			f.Add([]byte(message))
		}
	}
	for _, message := range []string{
		servertest.Initialize(1, "a"), servertest.Call("x", "TodoWrite", servertest.Todos("pending", "A\\\"")), servertest.ModernCall(-5, "update_todo", `{"id":1}`),
		`{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		`{"id":"\u0000","method":"\u0070ing","\u0069d2":[{}]}`, ` {"method" : "ping" , "id" : 9007199254740992 } `,
	} {
		f.Add([]byte(message))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.Clone(raw) // which Read changes
		m, err := jsonrpc.Read(raw)
		var text string
		var number float64
		if len(m.ID) > 0 && json.Unmarshal(m.ID, &text) != nil && json.Unmarshal(m.ID, &number) != nil {
			t.Fatalf("%q is no id", m.ID)
		}
		if err != nil {
			checkRefusal(t, m, err)
			return
		}
		if !utf8.Valid(raw) || !json.Valid(raw) {
			t.Fatalf("%q is taken", raw)
		}
		// A reader that keeps the last of equal keys, and one that refuses them.
		var lenient map[string]json.RawMessage
		checktest.Check(t, json.Unmarshal(raw, &lenient))
		if !bytes.Equal(lenient["id"], m.ID) {
			t.Fatalf("id %s, another reader finds %s", m.ID, lenient["id"])
		}
		var method string
		if lenient["method"] != nil && json.Unmarshal(lenient["method"], &method) != nil || method != m.Method {
			t.Fatalf("method %q, another reader finds %s", m.Method, lenient["method"])
		}
		checkBrief(t, raw, m)
		if v := jsontext.Value(bytes.Clone(raw)); v.Compact() == nil {
			again, err := jsonrpc.Read(v)
			if err != nil || again.Method != m.Method || again.Modern != m.Modern {
				t.Fatalf("compacted: %+v, %v; before %+v", again, err, m)
			}
		}
	})
}

func checkBrief(t *testing.T, raw []byte, m jsonrpc.Message) {
	t.Helper()
	if m.Arguments == nil {
		if !bytes.Equal(m.Brief, raw) {
			t.Fatalf("the brief form of %q is %q", raw, m.Brief)
		}
		return
	}
	var whole, brief map[string]any
	if json.Unmarshal(raw, &whole) != nil || json.Unmarshal(m.Brief, &brief) != nil || m.Method != "tools/call" {
		t.Fatalf("the brief form of %q is %q", raw, m.Brief)
	}
	var arguments any
	params, ok := brief["params"].(map[string]any)
	if err := json.Unmarshal(m.Arguments, &arguments); err != nil || !ok || !reflect.DeepEqual(params["arguments"], map[string]any{}) {
		t.Fatalf("%q has the arguments %q and else %q", raw, m.Arguments, m.Brief)
	}
	if params["arguments"] = arguments; !reflect.DeepEqual(whole, brief) {
		t.Fatalf("%q became %q and %q", raw, m.Brief, m.Arguments)
	}
}

func checkRefusal(t *testing.T, m jsonrpc.Message, err *jsonrpc.Error) {
	t.Helper()
	if err.Code >= 0 || strings.ContainsFunc(err.Message, unicode.IsControl) || len(err.Message) > 200 {
		t.Fatalf("refused with %d %q", err.Code, err.Message)
	}
	if data, err := json.Marshal(err.Answer(m.ID)); err != nil || !json.Valid(data) {
		t.Fatalf("answer %s, %v", data, err)
	}
}
