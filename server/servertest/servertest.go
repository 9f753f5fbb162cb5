// Package servertest sets up servers, clients and stores for tests of a server from the
// outside. A [Chat] is a chat of an agent, on a pipe or over HTTP, with a server in the
// test's process or with the real program. A [Rig] is a store with the servers on it, and
// a [Script] is a scene that chats play.
package servertest

import (
	"bytes"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/web"
	"github.com/todo-mcp/todo-mcp/tools"
)

// The protocol versions that the tests use.
const (
	Legacy = "2025-11-25" // with sessions
	Modern = "2026-07-28" // without sessions
)

// New returns a server on a store; a nil store means a new memory store. edit,
// if not nil, changes the configuration.
func New(t testing.TB, st board.Store, edit func(*server.Config)) *server.Server {
	t.Helper()
	if st == nil {
		st = storetest.NewMemory()
	}
	b := board.NewBoard(st)
	texts := checktest.Must(prompts.New("", "en"))(t)
	c := server.Config{Board: b, Tools: tools.New(tools.Defaults()), Publish: []string{"all"}, Texts: texts, Version: "test", Dir: "/work/project", SessionKey: Key}
	if edit != nil {
		edit(&c)
	}
	s := server.New(c)
	t.Cleanup(func() { s.Close(); b.Close() })
	return s
}

// Key returns the key that signs session ids in tests.
func Key() []byte { return bytes.Repeat([]byte("k"), 32) }

// Serve serves a server over HTTP on a local port until the test ends. edit, if
// not nil, changes the configuration.
func Serve(t testing.TB, s *server.Server, edit func(*edge.Config)) *httptest.Server {
	t.Helper()
	l := checktest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	return ServeOn(t, l, s, edit)
}

// Site serves a new server on a memory store over HTTP, and returns it with its
// address.
func Site(t testing.TB) (s *server.Server, url string) {
	t.Helper()
	s = New(t, nil, nil)
	return s, Serve(t, s, nil).URL
}

// ServeOn is [Serve] on a listener, which is closed when the test ends.
func ServeOn(t testing.TB, l net.Listener, s *server.Server, edit func(*edge.Config)) *httptest.Server {
	t.Helper()
	h := Handler(t, s, edit)
	web := httptest.NewUnstartedServer(h)
	web.Listener.Close()
	web.Listener = l
	web.Start()
	t.Cleanup(func() { h.Close(); web.CloseClientConnections(); web.Close() })
	return web
}

// Handler returns the HTTP handler of a server, which the caller closes. edit, if not
// nil, changes the configuration. A request may take a minute, longer than people would
// wait: the test's machine may be busy.
func Handler(t testing.TB, s *server.Server, edit func(*edge.Config)) *edge.Edge {
	t.Helper()
	c := edge.Config{Board: s.Board, Log: s.Log, Timeout: time.Minute}
	if edit != nil {
		edit(&c)
	}
	return web.New(s, c)
}

// Apply makes a write with a change, and returns the list after it.
func Apply(t testing.TB, lists board.Lists, w board.Write, change func(d *todo.Draft)) todo.Snapshot {
	t.Helper()
	w.Change = func(d *todo.Draft) error { change(d); return nil }
	out := checktest.Must(lists.Apply(t.Context(), w))(t)
	return out.After
}

// In returns a write to a conversation's current list. The write begins a list if there is none, or all items are done.
func In(conversation string) board.Write {
	return board.Write{Target: board.Target{Conversation: board.Conversation{Key: conversation}, Append: true}}
}

// Says reports the activity and the question of a list's agent, as hooks of the agent's host do.
func Says(t testing.TB, lists board.Lists, list string, does todo.Doing, asks string) {
	t.Helper()
	s, err := lists.Load(t.Context(), list, 0)
	if err == nil {
		_, err = lists.Hear(t.Context(), board.Conversation{Key: s.List.Conversation}, func(c *todo.Chat, at time.Time) { c.Says(does, asks, at) })
	}
	checktest.Check(t, err)
}

// On returns a write to the list with an id.
func On(list string) board.Write { return board.Write{Target: board.Target{List: list}} }
