package jsonrpc_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 16: JSON deeper than 10,000 levels, a key twice, a known param in another case, bytes
// behind the message, a batch, invalid UTF-8 → Refused. Keys beside those of JSON-RPC are dropped
//
// BAD-INPUT 21: An id that is neither a string of at most 256 bytes nor an integer between -2^53
// and 2^53 → Refused, with id null. 7.0 is 7
func TestRefusalsCarryTheirID(t *testing.T) {
	for name, c := range map[string]struct{ message, want string }{
		"16 deep":          {`{"jsonrpc":"2.0","id":4,"method":"ping","params":` + strings.Repeat(`{"":`, 10_000) + `1` + strings.Repeat(`}`, 10_000) + `}`, `"id":4`},
		"17 duplicate key": {`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"a":1,"a":2}}`, `"id":4`},
		"18 case":          {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","Name":"b"},"id":"x"}`, `"id":"x"`},
		"21 odd id":        {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":null`},
		"21 long id":       {`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 255) + `","method":"ping"}`, `"id":null`},
		"64 long listen":   {`{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":"` + strings.Repeat("x", 64<<10) + `"}`, `"id":4`},
		"17 two ids":       {`{"jsonrpc":"2.0","id":4,"id":5,"method":"ping"}`, `"id":null`},
		"26 UTF-8":         {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":\"\xff\"}", `"id":4`},
		"a response":       {`{"jsonrpc":"2.0","id":4,"result":{"a":1,"a":2}}`, `"id":null`},
		"id before":        {"{\"method\":\"ping\",\n\"\\u0069d\" : \"seven\", \"params\":\"\\\"id\\\":9\", \"params\":0}", `"id":"seven"`},
		"id behind":        {`{"method":"ping","params":1,"params":2,"id":4}`, `"id":null`},
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

// mcp-go gets only the members that Read has read, and a tool call without its arguments.
func TestBrief(t *testing.T) {
	for _, c := range []struct{ message, arguments, brief string }{
		{`{"id":1,"method":"tools/call","params":{"arguments" : {"a":{"arguments":{}}} ,"name":"x"}}`, `{"a":{"arguments":{}}}`,
			`{"id":1,"method":"tools/call","params":{"arguments":{},"name":"x"}}`},
		{`{"id":1,"method":"tools/call","params":{"_meta":{"arguments":{"a":1}},"arguments":{}}}`, `{}`, ``},
		{`{"id":1,"method":"tools/call","params":{"arguments":"{}"}}`, ``, ``},
		{`{"id":1,"method":"tools/call","arguments":{"a":1}}`, ``, `{"id":1,"method":"tools/call"}`},
		{`{"id":1,"method":"prompts/get","params":{"arguments":{"a":"b"}}}`, ``, ``},
		{`{"id":1,"method":"ping","Method":"a","method\u0000":"b","j` + "\u017f" + `onrpc":"1.0"}`, ``, `{"id":1,"method":"ping"}`},
		{`{"id":1,"method":"ping","params":{"a":[],"_meta":[ ],"capabilities":{"a":{"b":[]}}}}`, ``,
			`{"id":1,"method":"ping","params":{"_meta":{},"a":[],"capabilities":{"a":{"b":{}}}}}`},
	} {
		m, err := jsonrpc.Read([]byte(c.message))
		if err != nil || string(m.Arguments) != c.arguments || string(m.Brief) != cmp.Or(c.brief, c.message) {
			t.Errorf("%s became %s and %s, %v", c.message, m.Brief, m.Arguments, err)
		}
		checkBrief(t, []byte(c.message), m)
	}
}

// mcp-go and Read understand each accepted message alike. When Read refuses a message, it returns a valid id or none,
// and its error quotes nothing of the message.
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
		checkBrief(t, raw, m)
		if v := jsontext.Value(bytes.Clone(raw)); v.Compact() == nil {
			again, err := jsonrpc.Read(v)
			if err != nil || again.Method != m.Method || again.Modern != m.Modern {
				t.Fatalf("compacted: %+v, %v; before %+v", again, err, m)
			}
		}
	})
}

// checkBrief checks that mcp-go, which ignores the case of keys, finds in the brief form what an
// exact reader finds in the message: the members that JSON-RPC defines. Only [] may have become {}.
func checkBrief(t *testing.T, raw []byte, m jsonrpc.Message) {
	t.Helper()
	var lenient struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if err := json.Unmarshal(m.Brief, &lenient); err != nil || lenient.Method != m.Method || !bytes.Equal(lenient.Params, m.Params) {
		t.Fatalf("%q became %q with the params %q, %v", raw, m.Brief, m.Params, err)
	}
	whole, brief := decoded(t, raw).(map[string]any), decoded(t, m.Brief).(map[string]any)
	if len(m.ID) > 0 && decoded(t, lenient.ID) != whole["id"] {
		t.Fatalf("%q became %q", raw, m.Brief)
	}
	if m.Arguments != nil {
		params, ok := brief["params"].(map[string]any)
		if !ok || !reflect.DeepEqual(params["arguments"], map[string]any{}) || m.Method != "tools/call" {
			t.Fatalf("%q has the arguments %q and else %q", raw, m.Arguments, m.Brief)
		}
		params["arguments"] = decoded(t, m.Arguments)
	}
	maps.DeleteFunc(whole, func(name string, _ any) bool {
		return !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, name)
	})
	if !reflect.DeepEqual(whole, brief) {
		t.Fatalf("%q became %q and %q", raw, m.Brief, m.Arguments)
	}
}

// decoded returns a value with {} for each [].
func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	checktest.Check(t, d.Decode(&v))
	return mapped(v)
}

func mapped(v any) any {
	switch v := v.(type) {
	case []any:
		for n := range v {
			v[n] = mapped(v[n])
		}
		if len(v) == 0 {
			return map[string]any{}
		}
	case map[string]any:
		for name := range v {
			v[name] = mapped(v[name])
		}
	}
	return v
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
