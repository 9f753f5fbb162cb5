package servertest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/stdio"
)

// Pipe is a client that is connected to a server through package stdio.
type Pipe struct {
	t    testing.TB
	In   *io.PipeWriter     // the server's input
	Out  *bufio.Reader      // the server's output
	Done chan error         // receives the result of serving
	Stop context.CancelFunc // ends the server's context

	hangUp func() // closes the server's output
}

// NewPipe serves a server on a pipe until the test ends.
func NewPipe(t testing.TB, s *server.Server) *Pipe {
	t.Helper()
	return ServePipe(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		stdio.Serve(ctx, s, in, out)
		return nil
	})
}

// ServePipe is [NewPipe] for any kind of server.
func ServePipe(t testing.TB, serve func(ctx context.Context, in io.Reader, out io.Writer) error) *Pipe {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &Pipe{t: t, In: inW, Out: bufio.NewReader(outR), Done: make(chan error, 1), Stop: stop, hangUp: func() { outR.Close() }}
	go func() {
		err := serve(ctx, inR, outW)
		outW.Close()
		p.Done <- err
	}()
	t.Cleanup(func() { stop(); inW.Close(); outR.Close() })
	return p
}

// Send writes messages, one a line. It blocks until the server reads them, so
// tests mostly call it in a goroutine.
func (p *Pipe) Send(messages ...string) {
	p.t.Helper()
	for _, m := range messages {
		checktest.Must(io.WriteString(p.In, m+"\n"))(p.t)
	}
}

// Read reads the next message from the server. The test fails if no message comes
// within a minute.
func (p *Pipe) Read() Message {
	p.t.Helper()
	defer time.AfterFunc(time.Minute, p.hangUp).Stop()
	line, err := p.Out.ReadString('\n')
	if err != nil {
		p.t.Fatal("read answer:", err)
	}
	return Parse(p.t, line)
}

// Until returns the next message with a method, and discards the messages
// before it.
func (p *Pipe) Until(method string) Message {
	p.t.Helper()
	for {
		if a := p.Read(); a.Method == method {
			return a
		}
	}
}

// Message is a message from the server: a response or a notification.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage                           `json:"structuredContent"`
		Meta       map[string]json.RawMessage                `json:"_meta"`
		Contents   []struct{ Text string }                   // of a resource
		Messages   []struct{ Content struct{ Text string } } // of a prompt
		// The members with which a server asks a sessionless client for input.
		ResultType    string
		InputRequests map[string]struct{ Method string }
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Raw string
}

// Text returns the first text in the answer of a tool, a resource or a prompt, or an
// empty string.
func (a Message) Text() string {
	switch r := a.Result; {
	case len(r.Content) > 0:
		return r.Content[0].Text
	case len(r.Contents) > 0:
		return r.Contents[0].Text
	case len(r.Messages) > 0:
		return r.Messages[0].Content.Text
	}
	return ""
}

// Parse decodes a message from the server.
func Parse(t testing.TB, raw string) Message {
	t.Helper()
	var a Message
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	a.Raw = raw
	return a
}
