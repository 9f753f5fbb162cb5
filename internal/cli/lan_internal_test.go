package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// greeting is what serve prints, once it is whole.
type greeting struct {
	mu    sync.Mutex
	text  string
	until string
	whole chan string
}

func (g *greeting) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text += string(p)
	if strings.Contains(string(p), g.until) {
		g.whole <- g.text
	}
	return len(p), nil
}

// With --lan, this machine needs no token, and its network does: the address that
// is printed signs in, also from the QR code's page.
func TestServeLAN(t *testing.T) {
	s, err := load(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.store, s.addr = "memory", "127.0.0.1:0"
	out := &greeting{whole: make(chan string, 1), until: "Stop with Ctrl-C"}
	a := &app{Env: Env{Stdout: out, Stderr: io.Discard, Getenv: func(string) string { return "" }}, settings: s}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.serveOn(ctx, netip.MustParseAddr("127.0.0.2")) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	stdout := <-out.whole
	loopback := regexp.MustCompile(`http://127.0.0.1:[0-9]+`).FindString(stdout)
	i := strings.Index(stdout, "http://127.0.0.2:")
	if i < 0 || !strings.Contains(stdout, "\u2588") {
		t.Fatalf("printed: %s", stdout)
	}
	address, _, _ := strings.Cut(stdout[i:], "\n")
	base, token, _ := strings.Cut(address, "/signin#")
	for url, want := range map[string]int{loopback + "/api/lists": 200, base + "/api/lists": 401, base + "/signin": 200} {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", url, res.StatusCode, want)
		}
	}
	req, err := http.NewRequest("GET", base+"/api/lists", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("with the token: %d", res.StatusCode)
	}
}

// A private address is found among all, IPv4 before IPv6; without one it says so.
func TestLANAddress(t *testing.T) {
	network := func(texts ...string) (out []net.Addr) {
		for _, text := range texts {
			ip, n, err := net.ParseCIDR(text)
			if err != nil {
				t.Fatal(err)
			}
			n.IP = ip
			out = append(out, n)
		}
		return out
	}
	for want, addresses := range map[string][]net.Addr{
		"192.168.1.5": network("127.0.0.1/8", "203.0.113.4/24", "fd00::5/64", "192.168.1.5/24", "10.0.0.1/8"),
		"fd00::5":     network("::1/128", "fe80::1/64", "fd00::5/64"),
	} {
		if ip, err := lanAddress(addresses, nil); err != nil || ip.String() != want {
			t.Errorf("%v, %v; want %s", ip, err, want)
		}
	}
	if ip, err := lanAddress(network("127.0.0.1/8", "203.0.113.4/24"), nil); err == nil {
		t.Errorf("found %v", ip)
	}
	if _, err := lanAddress(nil, errors.New("broken")); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v", err)
	}
}
