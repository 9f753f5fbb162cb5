package edge

import (
	"fmt"
	"net/http"
	"sync"
)

// streamCount counts the open streams, in all and of each client. The zero value
// is ready to use.
type streamCount struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by client address and by who signed in
}

// open counts a stream, or returns an error when there are as many as c allows.
// The caller must call closed when the stream has ended.
func (s *streamCount) open(r *Request, c Config) (closed func(), err error) {
	clients := []string{"address " + r.edge.address(r.Request)}
	if r.Subject != "" { // without sign-in all clients are one
		clients = append(clients, "subject "+r.Principal+"\x00"+r.Subject)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= c.MaxStreams {
		return nil, tooMany("too many open streams, %d is the most (see --max-streams)", c.MaxStreams)
	}
	for _, client := range clients {
		if s.of[client] >= c.MaxStreamsPerClient {
			return nil, tooMany("too many open streams of one client, %d is the most (half of --max-streams)", c.MaxStreamsPerClient)
		}
	}
	if s.of == nil {
		s.of = make(map[string]int)
	}
	s.all++
	for _, client := range clients {
		s.of[client]++
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		for _, client := range clients {
			if s.of[client]--; s.of[client] == 0 {
				delete(s.of, client)
			}
		}
	}, nil
}

func tooMany(format string, most int) *Error {
	return &Error{http.StatusTooManyRequests, fmt.Sprintf(format, most)}
}
