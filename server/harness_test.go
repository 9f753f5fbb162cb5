package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/server/stdio"
	"todo-mcp/server/web"
	"todo-mcp/tools"
)

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// newServer is a server on a store; nil is a new memory store.
func newServer(t testing.TB, st todo.Store, edit func(*server.Config)) *server.Server {
	t.Helper()
	if st == nil {
		st = memory.New()
	}
	board := todo.NewBoard(st)
	list, err := tools.New(tools.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	texts, err := prompts.New(prompts.Short, "")
	if err != nil {
		t.Fatal(err)
	}
	c := server.Config{Board: board, Tools: list, Publish: []string{"all"}, Texts: texts, Version: "test", Dir: "/work/project"}
	if edit != nil {
		edit(&c)
	}
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); board.Close() })
	return s
}

func key() []byte { return bytes.Repeat([]byte("k"), 32) }

// newHTTP serves a server over real HTTP.
func newHTTP(t testing.TB, s *server.Server, edit func(*web.Config)) *httptest.Server {
	t.Helper()
	c := web.Config{Board: s.Board, Log: s.Log, Now: s.Now, SessionKey: key}
	if edit != nil {
		edit(&c)
	}
	h, err := web.New(s, c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); web.CloseClientConnections(); web.Close() })
	return web
}

// post sends one message and returns the answer's status, headers and body.
func post(t testing.TB, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	status, header, data, err := tryPost(url, strings.NewReader(body), headers...)
	if err != nil {
		t.Fatal(err)
	}
	return status, header, data
}

func tryPost(url string, body io.Reader, headers ...string) (int, http.Header, string, error) {
	req, err := http.NewRequest("POST", url, body)
	if err != nil {
		return 0, nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(data), err
}

func initialize(id int, client string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, id, legacy, client)
}

func callTool(id any, tool, args string) string {
	raw, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, raw, tool, args)
}

// meta is what every request of the sessionless protocol carries.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"tester","version":"1"}}`

func modernCall(id any, tool, args string) string {
	raw, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, raw, tool, args, meta)
}

func modernHeaders(method, name string) []string {
	h := []string{"MCP-Protocol-Version", modern, "Mcp-Method", method}
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	return h
}

// session begins a session and returns its id.
func session(t testing.TB, url, client string) string {
	t.Helper()
	status, header, body := post(t, url, initialize(1, client))
	id := header.Get("Mcp-Session-Id")
	if status != 200 || id == "" {
		t.Fatalf("initialize: %d %s", status, body)
	}
	return id
}

func todos(status string, texts ...string) string {
	var items []string
	for _, text := range texts {
		items = append(items, fmt.Sprintf(`{"content":%q,"activeForm":%q,"status":%q}`, text, text, status))
	}
	return `{"todos":[` + strings.Join(items, ",") + `]}`
}

// pipe is a client of a server on stdio.
type pipe struct {
	t    testing.TB
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
	stop context.CancelFunc
}

func newPipe(t testing.TB, s *server.Server) *pipe {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pipe{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan error, 1), stop: stop}
	go func() {
		err := stdio.Serve(ctx, s, inR, outW)
		outW.Close()
		p.done <- err
	}()
	t.Cleanup(func() { stop(); inW.Close(); outR.Close() })
	return p
}

func (p *pipe) send(messages ...string) {
	p.t.Helper()
	for _, m := range messages {
		if _, err := io.WriteString(p.in, m+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// answer is a message read from the server.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	raw string
}

func (a answer) text() string {
	if len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

func parse(t testing.TB, raw string) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	a.raw = raw
	return a
}

func (p *pipe) read() answer {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatal("read answer:", err)
	}
	return parse(p.t, line)
}
