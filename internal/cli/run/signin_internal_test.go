package run

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// With --lan clients need a token. The printed address, also shown as a QR code, signs in, and --open opens it. A
// server that is stopped drains first (BAD-INPUT 58).
//
// BAD-INPUT 58: SIGTERM; a restart under load → [Stopping](../operations.md#stopping): exit 0
// within 10 s, on a slow disk 12. Sessions go on; with `--drain` behind a balancer no call fails
func TestServeLAN(t *testing.T) {
	out, log := make(programtest.Lines, 100), make(programtest.Lines, 100)
	variables := map[string]string{"TODO_STORE": "memory", "TODO_ADDR": "127.0.0.1:0", "TODO_DRAIN": "1"}
	env := app.Env{Stdout: out, Stderr: log, Getenv: func(name string) string { return variables[name] }}
	settings := app.NewSettings()
	checktest.Check(t, settings.Collect(env))
	a := &service{App: &app.App{Env: env, Settings: settings}}
	a.joinNetwork(netip.MustParseAddr("127.0.0.2"))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.serve(ctx, true) }()
	stdout := out.Await("Stop with Ctrl-C")
	address := regexp.MustCompile(`(http://127\.0\.0\.2:[0-9]+)/signin#(\S+)`).FindStringSubmatch(stdout)
	if address == nil || !strings.Contains(stdout, "\u2588") {
		t.Fatalf("printed: %s", stdout)
	}
	checktest.Has(t, "--open opens another page", log.Await("browser"), "open "+address[0]+" yourself")
	base, token := address[1], "Bearer "+address[2]
	for url, want := range map[string]int{"/api/lists": 401, "/metrics": 401, "/signin": 200} {
		if status, _ := programtest.Get(t, base+url); status != want {
			t.Errorf("%s: %d, want %d", url, status, want)
		}
	}
	stream := servertest.OpenStream(t, "GET", base+"/api/events", "", "Authorization", token)
	if _, metrics := programtest.Get(t, base+"/metrics", "Authorization", token); !strings.Contains(metrics, "todo_streams_open 1\n") {
		t.Error("the stream is not counted")
	}
	stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for stopping := 0; stopping < 20; { // /readyz says that the server stops, while it still takes connections
		res, err := client.Get(base + "/readyz")
		if err != nil {
			t.Fatal("58: ", err)
		}
		if res.Body.Close(); res.StatusCode == http.StatusServiceUnavailable {
			stopping++
		}
	}
	stream.Expect(": the server stops")
	checktest.Check(t, <-done)
}

// lanAddress finds a private address among others, IPv4 before IPv6; without one it returns an error.
func TestLANAddress(t *testing.T) {
	for addresses, want := range map[string]string{
		"127.0.0.1/8 203.0.113.4/24 fd00::5/64 192.168.1.5/24 10.0.0.1/8": "192.168.1.5",
		"::1/128 fe80::1/64 fd00::5/64":                                   "fd00::5",
		"127.0.0.1/8 203.0.113.4/24":                                      "",
	} {
		var network []net.Addr
		for _, text := range strings.Fields(addresses) {
			ip, n, err := net.ParseCIDR(text)
			checktest.Check(t, err)
			network = append(network, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		if ip, err := lanAddress(network, nil); (err != nil) != (want == "") || err == nil && ip.String() != want {
			t.Errorf("%v, %v; want %s", ip, err, want)
		}
	}
	if _, err := lanAddress(nil, errors.New("broken")); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("%v", err)
	}
}
