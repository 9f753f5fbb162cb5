// Package stdio serves one MCP client over a pipe, usually standard input and
// output.
//
// Messages are handled one after the other in the order in which they arrive.
// Every message that was read is answered before [Serve] returns, unless nobody
// reads the answers. A message of any length needs a constant amount of memory.
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

// Serve serves one client until its input ends, its output is closed, ctx ends, or the client
// was killed and left the pipe to others (BAD-INPUT 164).
// Streams of subscriptions/listen run beside the other messages. If the client leaves an
// answer unread for the server's StopTimeout after the end, the messages that were read
// are still handled for up to a second, without answers (BAD-INPUT 68). When ctx has ended,
// a call that is not done then is cut off (BAD-INPUT 58).
//
// mcp-go's own stdio transport is not used, because it applies pipelined calls
// out of order, loses answers at the end of input, accepts lines of any length
// and has one global session.
//
// When ctx ends during a read of the input, the goroutine that reads remains until
// the read returns; so does one that writes when the client never reads.
func Serve(ctx context.Context, s *server.Server, from io.Reader, out io.Writer) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	ending, end := context.WithCancel(ctx) // also at the end of input
	givenUp, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	in := newInput(asutf8.Reader(from), end)
	context.AfterFunc(ctx, func() { time.AfterFunc(arriving, func() { in.stop(false) }) })
	drop := func() { time.AfterFunc(unanswered, func() { in.stop(true) }) }
	patience := time.AfterFunc(math.MaxInt64, func() {
		if givenUp.Err() == nil { // not served
			s.Log.Warn("answers are given up, the client does not read them", "after", s.StopTimeout)
			drop()
			giveUp()
		}
	})
	context.AfterFunc(ending, func() { patience.Reset(s.StopTimeout) })
	// Calls in progress may still finish when ctx has ended; streams do not.
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
			if ending.Err() != nil && ctx.Err() == nil { // who stops the server does not wait for the client
				patience.Reset(s.StopTimeout)
			}
		}
	}()
	notifications := s.Notifications(t.peer)
	defer notifications.Close()
	t.open.Go(func() {
		_ = notifications.Serve(streams, func(n mcp.JSONRPCNotification) error { return t.send(n) })
	})
	t.watch = sync.OnceFunc(func() { t.open.Go(func() { t.watchParent(streams, in, hangUp) }) })
	t.handleAll(in)
	endStreams()
	t.open.Wait()
	close(t.lines)
	select {
	case <-written:
	case <-givenUp.Done():
	}
}

// transport is the connection to the one client.
type transport struct {
	server  *server.Server
	peer    server.Peer     // the client, with what it has sent about itself so far
	calls   context.Context // for everything but streams
	streams context.Context
	open    sync.WaitGroup // the streams: notifications of the session, subscriptions/listen
	cancel  sync.Map       // by the id of subscriptions/listen, a func() that ends its stream

	lines   chan []byte     // to be written
	givenUp context.Context // ends when nothing more is written

	hasRoots bool   // the client declared roots, and roots/list was not sent
	watch    func() // see watchParent
}

const (
	// maxAhead is how many bytes are read ahead. When it is reached nothing more is read,
	// so that the pipe fills and the client waits.
	maxAhead = 512 << 10
	// arriving is how long after the server is told to stop its input is still read.
	arriving = 20 * time.Millisecond
	// unanswered is for how long messages are handled whose answers nobody reads.
	unanswered = time.Second
)

// input is the client's end of the pipe. It is read ahead, so that its end is known also
// while answers wait to be read.
type input struct {
	mu      sync.Mutex
	changed *sync.Cond
	ahead   bytes.Buffer
	chunks  int   // that came so far
	err     error // that follows what was read ahead; nil while there may be more
}

// errStopped is the error of reading from an [input] that is not read any more.
var errStopped = errors.New("stopped")

// newInput starts a goroutine that reads until the input ends or is stopped, and then
// calls end.
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

// add adds what was read, and what follows it, when there is room. It reports whether
// more is to be read.
func (i *input) add(chunk []byte, err error) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.ahead.Len() >= maxAhead && i.err == nil {
		i.changed.Wait()
	}
	i.ahead.Write(chunk)
	i.chunks++
	i.err = cmp.Or(i.err, err)
	i.changed.Broadcast()
	return i.err == nil
}

// heard returns how many pieces were read so far, and whether there is no room for another.
func (i *input) heard() (chunks int, isFull bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.chunks, i.ahead.Len() >= maxAhead
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

// stop ends the input, behind what was read ahead or also without that.
func (i *input) stop(drop bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err = cmp.Or(i.err, errStopped)
	if drop {
		i.ahead.Reset()
	}
	i.changed.Broadcast()
}

// readLine reads up to a line break or the end of input. It keeps at most
// [todo.MaxRequest] bytes: a longer line it passes to a scanner, which is nil for others.
func readLine(r *bufio.Reader) (line []byte, tooLong *jsonrpc.Scanner, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if tooLong == nil && len(line)+len(part) > todo.MaxRequest+1 {
			tooLong = &jsonrpc.Scanner{}
			tooLong.Write(line)
			line = nil
		}
		if tooLong != nil {
			tooLong.Write(part)
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), tooLong, err
		}
	}
}

// handleAll answers each message of the input in its turn. It skips empty lines.
func (t *transport) handleAll(in *input) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(r)
		switch {
		case errors.Is(err, errStopped):
			return // line is a part of a message
		case tooLong != nil:
			_ = t.send(jsonrpc.TooLarge(tooLong))
		case len(line) > 0:
			t.handle(line)
		}
		if err != nil {
			return
		}
	}
}

// handle answers one message. After the first notifications/initialized it also sends
// roots/list to a client that declared roots.
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
		t.watch()
	}
	answer, _ := t.server.Handle(t.calls, t.peer, m)
	_ = t.send(answer)
	if m.Method == "notifications/initialized" && t.hasRoots {
		t.hasRoots = false
		_ = t.send(mcp.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(rootsRequest), Request: mcp.Request{Method: string(mcp.MethodListRoots)}})
	}
}

// rootsRequest is the id of the only request that the server sends: roots/list,
// to a client that declared roots.
const rootsRequest = "todo-mcp-roots"

// takeRoots sets the client's folder from a response to roots/list; it ignores any other.
func (t *transport) takeRoots(response []byte) {
	var r struct {
		ID     any
		Result struct{ Roots []mcp.Root }
	}
	if json.Unmarshal(response, &r) == nil && r.ID == rootsRequest && len(r.Result.Roots) > 0 {
		t.peer.Folder = cmp.Or(server.FolderOf(r.Result.Roots[0].URI), t.peer.Folder)
	}
}

// listen starts a goroutine that serves a stream of subscriptions/listen. It returns when
// the first message of that is written: then a cancellation can end the stream.
func (t *transport) listen(m jsonrpc.Message) {
	begun, begin := context.WithCancel(context.Background())
	ctx, end := context.WithCancel(t.streams)
	id, peer := jsonrpc.RequestID(m.ID), t.peer
	t.cancel.Store(id, end)
	t.open.Go(func() {
		defer end()
		defer t.cancel.Delete(id)
		defer begin() // also if nothing is sent
		t.server.Listen(ctx, peer, m, func(m mcp.JSONRPCMessage) error {
			defer begin()
			return t.send(m)
		})
	})
	<-begun.Done()
}

// cancelStream ends the stream that a notification cancels. A call is answered by then.
func (t *transport) cancelStream(m jsonrpc.Message) {
	var params struct{ RequestID mcp.RequestId }
	m.Decode(&params)
	if end, ok := t.cancel.Load(params.RequestID); ok {
		end.(context.CancelFunc)()
	}
}

// send writes a message, unless that was given up. It ignores nil, which is the answer
// to a notification, and never fails: who hangs up is noticed by writing.
func (t *transport) send(m mcp.JSONRPCMessage) error {
	if m == nil || t.givenUp.Err() != nil { // none after one that was not sent
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
