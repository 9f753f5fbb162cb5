//go:build e2e && linux

package faults

import (
	"errors"
	"fmt"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// process is a running todo-mcp, and user the account that it runs as; nil is the
// test's own.
type (
	process = programtest.Process
	user    = programtest.User
)

// common are the arguments that all processes get.
var common = []string{"--tools", "all", "--keep-revisions", "0"}

// agent is a chat with a process of its own, on stdio.
type agent struct {
	*chattest.Chat
	*process
}

// newAgent starts a process on a store and begins a chat with it.
func newAgent(t *testing.T, args ...string) (*agent, error) {
	return newAgentAs(t, t.TempDir(), nil, args...)
}

// newAgentAs is [newAgent] in a folder, as a user.
func newAgentAs(t *testing.T, dir string, as *user, args ...string) (*agent, error) {
	p, err := programtest.Start(t, program, dir, as, append(append([]string{"stdio"}, common...), args...)...)
	if err != nil {
		return nil, err
	}
	c, err := chattest.OnPipe(t, chattest.Stdio, "tester", p.In, p.Out)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, p.Log)
	}
	return &agent{c, p}, nil
}

// serving is a process that serves HTTP.
type serving struct {
	*process
	url string
}

// newServing starts a server on a store and returns when it listens.
func newServing(t *testing.T, args ...string) (*serving, error) {
	return newServingAs(t, nil, args...)
}

func newServingAs(t *testing.T, as *user, args ...string) (*serving, error) {
	args = append(append([]string{"serve", "--addr", "127.0.0.1:0"}, common...), args...)
	p, err := programtest.Start(t, program, t.TempDir(), as, args...)
	if err != nil {
		return nil, err
	}
	url, err := p.URL()
	return &serving{p, url}, err
}

// mustServe is [newServing] that must listen.
func mustServe(t *testing.T, args ...string) *serving {
	t.Helper()
	return mustServeAs(t, nil, args...)
}

func mustServeAs(t *testing.T, as *user, args ...string) *serving {
	t.Helper()
	s, err := newServingAs(t, as, args...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newVisitor starts a server on a store and begins a session for the list of a name.
func newVisitor(t *testing.T, store, list string) (*agent, error) {
	s, err := newServing(t, "--store", store)
	if err != nil {
		return nil, err
	}
	c, err := chattest.TryHTTP(t, chattest.Session, "tester", s.endpoint(list))
	return &agent{c, s.process}, err
}

// endpoint returns the address of /mcp for the list of a name.
func (s *serving) endpoint(list string) string { return s.url + "/mcp?list=" + list }

// session begins a session for the list of a name.
func (s *serving) session(t *testing.T, list string) *chattest.Chat {
	t.Helper()
	return chattest.OverHTTP(t, chattest.Session, "tester", s.endpoint(list))
}

// try calls a tool and returns what it was refused with as an error, too.
func try(c *chattest.Chat, tool, args string) (chattest.Answer, error) {
	a, err := c.Try(tool, args)
	return a, errors.Join(err, a.Refused())
}
