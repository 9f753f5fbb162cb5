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
)

// CheckOrigins returns an error that names the first text that is not a valid
// origin; nil when all are.
func CheckOrigins(origins []string) error {
	_, err := trust(origins)
	return err
}

// trust returns what refuses requests of other origins.
func trust(origins []string) (*http.CrossOriginProtection, error) {
	trusted := http.NewCrossOriginProtection()
	for _, origin := range origins {
		if err := trusted.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("allowed origin %q: %w", origin, err)
		}
	}
	return trusted, nil
}

// checkOrigin refuses requests that a foreign page in a browser could send: with a
// foreign Host, as after DNS rebinding, or a foreign Origin (BAD-INPUT 1–6).
func (e *Edge) checkOrigin(r *http.Request) error {
	if !IsLoopback(r.Host) && !slices.Contains(e.config.Hosts, strings.ToLower(hostOf(r.Host))) && !isOwnAddress(r) {
		return newError(http.StatusForbidden, "this Host is not served here (see --allowed-hosts)")
	}
	// CrossOriginProtection accepts every GET, because it assumes that reads
	// need no protection. Lists are private, so a read with an Origin is checked
	// like a write. A read without an Origin comes from a program or a link, or
	// from a page that cannot read the answer: a browser says which.
	if r.Header.Get("Origin") == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		return nil // see checkSite
	}
	asWrite := *r
	asWrite.Method = http.MethodPost
	if e.crossOrigin.Check(&asWrite) != nil {
		return newError(http.StatusForbidden, "requests from this Origin are not allowed (see --allowed-origins)")
	}
	return nil
}

// checkSite refuses a read for a page of another site, which could open streams
// and ask for large answers in any number without reading them (BAD-INPUT 62).
// Only a person who follows a link to a page comes from there. A request with an
// Origin was checked before.
func checkSite(r *http.Request, isPage bool) error {
	site := r.Header.Get("Sec-Fetch-Site")
	foreign := site == "cross-site" || site == "same-site" // the latter is another port of this machine, too
	if !foreign || r.Header.Get("Origin") != "" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	if isPage && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil
	}
	return newError(http.StatusForbidden, "pages of other sites may only link to the panel's pages (see --allowed-origins)")
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
