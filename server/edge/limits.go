package edge

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// streamCount counts the open streams of each client, and in all under the name "". The
// zero value is ready to use.
type streamCount struct {
	mu sync.Mutex
	of map[string]int
}

// open counts a stream, or returns an error when there are most already, or half of them
// are of one client, which must not take them all. The caller must call closed when the
// stream has ended.
func (s *streamCount) open(r *Request, most int) (closed func(), err error) {
	clients := []string{"", "address " + r.edge.address(r.Request)}
	if r.Subject != "" { // without sign-in all clients are one
		clients = append(clients, "subject "+r.Principal+"\x00"+r.Subject)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[""] >= most {
		return nil, newError(http.StatusTooManyRequests, "too many open streams, %d is the most (see --max-streams)", most)
	}
	perClient := max(1, most/2)
	for _, client := range clients[1:] {
		if s.of[client] >= perClient {
			return nil, newError(http.StatusTooManyRequests, "too many open streams of one client, %d is the most (half of --max-streams)", perClient)
		}
	}
	s.add(clients, 1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.add(clients, -1)
	}, nil
}

func (s *streamCount) add(clients []string, n int) {
	if s.of == nil {
		s.of = make(map[string]int)
	}
	for _, client := range clients {
		if s.of[client] += n; s.of[client] == 0 {
			delete(s.of, client)
		}
	}
}

// OpenStreams returns how many event streams are open.
func (e *Edge) OpenStreams() int {
	e.streams.mu.Lock()
	defer e.streams.mu.Unlock()
	return e.streams.of[""]
}

// rates limits how many events a second each of many has, and twice as many at once.
type rates struct {
	perSecond int // 0 is any number
	now       func() time.Time

	mu      sync.Mutex
	of      map[string]*rate.Limiter
	renewed time.Time // when of was empty
}

// maxRates is how many limiters are kept. Beyond that all who are new share one.
const maxRates = 100_000

// allow counts an event, and reports whether it is within the limit. Once in a minute
// all is forgotten, so that who is gone takes no memory.
func (s *rates) allow(who string) bool {
	if s.perSecond == 0 {
		return true
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.renewed) >= time.Minute {
		s.of, s.renewed = make(map[string]*rate.Limiter), now
	}
	if s.of[who] == nil && len(s.of) >= maxRates {
		who = ""
	}
	if s.of[who] == nil {
		s.of[who] = rate.NewLimiter(rate.Limit(s.perSecond), 2*s.perSecond)
	}
	return s.of[who].AllowN(now, 1)
}
