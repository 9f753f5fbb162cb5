package stdio_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/server/stdio"
)

// Calls sent without waiting for answers are applied in the order in which they were sent (V8; docs/spec/protocol.md:
// mcp-go's own stdio runs calls on five workers), and at the end of input each call is answered before the server ends,
// even a last call without a line break (mcp-go loses queued answers).
func TestStdioKeepsOrderAndAnswersBeforeTheEnd(t *testing.T) {
	p := servertest.NewPipe(t, servertest.New(t, nil, nil))
	const n = 200
	go func() {
		messages := []string{servertest.Initialize(0, "tester")}
		for i := 1; i <= n; i++ {
			messages = append(messages, servertest.Call(i, "TodoWrite", servertest.Todos("pending", "Step", "Next", fmt.Sprint("Revision ", i))))
		}
		io.WriteString(p.In, strings.Join(messages, "\n"))
		p.In.Close()
	}()
	p.Read()
	for i := 1; i <= n; i++ {
		a := p.Read()
		if string(a.ID) != fmt.Sprint(i) || !strings.Contains(string(a.Result.Structured), fmt.Sprintf(`"revision":%d,`, i)) {
			t.Fatalf("answer %d is %s", i, a.Raw)
		}
	}
	checktest.Check(t, <-p.Done)
}

// BAD-INPUT 16, 21, 27 and 81: the call after a bad message is answered as usual. BAD-INPUT 162: byte order marks
// before the first message are skipped.
func TestStdioBadLines(t *testing.T) {
	p := servertest.NewPipe(t, servertest.New(t, nil, nil))
	go p.Send("\ufeff\ufeff" + servertest.Initialize(1, "tester"))
	checktest.Has(t, "162", p.Read().Raw, `"result"`)
	for name, line := range servertest.BadMessages() {
		go p.Send(line, servertest.Call("after", "TodoWrite", servertest.Todos("pending", "A")))
		if a := p.Read(); a.Error == nil {
			t.Errorf("%s: %s", name, a.Raw)
		}
		if a := p.Read(); string(a.ID) != `"after"` || a.Error != nil {
			t.Errorf("%s: the call after it: %s", name, a.Raw)
		}
	}
}

// BAD-INPUT 163: [] for an object, as PHP and Lua write it; other types → Taken as {}; other types: -32602 with field,
// expected and received type
func TestEmptyArraysAndOtherTypes(t *testing.T) {
	const info = `"clientInfo":{"name":"php","version":"1"}`
	initialize := func(more string) string { return `"initialize","params":{"protocolVersion":"2025-06-18",` + more + `}` }
	modern := func(capabilities string) string {
		return `"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}}`
	}
	for request, want := range map[string]string{ // empty: the request is not refused
		initialize(`"capabilities":[],` + info):                                            "",
		initialize(`"capabilities":{"experimental":[ ],"sampling":[],"roots":[]},` + info): "",
		modern(`[]`):                "",
		modern(`{"extensions":[]}`): "",
		`"ping","params":[]`:        "",
		`"prompts/get","params":{"name":"plan","arguments":[]}`:                  "",
		`"tools/call","params":{"name":"TaskList","arguments":[],"_meta":[]}`:    "",
		`"tools/call","params":{"name":"TodoWrite","arguments":{"todos":[]}}`:    "",
		initialize(`"capabilities":{"roots":true},` + info):                      "params.capabilities.roots: expected an object, got a boolean",
		initialize(`"capabilities":{},"clientInfo":{"name":"x","version":1.25}`): "params.clientInfo.version: expected a string, got a number",
		`"ping","params":[1]`:                                           "params: expected an object, got an array",
		`"tools/list","params":"secret"`:                                "params: expected an object, got a string",
		`"tools/list","params":{"cursor":4}`:                            "params.cursor: expected a string, got a number",
		`"prompts/get","params":{"name":"plan","arguments":{"task":1}}`: "params.arguments: expected a string, got a number",
		`"resources/read","params":{"uri":true}`:                        "params.uri: expected a string, got a boolean",
		strings.Replace(modern(`{}`), `tools/list","params":{`, `subscriptions/listen","params":{"notifications":{"resourceSubscriptions":"secret"},`, 1): "params",
	} {
		p := servertest.NewPipe(t, servertest.New(t, nil, nil))
		go p.Send(`{"jsonrpc":"2.0","id":7,"method":` + request + `}`)
		a := p.Read()
		isRefused := a.Error != nil && strings.Contains(a.Raw, `"code":-32602`) && strings.Contains(a.Raw, `"message":"`+want)
		if string(a.ID) != "7" || (want == "") != (a.Error == nil) || want != "" && !isRefused {
			t.Errorf("%s: %s, want %q", request, a.Raw, want)
		}
		for _, word := range []string{"Go ", "json:", "struct", "unmarshal", "1.25", "secret"} {
			if a.Error != nil && strings.Contains(a.Raw, word) {
				t.Errorf("%s: the answer says %q: %s", request, word, a.Raw)
			}
		}
		p.In.Close()
	}
}

// BAD-INPUT 21: an integer is a valid id in every form, such as 7.0. Clients whose numbers are all floats would
// otherwise wait for the answer for ever.
func TestWholeNumbersAsIDs(t *testing.T) {
	p := servertest.NewPipe(t, servertest.New(t, nil, nil))
	for id, want := range map[string]string{
		"7.0": "7", "7e0": "7", "-1.20E+1": "-12", "1e6": "1000000", "9007199254740991": "9007199254740991", "0.0": "0",
		"7.5": "null", "1e-1": "null", "9007199254740993": "null", "1e400": "null", "true": "null",
	} {
		go p.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		if a := p.Read(); string(a.ID) != want || (a.Error == nil) != (want != "null") {
			t.Errorf("%s: %s", id, a.Raw)
		}
	}
}

type filler struct{ n int }

var xs = strings.Repeat("x", 64<<10)

func (e *filler) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), e.n)], xs)
	e.n -= n
	return n, nil
}

// BAD-INPUT 27: On stdio: a line of 100 MB, or one cut by the end of input; closed standard output → Memory for 8 MiB,
// an error with any id in them; closed output: clean exit
//
// (The line has 40 MB unless TODO_LONG is set.)
func TestStdioLongLine(t *testing.T) {
	long := 40 << 20
	if os.Getenv("TODO_LONG") != "" {
		long = 100 << 20
	}
	for name, c := range map[string]struct{ before, after, want string }{
		"id first":    {`{"jsonrpc":"2.0","id":"first","method":"tools/call","params":{"name":"TodoWrite","arguments":{"todos":"`, `"}}}`, `"id":"first","error":{"code":-32600,"message":"the message is larger than 1048576 bytes, and nothing was changed: send fewer or shorter items"`},
		"id last":     {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"TodoWrite","arguments":{"todos":"`, `"}},"id":42}`, `"id":42,"error"`},
		"too long":    {`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"`, `"},"id":42}`, `"id":null,"error"`},
		"a response":  {`{"jsonrpc":"2.0","id":42,"result":{"a":"`, `"}}`, `"id":null,"error"`},
		"cut in half": {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"`, ``, `"id":7,"error"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := servertest.New(t, nil, nil)
			size := 4 << 20
			if name == "too long" {
				size = long
			}
			in := io.MultiReader(strings.NewReader(c.before), &filler{n: size}, strings.NewReader(c.after+"\n"+servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))+"\n"))
			var out strings.Builder
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			stdio.Serve(context.Background(), s, in, &out)
			runtime.ReadMemStats(&after)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if len(lines) != 2 || !strings.Contains(lines[0], c.want) || !strings.Contains(lines[1], "Todo list updated") {
				t.Errorf("answers: %q", lines)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 36<<20 { // a buffer grows by doubling
				t.Errorf("%d bytes allocated for one line", grown)
			}
		})
	}
}

type brokenPipe struct{ left int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// BAD-INPUT 27: calls that were answered before standard output closed are stored.
func TestStdioClosedOut(t *testing.T) {
	store := storetest.NewMemory()
	s := servertest.New(t, store, nil)
	in, w := io.Pipe()
	defer w.Close()
	go func() {
		for i := 0; ; i++ {
			if _, err := io.WriteString(w, servertest.Call(i, "TodoWrite", servertest.Todos("pending", fmt.Sprint("A", i)))+"\n"); err != nil {
				return
			}
		}
	}()
	stdio.Serve(context.Background(), s, in, &brokenPipe{left: 2000})
	in.Close()
	lists, err := store.Find(context.Background(), board.Query{})
	if err != nil || len(lists) == 0 {
		t.Errorf("acknowledged lists: %v, %v", lists, err)
	}
}

// Both eras of the protocol work on one pipe, and change one list (docs/spec/protocol.md: mcp-go serves both without an
// option). A client may unsubscribe in one era and listen in the other. A cancellation ends a stream, and its request
// is then answered.
func TestStdioSubscriptions(t *testing.T) {
	p := servertest.NewPipe(t, servertest.New(t, nil, nil))
	go p.Send(servertest.ModernCall(0, "TodoWrite", servertest.Todos("pending", "Before")), servertest.Initialize(1, "tester"),
		`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"todo://list"}}`, servertest.Call(3, "create_todos", `{"items":["A"]}`))
	checktest.Has(t, "sessionless call", p.Read().Raw, `"resultType"`, "1 pending")
	checktest.Has(t, "initialize", p.Read().Raw, `"protocolVersion":"`+servertest.Legacy+`"`)
	checktest.Has(t, "notification", string(p.Until("notifications/resources/updated").Params), `"uri":"todo://list"`)
	go p.Send(`{"jsonrpc":"2.0","id":4,"method":"resources/unsubscribe","params":{"uri":"todo://list"}}`,
		`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},`+servertest.Meta+`}}`)
	p.Until("notifications/subscriptions/acknowledged")
	go p.Send(servertest.ModernCall(5, "TodoWrite", servertest.Todos("completed", "A")))
	checktest.Has(t, "its tag", p.Until("notifications/resources/updated").Raw, `"io.modelcontextprotocol/subscriptionId":"L"`)
	go p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L",` + servertest.Meta + `}}`)
	for string(p.Read().ID) != `"L"` {
	}
}

// A client that does not wait for the acknowledgement, such as the official Go SDK, is still notified of its next call.
func TestStdioListensBeforeTheNextMessage(t *testing.T) {
	p := servertest.NewPipe(t, servertest.New(t, nil, nil))
	for n := range 50 {
		id := fmt.Sprint("L", n)
		go p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},%s}}`, id, servertest.Meta),
			servertest.ModernCall(n, "TodoWrite", servertest.Todos("pending", id)))
		checktest.Has(t, "told", p.Until("notifications/resources/updated").Raw, id)
		go p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q,%s}}`, id, servertest.Meta))
		for string(p.Read().ID) != strconv.Quote(id) {
		}
	}
}

// BAD-INPUT 68: two streams with the same id are both answered.
func TestStdioStreamsOfOneID(t *testing.T) {
	p := servertest.NewPipe(t, servertest.New(t, nil, nil))
	listen := `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["todo://list"]},` + servertest.Meta + `}}`
	go func() {
		p.Send(listen, listen)
		p.In.Close()
	}()
	all, _ := io.ReadAll(p.Out)
	if acknowledged := strings.Count(string(all), "subscriptions/acknowledged"); acknowledged != 2 || strings.Count(string(all), "\n") != 4 {
		t.Errorf("68: %s", all)
	}
	checktest.Check(t, <-p.Done)
}

type onceThenSilent struct{ data []byte }

func (r *onceThenSilent) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		select {}
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// BAD-INPUT 58: a server that is told to stop answers all whole messages that it has read.
func TestStdioAnswersWhatItHasReadWhenStopped(t *testing.T) {
	store := servertest.Slow{Store: storetest.NewMemory(), Saving: make(chan string), Let: make(chan struct{})}
	s := servertest.New(t, store, nil)
	const pings = 300
	input := servertest.Call(0, "TodoWrite", servertest.Todos("pending", "A")) + "\n"
	for n := range pings {
		input += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", n+1)
	}
	input += `{"jsonrpc":"2.0","id":"half","meth`
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out strings.Builder
	served := make(chan struct{})
	go func() {
		defer close(served)
		stdio.Serve(ctx, s, &onceThenSilent{[]byte(input)}, &out)
	}()
	<-store.Saving // the first message is being handled, and the others have been read with it
	stop()
	store.Let <- struct{}{}
	<-served
	answers := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(answers) != pings+1 {
		t.Fatalf("58: %d answers to %d messages", len(answers), pings+1)
	}
	for n, answer := range answers {
		if got := servertest.Parse(t, answer); string(got.ID) != fmt.Sprint(n) || got.Error != nil {
			t.Errorf("58: answer %d is %s", n, answer)
		}
	}
}

type slowStore struct{ board.Store }

func (s slowStore) Update(ctx context.Context, k board.Key, change func(board.Tx) error) error {
	<-time.After(time.Second)
	return s.Store.Update(ctx, k, change)
}

// A client that reads its answers gets all of them, however long that takes after the end of its input.
func TestStdioAnswersWhoReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := servertest.New(t, slowStore{storetest.NewMemory()}, func(c *server.Config) { c.StopTimeout = 8 * time.Second })
		const n = 60
		in := servertest.Initialize(0, "tester")
		for i := range n {
			in += "\n" + servertest.Call(i+1, "TodoWrite", servertest.Todos("pending", "Step", fmt.Sprint("Revision ", i)))
		}
		var out strings.Builder
		stdio.Serve(t.Context(), s, strings.NewReader(in), &out)
		if got := strings.Count(out.String(), "\n"); got != n+1 {
			t.Errorf("%d of %d answers", got, n+1)
		}
		s.Close()
	})
}

// BAD-INPUT 68: On stdio: nobody reads the answers, and the input ends or the server is stopped →
// It ends after 9 s; calls behind the unread answer are not applied
func TestStdioEndsUnread(t *testing.T) {
	for name, end := range map[string]func(p *servertest.Pipe){
		"end of input": func(p *servertest.Pipe) { p.In.Close() },
		"stopped":      func(p *servertest.Pipe) { p.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := storetest.NewMemory()
				var log servertest.Log
				s := servertest.New(t, store, func(c *server.Config) { c.StopTimeout, c.Log = 8*time.Second, log.Logger() })
				calls := s.Board.As("").Calls()
				p := servertest.NewPipe(t, s)
				const n = 20
				var input string
				for i := range n {
					input += servertest.Call(i, "TodoWrite", servertest.Todos("pending", "Step", "Next", fmt.Sprint("Revision ", i))) + "\n"
				}
				checktest.Must(io.WriteString(p.In, input))(t)
				checktest.Must(calls.Next(t.Context()))(t) // once the first call ran, all are read
				end(p)
				began := time.Now()
				checktest.Check(t, <-p.Done)
				if took := time.Since(began); took != 9*time.Second {
					t.Errorf("68: it ends after %s", took)
				}
				if lines := log.Take(); len(lines) != 1 || !strings.Contains(lines[0], "answers are dropped") {
					t.Errorf("68: logged %q", lines)
				}
				if lists := checktest.Must(store.Find(t.Context(), board.Query{}))(t); len(lists) != 1 || lists[0].Revision != 1 {
					t.Errorf("68: stored %+v", lists)
				}
				calls.Close()
				s.Close()
			})
		})
	}
}
