package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/cli"
)

// call is a request that makes the server do the same work each time it is repeated.
type call struct {
	name   string
	before func(n int) error // prepares the n-th call and is not counted; may be nil
	do     func(n int) error // makes the n-th call
}

// calls returns the requests that a server gets most often.
func (s *site) calls() []call {
	write := func(n int) error { return s.tool(plan(n)) }
	last := func(int) error { return s.tool(plan(made - 1)) }
	page := func(int) error { _, err := s.ask(http.MethodGet, "/lists/"+s.list, ""); return err }
	return []call{
		{"todowrite", nil, write},
		{"unchanged", nil, last},
		{"hook", nil, s.prompt},
		{"hook-change", func(int) error { return s.hook("Stop", "") }, s.prompt},
		{"edit", nil, s.edit},
		{"page", nil, page},
	}
}

// site is a running `serve` on a new SQLite file, with a client's session and the id of the session's list.
type site struct {
	url, session, list string
	stop               func() error
}

// serve runs the command serve in this process. It begins the list of the session, and a second list that copies the
// todo list of a host's own tool, as the host's hooks report it.
func serve() (s *site, err error) {
	folder, err := os.MkdirTemp("", "ratchet")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		home := func(name string) string { return map[string]string{"HOME": folder}[name] }
		env := cli.Env{Stdin: strings.NewReader(""), Stdout: in, Stderr: os.Stderr, Getenv: home, Version: "v0"}
		err := cli.Run(ctx, []string{"todo-mcp", "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:" + filepath.Join(folder, "todo.db")}, env)
		in.Close()
		ended <- err
	}()
	s = &site{stop: func() error { cancel(); return errors.Join(<-ended, os.RemoveAll(folder)) }}
	greeting := bufio.NewScanner(out)
	for s.url == "" && greeting.Scan() {
		s.url = regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(greeting.Text())
	}
	go io.Copy(io.Discard, out)
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// begin opens the session and begins both lists.
func (s *site) begin() error {
	_, err := s.ask(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}}`)
	if err == nil {
		_, err = s.ask(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	if err == nil {
		err = s.tool(plan(0))
	}
	if err != nil {
		return err
	}
	lists, err := s.ask(http.MethodGet, "/api/lists", "")
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`"list":\s*"([^"]+)"`).FindSubmatch(lists)
	if found == nil {
		return fmt.Errorf("no list in %s", lists)
	}
	s.list = string(found[1])
	return s.hook("PostToolUse", `,"tool_name":"TodoWrite","tool_input":`+plan(0))
}

// plan returns arguments of TodoWrite: a plan whose n-th item is in progress.
func plan(n int) string {
	var items []string
	for i := range made {
		status := "pending"
		if i < n {
			status = "completed"
		} else if i == n {
			status = "in_progress"
		}
		items = append(items, fmt.Sprintf(`{"content":"Change part %d of what was planned","activeForm":"Changing part %d of what was planned","status":%q}`, i, i, status))
	}
	return `{"todos":[` + strings.Join(items, ",") + `]}`
}

// tool calls TodoWrite in the session.
func (s *site) tool(arguments string) error {
	answer, err := s.ask(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"TodoWrite","arguments":`+arguments+`}}`)
	if err == nil && !bytes.Contains(answer, []byte("Todo list updated")) {
		return fmt.Errorf("TodoWrite answers %s", answer)
	}
	return err
}

// hook posts an event of the host's chat. Further JSON fields of the event, each after a comma, are given as more.
func (s *site) hook(name, more string) error {
	_, err := s.ask(http.MethodPost, "/hook", `{"session_id":"chat","cwd":"/home/ada/parser","hook_event_name":"`+name+`"`+more+`}`)
	return err
}

func (s *site) prompt(int) error { return s.hook("UserPromptSubmit", `,"prompt":"Go on"`) }

// edit sets the status of item 1 as a person does: completed for an odd n, pending for an even n.
func (s *site) edit(n int) error {
	_, err := s.ask(http.MethodPost, "/lists/"+s.list+"/edit", fmt.Sprintf(`{"do":"status","id":"1","status":%q}`, []string{"pending", "completed"}[n%2]))
	return err
}

// ask sends a request and returns the answer. If the answer names a session, later requests to /mcp use that session.
func (s *site) ask(method, path, body string) ([]byte, error) {
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if path == "/mcp" && s.session != "" {
		r.Header.Set("Mcp-Session-Id", s.session)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" {
		s.session = id
	}
	data, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s %s", method, path, answer.Status, data)
	}
	return data, err
}
