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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/card"
	"todo-mcp/server/jsonrpc"
)

// Serve serves one client on in and out until in ends, out is closed or ctx ends. Messages are handled in the order in
// which they arrive; streams of subscriptions/listen run beside them. Before
// Serve returns, every message read so far is answered. If the client leaves an
// answer unread for the server's StopTimeout after that, the messages are still
// handled, without answers (BAD-INPUT 68).
//
// mcp-go's own stdio transport is not used, because it applies pipelined calls
// out of order, loses answers at the end of input, accepts lines of any length
// and has one global session.
//
// When ctx ends during a read from in, the goroutine that reads remains until
// the read returns; so does one that writes when the client never reads.
func Serve(ctx context.Context, s *server.Server, in io.Reader, out io.Writer) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	// Calls in progress finish even when ctx has ended; streams do not.
	session := &session{notifications: make(chan mcp.JSONRPCNotification, 16)}
	calls := server.WithPeer(s.MCP().WithContext(context.WithoutCancel(ctx), session), server.Peer{Process: true})
	streams, endStreams := context.WithCancel(calls)
	defer endStreams()
	s.Notify(calls, session.notifications)

	givenUp, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	t := &transport{server: s, session: session, calls: calls, streams: streams,
		lines: make(chan []byte), givenUp: givenUp}
	written := make(chan struct{})
	go func() {
		defer close(written)
		for line := range t.lines {
			if _, err := out.Write(line); err != nil {
				hangUp()
			}
		}
	}()
	ending, endNotifying := context.WithCancel(context.Background())
	defer endNotifying()
	var notifying sync.WaitGroup
	notifying.Go(func() { t.notify(ending) })
	source := &input{ctx: ctx, in: in, reading: make(chan struct{}, 1), ended: make(chan struct{})}
	served := make(chan struct{})
	defer close(served)
	go t.giveUpLate(ctx, source.ended, served, giveUp)
	t.handle(ctx, readLines(source), source.reading)
	endStreams()
	t.listening.Wait() // each may wait for its acknowledgement to be written
	endNotifying()
	notifying.Wait()
	close(t.lines)
	select {
	case <-written:
	case <-givenUp.Done():
	}
}

// transport is the connection to the one client.
type transport struct {
	server  *server.Server
	session *session
	calls   context.Context // for everything but streams
	streams context.Context // for subscriptions/listen

	listening        sync.WaitGroup // the streams
	acknowledgements sync.Map       // of streams: whether they are written, by the request's id

	lines   chan []byte     // to be written
	givenUp context.Context // ends when nothing more is written

	askedRoots bool // roots/list was sent
}

// rawLine is one line of input: a message, or the scanner of one that is too
// long.
type rawLine struct {
	data    []byte
	tooLong *jsonrpc.Scanner // nil when the message is in data
}

func (l rawLine) empty() bool { return len(l.data) == 0 && l.tooLong == nil }

// maxQueued is how many messages may wait to be handled. When it is reached
// nothing more is read, so that the pipe fills and the client waits.
const maxQueued = 64

// input is the client's end of the pipe. It is not read any more when ctx has
// ended.
type input struct {
	ctx context.Context
	in  io.Reader
	// reading holds a token during each read from in. Who takes it out decides
	// what becomes of the data: Read returns it, unless handle took the token,
	// which stops waiting for more.
	reading chan struct{} // buffer of one
	ended   chan struct{} // closed when there is no more to read
}

// errStopped is the error of reading from an [input] that is not read any more.
var errStopped = errors.New("stopped")

func (i *input) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, errStopped
	}
	i.reading <- struct{}{}
	n, err := i.in.Read(p)
	select {
	case <-i.reading:
		return n, err
	default:
		return 0, errStopped
	}
}

// giveUpLate waits for the end of ctx or of the input, and then as long as answers
// may stay unread before they are given up. It returns when served is closed.
func (t *transport) giveUpLate(ctx context.Context, inputEnded, served <-chan struct{}, giveUp func()) {
	select {
	case <-ctx.Done():
	case <-inputEnded:
	case <-served:
		return
	}
	late := time.NewTimer(t.server.StopTimeout)
	defer late.Stop()
	select {
	case <-late.C:
		t.server.Log.Warn("answers are given up, the client does not read them", "after", t.server.StopTimeout)
		giveUp()
	case <-served:
	}
}

// readLines starts a goroutine that reads lines until in ends or is stopped. It
// skips empty lines.
func readLines(in *input) <-chan rawLine {
	lines := make(chan rawLine, maxQueued)
	go func() {
		defer close(lines)
		defer close(in.ended)
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			l, err := readLine(r)
			if errors.Is(err, errStopped) {
				return // l is a part of a message
			}
			if !l.empty() {
				lines <- l // handle receives until there are no more
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads up to a line break or the end of input. It keeps at most
// [todo.MaxRequest] bytes; a longer line it only passes to a scanner.
func readLine(r *bufio.Reader) (rawLine, error) {
	var l rawLine
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case l.tooLong != nil:
			l.tooLong.Write(part)
		case len(l.data)+len(part) > todo.MaxRequest+1:
			scanner := &jsonrpc.Scanner{}
			scanner.Write(l.data)
			scanner.Write(part)
			l = rawLine{tooLong: scanner}
		default:
			l.data = append(l.data, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.data = bytes.TrimSpace(l.data)
			return l, err
		}
	}
}

// handle handles messages in order until there are no more or ctx ends. When ctx
// ends, it first handles all messages that were read: it receives until the
// channel is closed, or until the reader waits for input and has passed on what
// it read before.
func (t *transport) handle(ctx context.Context, lines <-chan rawLine, reading <-chan struct{}) {
	stopped := ctx.Done()
	var waits <-chan struct{} // reading once ctx has ended
	for {
		select {
		case l, ok := <-lines:
			if !ok {
				return
			}
			t.handleLine(l)
		case <-stopped:
			stopped, waits = nil, reading
		case <-waits:
			for range len(lines) {
				t.handleLine(<-lines)
			}
			return
		}
	}
}

// handleLine answers one message. After the first notifications/initialized it
// also sends roots/list to a client that declared roots.
func (t *transport) handleLine(l rawLine) {
	if l.tooLong != nil {
		t.answer(jsonrpc.TooLarge(l.tooLong))
		return
	}
	m, err := jsonrpc.Read(l.data)
	switch {
	case err != nil:
		t.answer(err.Answer(m.ID))
	case m.Method == string(mcp.MethodSubscriptionsListen):
		t.listen(m)
	case m.Method == "" && t.session.handleResponse(l.data):
	default:
		t.call(m)
	}
	if m.Method == "notifications/initialized" && t.session.GetClientCapabilities().Roots != nil && !t.askedRoots {
		t.askedRoots = true
		t.answer(mcp.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(rootsRequest), Request: mcp.Request{Method: string(mcp.MethodListRoots)}})
	}
}

// call passes a message to mcp-go and writes its answer.
func (t *transport) call(m jsonrpc.Message) {
	t.answer(t.server.MCP().HandleMessage(t.withPeer(t.calls, m, nil), m.Brief))
}

// withPeer returns a context that carries the client of the pipe, with what it
// has sent about itself so far, as the sender of a message.
func (t *transport) withPeer(ctx context.Context, m jsonrpc.Message, listenBegun func()) context.Context {
	folder, _ := t.session.root.Load().(string)
	return server.WithPeer(ctx, server.Peer{
		Process: true, Client: t.session.GetClientInfo(), Folder: folder,
		Arguments: m.Arguments, Apps: card.ShownBy(t.session.GetClientCapabilities().Extensions),
		ListenBegun: listenBegun, ListenAcknowledged: t.acknowledged,
	})
}

// rootsRequest is the id of the only request that the server sends: roots/list,
// to a client that declared roots.
const rootsRequest = "todo-mcp-roots"

// handleResponse reports whether a message is a response. A response to
// roots/list sets the session's root; any other is ignored.
func (s *session) handleResponse(raw []byte) bool {
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
		return true // not to roots/list, or without a root
	}
	if folder := server.FolderOf(roots.Roots[0].URI); folder != "" {
		s.root.Store(folder)
	}
	return true
}

// listen starts a goroutine that serves a stream of subscriptions/listen. It
// returns as soon as a cancellation can end the stream.
func (t *transport) listen(m jsonrpc.Message) {
	begun, begin := context.WithCancel(context.Background())
	ctx, end := context.WithCancel(t.withPeer(t.streams, m, begin))
	t.listening.Go(func() {
		defer begin()
		defer end()
		t.answer(t.server.MCP().HandleMessage(ctx, m.Brief))
	})
	<-begun.Done()
}

// acknowledgement returns a channel that has an element when the acknowledgement of the
// stream with an id is written. Writer and waiter ask for it in any order.
func (t *transport) acknowledgement(id any) chan struct{} {
	written, _ := t.acknowledgements.LoadOrStore(fmt.Sprintf("%T %v", id, id), make(chan struct{}, 1))
	return written.(chan struct{})
}

// acknowledged waits for the acknowledgement of a stream; see [server.Peer].
func (t *transport) acknowledged(_ context.Context, id any) {
	<-t.acknowledgement(id) // notify outlives every stream
	t.acknowledgements.Delete(fmt.Sprintf("%T %v", id, id))
}

// answer writes a message, unless that was given up. It ignores nil, which is the answer
// to a notification.
func (t *transport) answer(m mcp.JSONRPCMessage) {
	if m == nil {
		return
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.server.Log.Error("encode answer", "error", err)
		return
	}
	select {
	case t.lines <- append(data, '\n'):
	case <-t.givenUp.Done():
	}
}

// notify writes the session's notifications until ctx ends.
func (t *transport) notify(ctx context.Context) {
	for {
		select {
		case n := <-t.session.notifications:
			t.answer(n)
			if n.Method == mcp.MethodNotificationSubscriptionsAcknowledged {
				select {
				case t.acknowledgement(n.Params.Meta[mcp.MetaKeySubscriptionID]) <- struct{}{}:
				default: // two streams have this id
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// session is the only session of a pipe.
type session struct {
	notifications        chan mcp.JSONRPCNotification
	client, capabilities atomic.Value // what its client sent, once it has
	root                 atomic.Value // the path of the client's first root
}

var _ mcpserver.SessionWithClientInfo = (*session)(nil)

func (s *session) SessionID() string { return "stdio" }
func (s *session) Initialize()       {}
func (s *session) Initialized() bool { return true }

func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

func (s *session) SetClientInfo(c mcp.Implementation)             { s.client.Store(c) }
func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) { s.capabilities.Store(c) }

func (s *session) GetClientInfo() mcp.Implementation {
	c, _ := s.client.Load().(mcp.Implementation)
	return c
}

func (s *session) GetClientCapabilities() mcp.ClientCapabilities {
	c, _ := s.capabilities.Load().(mcp.ClientCapabilities)
	return c
}
