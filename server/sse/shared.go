package sse

import (
	"context"
	"runtime"
	"sync"
	"weak"
)

// Shared keeps what several streams need, so that it is made once however many
// streams there are (BAD-INPUT 63). What no stream needs any more is left to the
// garbage collector. The zero value is ready to use.
type Shared[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]weak.Pointer[shared[V]]
	sweep  int // how many values there may be before the dead ones are removed
}

// shared is a value that may not be made yet.
type shared[V any] struct {
	mu    sync.Mutex
	made  bool
	value V
}

// Get returns the value of a key, which must not be changed. It calls read unless
// somebody still refers to the value. An error is the caller's alone: the next one
// reads again.
func (s *Shared[K, V]) Get(ctx context.Context, key K, read func() (V, error)) (*V, error) {
	v := s.get(key)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made {
		return &v.value, nil
	}
	err := ctx.Err() // others may have read until now, in vain
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
		for k, v := range s.values {
			if v.Value() == nil {
				delete(s.values, k)
			}
		}
		s.sweep = 2*len(s.values) + 64
	}
	if s.values == nil {
		s.values = make(map[K]weak.Pointer[shared[V]])
	}
	v := &shared[V]{}
	s.values[key] = weak.Make(v)
	return v
}

// Events are encoded events, by what they say.
type Events[K comparable] struct{ Shared[K, []byte] }

// Send sends the events of a key on a stream, as [Stream.Send] does. events must
// return the same for the same key.
func (s *Events[K]) Send(stream *Stream, key K, events func() []Event) error {
	data, err := s.Get(stream.ctx, key, func() ([]byte, error) { return Encode(events()...) })
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(data)
	return stream.SendEncoded(*data)
}
