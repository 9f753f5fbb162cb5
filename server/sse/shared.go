package sse

import (
	"runtime"
	"sync"
	"weak"
)

// Shared keeps what streams are sending, so that a change is encoded once however
// many streams it is sent on (BAD-INPUT 63). What no stream is sending any more
// is left to the garbage collector. The zero value is ready to use; K says what
// is sent.
type Shared[K comparable] struct {
	mu     sync.Mutex
	frames map[K]weak.Pointer[frame]
	sweep  int // how many frames there may be before the dead ones are removed
}

// frame is encoded events.
type frame struct {
	once sync.Once
	data []byte
	err  error
}

// get returns the frame of a key; it may not be encoded yet.
func (s *Shared[K]) get(key K) *frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.frames[key].Value(); f != nil {
		return f
	}
	if len(s.frames) >= s.sweep {
		for k, f := range s.frames {
			if f.Value() == nil {
				delete(s.frames, k)
			}
		}
		s.sweep = 2*len(s.frames) + 64
	}
	if s.frames == nil {
		s.frames = make(map[K]weak.Pointer[frame])
	}
	f := &frame{}
	s.frames[key] = weak.Make(f)
	return f
}

// Send sends the events of a key on a stream, as [Stream.Send] does. events is
// called only if no stream has them, and must return the same for the same key.
func (s *Shared[K]) Send(stream *Stream, key K, events func() []Event) error {
	f := s.get(key)
	defer runtime.KeepAlive(f)
	f.once.Do(func() { f.data, f.err = encode(events()) })
	if f.err != nil {
		return f.err
	}
	return stream.send(f.data)
}
