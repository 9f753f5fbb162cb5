package edge

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

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
