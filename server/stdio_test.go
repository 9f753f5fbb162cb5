package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server/stdio"
)

// Calls sent at once are applied in the order they were sent; mcp-go's own
// stdio runs them on five workers (MCP-NOTES, V8).
func TestStdioKeepsOrder(t *testing.T) {
	store := memory.New()
	p := newPipe(t, newServer(t, store, nil))
	const n = 200
	go func() {
		messages := []string{initialize(0, "tester")}
		for i := 1; i <= n; i++ {
			messages = append(messages, callTool(i, "TodoWrite", todos("pending", "Step", fmt.Sprint("Revision ", i))))
		}
		io.WriteString(p.in, strings.Join(messages, "\n")+"\n")
	}()
	p.read()
	for i := 1; i <= n; i++ {
		a := p.read()
		if string(a.ID) != fmt.Sprint(i) || !strings.Contains(string(a.Result.Structured), fmt.Sprintf(`"revision":%d,`, i)) {
			t.Fatalf("answer %d is %s", i, a.raw)
		}
	}
}

// At the end of input every call is answered before the server ends, also one
// without a line break behind it (MCP-NOTES: mcp-go loses queued answers).
func TestStdioAnswersBeforeTheEnd(t *testing.T) {
	p := newPipe(t, newServer(t, nil, nil))
	const n = 50
	go func() {
		for i := range n {
			io.WriteString(p.in, callTool(i, "TodoWrite", todos("pending", fmt.Sprint("A", i)))+"\n")
		}
		io.WriteString(p.in, callTool(n, "TodoWrite", todos("pending", "last")))
		p.in.Close()
	}()
	got := 0
	for {
		_, err := p.out.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		got++
	}
	if err := <-p.done; err != nil || got != n+1 {
		t.Errorf("%d answers of %d, error %v", got, n+1, err)
	}
}

// BAD-INPUT 16–21, 26, 27: each bad line gets its own error and the next call
// is served.
func TestStdioBadLines(t *testing.T) {
	p := newPipe(t, newServer(t, nil, nil))
	for name, line := range badMessages() {
		go p.send(line, callTool("after", "TodoWrite", todos("pending", "A")))
		if a := p.read(); a.Error == nil {
			t.Errorf("%s: %s", name, a.raw)
		}
		if a := p.read(); string(a.ID) != `"after"` || a.Error != nil {
			t.Errorf("%s: the call after it: %s", name, a.raw)
		}
	}
}

// badMessages are messages that must be refused, on every transport.
func badMessages() map[string]string {
	return map[string]string{
		"16 deep":             `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"":`, 200_000) + `1` + strings.Repeat(`}`, 200_000) + `}`,
		"16 deep array":       `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat(`[`, 200_000) + strings.Repeat(`]`, 200_000) + `}}`,
		"17 duplicate key":    `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`,
		"17 nested duplicate": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TodoWrite","arguments":{"todos":[],"todos":[]}}}`,
		"18 case":             `{"jsonrpc":"2.0","id":1,"Method":"ping"}`,
		"18 case in params":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"TodoWrite","arguments":{"todos":[]}}}`,
		"18 two cases":        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"TodoWrite","arguments":{"todos":[],"Todos":[]}}}`,
		"18 long s":           `{"j` + "\u017f" + `onrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}`,
		"18 NUL":              `{"jsonrpc":"2.0","id":1,"method":"ping","method\u0000":"tools/list"}`,
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
	}
}

// endless is a line of n bytes that never ends before.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.n -= n
	return n, nil
}

// BAD-INPUT 27: a line of 100 MB is refused without being held; what comes
// behind it is served.
func TestStdioLongLine(t *testing.T) {
	s := newServer(t, nil, nil)
	in := io.MultiReader(&endless{n: 100 << 20}, strings.NewReader("\n"+callTool(1, "TodoWrite", todos("pending", "A"))+"\n"))
	var out strings.Builder
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := stdio.Serve(context.Background(), s, in, &out); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "larger than 1048576 bytes") || !strings.Contains(lines[1], "Todo list updated") {
		t.Errorf("answers: %q", lines)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes allocated for one line", grown)
	}
}

// brokenPipe takes a few bytes and then no more.
type brokenPipe struct{ left int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// BAD-INPUT 27: a closed stdout is a clean end, and what was acknowledged is
// stored.
func TestStdioClosedOut(t *testing.T) {
	store := memory.New()
	s := newServer(t, store, nil)
	in, w := io.Pipe()
	defer w.Close()
	go func() {
		for i := 0; ; i++ {
			if _, err := io.WriteString(w, callTool(i, "TodoWrite", todos("pending", fmt.Sprint("A", i)))+"\n"); err != nil {
				return
			}
		}
	}()
	if err := stdio.Serve(context.Background(), s, in, &brokenPipe{left: 2000}); err != nil {
		t.Errorf("closed stdout: %v", err)
	}
	in.Close()
	lists, err := store.Find(context.Background(), todo.Query{})
	if err != nil || len(lists) == 0 {
		t.Errorf("acknowledged lists: %v, %v", lists, err)
	}
}

// The sessionless era on the same pipe, beside the other (MCP-NOTES: both with
// no option).
func TestStdioBothEras(t *testing.T) {
	p := newPipe(t, newServer(t, nil, nil))
	go p.send(modernCall(1, "TodoWrite", todos("pending", "A")), initialize(2, "tester"), callTool(3, "SetTodoList", `{}`))
	if a := p.read(); !strings.Contains(a.raw, `"resultType"`) || a.text() == "" {
		t.Errorf("sessionless call: %s", a.raw)
	}
	if a := p.read(); !strings.Contains(a.raw, `"protocolVersion":"`+legacy+`"`) {
		t.Errorf("initialize: %s", a.raw)
	}
	if a := p.read(); a.text() != "Todo list:\n- [pending] A" {
		t.Errorf("the list over the other era: %s", a.raw)
	}
}

// resources/updated on stdio, in both eras (MCP-NOTES: reaches nobody by
// itself; tag subscriptionId).
func TestStdioSubscriptions(t *testing.T) {
	p := newPipe(t, newServer(t, nil, nil))
	go p.send(initialize(1, "tester"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"todo://list"}}`)
	p.read()
	if a := p.read(); a.Error != nil {
		t.Fatal(a.raw)
	}
	go p.send(callTool(3, "TodoWrite", todos("pending", "A")))
	if got := p.until("notifications/resources/updated"); !strings.Contains(string(got.Params), `"uri":"todo://list"`) {
		t.Errorf("notification: %s", got.raw)
	}
	go p.send(`{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"todo://list"}}`,
		`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},`+meta+`}}`)
	if got := p.until("notifications/subscriptions/acknowledged"); !strings.Contains(got.raw, `"L"`) {
		t.Errorf("acknowledgement: %s", got.raw)
	}
	go p.send(modernCall(5, "TodoWrite", todos("completed", "A")))
	if got := p.until("notifications/resources/updated"); !strings.Contains(got.raw, `"io.modelcontextprotocol/subscriptionId":"L"`) {
		t.Errorf("notification is not tagged: %s", got.raw)
	}
	// A cancellation ends the stream, and its answer comes.
	go p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L",` + meta + `}}`)
	for {
		if a := p.read(); string(a.ID) == `"L"` {
			break
		}
	}
}

// until reads up to a notification, past answers.
func (p *pipe) until(method string) answer {
	p.t.Helper()
	for {
		if a := p.read(); a.Method == method {
			return a
		}
	}
}

// The end of the context ends the server cleanly (SIGTERM).
func TestStdioStops(t *testing.T) {
	p := newPipe(t, newServer(t, nil, nil))
	go p.send(callTool(1, "TodoWrite", todos("pending", "A")))
	p.read()
	p.stop()
	if err := <-p.done; err != nil {
		t.Errorf("stopped with %v", err)
	}
}
