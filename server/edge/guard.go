package edge

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
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
