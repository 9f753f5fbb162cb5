package server_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/server"
)

// BAD-INPUT 43: too much is refused, naming the limit: within one message by
// the tool, beyond it by the transport, on both.
func TestTooMuch(t *testing.T) {
	items := func(n int) string {
		return `{"items":[` + strings.Repeat(`"a",`, n-1) + `"a"]}`
	}
	hundredThousand := callTool(1, "create_todos", items(100_000))
	fourMegabytes := callTool(1, "create_todos", `{"items":["`+strings.Repeat("x", 4<<20)+`"]}`)
	longText := callTool(1, "SetTodoList", `{"todos":[{"title":"`+strings.Repeat("x", 4001)+`","status":"pending"}]}`)

	s := newServer(t, nil, nil)
	p := newPipe(t, s)
	go p.send(hundredThousand, fourMegabytes, longText)
	if a := p.read(); !a.Result.IsError || !strings.Contains(a.text(), "at most 1000") {
		t.Errorf("43: 100,000 items: %.200s", a.raw)
	}
	if a := p.read(); !a.Result.IsError || string(a.ID) != "1" || !strings.Contains(a.text(), "larger than 1048576 bytes") {
		t.Errorf("43: 4 MB: %.200s", a.raw)
	}
	if a := p.read(); !a.Result.IsError || !strings.Contains(a.text(), "at most 4000 characters, received 4001") {
		t.Errorf("43: a long text: %.200s", a.raw)
	}
	url := newHTTP(t, s, nil).URL + "/mcp"
	id := session(t, url, "tester")
	if _, _, body := post(t, url, hundredThousand, "Mcp-Session-Id", id); !strings.Contains(body, "at most 1000") {
		t.Errorf("43: 100,000 items over HTTP: %.200s", body)
	}
	if status, _, body := post(t, url, fourMegabytes, "Mcp-Session-Id", id); status != 413 || !strings.Contains(body, "1048576 bytes") {
		t.Errorf("43: 4 MB over HTTP: %d %.200s", status, body)
	}
}

// BAD-INPUT 41: what a client says of itself or writes cannot forge a log
// record, and what it writes is not logged at all.
func TestOneLogLine(t *testing.T) {
	var log bytes.Buffer
	store := &failing{Store: memory.New()}
	store.broken.Store(true)
	p := newPipe(t, newServer(t, store, func(c *server.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }))
	go p.send(initialize(1, `x\ntime=2026 level=ERROR msg=forged`), callTool(2, "TodoWrite", todos("pending", `secret\nlevel=ERROR msg=forged`)))
	p.read()
	p.read()
	p.stop()
	<-p.done
	if got := log.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "forged") || strings.Contains(got, "secret") {
		t.Errorf("41: log is %q", got)
	}
}
