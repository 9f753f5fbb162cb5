package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/store/sqlite"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// transport is how clients of a test reach the server.
type transport string

const (
	onStdio     transport = "stdio"
	onStdioNew  transport = "stdio, 2026-07-28"
	inSessions  transport = "HTTP in sessions"
	sessionless transport = "HTTP, 2026-07-28"
)

// pipes reports whether a transport is a pipe, which is a client's own; era
// whether its messages are those of the sessionless protocol.
func (by transport) pipes() bool { return by == onStdio || by == onStdioNew }
func (by transport) era() bool   { return by == onStdioNew || by == sessionless }

// over runs a test once for each transport, or for all, on a memory store of its
// own.
func over(t *testing.T, run func(r *rig), transports ...transport) {
	t.Helper()
	for _, by := range someOrAll(transports) {
		t.Run(string(by), func(t *testing.T) { run(&rig{t, by, memory.New()}) })
	}
}

func someOrAll(some []transport) []transport {
	if len(some) > 0 {
		return some
	}
	return []transport{onStdio, onStdioNew, inSessions, sessionless}
}

// rig is a store and the transport by which clients reach the servers on it.
type rig struct {
	*testing.T
	by    transport
	store todo.Store
}

// overFile is [over] on a store in a SQLite file; open opens the file again, as
// another process does.
func overFile(t *testing.T, run func(r *rig, open func() *rig), transports ...transport) {
	t.Helper()
	for _, by := range someOrAll(transports) {
		t.Run(string(by), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "todo.db")
			open := func() *rig { return &rig{t, by, openFile(t, path)} }
			run(open(), open)
		})
	}
}

// openFile opens a SQLite file until the test ends.
func openFile(t *testing.T, path string) todo.Store {
	t.Helper()
	s, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// process is a server on a rig's store.
type process struct {
	*rig
	server *server.Server
	url    string // of /mcp; empty on stdio
	base   string // of the panel; empty on stdio
	edit   func(*server.Config)
	piped  bool // its one client is connected
}

// start starts a server on the store; edit, if not nil, changes its
// configuration.
func (r *rig) start(edit func(*server.Config)) *process {
	r.Helper()
	p := &process{rig: r, server: servertest.New(r.T, r.store, edit), edit: edit}
	if !r.by.pipes() {
		p.base = servertest.Serve(r.T, p.server, nil).URL
		p.url = p.base + "/mcp"
	}
	return p
}

// end ends a process in good order.
func (p *process) end() {
	p.server.Close()
	p.server.Board.Close()
}

// chat begins a connection of a client: over HTTP with a session, on stdio with
// a process of its own if this one has its client.
func (p *process) chat(client string) *chat {
	p.Helper()
	if p.piped {
		return p.start(p.edit).chat(client)
	}
	p.piped = p.by.pipes()
	c := &chat{process: p, client: client, answers: make(chan string, 10), notes: make(chan string, 1000)}
	if p.by.pipes() {
		c.pipe = servertest.NewPipe(p.T, p.server)
		c.split()
	}
	switch p.by {
	case onStdio:
		c.send(servertest.Initialize(0, client))
	case inSessions:
		c.session = servertest.Session(p.T, p.url, client)
	}
	return c
}

// connect starts a server and begins a connection of the client "tester".
func (r *rig) connect() *chat { return r.start(nil).chat("tester") }

// chat is a client's connection, and what it says in _meta of each message.
type chat struct {
	*process
	client  string
	meta    string // members of _meta as JSON; empty for none
	query   string // of the URL over HTTP, as "?list=release"
	roots   bool   // whether a sessionless client declares roots
	session string
	pipe    *servertest.Pipe // nil over HTTP
	answers chan string      // on the pipe, but for notifications
	notes   chan string      // notifications
}

// with returns the same connection with other members of _meta.
func (c *chat) with(meta string, values ...any) *chat {
	other := *c
	other.meta = fmt.Sprintf(meta, values...)
	return &other
}

// conversation returns the same connection with a conversation's id.
func (c *chat) conversation(id string) *chat { return c.with(`"todo-mcp/conversation":%q`, id) }

// and returns the same connection with further members of _meta.
func (c *chat) and(meta string, values ...any) *chat {
	other := *c
	other.meta = joined(c.meta, fmt.Sprintf(meta, values...))
	return &other
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// message returns a request; params is a JSON object without _meta.
func (c *chat) message(id any, method, params string) string {
	meta := c.meta
	if c.by.era() {
		capabilities := `{}`
		if c.roots {
			capabilities = `{"roots":{}}`
		}
		meta = joined(meta, fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s,"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"}`,
			servertest.Modern, capabilities, c.client))
	}
	if meta != "" {
		params = "{" + joined(strings.TrimSuffix(strings.TrimPrefix(params, "{"), "}"), `"_meta":{`+meta+`}`) + "}"
	}
	raw, err := json.Marshal(id)
	if err != nil {
		c.Fatal(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, raw, method, params)
}

// headers returns the headers of a message over HTTP.
func (c *chat) headers(message string) []string {
	if c.by == inSessions {
		return []string{"Mcp-Session-Id", c.session}
	}
	var m struct {
		Method string
		Params struct{ Name, URI string }
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		c.Fatalf("%v in %s", err, message)
	}
	return servertest.ModernHeaders(m.Method, m.Params.Name+m.Params.URI)
}

// send sends a message and returns its answer.
func (c *chat) send(message string) servertest.Answer {
	c.Helper()
	if c.by.pipes() {
		return c.ask(message)
	}
	_, _, body := servertest.Post(c.T, c.url+c.query, message, c.headers(message)...)
	for line := range strings.SplitSeq(body, "\n") { // a stream, if notifications come before the answer
		data, _ := strings.CutPrefix(line, "data: ")
		switch {
		case strings.Contains(data, `"method":"notifications/`):
			c.notes <- data
		case strings.HasPrefix(data, "{"):
			return servertest.Parse(c.T, data)
		}
	}
	c.Fatalf("%s is answered %q", message, body)
	return servertest.Answer{}
}

// asks sends a request and returns its answer.
func (c *chat) asks(method, params string) servertest.Answer {
	c.Helper()
	return c.send(c.message(1, method, params))
}

// calls calls a tool and returns the text of its answer, which may be an error
// of the tool but not of the protocol.
func (c *chat) calls(tool, args string) string {
	c.Helper()
	a := c.asks("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
	if a.Error != nil || len(a.Result.Content) == 0 {
		c.Fatalf("%s %s: %s", tool, args, a.Raw)
	}
	return a.Text()
}

// letters are the statuses of TodoWrite by letter.
var letters = map[string]string{"p": "pending", "i": "in_progress", "c": "completed"}

// plan returns arguments of TodoWrite for items as "p:A i:B".
func plan(items string) string {
	out := []string{}
	for _, field := range strings.Fields(items) {
		letter, text, _ := strings.Cut(field, ":")
		out = append(out, fmt.Sprintf(`{"content":%q,"activeForm":%q,"status":%q}`, text, text, letters[letter]))
	}
	return `{"todos":[` + strings.Join(out, ",") + `]}`
}

// writes replaces the list with TodoWrite, which must not be refused, and
// returns the answer's text.
func (c *chat) writes(items string) string {
	c.Helper()
	got := c.calls("TodoWrite", plan(items))
	if !strings.HasPrefix(got, "Todo list updated: ") {
		c.Fatalf("%q is refused: %s", items, got)
	}
	return got
}

// adds adds items with create_todos and returns the answer's text.
func (c *chat) adds(texts ...string) string {
	c.Helper()
	raw, err := json.Marshal(texts)
	if err != nil {
		c.Fatal(err)
	}
	return c.calls("create_todos", `{"items":`+string(raw)+`}`)
}

// resource returns the JSON of a resource.
func (c *chat) resource(uri string) string {
	c.Helper()
	a := c.asks("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	var r struct {
		Result struct{ Contents []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(a.Raw), &r); err != nil || len(r.Result.Contents) == 0 {
		c.Fatalf("%s: %s, %v", uri, a.Raw, err)
	}
	return r.Result.Contents[0].Text
}

// reads returns the conversation's list from todo://list as "p:A i:B"; empty when
// there is none.
func (c *chat) reads() string {
	c.Helper()
	var d struct {
		Items []struct{ Text, Status string }
	}
	if err := json.Unmarshal([]byte(c.resource("todo://list")), &d); err != nil {
		c.Fatal(err)
	}
	var out []string
	for _, i := range d.Items {
		out = append(out, i.Status[:1]+":"+i.Text)
	}
	return strings.Join(out, " ")
}

// shows checks what todo://list reads as.
func (c *chat) shows(want string) {
	c.Helper()
	if got := c.reads(); got != want {
		c.Errorf("_meta {%s} reads %q, want %q", c.meta, got, want)
	}
}

// held returns the id of the conversation's list; empty when there is none.
func (c *chat) held() string {
	c.Helper()
	var d struct{ List string }
	if err := json.Unmarshal([]byte(c.resource("todo://list")), &d); err != nil {
		c.Fatal(err)
	}
	return d.List
}

// prompt returns the text of a prompt; args is a JSON object.
func (c *chat) prompt(name, args string) string {
	c.Helper()
	a := c.asks("prompts/get", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
	var r struct {
		Result struct {
			Messages []struct{ Content struct{ Text string } }
		}
	}
	if err := json.Unmarshal([]byte(a.Raw), &r); err != nil || len(r.Result.Messages) != 1 {
		c.Fatalf("prompt %s %s: %s, %v", name, args, a.Raw, err)
	}
	return r.Result.Messages[0].Content.Text
}

// resumes takes up a list by its id.
func (c *chat) resumes(list string) {
	c.Helper()
	if got := c.prompt("resume", fmt.Sprintf(`{"list":%q}`, list)); !strings.HasPrefix(got, "Carry on with this todo list") {
		c.Fatalf("resume %s: %s", list, got)
	}
}

// lists returns all lists of the server's own principal as "p:A i:B", the one
// written last first.
func (r *rig) lists() (out []string) {
	r.Helper()
	own := ""
	all, err := r.store.Find(context.Background(), todo.Query{Principal: &own})
	if err != nil {
		r.Fatal(err)
	}
	for _, l := range all {
		out = append(out, inShort(l))
	}
	return out
}

func inShort(s todo.Snapshot) string {
	var out []string
	for _, i := range s.Items {
		out = append(out, string(i.Status[0])+":"+i.Text)
	}
	return strings.Join(out, " ")
}

// expect checks all lists, the one written last first.
func (r *rig) expect(want ...string) {
	r.Helper()
	if got := r.lists(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		r.Errorf("the lists are %q, want %q", got, want)
	}
}

// load reads the newest revision of a list.
func (r *rig) load(list string) todo.Snapshot {
	r.Helper()
	s, err := r.store.Load(context.Background(), list, 0)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// personEdits is what a person does to a list on the panel or the command line,
// in another process.
func (r *rig) personEdits(list string, change todo.Change) {
	r.Helper()
	b := todo.NewBoard(r.store)
	defer b.Close()
	if _, err := b.As("").Apply(context.Background(), todo.Write{Target: todo.Target{List: list}, Writer: todo.Writer{Person: true}, Change: change}); err != nil {
		r.Fatal(err)
	}
}

// sets returns a change that sets the status of one item.
func sets(id string, s todo.Status) todo.Change {
	return func(d *todo.Draft) error { d.SetStatus(id, s); return nil }
}

// split passes on what a pipe's server sends: answers and notifications.
func (c *chat) split() {
	go func() {
		defer close(c.answers)
		for {
			line, err := c.pipe.Out.ReadString('\n')
			if err != nil {
				return
			}
			if strings.Contains(line, `"method":"notifications/`) {
				c.notes <- line
			} else {
				c.answers <- line
			}
		}
	}()
}

// ask sends a message to a pipe and returns its answer. There is one at a time.
func (c *chat) ask(message string) servertest.Answer {
	c.Helper()
	go func() { _, _ = io.WriteString(c.pipe.In, message+"\n") }() // the pipe has no buffer
	answer, ok := <-c.answers
	if !ok {
		c.Fatalf("the server ended before it answered %s", message)
	}
	return servertest.Parse(c.T, answer)
}
