// Package stdio serves one MCP client on a pipe.
//
// It promises that messages are handled one after the other in the order they
// came, that every message read is answered before it ends, and that a message of
// any length costs a constant amount of memory. It may leave a read from its
// input to the end of the process.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/card"
	"todo-mcp/server/jsonrpc"
)

// Serve serves one client on in and out until in ends, out is closed or
// ctx ends; all three are a clean end and give nil. Messages are handled one
// after the other in the order they came, but for streams and cancellations;
// at the end every message read so far is answered first.
//
// mcp-go's own stdio transport is not used: it applies pipelined calls out of
// order, loses answers at the end of input, takes lines of any length and keeps
// its session in a global.
//
// A read from in that is under way when ctx ends is left to the end of the
// process.
func Serve(ctx context.Context, s *server.Server, in io.Reader, out io.Writer) error {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	// Calls in hand are finished although ctx has ended; streams are not.
	session := newSession()
	calls := s.MCP().WithContext(context.WithoutCancel(ctx), session)
	streams, endStreams := context.WithCancel(calls)
	defer endStreams()
	if err := s.MCP().RegisterSession(calls, session); err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	defer s.MCP().UnregisterSession(calls, session.SessionID())

	t := &transport{server: s, session: session, calls: calls, streams: streams, hangUp: hangUp, out: out}
	t.work.Go(t.notify)
	t.handle(ctx, read(ctx, in))
	endStreams()
	t.work.Wait()
	return nil
}

// transport is one client on a pipe.
type transport struct {
	server  *server.Server
	session *session
	calls   context.Context // of everything but streams
	streams context.Context // of subscriptions/listen
	hangUp  func()          // called when out is gone
	work    sync.WaitGroup

	mu  sync.Mutex // of out
	out io.Writer
}

// line is what was read: a message, or of one that is too long what can be told.
type line struct {
	data    []byte
	tooLong *jsonrpc.Scanner
}

func (l line) empty() bool { return len(l.data) == 0 && l.tooLong == nil }

// queued is how many messages may wait to be handled; behind them the pipe
// fills and the client waits.
const queued = 64

// read reads lines until in or ctx ends.
func read(ctx context.Context, in io.Reader) <-chan line {
	lines := make(chan line, queued)
	go func() {
		defer close(lines)
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			l, err := readLine(r)
			if !l.empty() {
				select {
				case lines <- l:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads up to a line break or the end, keeping at most
// [todo.MaxRequest] bytes: a longer line is scanned and not kept.
func readLine(r *bufio.Reader) (line, error) {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case l.tooLong != nil:
			l.tooLong.Write(part)
		case len(l.data)+len(part) > todo.MaxRequest+1:
			scanner := &jsonrpc.Scanner{}
			scanner.Write(l.data)
			scanner.Write(part)
			l = line{tooLong: scanner}
		default:
			l.data = append(l.data, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.data = bytes.TrimSpace(l.data)
			return l, err
		}
	}
}

// handle handles messages in order, until there are no more or ctx ends; then
// it still answers what had been read.
func (t *transport) handle(ctx context.Context, lines <-chan line) {
	for {
		select {
		case l, ok := <-lines:
			if !ok {
				return
			}
			t.take(l)
			continue
		case <-ctx.Done():
		}
		for range len(lines) {
			t.take(<-lines)
		}
		return
	}
}

func (t *transport) take(l line) {
	if l.tooLong != nil {
		t.answer(jsonrpc.TooLarge(l.tooLong.Message()))
		return
	}
	m, err := jsonrpc.Read(l.data)
	switch {
	case err != nil:
		t.answer(err.Answer(m.ID))
	case m.Method == string(mcp.MethodSubscriptionsListen):
		t.listen(l.data)
	case m.Method == "" && t.session.response(l.data):
	default:
		t.call(l.data)
	}
	if m.Method == "notifications/initialized" && t.session.GetClientCapabilities().Roots != nil {
		t.answer(mcp.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(rootsRequest), Request: mcp.Request{Method: string(mcp.MethodListRoots)}})
	}
}

// call lets mcp-go answer a message.
func (t *transport) call(raw []byte) {
	t.answer(t.server.MCP().HandleMessage(t.from(t.calls), raw))
}

// from says who sent a message: the one client of the pipe, as far as it is known
// by now.
func (t *transport) from(ctx context.Context) context.Context {
	return server.WithPeer(ctx, server.Peer{
		Process: true, Client: t.session.GetClientInfo(), Folder: t.session.Root(),
		Apps: card.ShownBy(t.session.GetClientCapabilities().Extensions),
	})
}

// rootsRequest is the id of the one request we send: which folders the client
// works in, if it says that it knows.
const rootsRequest = "todo-mcp-roots"

// response takes what a client answers us, and reports whether it is an answer.
func (s *session) response(raw []byte) bool {
	var r struct {
		ID     any             `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || r.Result == nil && r.Error == nil {
		return false
	}
	var roots struct {
		Roots []struct {
			URI string `json:"uri"`
		} `json:"roots"`
	}
	if r.ID != rootsRequest || json.Unmarshal(r.Result, &roots) != nil || len(roots.Roots) == 0 {
		return true // an answer to nothing, or without a folder
	}
	if u, err := url.Parse(roots.Roots[0].URI); err == nil && u.Scheme == "file" {
		s.mu.Lock()
		s.root = u.Path
		s.mu.Unlock()
	}
	return true
}

// Root is the first folder the client told us of; empty when it told none.
func (s *session) Root() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root
}

// listen serves a stream beside the calls, and returns when a cancellation that
// comes next will find it.
func (t *transport) listen(raw []byte) {
	begun, begin := context.WithCancel(context.Background())
	ctx := server.WithListenBegun(t.from(t.streams), begin)
	t.work.Go(func() {
		defer begin()
		t.answer(t.server.MCP().HandleMessage(ctx, raw))
	})
	<-begun.Done()
}

// answer writes a message; nil, the answer to a notification, writes nothing.
// When out is gone the transport ends: what was acknowledged is on disk, and
// nobody is there to be told more.
func (t *transport) answer(m mcp.JSONRPCMessage) {
	if m == nil {
		return
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.server.Log.Error("encode answer", "error", err)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, err := t.out.Write(append(data, '\n')); err != nil {
		t.hangUp()
	}
}

// notify writes the session's notifications until streams end.
func (t *transport) notify() {
	for {
		select {
		case n := <-t.session.notifications:
			t.answer(n)
		case <-t.streams.Done():
			return
		}
	}
}

// session is the one session of a pipe.
type session struct {
	notifications chan mcp.JSONRPCNotification
	initialized   atomic.Bool

	mu           sync.Mutex
	client       mcp.Implementation
	capabilities mcp.ClientCapabilities
	root         string
}

var _ mcpserver.SessionWithClientInfo = (*session)(nil)

func newSession() *session {
	return &session{notifications: make(chan mcp.JSONRPCNotification, 16)}
}

func (s *session) SessionID() string { return "stdio" }
func (s *session) Initialize()       { s.initialized.Store(true) }
func (s *session) Initialized() bool { return s.initialized.Load() }

func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

func (s *session) GetClientInfo() mcp.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func (s *session) SetClientInfo(c mcp.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = c
}

func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capabilities
}

func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capabilities = c
}
