// Package stdio serves one MCP client over a pipe, usually standard input and output.
//
// Messages are handled one after the other in the order in which they arrive. Each message that was read is answered
// before [Serve] returns, unless nobody reads the answers. Of a message of any length 8 MiB at most are in memory.
package stdio

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
)

// Serve serves one client until its input ends, its output is closed, or ctx ends. Streams of subscriptions/listen
// run beside other messages. If the client leaves an answer unread for the server's StopTimeout after the end, the messages that were read are handled for up
// to a second more, without answers (BAD-INPUT 68). When ctx has ended, unfinished calls are then cut off (BAD-INPUT
// 58).
//
// mcp-go's stdio transport is not used: it applies pipelined calls out of order, loses answers at the end of input,
// accepts lines of any length and has one global session.
//
// A goroutine that reads the input when ctx ends, or writes to a client that never reads, stays until that returns.
func Serve(ctx context.Context, s *server.Server, from io.Reader, out io.Writer) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	ending, end := context.WithCancel(ctx) // ends also at the end of input
	givenUp, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	in := newInput(asutf8.Reader(from), end)
	context.AfterFunc(ctx, func() { time.AfterFunc(arriving, func() { in.stop(false) }) })
	drop := func() { time.AfterFunc(unanswered, func() { in.stop(true) }) }
	patience := time.AfterFunc(math.MaxInt64, func() {
		if givenUp.Err() == nil { // Serve has not returned
			s.Log.Warn("answers are dropped: the client does not read them", "after", s.StopTimeout)
			drop()
			giveUp()
		}
	})
	context.AfterFunc(ending, func() { patience.Reset(s.StopTimeout) })
	// Calls in progress may finish after ctx has ended; streams end.
	calls, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	context.AfterFunc(ctx, func() { time.AfterFunc(s.StopTimeout+unanswered, cutOff) })
	streams, endStreams := context.WithCancel(calls)
	defer endStreams()
	t := &transport{server: s, peer: server.Peer{Process: true}, calls: calls, streams: streams,
		lines: make(chan []byte), givenUp: givenUp}
	written := make(chan struct{})
	go func() {
		defer close(written)
		for line := range t.lines {
			if _, err := out.Write(line); err != nil {
				drop()
				hangUp()
			}
			if ending.Err() != nil && ctx.Err() == nil { // after ctx has ended nobody waits longer for the client
				patience.Reset(s.StopTimeout)
			}
		}
	}()
	notifications := s.Notifications(t.peer)
	defer notifications.Close()
	t.open.Go(func() { _ = notifications.Serve(streams, func(n mcp.JSONRPCNotification) error { return t.send(n) }) })
	t.handleAll(in)
	endStreams()
	t.open.Wait()
	close(t.lines)
	select {
	case <-written:
	case <-givenUp.Done():
	}
}

type transport struct {
	server  *server.Server
	peer    server.Peer     // the client, with what it said of itself so far
	calls   context.Context // for everything but streams
	streams context.Context
	open    sync.WaitGroup // streams: the session's notifications, subscriptions/listen
	cancel  sync.Map       // functions that end streams, by the id of subscriptions/listen

	lines   chan []byte     // to be written
	givenUp context.Context // ends when nothing more is written

	hasRoots bool // the client declared roots, and roots/list was not sent
}

const (
	maxAhead   = 512 << 10             // bytes that are read ahead; then the pipe fills and the client waits
	maxLine    = 8 << 20               // bytes of a line in which the id of a message that is too large is found
	arriving   = 20 * time.Millisecond // how long input is read after the server was told to stop
	unanswered = time.Second           // how long messages are handled whose answers nobody reads
)

// input is the client's end of the pipe. It is read ahead, to notice its end while answers wait.
type input struct {
	mu      sync.Mutex
	changed *sync.Cond
	ahead   bytes.Buffer
	err     error // the error behind ahead; nil while there may be more
}

var errStopped = errors.New("stopped") // the error of reading from a stopped [input]

// newInput starts a goroutine that reads until the input ends or is stopped, and then calls end.
func newInput(from io.Reader, end func()) *input {
	in := &input{}
	in.changed = sync.NewCond(&in.mu)
	go func() {
		defer end()
		chunk := make([]byte, 64<<10)
		for more := true; more; {
			n, err := from.Read(chunk)
			more = in.add(chunk[:n], err)
		}
	}()
	return in
}

// add waits for room and adds what was read, and the error behind it. It reports whether to read more.
func (i *input) add(chunk []byte, err error) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.ahead.Len() >= maxAhead && i.err == nil {
		i.changed.Wait()
	}
	i.ahead.Write(chunk)
	i.err = cmp.Or(i.err, err)
	i.changed.Broadcast()
	return i.err == nil
}

// Read implements io.Reader.
func (i *input) Read(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.ahead.Len() == 0 && i.err == nil {
		i.changed.Wait()
	}
	if i.ahead.Len() == 0 {
		return 0, i.err
	}
	i.changed.Broadcast()
	return i.ahead.Read(p)
}

// stop ends the input behind what was read ahead; drop removes that, too.
func (i *input) stop(drop bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err = cmp.Or(i.err, errStopped)
	if drop {
		i.ahead.Reset()
	}
	i.changed.Broadcast()
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

// handleAll answers each message in its turn. It skips empty lines.
func (t *transport) handleAll(in *input) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		switch {
		case errors.Is(err, errStopped):
			return // the line is incomplete
		case len(line) > todo.MaxRequest:
			_ = t.send(jsonrpc.TooLarge(line))
		case len(line) > 0:
			t.handle(line)
		}
		if err != nil {
			return
		}
	}
}

// handle answers one message. After the first notifications/initialized it sends roots/list to a client that declared
// roots.
func (t *transport) handle(line []byte) {
	m, err := jsonrpc.Read(line)
	switch {
	case err != nil:
		_ = t.send(err.Answer(m.ID))
		return
	case m.Method == "":
		t.takeRoots(line)
		return
	case m.Method == string(mcp.MethodSubscriptionsListen) && m.ID != nil:
		t.listen(m)
		return
	case m.Method == string(mcp.MethodNotificationCancelled):
		t.cancelStream(m)
		return
	case m.Method == string(mcp.MethodInitialize):
		t.hasRoots = t.peer.Introduce(m)
	}
	answer, _ := t.server.Handle(t.calls, t.peer, m)
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

// listen starts a goroutine that serves a stream of subscriptions/listen, and waits for its first message: then a
// cancellation can end the stream.
func (t *transport) listen(m jsonrpc.Message) {
	begun, begin := context.WithCancel(context.Background())
	ctx, end := context.WithCancel(t.streams)
	id, peer := jsonrpc.RequestID(m.ID), t.peer
	t.cancel.Store(id, end)
	t.open.Go(func() {
		defer end()
		defer t.cancel.Delete(id)
		defer begin() // even if nothing is sent
		t.server.Listen(ctx, peer, m, func(m mcp.JSONRPCMessage) error {
			defer begin()
			return t.send(m)
		})
	})
	<-begun.Done()
}

// cancelStream ends the stream that a notification cancels. Calls are answered before a cancellation is read.
func (t *transport) cancelStream(m jsonrpc.Message) {
	var params struct{ RequestID mcp.RequestId }
	m.Decode(&params)
	if end, ok := t.cancel.Load(params.RequestID); ok {
		end.(context.CancelFunc)()
	}
}

// send writes a message unless answers were given up. It ignores nil, the answer to a notification, and never fails:
// a closed output is noticed by the goroutine that writes.
func (t *transport) send(m mcp.JSONRPCMessage) error {
	if m == nil || t.givenUp.Err() != nil { // never skip one message and send a later one
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.server.Log.Error("encode answer", "error", err)
		return nil
	}
	select {
	case t.lines <- append(data, '\n'):
	case <-t.givenUp.Done():
	}
	return nil
}
