package run

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
	"time"

	"todo-mcp/internal/cli/app"
	"todo-mcp/server/servertest"
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
// is printed signs in, also from the QR code's page. The streams there count, and it is
// drained as this machine's own address is (BAD-INPUT 58).
func TestServeLAN(t *testing.T) {
	env := app.Env{Stderr: io.Discard, Getenv: func(string) string { return "" }}
	s, err := app.Collect(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	s.Store, s.Addr, s.Operator.Drain = "memory", "127.0.0.1:0", time.Second
	out := &greeting{whole: make(chan string, 1), until: "Stop with Ctrl-C"}
	env.Stdout = out
	a := &service{App: &app.App{Env: env, Settings: s}}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.serve(ctx, netip.MustParseAddr("127.0.0.2"), false) }()
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
	stream := servertest.OpenStream(t, "GET", base+"/api/events", "", "Authorization", "Bearer "+token)
	if res, err = http.Get(loopback + "/metrics"); err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if metrics, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(metrics), "todo_streams_open 1\n") {
		t.Errorf("the stream is not counted: %v", err)
	}
	stop()
	checkDrains(t, base)
	stream.Expect(": the server stops")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// checkDrains checks that a server that was told to stop says so, and still takes
// connections then.
func checkDrains(t *testing.T, base string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for stopping := 0; stopping < 20; {
		res, err := client.Get(base + "/readyz")
		if err != nil {
			t.Fatal("58: ", err)
		}
		res.Body.Close()
		if res.StatusCode == http.StatusServiceUnavailable {
			stopping++
		}
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
