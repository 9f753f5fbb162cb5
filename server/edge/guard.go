package edge

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Trust returns what refuses requests of other origins. An error names the first text
// that is not a valid origin.
func Trust(origins []string) (*http.CrossOriginProtection, error) {
	trusted := http.NewCrossOriginProtection()
	for _, origin := range origins {
		if err := trusted.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("allowed origin %q: %w", origin, err)
		}
	}
	return trusted, nil
}

// guard refuses requests that a foreign page in a browser could send: with a foreign Host,
// as after DNS rebinding, unless any host may be served, or a foreign Origin (BAD-INPUT
// 1–6); and a read for a page of another site, which could open streams and ask for large
// answers in any number without reading them (BAD-INPUT 62). Only a person who follows a
// link to a page comes from there.
func (e *Edge) guard(r *http.Request, isPage, anyHost bool) error {
	if !anyHost && !IsLoopback(r.Host) && !slices.Contains(e.config.Hosts, strings.ToLower(hostOf(r.Host))) && !isOwnAddress(r) {
		host := todo.Cut(strings.ToLower(hostOf(r.Host)), 100)
		return newError(http.StatusForbidden, "the Host %q is not served here (see --allowed-hosts)", host)
	}
	origin := r.Header.Get("Origin")
	// CrossOriginProtection accepts every GET, because it assumes that reads
	// need no protection. Lists are private, so a read with an Origin is checked
	// like a write. A read without an Origin comes from a program or a link, or
	// from a page that cannot read the answer: a browser says which.
	if origin == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		site := r.Header.Get("Sec-Fetch-Site")
		foreign := site == "cross-site" || site == "same-site" // the latter is another port of this machine, too
		visits := isPage && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if foreign && !visits {
			return newError(http.StatusForbidden, "pages of other sites may only link to the panel's pages (see --allowed-origins)")
		}
		return nil
	}
	asWrite := *r
	asWrite.Method = http.MethodPost
	// The server's own pages without TLS, which it has, anybody on the way can have written.
	host, plain := strings.CutPrefix(origin, "http://")
	isUnencryptedSelf := plain && "https://"+host == e.origin(r) && !slices.Contains(e.config.Origins, origin)
	if e.crossOrigin.Check(&asWrite) != nil || isUnencryptedSelf {
		return newError(http.StatusForbidden, "requests from this Origin are not allowed (see --allowed-origins)")
	}
	return nil
}

// isOwnAddress reports whether a request names the address at which it arrived. A
// page cannot make a browser do so after DNS rebinding: that needs a name.
func isOwnAddress(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	ip, err := netip.ParseAddr(hostOf(r.Host))
	return ok && err == nil && local.AddrPort().Addr().Unmap() == ip.Unmap()
}

// hostOf returns a host without its port and brackets.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// IsLoopback reports whether an address to listen on, with or without port, can
// only be reached from this machine.
func IsLoopback(address string) bool {
	if ip, err := netip.ParseAddrPort(address); err == nil {
		return ip.Addr().IsLoopback()
	}
	host := strings.ToLower(hostOf(address))
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// shares counts what clients have of something that is limited: each client, which may
// have half, and all under the name "".
type shares struct {
	what, limit string // in the text of a refusal

	mu   sync.Mutex
	held map[share]int
}

// share is one thing that a client has, and how many have it. It counts once, however
// many these are. Without a thing it is how much the client has in all.
type share struct {
	client string
	thing  *byte
}

// take counts n for a thing until back is called, or returns an error when all would have
// more than most, or a client more than half of it.
func (s *shares) take(r *Request, thing *byte, n, most int) (back func(), err error) {
	clients := []string{"", "address " + r.edge.address(r.Request)}
	if r.Subject != "" { // without sign-in all clients are one
		clients = append(clients, "subject "+r.Principal+"\x00"+r.Subject)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, client := range clients {
		one, most, limit := "", most, "see "+s.limit
		if client != "" {
			one, most, limit = " of one client", max(1, most/2), "half of "+s.limit
		}
		if s.held[share{client, thing}] == 0 && s.held[share{client, nil}]+n > most {
			return nil, newError(http.StatusTooManyRequests, "too many %s%s, %d is the most (%s)", s.what, one, most, limit)
		}
	}
	// The first who has a thing takes n, the last one gives it back.
	count := func(by int) {
		for _, client := range clients {
			one, all := share{client, thing}, share{client, nil}
			if s.held[one] += by; s.held[one] == max(by, 0) {
				s.held[all] += n * by
			}
			for _, key := range []share{one, all} {
				if s.held[key] == 0 {
					delete(s.held, key)
				}
			}
		}
	}
	count(1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		count(-1)
	}, nil
}

// OpenStreams returns how many event streams are open.
func (e *Edge) OpenStreams() int {
	e.streams.mu.Lock()
	defer e.streams.mu.Unlock()
	return e.streams.held[share{}]
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
