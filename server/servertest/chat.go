package servertest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Transport is the kind of a chat's connection, a pipe or HTTP, with the protocol version of its messages.
type Transport string

const (
	Stdio       Transport = "stdio"
	StdioModern Transport = "stdio, 2026-07-28"
	Session     Transport = "HTTP in sessions"
	Sessionless Transport = "HTTP, 2026-07-28"
)

// Piped reports whether a transport is a pipe, which has a single client.
func (by Transport) Piped() bool { return by == Stdio || by == StdioModern }

// Modern reports whether messages follow the sessionless protocol.
func (by Transport) Modern() bool { return by == StdioModern || by == Sessionless }

// Patience is how long a chat waits for an answer on a pipe, or for a notification.
const Patience = 30 * time.Second

// accepts has the headers of every message over HTTP: names and values in turn.
var accepts = []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}

// ErrGone means that no answer came: the server or the connection ended, or [Patience] passed.
var ErrGone = errors.New("no answer")

// Chat is a connection of a client, with the _meta of its messages. Methods that return no
// error fail the test if no answer comes; a tool's refusal is an answer.
type Chat struct {
	testing.TB
	By      Transport
	Client  string // the client's name in clientInfo
	URL     string // the address of /mcp, over HTTP
	Session string
	Roots   bool         // whether a sessionless client declares roots
	Meta    string       // members of _meta as JSON; empty for none
	Folder  string       // the header Todo-Folder, over HTTP; empty for none
	Answers string       // members of inputResponses as JSON: answers to the server's questions
	HTTP    *http.Client // nil is the default client

	in      io.Writer   // the server's input, on a pipe
	answers chan string // the server's messages on a pipe, without notifications
	notes   chan string // notifications
	serial  *atomic.Int64
}

func newChat(t testing.TB, by Transport, client string) *Chat {
	return &Chat{TB: t, By: by, Client: client, serial: &atomic.Int64{},
		answers: make(chan string, 10), notes: make(chan string, 10_000)}
}

// OverHTTP begins a chat over HTTP; url is the address of /mcp.
func OverHTTP(t testing.TB, by Transport, client, url string) *Chat {
	t.Helper()
	c, err := TryHTTP(t, by, client, url)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TryHTTP is [OverHTTP], but returns an error when no session begins.
func TryHTTP(t testing.TB, by Transport, client, url string) (*Chat, error) {
	c := newChat(t, by, client)
	if c.URL = url; by != Session {
		return c, nil
	}
	status, header, body, err := TryPost(url, strings.NewReader(Initialize(0, client)))
	if c.Session = header.Get("Mcp-Session-Id"); err != nil || c.Session == "" {
		return nil, fmt.Errorf("begin session: %d %s %w", status, body, err)
	}
	return c, nil
}

// OnPipe begins a chat with a server: in is the server's input, out its output. It
// returns an error when the server does not answer the initialize request.
func OnPipe(t testing.TB, by Transport, client string, in io.Writer, out *bufio.Reader) (*Chat, error) {
	c := newChat(t, by, client)
	c.in = in
	go c.split(out)
	if by.Modern() {
		return c, nil
	}
	_, err := c.Send(context.Background(), Initialize(0, client))
	return c, err
}

// split sorts the messages of a pipe's server into answers and notifications.
func (c *Chat) split(out *bufio.Reader) {
	defer close(c.answers)
	for {
		line, err := out.ReadString('\n')
		switch {
		case err != nil: // the end, perhaps after a part of an answer
			return
		case strings.Contains(line, `"method":"notifications/`):
			c.notes <- line
		default:
			c.answers <- line
		}
	}
}

// With returns the same connection with the given members of _meta in place of its own.
func (c *Chat) With(meta string, values ...any) *Chat {
	other := *c
	other.Meta = fmt.Sprintf(meta, values...)
	return &other
}

// And returns the same connection with further members of _meta.
func (c *Chat) And(meta string, values ...any) *Chat {
	return c.With("%s", joined(c.Meta, fmt.Sprintf(meta, values...)))
}

// Conversation returns the same connection with a conversation's id in place of its members of _meta.
func (c *Chat) Conversation(id string) *Chat { return c.With(`"todo-mcp/conversation":%q`, id) }

// Agent returns the same connection for the conversation's sub-agent with a name.
func (c *Chat) Agent(name string) *Chat { return c.And(`"todo-mcp/agent":%q`, name) }

// InOperation returns the same connection with an operation's id, by which the server
// recognizes a repeat of a call.
func (c *Chat) InOperation(id string) *Chat { return c.And(`"todo-mcp/operation":%q`, id) }

// At returns the same chat at another server on the same store.
func (c *Chat) At(url string) *Chat {
	other := *c
	other.URL = url
	return &other
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// Message returns a request; params is a JSON object without _meta.
func (c *Chat) Message(id any, method, params string) string {
	meta := c.Meta
	if c.By.Modern() {
		capabilities := `{}`
		if c.Roots {
			capabilities = `{"roots":{}}`
		}
		meta = joined(meta, fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,`+
			`"io.modelcontextprotocol/clientCapabilities":%s,"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"}`,
			Modern, capabilities, c.Client))
	}
	if c.Answers != "" {
		params = strings.TrimSuffix(params, "}") + `,"inputResponses":{` + c.Answers + `}}`
	}
	if meta != "" {
		members := strings.TrimSuffix(strings.TrimPrefix(params, "{"), "}")
		params = "{" + joined(members, `"_meta":{`+meta+`}`) + "}"
	}
	raw, _ := json.Marshal(id)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, raw, method, params)
}

// Headers returns the headers of a message over HTTP.
func (c *Chat) Headers(message string) []string {
	var folder []string
	if c.Folder != "" {
		folder = []string{"Todo-Folder", c.Folder}
	}
	if c.By == Session {
		return append(folder, "Mcp-Session-Id", c.Session)
	}
	var m struct {
		Method string
		Params struct{ Name, URI string }
	}
	_ = json.Unmarshal([]byte(message), &m)
	return append(folder, ModernHeaders(m.Method, m.Params.Name+m.Params.URI)...)
}

// Send sends a message and returns its answer. If no answer comes, the error wraps
// [ErrGone]. On a pipe, a message must be answered before the next one is sent.
func (c *Chat) Send(ctx context.Context, message string) (Answer, error) {
	if c.in != nil {
		go c.Write(message + "\n") // the pipe may have no buffer
		return c.Read()
	}
	req, err := c.request(ctx, http.MethodPost, message, c.Headers(message))
	if err != nil {
		return Answer{}, err
	}
	res, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrGone, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return c.answer(res.Status, string(body))
}

// request returns a request of MCP over HTTP; headers alternates names and values.
func (c *Chat) request(ctx context.Context, method, body string, headers []string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for pair := range slices.Chunk(append(headers, accepts...), 2) {
		req.Header.Set(pair[0], pair[1])
	}
	return req, nil
}

// answer returns the answer in a body: JSON, or an event stream if notifications come first.
func (c *Chat) answer(status, body string) (Answer, error) {
	for line := range strings.SplitSeq(body, "\n") {
		data, _ := strings.CutPrefix(line, "data: ")
		switch {
		case strings.Contains(data, `"method":"notifications/`):
			c.notes <- data
		case strings.HasPrefix(data, "{"):
			return c.parse(data)
		}
	}
	return Answer{}, fmt.Errorf("answered %s %q", status, body)
}

func (c *Chat) parse(data string) (a Answer, err error) {
	a.chat, a.call = c, "the message"
	if err := json.Unmarshal([]byte(data), &a.Message); err != nil {
		return a, fmt.Errorf("%w in %q", err, data)
	}
	a.Raw = data
	return a, nil
}

// Write writes to the pipe.
func (c *Chat) Write(text string) { _, _ = io.WriteString(c.in, text) }

// Read returns the next answer on the pipe, or an error that wraps [ErrGone].
func (c *Chat) Read() (Answer, error) {
	select {
	case line, open := <-c.answers:
		if !open {
			return Answer{}, fmt.Errorf("%w: the server ended", ErrGone)
		}
		return c.parse(line)
	case <-time.After(Patience):
		return Answer{}, fmt.Errorf("%w in %s", ErrGone, Patience)
	}
}

// Asks sends a request and returns its answer.
func (c *Chat) Asks(method, params string) Answer {
	c.Helper()
	a, err := c.Send(c.Context(), c.Message(c.serial.Add(1), method, params))
	if err != nil {
		c.Fatalf("%s %s: %v", method, params, err)
	}
	a.call = method + " " + params
	return a
}

// Try calls a tool. It returns an error if no answer comes; a refusal is an answer.
func (c *Chat) Try(tool, args string) (Answer, error) {
	params := fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args)
	a, err := c.Send(c.Context(), c.Message(c.serial.Add(1), "tools/call", params))
	a.call = tool + " " + args
	return a, err
}

// Calls calls a tool, which may refuse.
func (c *Chat) Calls(tool, args string) Answer {
	c.Helper()
	a, err := c.Try(tool, args)
	if err != nil || a.Error != nil || len(a.Result.Content) == 0 {
		c.Fatalf("%s %s: %s %v", tool, args, a.Raw, err)
	}
	return a
}

// Does calls a tool, which must not refuse.
func (c *Chat) Does(tool, args string) Answer {
	c.Helper()
	a := c.Calls(tool, args)
	if err := a.Refused(); err != nil {
		c.Fatalf("%s %s is refused: %v", tool, args, err)
	}
	return a
}

// Writes writes a plan in short form (package chattest) with TodoWrite, which must not refuse it.
func (c *Chat) Writes(plan string) Answer {
	c.Helper()
	return c.Does("TodoWrite", Arguments("TodoWrite", plan))
}

// Adds adds items with create_todos, which must not refuse them.
func (c *Chat) Adds(texts ...string) Answer {
	c.Helper()
	return c.Does("create_todos", Steps(texts...))
}

// Sets sets the status of an item with update_todo.
func (c *Chat) Sets(id, status string) Answer {
	c.Helper()
	return c.Calls("update_todo", fmt.Sprintf(`{"id":%q,"status":%q}`, id, status))
}

// Prompt gets a prompt and returns the answer; args is a JSON object.
func (c *Chat) Prompt(name, args string) Answer {
	c.Helper()
	a := c.Asks("prompts/get", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
	if len(a.Result.Messages) != 1 {
		c.Fatalf("prompt %s %s: %s", name, args, a.Raw)
	}
	return a
}

// Resume gets the prompt "resume" for a list, which is given by its id, name or title.
func (c *Chat) Resume(list string) Answer {
	c.Helper()
	return c.Prompt("resume", fmt.Sprintf(`{"list":%q}`, list))
}

// Resource returns the JSON of a resource.
func (c *Chat) Resource(uri string) string {
	c.Helper()
	a := c.Asks("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	if len(a.Result.Contents) == 0 {
		c.Fatalf("%s: %s", uri, a.Raw)
	}
	return a.Text()
}

// Reads returns the chat's list as its agent reads it from todo://list.
func (c *Chat) Reads() (l List) {
	c.Helper()
	if err := json.Unmarshal([]byte(c.Resource("todo://list")), &l); err != nil {
		c.Fatal(err)
	}
	return l
}

// Shows checks that todo://list has a plan, given in short form.
func (c *Chat) Shows(want string) {
	c.Helper()
	if got := c.Reads().String(); got != want {
		c.Errorf("_meta {%s} reads %q, want %q", c.Meta, got, want)
	}
}

// Current reads the chat's list and returns its id; empty when there is no list.
func (c *Chat) Current() string {
	c.Helper()
	return c.Reads().List
}
