package mcphttp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"todo-mcp/internal/board"
	memory "todo-mcp/internal/store/memorytest"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/servertest"
	"todo-mcp/server/web"
)

// recorder records an answer and ends its request when it is flushed: then it is a
// stream that stays open.
type recorder struct {
	*httptest.ResponseRecorder
	end context.CancelFunc
}

func (r recorder) Flush() { r.end() }

// Any request to /mcp is answered: with a status of the protocol, with JSON, with
// the id of the request or null; and what is refused changes nothing.
func FuzzHTTP(f *testing.F) {
	call := servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))
	modern := servertest.ModernCall(1, "TodoWrite", servertest.Todos("pending", "A"))
	for _, method := range []string{"POST", "GET", "DELETE", "PUT"} {
		f.Add(method, "", call, "SESSION", "", "", "", "")
		f.Add(method, "list=release", modern, "", "2026-07-28", "tools/call", "TodoWrite", "application/json; charset=utf-8")
		f.Add(method, "list=../x", servertest.Initialize(1, "x\u0000y"), "forged.id", "1999-01-01", "\x7f", "=?base64?VG9kbw==?=", "text/plain")
	}
	f.Add("POST", "%zz", `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},`+servertest.Meta+`}}`, "", "2026-07-28", "subscriptions/listen", "", "")
	f.Add("POST", "", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"todo://lists/x"}}`, "SESSION", "2025-11-25", "", "", "")
	f.Add("POST", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "SESSION", "", "", "", "")
	f.Fuzz(func(t *testing.T, method, query, body, session, version, mcpMethod, mcpName, mediaType string) {
		store := memory.New()
		s := servertest.New(t, store, nil)
		handler, err := web.New(s, edge.Config{Board: s.Board})
		if err != nil {
			t.Fatal(err)
		}
		defer handler.Close()
		send := func(method, query, body string, header http.Header) recorder {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body)).WithContext(ctx)
			r.Method, r.URL.RawQuery, r.Header = method, query, header
			w := recorder{httptest.NewRecorder(), cancel}
			handler.ServeHTTP(w, r)
			if ctx.Err() == context.DeadlineExceeded {
				t.Fatal("the request did not end")
			}
			return w
		}
		json := http.Header{"Content-Type": {"application/json"}}
		began := send("POST", "", servertest.Initialize(1, "tester"), json).Header().Get("Mcp-Session-Id")
		if began == "" {
			t.Fatal("no session")
		}
		header := http.Header{"Accept": {"application/json, text/event-stream"}}
		for name, value := range map[string]string{
			"Mcp-Session-Id": strings.ReplaceAll(session, "SESSION", began), "Mcp-Protocol-Version": version, "Mcp-Method": mcpMethod, "Mcp-Name": mcpName,
			"Content-Type": strings.TrimSpace(mediaType),
		} {
			if value != "" {
				header.Set(name, value)
			}
		}
		if mediaType == "" {
			header.Set("Content-Type", "application/json")
		}
		checkAnswer(t, store, body, send(method, query, body, header))
	})
}

// checkAnswer checks the answer to a request, before which the store was empty.
func checkAnswer(t *testing.T, store board.Store, body string, w recorder) {
	t.Helper()
	answer := w.Body.String()
	switch w.Code {
	case 200, 202, 204, 400, 403, 404, 405, 406, 413, 415, 422:
	default:
		t.Fatalf("status %d: %q", w.Code, answer)
	}
	for name, values := range w.Header() {
		if strings.ContainsFunc(name+strings.Join(values, ""), unicode.IsControl) || strings.HasPrefix(name, "Access-Control-") {
			t.Fatalf("header %q: %q", name, values)
		}
	}
	refused := w.Code >= 400
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		var a, asked struct {
			ID     json.RawMessage
			Result struct{ IsError bool }
			Error  json.RawMessage
		}
		if err := json.Unmarshal([]byte(answer), &a); err != nil {
			t.Fatalf("%v: %q", err, answer)
		}
		// A body that is no JSON may have an id all the same, see jsonrpc.Read.
		isJSON := json.Unmarshal([]byte(body), &asked) == nil
		if id := string(a.ID); id != "null" && id != "" && isJSON && !sameID(a.ID, asked.ID) {
			t.Fatalf("%q is answered %q", body, answer)
		}
		refused = refused || a.Error != nil || a.Result.IsError
	}
	lists, err := store.Find(t.Context(), board.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if refused && len(lists) > 0 {
		t.Fatalf("refused with %d %q, and there is %+v", w.Code, answer, lists)
	}
	for _, l := range lists {
		if err := l.Check(); err != nil || l.List.Name != "" && todo.CheckName(l.List.Name) != nil {
			t.Fatalf("%+v: %v", l, err)
		}
	}
}

// sameID compares ids as values: escapes of a string may differ.
func sameID(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}
