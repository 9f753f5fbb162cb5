package edge

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// A request passes the guard only if its Host is this machine and it does not come from a foreign page, however its
// headers are written (BAD-INPUT 1 and 2).
func FuzzGuard(f *testing.F) {
	for _, host := range []string{"localhost", "LOCALHOST:80", "127.0.0.1:8765", "[::1]:1", "127.1", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
		"localhost:80@evil.example", "[::ffff:127.0.0.1]:80", "0.0.0.0", "[::1%25eth0]", "[[localhost]]", "", ":80", "todo.internal", "todo.internal:443"} {
		f.Add("POST", host, "http://"+host, "same-origin")
		f.Add("GET", host, "", "cross-site")
		f.Add("GET", "localhost", "http://"+host, "")
	}
	f.Add("POST", "localhost", "null", "")
	crossOrigin := http.NewCrossOriginProtection()
	if err := crossOrigin.AddTrustedOrigin("https://front.example"); err != nil {
		f.Fatal(err)
	}
	e := &Edge{config: Config{Hosts: []string{"todo.internal"}}, crossOrigin: crossOrigin}
	f.Fuzz(func(t *testing.T, method, host, origin, site string) {
		r := httptest.NewRequest("GET", "/mcp", nil)
		r.Method, r.Host = method, host
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		if err := e.guard(r, false, false); err != nil {
			if refusal := (*Error)(nil); !errors.As(err, &refusal) || refusal.Status != http.StatusForbidden {
				t.Fatalf("%v", err)
			}
			return
		}
		if !isThisMachine(host) {
			t.Fatalf("Host %q is let in", host)
		}
		if site == "cross-site" && origin != "https://front.example" {
			t.Fatalf("%s of another site, Origin %q, is let in", method, origin)
		}
		_, originHost, _ := strings.Cut(origin, "://")
		if origin != "" && origin != "https://front.example" && !strings.EqualFold(originHost, host) && site != "same-origin" && site != "none" {
			t.Fatalf("Origin %q to Host %q is let in", origin, host)
		}
	})
}

// isThisMachine is the guard's check of the Host, written another way: without port and brackets it is a known name or
// a loopback address.
func isThisMachine(host string) bool {
	host = strings.ToLower(host)
	if port := strings.LastIndexByte(host, ':'); port >= 0 && (strings.Count(host, ":") == 1 || strings.HasPrefix(host, "[")) && strings.LastIndexByte(host, ']') < port {
		host = host[:port]
	}
	host = strings.Trim(host, "[]")
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || host == "todo.internal" || err == nil && ip.IsLoopback()
}
