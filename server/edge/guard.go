package edge

import (
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

// guard refuses requests that a foreign page in a browser could send: with a foreign Host, as after DNS rebinding,
// unless anyHost is true; with a foreign Origin (BAD-INPUT 1 and 2); and reads for a page of another site, which could
// open many streams and ask for large answers without reading them (BAD-INPUT 62). If isPage is true, a person may
// follow a link from another site.
func (e *Edge) guard(r *http.Request, isPage, anyHost bool) error {
	if !anyHost && !IsLoopback(r.Host) && !slices.Contains(e.config.Hosts, strings.ToLower(hostOf(r.Host))) && !isOwnAddress(r) {
		host := todo.Cut(strings.ToLower(hostOf(r.Host)), 100)
		return newError(http.StatusForbidden, "the Host %q is not served here (see --allowed-hosts)", host)
	}
	origin := r.Header.Get("Origin")
	// CrossOriginProtection accepts every GET. Lists are private, so a read with an Origin is checked like a write. A
	// read without Origin comes from a program, a link or a page that cannot read the answer: Sec-Fetch says which.
	if origin == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		site := r.Header.Get("Sec-Fetch-Site")
		foreign := site == "cross-site" || site == "same-site" // same-site may be another port of this machine
		visits := isPage && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if foreign && !visits {
			return newError(http.StatusForbidden, "pages of other sites may only link to the panel's pages (see --allowed-origins)")
		}
		return nil
	}
	asWrite := *r
	asWrite.Method = http.MethodPost
	// With TLS, a page of the same host without TLS is not trusted: anybody on the network path can have changed it.
	host, plain := strings.CutPrefix(origin, "http://")
	isUnencryptedSelf := plain && "https://"+host == e.origin(r) && !slices.Contains(e.config.Origins, origin)
	if e.crossOrigin.Check(&asWrite) != nil || isUnencryptedSelf {
		return newError(http.StatusForbidden, "requests from this Origin are not allowed (see --allowed-origins)")
	}
	return nil
}

// isOwnAddress reports whether the Host of a request is the IP address at which it arrived. Such a Host is safe: DNS
// rebinding needs a name.
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

// IsLoopback reports whether an address to listen on, with or without port, is reachable from this machine alone.
func IsLoopback(address string) bool {
	if ip, err := netip.ParseAddrPort(address); err == nil {
		return ip.Addr().IsLoopback()
	}
	host := strings.ToLower(hostOf(address))
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// shares limits a resource. It counts what each client holds, at most half of the limit, and what all clients hold
// together, under the name "".
type shares struct {
	what, limit string // words for the text of a refusal

	mu   sync.Mutex
	held map[share]int
}

// share is a key of [shares.held]. If thing is set, the value is how often the client holds that thing, whose size
// counts once. If thing is nil, the value is the total size of all that the client holds.
type share struct {
	client string
	thing  *byte
}

// take counts a thing of size n until the returned function back is called. It returns an error if all clients together
// would then exceed the limit in most, or one client half of that limit.
func (s *shares) take(r *Request, thing *byte, n, most int) (back func(), err error) {
	clients := []string{"", "address " + r.edge.address(r.Request)}
	if r.Subject != "" { // without sign-in all clients have the same identity
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
	// A client's first share of a thing adds n to its total; giving back its last share subtracts n.
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

// rates limits the events of each name to perSecond a second, with bursts of twice as many.
type rates struct {
	perSecond int // 0 means any number
	now       func() time.Time

	mu      sync.Mutex
	of      map[string]*rate.Limiter
	renewed time.Time // when the map was emptied last
}

const maxRates = 100_000 // how many limiters are kept; further names share one

// allow counts an event and reports whether it is within the limit. It forgets everything once a minute, to free the
// memory of names that are gone.
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
