package server_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// BAD-INPUT 43: input over a limit is refused with an error that names the
// limit: by the tool when the message itself is small enough, else by the
// transport.
func TestInputOverALimit(t *testing.T) {
	items := func(n int) string {
		return `{"items":[` + strings.Repeat(`"a",`, n-1) + `"a"]}`
	}
	hundredThousand := servertest.Call(1, "create_todos", items(100_000))
	fourMegabytes := servertest.Call(1, "create_todos", `{"items":["`+strings.Repeat("x", 4<<20)+`"]}`)
	longText := servertest.Call(1, "SetTodoList", `{"todos":[{"title":"`+strings.Repeat("x", 4001)+`","status":"pending"}]}`)

	s := servertest.New(t, nil, nil)
	p := servertest.NewPipe(t, s)
	go p.Send(hundredThousand, fourMegabytes, longText)
	if a := p.Read(); !a.Result.IsError || !strings.Contains(a.Text(), "at most 1000") {
		t.Errorf("43: 100,000 items: %.200s", a.Raw)
	}
	if a := p.Read(); !a.Result.IsError || string(a.ID) != "1" || !strings.Contains(a.Text(), "larger than 1048576 bytes") {
		t.Errorf("43: 4 MB: %.200s", a.Raw)
	}
	if a := p.Read(); !a.Result.IsError || !strings.Contains(a.Text(), "at most 4000 characters, received 4001") {
		t.Errorf("43: a long text: %.200s", a.Raw)
	}
	url := servertest.Serve(t, s, nil).URL + "/mcp"
	id := servertest.Session(t, url, "tester")
	if _, _, body := servertest.Post(t, url, hundredThousand, "Mcp-Session-Id", id); !strings.Contains(body, "at most 1000") {
		t.Errorf("43: 100,000 items over HTTP: %.200s", body)
	}
	if status, _, body := servertest.Post(t, url, fourMegabytes, "Mcp-Session-Id", id); status != 413 || !strings.Contains(body, "1048576 bytes") {
		t.Errorf("43: 4 MB over HTTP: %d %.200s", status, body)
	}
}

// BAD-INPUT 41: neither a client's name nor its texts can forge a log record,
// and the texts are not logged at all.
func TestClientTextCannotForgeLog(t *testing.T) {
	var log bytes.Buffer
	store := &servertest.Failing{Store: memory.New()}
	store.Broken.Store(true)
	p := servertest.NewPipe(t, servertest.New(t, store, func(c *server.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }))
	go p.Send(servertest.Initialize(1, `x\ntime=2026 level=ERROR msg=forged`), servertest.Call(2, "TodoWrite", servertest.Todos("pending", `secret\nlevel=ERROR msg=forged`)))
	p.Read()
	p.Read()
	p.Stop()
	<-p.Done
	if got := log.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "forged") || strings.Contains(got, "secret") {
		t.Errorf("41: log is %q", got)
	}
}

// A failure of the server is a JSON-RPC error, not a tool result
// (docs/spec/architecture.md).
func TestServerFailureIsRPCError(t *testing.T) {
	store := &servertest.Failing{Store: memory.New()}
	store.Broken.Store(true)
	p := servertest.NewPipe(t, servertest.New(t, store, nil))
	go p.Send(servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A")))
	if a := p.Read(); a.Error == nil || !strings.Contains(a.Error.Message, "could not be saved") {
		t.Errorf("answer: %s", a.Raw)
	}
}
