package server

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

var (
	errHost   = errors.New("this Host is not served here (see --allowed-hosts)")
	errOrigin = errors.New("requests from this Origin are not allowed (see --allowed-origins)")
)

// guard refuses what a foreign page in a browser could send (BAD-INPUT 1–6): a
// Host that is not ours, which DNS rebinding gives, and an Origin that is not.
// Programs send no Origin.
func (h *HTTP) guard(r *http.Request) error {
	if !h.ours(r.Host) {
		return errHost
	}
	for _, origin := range r.Header.Values("Origin") {
		if !h.originOK(origin, r.Host) {
			return errOrigin
		}
	}
	return nil
}

func (h *HTTP) originOK(origin, host string) bool {
	if slices.Contains(h.config.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	// Same origin: the page came from here, under a name that is ours.
	return strings.EqualFold(u.Host, host) && h.ours(u.Host)
}

// hostOf is a host without its port and brackets.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// IsLoopback reports whether an address to listen on can be reached from this
// machine alone.
func IsLoopback(address string) bool {
	host := strings.ToLower(hostOf(address))
	return isLoopback(host)
}
