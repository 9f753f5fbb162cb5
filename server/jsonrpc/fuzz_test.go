package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// What Read takes, every reader of JSON reads alike, and the scanner, which finds
// ids in what is too large to read, finds the same id or none. What it refuses
// leaves at most one valid id, and quotes nothing of the message.
func FuzzMessage(f *testing.F) {
	for name, message := range servertest.BadMessages() {
		if !strings.Contains(name, "deep") { // 400 kB each
			f.Add([]byte(message), uint8(3))
		}
	}
	for _, message := range []string{
		servertest.Initialize(1, "a"), servertest.Call("x", "TodoWrite", servertest.Todos("pending", "A\\\"")), servertest.ModernCall(-5, "update_todo", `{"id":1}`),
		`{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		`{"id":"\u0000","method":"\u0070ing","\u0069d2":[{}]}`, ` {"method" : "ping" , "id" : 9007199254740992 } `,
	} {
		f.Add([]byte(message), uint8(0))
	}
	f.Fuzz(func(t *testing.T, raw []byte, piece uint8) {
		raw = bytes.Clone(raw) // which Read changes
		m, err := jsonrpc.Read(raw)
		scanned := scan(raw, int(piece))
		if whole := scan(raw, 0); whole.Method != scanned.Method || !bytes.Equal(whole.ID, scanned.ID) {
			t.Fatalf("in pieces of %d the scanner finds %+v, else %+v", piece, scanned, whole)
		}
		if len(m.ID) > 0 {
			checkID(t, m.ID)
		}
		if err != nil {
			checkRefusal(t, m, err)
			return
		}
		// The scanner finds nothing of a response, nor what stands behind its outline.
		mayMiss := m.Method == "" || len(raw) > 16<<10
		isID := bytes.Equal(scanned.ID, m.ID) || mayMiss && scanned.ID == nil
		isMethod := scanned.Method == m.Method || mayMiss && scanned.Method == ""
		if !isID || !isMethod {
			t.Fatalf("the scanner finds %q %s, the reader %q %s", scanned.Method, scanned.ID, m.Method, m.ID)
		}
		if !utf8.Valid(raw) || !json.Valid(raw) {
			t.Fatalf("%q is taken", raw)
		}
		// A reader that keeps the last of equal keys, and one that refuses them.
		var lenient map[string]json.RawMessage
		if err := json.Unmarshal(raw, &lenient); err != nil {
			t.Fatalf("encoding/json: %v", err)
		}
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

// checkBrief checks that a message is its brief form with the arguments in it, which
// stand apart only for a tool call.
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

// scan scans a message in pieces of a size; 0 is all at once.
func scan(raw []byte, size int) jsonrpc.Message {
	var s jsonrpc.Scanner
	if size == 0 {
		s.Write(raw)
	}
	for ; size > 0 && len(raw) > 0; raw = raw[min(size, len(raw)):] {
		s.Write(raw[:min(size, len(raw))])
	}
	m, _ := s.Message()
	return m
}

func checkID(t *testing.T, id json.RawMessage) {
	t.Helper()
	var text string
	var number float64
	if json.Unmarshal(id, &text) != nil && json.Unmarshal(id, &number) != nil {
		t.Fatalf("%q is no id", id)
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
