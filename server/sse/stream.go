// Package sse writes responses that go on: streams of server-sent events, and
// what follows the changes of lists on them.
//
// It promises that an idle stream gets a comment now and then, so that proxies
// and clients know it is there; that a reader who does not take what is written
// in time loses its stream, and only that (BAD-INPUT 12); and that a stream ends
// soon after its context, also while a write is under way. A reader that is slow
// skips to the newest revision of each list.
package sse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Limits bound a stream in time.
type Limits struct {
	// KeepAlive is how often an idle stream gets a comment; 0 is 15 s.
	KeepAlive time.Duration
	// WriteTimeout is how long a reader may take for what is written; 0 is 10 s.
	WriteTimeout time.Duration
}

// lastWrite is how long a write that is under way when the stream ends may still
// take.
const lastWrite = time.Second

// Stream is a response that may go on for long. It is written to by one
// goroutine at a time; as an http.ResponseWriter it also serves handlers that
// are not ours.
type Stream struct {
	http.ResponseWriter
	control *http.ResponseController
	limits  Limits
	ctx     context.Context
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu    sync.Mutex // of the response
	wrote bool       // since the last look
}

// Open begins to look after a response; nothing is written. The stream's context
// ends with ctx, when its reader stalls, and with Close, which must be called.
func Open(ctx context.Context, w http.ResponseWriter, limits Limits) *Stream {
	if limits.KeepAlive <= 0 {
		limits.KeepAlive = 15 * time.Second
	}
	if limits.WriteTimeout <= 0 {
		limits.WriteTimeout = 10 * time.Second
	}
	s := &Stream{ResponseWriter: w, control: http.NewResponseController(w), limits: limits}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.done.Go(s.keepAlive)
	s.done.Go(s.hurryAtEnd)
	return s
}

// hurryAtEnd shortens the time of a write that is under way when the stream ends.
func (s *Stream) hurryAtEnd() {
	<-s.ctx.Done()
	_ = s.control.SetWriteDeadline(time.Now().Add(lastWrite))
}

// Context ends when the stream does.
func (s *Stream) Context() context.Context { return s.ctx }

// Close ends the stream and waits for what it started. The connection may serve
// another request afterwards.
func (s *Stream) Close() {
	s.cancel()
	s.done.Wait()
	_ = s.control.SetWriteDeadline(time.Time{})
}

// Begin writes the header of an event stream, and how soon a client should come
// back when it ends.
func (s *Stream) Begin() error {
	h := s.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s.WriteHeader(http.StatusOK)
	return s.send([]byte("retry: 1000\n\n"))
}

const mediaType = "text/event-stream"

// Event is one server-sent event.
type Event struct {
	ID   int64  // 0 sends none
	Name string // empty sends none
	Data any    // marshalled to JSON, on one line
}

// Send writes events, all or, when one cannot be encoded, none. An error means
// that the stream has ended.
func (s *Stream) Send(events ...Event) error {
	var b bytes.Buffer
	for _, e := range events {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		if e.ID != 0 {
			fmt.Fprintf(&b, "id: %d\n", e.ID)
		}
		if e.Name != "" {
			fmt.Fprintf(&b, "event: %s\n", e.Name)
		}
		fmt.Fprintf(&b, "data: %s\n\n", data)
	}
	return s.send(b.Bytes())
}

func (s *Stream) send(data []byte) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if _, err := s.Write(data); err != nil {
		return err
	}
	s.Flush()
	return s.ctx.Err()
}

// keepAlive looks now and then whether the stream was idle.
func (s *Stream) keepAlive() {
	tick := time.NewTicker(s.limits.KeepAlive)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.beat()
		case <-s.ctx.Done():
			return
		}
	}
}

// beat writes a comment if the response is an event stream and was idle.
func (s *Stream) beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := !s.wrote
	s.wrote = false
	if idle && strings.HasPrefix(s.Header().Get("Content-Type"), mediaType) {
		if _, err := s.write([]byte(": alive\n\n")); err == nil {
			s.flush()
		}
	}
}

// WriteHeader keeps the header from changing while beat reads it.
func (s *Stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = true
	s.ResponseWriter.WriteHeader(status)
}

// Write writes within the limits; a reader that does not take it ends the
// stream.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote = true
	return s.write(p)
}

// write is called with mu held. What is written after the end, such as a last
// word of the reason, has less time.
func (s *Stream) write(p []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.limits.WriteTimeout))
	if s.ctx.Err() != nil {
		_ = s.control.SetWriteDeadline(time.Now().Add(lastWrite))
	}
	n, err := s.ResponseWriter.Write(p)
	if err != nil {
		s.cancel()
	}
	return n, err
}

// Flush implements http.Flusher, by which other handlers know that they can
// stream.
func (s *Stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
}

// flush is called with mu held.
func (s *Stream) flush() {
	if s.control.Flush() != nil {
		s.cancel()
	}
}
