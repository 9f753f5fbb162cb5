// Package sse writes streams of server-sent events.
//
// A stream gets a comment at regular intervals, so that proxies and clients do not close it and know that the server
// runs. It ends with its context, and when its client does not read: each write has a time limit (BAD-INPUT 61).
package sse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"sync"
	"time"
	"weak"
)

// Stream is a response that may stay open for a long time.
type Stream struct {
	response http.ResponseWriter
	control  *http.ResponseController
	ctx      context.Context
	cancel   context.CancelFunc
	done     sync.WaitGroup

	Silence time.Duration // the longest time without a write while the server runs: two comments may be late

	mu      sync.Mutex // guards the response from the first event on
	begun   bool       // the header was written
	comment string     // the beginning of a comment
}

// Open returns a stream that writes to w from its first event on. At each keepAlive interval it calls mayGoOn, then
// writes a comment. It ends with ctx, when a write fails, when mayGoOn returns false, or with [Stream.Close], which
// must be called.
func Open(ctx context.Context, w http.ResponseWriter, keepAlive time.Duration, mayGoOn func(context.Context) bool) *Stream {
	s := &Stream{response: w, control: http.NewResponseController(w), Silence: keepAlive * 5 / 2, comment: ": "}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.done.Go(func() { s.keepAlive(keepAlive, mayGoOn) })
	return s
}

// Context returns a context that ends with the stream.
func (s *Stream) Context() context.Context { return s.ctx }

// Close ends the stream and waits for its goroutine. The connection can then serve another request.
func (s *Stream) Close() {
	s.cancel()
	s.done.Wait()
}

// WriteHeader writes the header of an event stream.
func WriteHeader(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// Aloud turns later comments into events named alive, since scripts in browsers do not see comments.
func (s *Stream) Aloud() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.comment = "event: alive\ndata: "
}

// Begin asks the client to reconnect one second after the stream ends.
func (s *Stream) Begin() error { return s.SendEncoded([]byte("retry: 1000\n\n")) }

// Event is one server-sent event.
type Event struct {
	ID   int64  // 0 means none
	Name string // empty means none
	Data any    // sent as JSON on one line
}

// Send writes events. An error means that the stream has ended.
func (s *Stream) Send(events ...Event) error { return s.SendEncoded(Encode(events...)) }

// Encode returns events as [Stream.SendEncoded] sends them.
func Encode(events ...Event) []byte {
	var b bytes.Buffer
	data := json.NewEncoder(&b) // ends each value with a line break
	data.SetEscapeHTML(false)   // escaping would make HTML half as long again
	for _, e := range events {
		if e.ID != 0 {
			fmt.Fprintf(&b, "id: %d\n", e.ID)
		}
		if e.Name != "" {
			fmt.Fprintf(&b, "event: %s\n", e.Name)
		}
		b.WriteString("data: ")
		_ = data.Encode(e.Data) // cannot fail: a year above 9999 would, but cannot be stored
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// SendEncoded writes events that [Encode] returned, and the header before a stream's first ones. It writes even after
// the stream has ended, and then returns an error.
func (s *Stream) SendEncoded(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		WriteHeader(s.response)
		s.begun = true
	}
	s.write(data)
	return s.ctx.Err()
}

// write writes and flushes data, and ends the stream if that fails. The caller must hold mu.
func (s *Stream) write(data []byte) {
	if _, err := s.response.Write(data); err != nil || s.control.Flush() != nil {
		s.cancel()
	}
}

// Comment writes a comment of one line if the stream has begun, even after it has ended.
func (s *Stream) Comment(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		s.write([]byte(s.comment + text + "\n\n"))
	}
}

// keepAlive sends the comment "alive" at each interval until the stream ends. It cancels a stream that may not go on.
func (s *Stream) keepAlive(interval time.Duration, mayGoOn func(context.Context) bool) {
	for tick := time.Tick(interval); ; {
		select {
		case <-tick:
			if !mayGoOn(s.ctx) {
				s.cancel()
				return
			}
			s.Comment("alive")
		case <-s.ctx.Done():
			return
		}
	}
}

// Shared keeps values that several streams need, so that each is made once (BAD-INPUT 63). The garbage collector
// frees values that no stream uses. The zero value is ready to use.
type Shared[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]weak.Pointer[shared[V]]
	sweep  int // how many values there may be before unused ones are removed
}

// shared is a value that is made when it is first read.
type shared[V any] struct {
	mu    sync.Mutex
	made  bool
	value V
}

// Get returns the value of a key, which must not be changed. It calls read to make the value, unless a stream still
// uses it. If that fails, the next caller's read is called.
func (s *Shared[K, V]) Get(ctx context.Context, key K, read func() (V, error)) (*V, error) {
	v := s.get(key)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made {
		return &v.value, nil
	}
	err := ctx.Err() // ctx may have ended during failed reads of other callers
	if err == nil {
		v.value, err = read()
	}
	v.made = err == nil
	return &v.value, err
}

func (s *Shared[K, V]) get(key K) *shared[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.values[key].Value(); v != nil {
		return v
	}
	if len(s.values) >= s.sweep {
		maps.DeleteFunc(s.values, func(_ K, v weak.Pointer[shared[V]]) bool { return v.Value() == nil })
		s.sweep = 2*len(s.values) + 64
	}
	if s.values == nil {
		s.values = make(map[K]weak.Pointer[shared[V]])
	}
	v := &shared[V]{}
	s.values[key] = weak.Make(v)
	return v
}

// Events are encoded events by key.
type Events[K comparable] struct{ Shared[K, []byte] }

// Send sends the events of a key on a stream, as [Stream.Send] does. For one key, events must always return the same.
func (s *Events[K]) Send(stream *Stream, key K, events func() []Event) error {
	data, err := s.Get(stream.ctx, key, func() ([]byte, error) { return Encode(events()...), nil })
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(data)
	return stream.SendEncoded(*data)
}
