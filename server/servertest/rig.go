package servertest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
)

// Rig is a store in the test's process and the transport by which chats reach the
// servers on it.
type Rig struct {
	*testing.T
	By    Transport
	Store board.Store
}

// Over runs a test once for each of transports (all if none is given), each time on a new memory store.
func Over(t *testing.T, run func(r *Rig), transports ...Transport) {
	t.Helper()
	for _, by := range someOrAll(transports) {
		t.Run(string(by), func(t *testing.T) { run(&Rig{t, by, storetest.NewMemory()}) })
	}
}

// OverFile is [Over] on a store in a SQLite file. Each call of open opens the file again, as
// another process would.
func OverFile(t *testing.T, run func(r *Rig, open func() *Rig), transports ...Transport) {
	t.Helper()
	for _, by := range someOrAll(transports) {
		t.Run(string(by), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "todo.db")
			open := func() *Rig { return &Rig{t, by, File(t, path)} }
			run(open(), open)
		})
	}
}

// Memory returns a new store in memory.
func Memory() board.Store { return storetest.NewMemory() }

func someOrAll(some []Transport) []Transport {
	if len(some) > 0 {
		return some
	}
	return []Transport{Stdio, StdioModern, Session, Sessionless}
}

// File opens a store in a SQLite file until the test ends.
func File(t testing.TB, path string, keep ...board.Keep) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(path, append(keep, board.Keep{})[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Stores returns a new store in memory and a new store in a SQLite file, by name.
func Stores(t testing.TB) map[string]board.Store {
	return map[string]board.Store{"memory": storetest.NewMemory(), "SQLite": File(t, filepath.Join(t.TempDir(), "todo.db"))}
}

// Server is a server on a rig's store.
type Server struct {
	*Rig
	Server *server.Server
	Base   string // its address over HTTP
	edit   func(*server.Config)
	piped  bool // whether the pipe's only client is connected
}

// Start starts a server on the store; edit, if not nil, changes its configuration.
func (r *Rig) Start(edit func(*server.Config)) *Server {
	r.Helper()
	s := &Server{Rig: r, Server: New(r.T, r.Store, edit), edit: edit}
	if !r.By.Piped() {
		s.Base = Serve(r.T, s.Server, nil).URL
	}
	return s
}

// End closes a server and its board, as at an orderly exit.
func (s *Server) End() {
	s.Server.Close()
	s.Server.Board.Close()
}

// Chat begins a connection of a client to this server. A pipe has one client: further
// clients get a server each.
func (s *Server) Chat(client string) *Chat {
	s.Helper()
	if !s.By.Piped() {
		return OverHTTP(s.T, s.By, client, s.Base+"/mcp")
	}
	if s.piped {
		return s.Start(s.edit).Chat(client)
	}
	s.piped = true
	pipe := NewPipe(s.T, s.Server)
	c, err := OnPipe(s.T, s.By, client, pipe.In, pipe.Out)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// Connect starts a server and begins a connection of the client "tester".
func (r *Rig) Connect() *Chat {
	r.Helper()
	return r.Start(nil).Chat("tester")
}

// Found returns all lists of the empty principal (the server itself), the one written last first.
func (r *Rig) Found() []todo.Snapshot {
	r.Helper()
	own := ""
	all, err := r.Store.Find(r.Context(), board.Query{Principal: &own})
	if err != nil {
		r.Fatal(err)
	}
	return all
}

// Newest returns the id of the list written last, without reading it as an agent.
func (r *Rig) Newest() string {
	r.Helper()
	return r.Found()[0].List.ID
}

// Lists returns all lists in short form, the one written last first.
func (r *Rig) Lists() (out []string) {
	r.Helper()
	for _, l := range r.Found() {
		out = append(out, chattest.ShowPlan(l.Items))
	}
	return out
}

// Expect checks all lists, in short form, the one written last first.
func (r *Rig) Expect(want ...string) {
	r.Helper()
	if got := r.Lists(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		r.Errorf("the lists are %q, want %q", got, want)
	}
}

// Load reads the newest revision of a list.
func (r *Rig) Load(list string) todo.Snapshot {
	r.Helper()
	s, err := r.Store.Load(r.Context(), list, 0)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// Subs returns the names of the sub-agents that have a list below the given main list.
func (r *Rig) Subs(list string) (agents []string) {
	r.Helper()
	subs, err := r.Store.Find(r.Context(), board.Query{Parent: list})
	if err != nil {
		r.Fatal(err)
	}
	for _, s := range subs {
		agents = append(agents, s.List.Agent)
	}
	return agents
}

// Write makes a write for a principal, on a new board, as another process would.
func (r *Rig) Write(principal string, w board.Write) todo.Snapshot {
	r.Helper()
	return Write(r.T, r.Store, principal, w)
}

// Write makes a write for a principal, on a new board of a store, as another process would.
func Write(t testing.TB, store board.Store, principal string, w board.Write) todo.Snapshot {
	t.Helper()
	b := board.NewBoard(store)
	defer b.Close()
	out, err := b.As(principal).Apply(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return out.After
}

// Edit makes an edit of a person, on a new board, as another process would.
func (r *Rig) Edit(list string, edit todo.Edit) {
	r.Helper()
	b := board.NewBoard(r.Store)
	defer b.Close()
	if _, err := b.As("").Edit(r.Context(), list, edit, todo.Writer{}); err != nil {
		r.Fatal(err)
	}
}

// Sets returns a change that sets the status of one item.
func Sets(id string, s todo.Status) todo.Change {
	return func(d *todo.Draft) error { d.SetStatus(id, s); return nil }
}

// Adds returns a change that adds items.
func Adds(texts ...string) todo.Change {
	return func(d *todo.Draft) error { d.Append(texts...); return nil }
}

// Foreign makes a list of another principal, with the item "theirs", and returns the list's id.
func Foreign(t testing.TB, store board.Store) string {
	t.Helper()
	target := board.Target{Conversation: board.Conversation{Key: "x"}}
	return Write(t, store, "somebody", board.Write{Target: target, Change: Adds("theirs")}).List.ID
}
