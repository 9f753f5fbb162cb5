//go:build e2e && linux

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"

	"todo-mcp/internal/programtest"
	"todo-mcp/server/servertest"
)

// process is a running todo-mcp, and user the account that it runs as; nil is the
// test's own.
type (
	process = programtest.Process
	user    = programtest.User
)

// start starts todo-mcp with arguments, see [programtest.Start].
func start(t *testing.T, dir string, as *user, args ...string) (*process, error) {
	return programtest.Start(t, program, dir, as, args...)
}

// answer is the answer to a call.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured struct {
			List     string `json:"list"`
			Revision int64  `json:"revision"`
			Display  []struct {
				Items []shown `json:"items"`
			} `json:"display"`
		} `json:"structuredContent"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// shown is an item in an answer.
type shown struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status string `json:"status"`
}

func (a answer) list() string    { return a.Result.Structured.List }
func (a answer) revision() int64 { return a.Result.Structured.Revision }

func (a answer) items() []shown {
	if len(a.Result.Structured.Display) == 0 {
		return nil
	}
	return a.Result.Structured.Display[0].Items
}

// refused returns what a call was refused with; nil when it was carried out.
func (a answer) refused() error {
	switch {
	case a.Error != nil:
		return errors.New(a.Error.Message)
	case a.Result.IsError && len(a.Result.Content) > 0:
		return errors.New(a.Result.Content[0].Text)
	case a.Result.IsError:
		return errors.New("an error without a text")
	}
	return nil
}

// errGone means that no answer came: the process or its connection ended first.
var errGone = errors.New("no answer")

// client is an MCP client in one conversation. Its calls are made one after the
// other. An error of call means that no answer came; a refusal is an answer.
type client interface {
	call(tool, args, meta string) (answer, error)
}

// agent is a client with a process of its own, on stdio.
type agent struct {
	*process
	calls int
}

// newAgent starts a process on a store and begins a session with it.
func newAgent(t *testing.T, dir string, as *user, args ...string) (*agent, error) {
	p, err := start(t, dir, as, append([]string{"stdio", "--tools", "all", "--keep-revisions", "0"}, args...)...)
	if err != nil {
		return nil, err
	}
	a := &agent{process: p}
	_, err = a.ask(servertest.Initialize(0, "tester"), "0")
	return a, err
}

// call calls a tool; meta is the members of _meta as JSON, or empty.
func (a *agent) call(tool, args, meta string) (answer, error) {
	a.calls++
	return a.ask(message(a.calls, tool, args, meta), fmt.Sprint(a.calls))
}

func message(id int, tool, args, meta string) string {
	m := servertest.Call(id, tool, args)
	if meta != "" {
		m = servertest.WithMeta(m, meta)
	}
	return m
}

// ask sends a request and reads up to its answer.
func (a *agent) ask(request, id string) (answer, error) {
	if _, err := io.WriteString(a.In, request+"\n"); err != nil {
		return answer{}, a.gone(err)
	}
	for {
		got, err := a.read()
		if err != nil || got.Method == "" && string(got.ID) == id {
			return got, err
		}
	}
}

// read reads the next message from the process.
func (a *agent) read() (answer, error) {
	line, err := a.Out.ReadBytes('\n')
	if err != nil {
		return answer{}, a.gone(err) // also after a part of an answer
	}
	var got answer
	if err := json.Unmarshal(line, &got); err != nil {
		return answer{}, fmt.Errorf("%w in %q", err, line)
	}
	return got, nil
}

func (a *agent) gone(err error) error {
	return fmt.Errorf("%w: %w %s", errGone, err, strings.TrimSpace(a.Log.String()))
}

// serving is a process that serves HTTP.
type serving struct {
	*process
	url string
}

// newServing starts a server on a store and returns when it listens.
func newServing(t *testing.T, dir string, as *user, args ...string) (*serving, error) {
	p, err := start(t, dir, as, append([]string{"serve", "--addr", "127.0.0.1:0", "--tools", "all", "--keep-revisions", "0"}, args...)...)
	if err != nil {
		return nil, err
	}
	url, err := p.URL()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return &serving{process: p, url: url}, nil
}

// caller is a client in a session over HTTP, with the list of a name.
type caller struct {
	url, session string
	calls        int
}

// session begins a session with a server.
func (s *serving) session(list string) (*caller, error) {
	c := &caller{url: s.url + "/mcp"}
	if list != "" {
		c.url += "?list=" + list
	}
	status, header, body, err := servertest.TryPost(c.url, strings.NewReader(servertest.Initialize(0, "tester")))
	if err != nil || status != 200 {
		return nil, fmt.Errorf("begin session: %d %s %w", status, body, err)
	}
	c.session = header.Get("Mcp-Session-Id")
	return c, nil
}

// through returns the same session at another server on the same store.
func (c *caller) through(s *serving) *caller {
	_, query, _ := strings.Cut(c.url, "?")
	return &caller{url: s.url + "/mcp?" + query, session: c.session, calls: 1000}
}

func (c *caller) call(tool, args, meta string) (answer, error) {
	c.calls++
	return c.post(context.Background(), message(c.calls, tool, args, meta))
}

// once makes a call beside others of the same session. It sends on sent when the
// request is out, or has failed.
func (c *caller) once(id int, tool, args string, sent chan<- struct{}) (answer, error) {
	out := sync.OnceFunc(func() { sent <- struct{}{} })
	defer out()
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { out() }})
	return c.post(ctx, message(id, tool, args, ""))
}

func (c *caller) post(ctx context.Context, message string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, "POST", c.url, strings.NewReader(message))
	if err != nil {
		return answer{}, err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": c.session} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errGone, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errGone, err)
	}
	var got answer
	if err := json.Unmarshal(body, &got); err != nil {
		return answer{}, fmt.Errorf("%s: %w in %q", res.Status, err, body)
	}
	return got, nil
}
