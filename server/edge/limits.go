package edge

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// streamCount counts the open streams, in all and of each client. The zero value
// is ready to use.
type streamCount struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by client address and by who signed in
}

// open counts a stream, or returns an error when there are most already, or half of them
// are of one client, which must not take them all. The caller must call closed when the
// stream has ended.
func (s *streamCount) open(r *Request, most int) (closed func(), err error) {
	clients := []string{"address " + r.edge.address(r.Request)}
	if r.Subject != "" { // without sign-in all clients are one
		clients = append(clients, "subject "+r.Principal+"\x00"+r.Subject)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= most {
		return nil, newError(http.StatusTooManyRequests, "too many open streams, %d is the most (see --max-streams)", most)
	}
	perClient := max(1, most/2)
	for _, client := range clients {
		if s.of[client] >= perClient {
			return nil, newError(http.StatusTooManyRequests, "too many open streams of one client, %d is the most (half of --max-streams)", perClient)
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

// rates limits how many events a second each of many has.
type rates struct {
	perSecond int // 0 is any number
	now       func() time.Time

	mu    sync.Mutex
	of    map[string]*rate.Limiter
	swept time.Time
}

// maxRates is how many limiters are kept. Beyond that all who are new share one.
const maxRates = 100_000

func newRates(perSecond int, now func() time.Time) *rates {
	return &rates{perSecond: perSecond, now: now, of: make(map[string]*rate.Limiter)}
}

// allow counts an event, and reports whether it is within the limit.
func (s *rates) allow(who string) bool {
	if s.perSecond == 0 {
		return true
	}
	now := s.now()
	return s.limiter(who, now).AllowN(now, 1)
}

func (s *rates) limiter(who string, now time.Time) *rate.Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(now)
	if s.of[who] == nil && len(s.of) >= maxRates {
		who = ""
	}
	if s.of[who] == nil {
		s.of[who] = rate.NewLimiter(rate.Limit(s.perSecond), 2*s.perSecond)
	}
	return s.of[who]
}

// sweep forgets, each minute, the limiters that allow as much as new ones.
func (s *rates) sweep(now time.Time) {
	if now.Sub(s.swept) < time.Minute {
		return
	}
	s.swept = now
	for who, l := range s.of {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(s.of, who)
		}
	}
}
