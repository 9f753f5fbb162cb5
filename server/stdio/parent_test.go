package stdio_test

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/server/stdio"
)

// BAD-INPUT 164: On stdio: the client is killed and its pipe stays open; only the process that
// started the server ends; SIGHUP → The server ends in some ten seconds; goes on; ends
func TestStdioClientThatIsGone(t *testing.T) {
	const pong = `{"jsonrpc":"2.0","id":"todo-mcp-ping","result":{}}`
	const modern = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	for name, c := range map[string]struct {
		first   string // what the client says first
		before  bool   // the parent is gone before that
		answers string // what comes when it is asked
		isAsked bool
		ends    bool
	}{
		"the client was killed":                  {servertest.Initialize(1, "tester"), false, "", true, true},
		"a launcher that ended":                  {servertest.Initialize(1, "tester"), false, pong, true, false},
		"a launcher, and a client without ping":  {servertest.Initialize(1, "tester"), false, `{"jsonrpc":"2.0","id":"todo-mcp-ping","error":{"code":-32601,"message":"no"}}`, true, false},
		"a launcher, and a client in the midst":  {servertest.Initialize(1, "tester"), false, `{"jsonrpc":"2.0","id":3,"method":"ping"}`, true, false},
		"a launcher that ended at once":          {servertest.Initialize(1, "tester"), true, "", false, false},
		"a client of 2026-07-28 cannot be asked": {modern, false, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var parent atomic.Int64
				parent.Store(100)
				stdio.SetParent(t, func() int { return int(parent.Load()) })
				s := servertest.New(t, memory.New(), func(c *server.Config) { c.StopTimeout = 8 * time.Second })
				p := servertest.NewPipe(t, s)
				if c.before {
					parent.Store(1)
				}
				go p.Send(c.first)
				p.Read()
				time.Sleep(time.Hour) // it waits for its client, who is there
				parent.Store(1)
				asked := make(chan bool, 1)
				go func() {
					line, err := p.Out.ReadString('\n')
					asked <- strings.Contains(line, `"method":"ping"`)
					if err == nil && c.answers != "" {
						p.Send(c.answers)
					}
					_, _ = io.Copy(io.Discard, p.Out)
				}()
				began := time.Now()
				select {
				case <-p.Done:
					if took := time.Since(began); !c.ends || took > 12*time.Second {
						t.Errorf("it ends after %s", took)
					}
				case <-time.After(24 * time.Hour):
					if c.ends {
						t.Error("it goes on")
					}
				}
				p.Stop()
				s.Close()
				p.In.Close()
				if isAsked := <-asked; isAsked != c.isAsked {
					t.Errorf("asked: %t", isAsked)
				}
			})
		})
	}
}
