//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// The protocol versions.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// client sends calls and waits for each answer. It costs the machine little, since messages are mostly made in advance.
type client interface {
	// call sends the n-th call and returns its answer.
	call(n int) ([]byte, error)
}

// connect connects a client to a server.
func (s scenario) connect(p *process, id int) (client, error) {
	if s.transport == onStdio {
		return newPipeClient(p, s.calls(id))
	}
	return newHTTPClient(p, id, s.calls(id), s.transport == sessionless)
}

func initialize() string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`, legacy)
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// httpClient is a client with one HTTP connection.
type httpClient struct {
	conn          net.Conn
	in            *bufio.Reader
	host          string
	session       string
	isSessionless bool
	id            int
	calls         []call
	message       []byte
	body          bytes.Buffer
}

func newHTTPClient(p *process, id int, calls []call, isSessionless bool) (*httpClient, error) {
	host := strings.TrimSuffix(strings.TrimPrefix(p.base, "http://"), "/mcp")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	c := &httpClient{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), host: host, isSessionless: isSessionless, id: id, calls: calls}
	if isSessionless {
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

func (c *httpClient) call(n int) ([]byte, error) {
	c.message = c.calls[n%len(c.calls)].message(c.message[:0], c.id, n+1)
	return c.post(c.message)
}

// post sends a message and returns the body of the answer.
func (c *httpClient) post(message []byte) ([]byte, error) {
	c.body.Reset()
	fmt.Fprintf(&c.body, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n", c.host, len(message))
	if c.isSessionless {
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

// read reads an HTTP response, with a Content-Length or in chunks, and returns its body.
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

// pipeClient is the client of a server on stdio.
type pipeClient struct {
	in      io.Writer
	out     *bufio.Reader
	calls   []call
	message []byte
}

func newPipeClient(p *process, calls []call) (*pipeClient, error) {
	c := &pipeClient{in: p.in, out: bufio.NewReaderSize(p.out, 256<<10), calls: calls}
	c.message = []byte(initialize() + "\n")
	if _, err := c.send(); err != nil {
		return nil, err
	}
	_, err := io.WriteString(p.in, initialized+"\n")
	return c, err
}

func (c *pipeClient) call(n int) ([]byte, error) {
	c.message = append(c.calls[n%len(c.calls)].message(c.message[:0], 0, n+1), '\n')
	return c.send()
}

// send sends c.message and returns the answer; it skips notifications that the server sends before the answer.
func (c *pipeClient) send() ([]byte, error) {
	if _, err := c.in.Write(c.message); err != nil {
		return nil, err
	}
	for {
		line, err := c.out.ReadSlice('\n')
		if err != nil || bytes.Contains(line[:min(len(line), 64)], []byte(`"id":`)) {
			return line, err
		}
	}
}
