//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The protocol versions.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// client sends calls and waits for each answer. It costs the machine little: it
// writes bytes that are made before.
type client interface {
	// call sends the n-th call and returns when its answer is there.
	call(n int) error
	close()
}

// message returns the n-th call of a client: a plan of items, one step on.
func message(id, clientID, n, items int, sessionless bool) []byte {
	var b strings.Builder
	now := n % items
	for i := range items {
		status := "pending"
		switch {
		case i < now:
			status = "completed"
		case i == now:
			status = "in_progress"
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"content":"Step %d: change what the plan of client %d says","activeForm":"Changing what the plan of client %d says in step %d","status":%q}`, i+1, clientID, clientID, i+1, status)
	}
	meta := ""
	if sessionless {
		meta = fmt.Sprintf(`,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"todo-mcp/conversation":"client-%d"}`, modern, clientID)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"todos":[%s]}%s}}`, id, toolName, b.String(), meta)
}

func initialize() string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`, legacy)
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// httpClient is a connection over which one client calls.
type httpClient struct {
	conn        net.Conn
	in          *bufio.Reader
	host        string
	session     string
	sessionless bool
	messages    [][]byte
	body        bytes.Buffer
}

func newHTTPClient(p *process, id, items int, sessionless bool) (*httpClient, error) {
	host := strings.TrimSuffix(strings.TrimPrefix(p.base, "http://"), "/mcp")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	c := &httpClient{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), host: host, sessionless: sessionless}
	for n := range items {
		c.messages = append(c.messages, message(n+1, id, n, items, sessionless))
	}
	if sessionless {
		return c, nil
	}
	if _, err := c.post([]byte(initialize())); err != nil {
		return nil, err
	}
	if c.session == "" {
		return nil, errors.New("no session began")
	}
	_, err = c.post([]byte(initialized))
	return c, err
}

func (c *httpClient) close() { c.conn.Close() }

func (c *httpClient) call(n int) error {
	answer, err := c.post(c.messages[n%len(c.messages)])
	if err == nil && !bytes.Contains(answer, []byte("Todo list updated")) {
		err = fmt.Errorf("answered %.300s", answer)
	}
	return err
}

// post sends a message and returns the body of the answer.
func (c *httpClient) post(message []byte) ([]byte, error) {
	c.body.Reset()
	fmt.Fprintf(&c.body, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n", c.host, len(message))
	if c.sessionless {
		fmt.Fprintf(&c.body, "MCP-Protocol-Version: %s\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n", modern, toolName)
	} else if c.session != "" {
		fmt.Fprintf(&c.body, "MCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n", legacy, c.session)
	}
	c.body.WriteString("\r\n")
	c.body.Write(message)
	if _, err := c.conn.Write(c.body.Bytes()); err != nil {
		return nil, err
	}
	return c.read()
}

// read reads an answer with a length or in chunks.
func (c *httpClient) read() ([]byte, error) {
	status, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	length, chunked := 0, false
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.ToLower(name) {
		case "content-length":
			length, _ = strconv.Atoi(value)
		case "transfer-encoding":
			chunked = true
		case "mcp-session-id":
			c.session = value
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return nil, err
	}
	for chunked {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
		if err != nil {
			return nil, err
		}
		chunk := make([]byte, size+2)
		if _, err := io.ReadFull(c.in, chunk); err != nil {
			return nil, err
		}
		body = append(body, chunk[:size]...)
		chunked = size > 0
	}
	if !strings.Contains(status, " 20") {
		return nil, fmt.Errorf("%s: %.300s", strings.TrimSpace(status), body)
	}
	return body, nil
}

// pipe is a server on stdio, whose clients' calls go over one pipe.
type pipe struct {
	mu      sync.Mutex
	in      io.Writer
	waiting sync.Map // of channels, by the id of the call
	failed  chan error
}

func newPipe(p *process) (*pipe, error) {
	s := &pipe{in: p.in, failed: make(chan error, 1)}
	out := bufio.NewReaderSize(p.out, 256<<10)
	if _, err := io.WriteString(p.in, initialize()+"\n"); err != nil {
		return nil, err
	}
	if _, err := out.ReadSlice('\n'); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(p.in, initialized+"\n"); err != nil {
		return nil, err
	}
	go s.read(out)
	return s, nil
}

// read hands each answer to the client that waits for it.
func (s *pipe) read(out *bufio.Reader) {
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			s.failed <- err
			return
		}
		var m struct {
			ID int `json:"id"`
		}
		// The id stands first, so that it is found without decoding the rest.
		if _, err := fmt.Sscanf(string(line[:min(len(line), 64)]), `{"jsonrpc":"2.0","id":%d`, &m.ID); err != nil {
			_ = json.Unmarshal(line, &m)
		}
		if answered, ok := s.waiting.LoadAndDelete(m.ID); ok {
			answered.(chan []byte) <- line
		}
	}
}

// pipeClient is one of the clients on a pipe: they all are the same chat, and the
// server has their calls at once.
type pipeClient struct {
	*pipe
	id, items int
	answered  chan []byte
}

func (c *pipeClient) close() {}

func (c *pipeClient) call(n int) error {
	id := c.id*1_000_000 + n + 1
	c.waiting.Store(id, c.answered)
	line := append(message(id, 0, n, c.items, false), '\n')
	c.mu.Lock()
	_, err := c.in.Write(line)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case answer := <-c.answered:
		if !bytes.Contains(answer, []byte("Todo list updated")) {
			return fmt.Errorf("answered %.300s", answer)
		}
		return nil
	case err := <-c.failed:
		return err
	case <-time.After(30 * time.Second):
		return errors.New("no answer in 30 s")
	}
}
