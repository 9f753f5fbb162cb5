package servertest

import (
	"github.com/todo-mcp/todo-mcp/internal/checktest"

	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Post sends one JSON message and returns the answer's status, header and body.
// headers alternates names and values.
func Post(t testing.TB, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	status, header, data, err := TryPost(url, strings.NewReader(body), headers...)
	checktest.Check(t, err)
	return status, header, data
}

// TryPost is [Post] with a body of any kind. It returns failures as errors, so that
// goroutines other than the test's can use it.
func TryPost(url string, body io.Reader, headers ...string) (int, http.Header, string, error) {
	json := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	return try(http.MethodPost, url, body, append(json, headers...)...)
}

// Ask sends a request and returns the answer's status, header and body. It follows no
// redirect. headers alternates names and values.
func Ask(t testing.TB, method, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	status, header, data, err := try(method, url, strings.NewReader(body), headers...)
	checktest.Check(t, err)
	return status, header, data
}

func try(method, url string, body io.Reader, headers ...string) (int, http.Header, string, error) {
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		return 0, nil, "", err
	}
	for i := 0; i < len(headers); i += 2 {
		switch name, value := headers[i], headers[i+1]; name {
		case "Host":
			req.Host = value
		case "Authorization": // may come twice in a request
			req.Header.Add(name, value)
		default:
			req.Header.Set(name, value)
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(data), err
}

// GetJSON sends a GET request, decodes the answer into a pointer, unless the
// pointer is nil, and returns the answer's status.
func GetJSON(t testing.TB, url string, into any) int {
	t.Helper()
	status, _, data := Ask(t, http.MethodGet, url, "")
	if into != nil {
		if err := json.Unmarshal([]byte(data), into); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
	}
	return status
}

// ListIDs returns the ids of all lists of a server, the last changed first.
func ListIDs(t testing.TB, base string) (ids []string) {
	t.Helper()
	var lists []struct{ List string }
	GetJSON(t, base+"/api/lists", &lists)
	for _, l := range lists {
		ids = append(ids, l.List)
	}
	return ids
}

// Initialize returns an initialize request of a client with a name.
func Initialize(id int, client string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, id, Legacy, client)
}

// WithMeta returns a message with _meta added; members has the members of _meta as JSON.
func WithMeta(message, members string) string {
	return strings.Replace(message, `"params":{`, `"params":{"_meta":{`+members+`},`, 1)
}

// Call returns a tools/call request; args is a JSON object.
func Call(id any, tool, args string) string {
	raw, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, raw, tool, args)
}

// Meta is the _meta member that every request of the sessionless protocol needs.
const Meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + Modern + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"}}`

// ModernCall returns a tools/call request of the sessionless protocol; args is
// a JSON object.
func ModernCall(id any, tool, args string) string {
	raw, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, raw, tool, args, Meta)
}

// ModernHeaders returns the headers that a sessionless request needs; name is the name of
// the tool or prompt, the URI of the resource, or empty.
func ModernHeaders(method, name string) []string {
	h := []string{"MCP-Protocol-Version", Modern, "Mcp-Method", method}
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	return h
}

// NewSession begins a session and returns its id.
func NewSession(t testing.TB, url, client string) string {
	t.Helper()
	status, header, body := Post(t, url, Initialize(1, client))
	id := header.Get("Mcp-Session-Id")
	if status != 200 || id == "" {
		t.Fatalf("initialize: %d %s", status, body)
	}
	return id
}

// Todos returns arguments for TodoWrite or write_todos: one item for each text,
// all with the same status.
func Todos(status string, texts ...string) string {
	var items []string
	for _, text := range texts {
		items = append(items, fmt.Sprintf(`{"content":%q,"activeForm":%q,"status":%q}`, text, text, status))
	}
	return `{"todos":[` + strings.Join(items, ",") + `]}`
}

// Writer begins a session and returns a function that calls TodoWrite in it.
func Writer(t testing.TB, base, client string) func(args string) {
	t.Helper()
	send := Sender(t, base, client)
	return func(args string) { t.Helper(); send(Call(1, "TodoWrite", args)) }
}

// Sender begins a session and returns a function that sends a message in it, which
// must update a list.
func Sender(t testing.TB, base, client string) func(message string) {
	t.Helper()
	id := NewSession(t, base+"/mcp", client)
	return func(message string) {
		t.Helper()
		if _, _, body := Post(t, base+"/mcp", message, "Mcp-Session-Id", id); !strings.Contains(body, "updated") {
			t.Fatal(body)
		}
	}
}

// BadMessages returns messages that every transport must refuse, by BAD-INPUT
// row, if any, and name.
func BadMessages() map[string]string {
	return map[string]string{
		"16 deep":             `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"":`, 200_000) + `1` + strings.Repeat(`}`, 200_000) + `}`,
		"16 deep array":       `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat(`[`, 200_000) + strings.Repeat(`]`, 200_000) + `}}`,
		"17 duplicate key":    `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`,
		"17 nested duplicate": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TodoWrite","arguments":{"todos":[],"todos":[]}}}`,
		"18 case":             `{"jsonrpc":"2.0","id":1,"Method":"ping"}`,
		"18 case in params":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"TodoWrite","arguments":{"todos":[]}}}`,
		"18 long s":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TodoWrite","argument` + "\u017f" + `":{"todos":[]}}}`,
		"19 trailing":         `{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}`,
		"20 batch":            `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"21 object id":        `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		"21 huge id":          `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
		"21 fraction id":      `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		"21 null id":          `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		"21 boolean id":       `{"jsonrpc":"2.0","id":true,"method":"ping"}`,
		"26 invalid UTF-8":    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"TodoWrite\",\"arguments\":{\"todos\":[{\"content\":\"\xff\",\"activeForm\":\"A\",\"status\":\"pending\"}]}}}",
		"not JSON":            `hello`,
		"27 ends mid-message": `{"jsonrpc":"2.0","id":1,"meth`,
		"wrong version":       `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		"method not a string": `{"jsonrpc":"2.0","id":1,"method":7}`,
		"a bare string":       `"ping"`,
		"81 no method":        `{"jsonrpc":"2.0","id":1}`,
		"81 empty method":     `{"jsonrpc":"2.0","id":1,"method":""}`,
		"81 null method":      `{"jsonrpc":"2.0","id":1,"method":null}`,
		"81 empty, no id":     `{"jsonrpc":"2.0","method":"","params":{}}`,
		"81 method on result": `{"jsonrpc":"2.0","id":1,"method":"","result":{}}`,
	}
}

// Listed returns the tools in an answer to tools/list: their names in order,
// and each tool's JSON by name.
func Listed(t *testing.T, answer string) (names []string, raw map[string]json.RawMessage) {
	t.Helper()
	var a struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	raw = map[string]json.RawMessage{}
	for _, tool := range a.Result.Tools {
		var n struct{ Name string }
		checktest.Check(t, json.Unmarshal(tool, &n))
		names = append(names, n.Name)
		raw[n.Name] = tool
	}
	return names, raw
}

// Is returns a check of an answer's status, and of texts that its body must contain.
func Is(t testing.TB, what string, status int, texts ...string) func(got int, header http.Header, body string) {
	return func(got int, _ http.Header, body string) {
		t.Helper()
		if got != status {
			t.Errorf("%s: %d %s, want %d", what, got, body, status)
		}
		checktest.Has(t, what, body, texts...)
	}
}
