// Package stdio serves one MCP client over a pipe, usually standard input and output.
//
// Messages are handled one after the other in the order in which they arrive. Each message that was read is answered
// before [Serve] returns, unless nobody reads the answers. At most 8 MiB of one message are in memory.
package stdio

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
)

// Serve serves one client until its input ends, its output is closed, or ctx ends. It still handles and answers the
// messages that came before the end. Streams of subscriptions/listen run beside other messages.
//
// After the end it waits for these answers until the server's StopTimeout passes without an answer, or, if ctx has
// ended, for one StopTimeout at most. Then it cuts off the call in progress, drops messages that are not handled, and
// returns within a second (BAD-INPUT 58 and 68).
//
// mcp-go's stdio transport is not used: it applies pipelined calls out of order, loses answers at the end of input,
// accepts lines of any length and has one global session.
//
// A goroutine may outlive Serve if its read of the input, or its write to a client that never reads, does not return.
func Serve(ctx context.Context, s *server.Server, from io.Reader, out io.Writer) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	calls, cutOff := context.WithCancel(context.WithoutCancel(ctx)) // calls in progress may finish after ctx has ended
	defer cutOff()
	streams, endStreams := context.WithCancel(calls)
	defer endStreams()
	t := &transport{server: s, peer: server.Peer{Process: true}, calls: calls, streams: streams, out: out, hangUp: hangUp}
	ending, end := context.WithCancel(ctx) // ends also at the end of input
	messages := make(chan message, maxAhead)
	go func() {
		defer end()
		defer close(messages)
		t.read(ctx, asutf8.Reader(from), messages)
	}()
	notifications := s.Notifications(t.peer)
	defer notifications.Close()
	t.open.Go(func() { _ = notifications.Serve(streams, func(n mcp.JSONRPCNotification) error { return t.send(n) }) })
	handled := make(chan struct{})
	go func() {
		defer close(handled)
		for m, ok := next(ctx, messages); ok; m, ok = next(ctx, messages) {
			t.handle(m)
		}
		endStreams()
		t.open.Wait()
	}()
	<-ending.Done()
	for {
		before := t.written.Load()
		select {
		case <-handled:
			return
		case <-time.After(s.StopTimeout):
		}
		if ctx.Err() != nil || t.written.Load() == before {
			break
		}
	}
	s.Log.Warn("answers are dropped: the client does not read them, or the store does not answer", "after", s.StopTimeout)
	cutOff()
	select {
	case <-handled:
	case <-time.After(cuttingOff):
	}
}

type transport struct {
	server  *server.Server
	peer    server.Peer     // the client, as it has introduced itself so far
	calls   context.Context // for everything but streams
	streams context.Context
	open    sync.WaitGroup // streams: the session's notifications, subscriptions/listen
	cancel  sync.Map       // functions that end streams, by the id of subscriptions/listen

	writing sync.Mutex // held while a message is written
	out     io.Writer
	hangUp  func()       // ends the context of Serve
	written atomic.Int64 // messages written

	hasRoots bool // the client declared roots, and roots/list is not sent yet
}

const (
	maxAhead   = 32                    // messages that are read ahead, to notice the end of input while answers wait
	maxLine    = 8 << 20               // bytes of a line that are searched for the id of a message that is too large
	arriving   = 20 * time.Millisecond // how long the server waits for a next line after it was told to stop
	cuttingOff = time.Second           // how long calls that are cut off may take to end
)

// message is a line of the input.
type message struct {
	jsonrpc.Message
	refusal *jsonrpc.Error // why it is refused; nil if it is handled
}

// read passes on the input's messages. It returns at the end of input, or when ctx has ended and all earlier messages
// are passed on.
func (t *transport) read(ctx context.Context, from io.Reader, messages chan<- message) {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := readLine(r)
		if len(line) > 0 {
			m, refusal := jsonrpc.Read(line)
			select {
			case messages <- message{m, refusal}:
			case <-t.calls.Done(): // nobody handles the message
				return
			}
		}
		if err != nil || ctx.Err() != nil && r.Buffered() == 0 {
			return
		}
	}
}

// readLine reads up to a line break or the end of input. It keeps at most maxLine bytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line bytes.Buffer
	for {
		part, err := r.ReadSlice('\n')
		line.Write(part[:min(len(part), maxLine-line.Len())])
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line.Bytes()), err
		}
	}
}

// next returns the next message. ok is false at the end of input, or if ctx has ended and none comes within [arriving].
func next(ctx context.Context, messages <-chan message) (m message, ok bool) {
	select {
	case m, ok = <-messages:
		return m, ok
	case <-ctx.Done():
	}
	select {
	case m, ok = <-messages:
	case <-time.After(arriving):
	}
	return m, ok
}

// handle answers one message. After the first notifications/initialized it sends roots/list to a client that declared
// roots.
func (t *transport) handle(m message) {
	switch {
	case m.refusal != nil:
		_ = t.send(m.refusal.Answer(m.ID))
		return
	case m.Method == "":
		t.takeRoots(m.Brief)
		return
	case m.Method == string(mcp.MethodSubscriptionsListen) && m.ID != nil:
		t.listen(m.Message)
		return
	case m.Method == string(mcp.MethodNotificationCancelled): // earlier calls are answered already
		var params struct{ RequestID mcp.RequestId }
		m.Decode(&params)
		if end, ok := t.cancel.Load(params.RequestID); ok {
			end.(context.CancelFunc)()
		}
		return
	case m.Method == string(mcp.MethodInitialize):
		t.hasRoots = t.peer.Introduce(m.Message)
	}
	answer, _ := t.server.Handle(t.calls, t.peer, m.Message)
	_ = t.send(answer)
	if m.Method == "notifications/initialized" && t.hasRoots {
		t.hasRoots = false
		_ = t.send(mcp.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(rootsRequest), Request: mcp.Request{Method: string(mcp.MethodListRoots)}})
	}
}

const rootsRequest = "todo-mcp-roots" // the id of the request roots/list

// takeRoots sets the client's folder from a response to roots/list; it ignores other responses.
func (t *transport) takeRoots(response []byte) {
	var r struct {
		ID     any
		Result struct{ Roots []mcp.Root }
	}
	if json.Unmarshal(response, &r) == nil && r.ID == rootsRequest && len(r.Result.Roots) > 0 {
		t.peer.Folder = cmp.Or(server.FolderOf(r.Result.Roots[0].URI), t.peer.Folder)
	}
}

// listen starts a goroutine that serves a stream of subscriptions/listen. It returns after the stream's first message,
// its acknowledgement or refusal: so the stream reports the changes by later messages.
func (t *transport) listen(m jsonrpc.Message) {
	ctx, end := context.WithCancel(t.streams)
	id, peer := jsonrpc.RequestID(m.ID), t.peer
	t.cancel.Store(id, end)
	begun, begin := context.WithCancel(context.Background())
	t.open.Go(func() {
		defer end()
		defer t.cancel.Delete(id)
		t.server.Listen(ctx, peer, m, func(m mcp.JSONRPCMessage) error { defer begin(); return t.send(m) })
	})
	<-begun.Done()
}

// send writes a message; it ignores nil, the answer to a notification. If the output is closed, the server is told to
// stop.
func (t *transport) send(m mcp.JSONRPCMessage) error {
	if m == nil {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.server.Log.Error("encode answer", "error", err)
		return nil
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	if _, err = t.out.Write(append(data, '\n')); err != nil {
		t.hangUp()
	}
	t.written.Add(1)
	return err
}
