//go:build e2e && linux

package faults

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// get returns the status and the body of an address; status 0 is no answer.
func get(url string) (status int, body string) {
	res, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(data)
}

// awaitStopping asks the probe at each address until it says that the server stops,
// which it must before a time.
func awaitStopping(t *testing.T, before time.Time, addresses ...string) {
	t.Helper()
	for _, address := range addresses {
		status, body := get(address + "/readyz")
		for status != http.StatusServiceUnavailable && time.Now().Before(before) {
			status, body = get(address + "/readyz")
		}
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "stopping") {
			t.Fatalf("58: %s: %d %s", address, status, body)
		}
	}
}

// openStreams opens one stream of each kind.
func openStreams(t *testing.T, s *serving, c *chattest.Chat) []*servertest.Events {
	t.Helper()
	listen := chattest.OverHTTP(t, chattest.Sessionless, "tester", c.URL)
	message := listen.Message("L", "subscriptions/listen", `{"notifications":{"resourceSubscriptions":["todo://list"]}}`)
	return []*servertest.Events{
		servertest.OpenStream(t, "GET", s.url+"/api/events", ""),
		servertest.OpenStream(t, "GET", s.url+"/panel/events", ""),
		servertest.OpenStream(t, "GET", c.URL, "", "Mcp-Session-Id", c.Session),
		servertest.OpenStream(t, "POST", c.URL, message, listen.Headers(message)...),
	}
}

// BAD-INPUT 58: with --drain a server that is told to end says at once that it is
// not ready, and goes on taking calls for that long, on connections that do not
// stay. Then its streams end with a reason, and it exits without an error.
func TestDrain(t *testing.T) {
	const drain = 2 * time.Second
	s := mustServe(t, "--store", "memory", "--drain", "2", "--admin-addr", "127.0.0.1:0")
	admin := ""
	for began := time.Now(); admin == "" && time.Since(began) < stopTimeout; {
		admin = regexp.MustCompile(`http://[0-9.:]+`).FindString(s.Log.String())
	}
	c := s.session(t, "")
	streams := openStreams(t, s, c)
	signalled := time.Now()
	if err := s.Terminate(); err != nil {
		t.Fatal(err)
	}
	awaitStopping(t, signalled.Add(drain), s.url, admin)
	taken := 0
	for ; time.Since(signalled) < drain/2; taken++ {
		c.Writes("p:A")
	}
	res, err := http.Get(s.url + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); !res.Close {
		t.Error("58: the connection is kept")
	}
	for _, stream := range streams {
		stream.Expect(": the server stops")
		stream.End()
	}
	if err := s.Wait(stopTimeout + stopGrace); err != nil {
		t.Errorf("58: it ended with %v: %s", err, s.Log)
	}
	took := time.Since(signalled)
	if took < drain || taken == 0 {
		t.Errorf("58: it took %d calls and ended after %s", taken, took)
	}
	report.Add(t, row{Fault: "SIGTERM with --drain 2", Tried: "calls and streams", Times: "once", Acknowledged: taken, Notes: "exit 0 after " + took.Round(10*time.Millisecond).String()})
}

// BAD-INPUT 58: a second signal ends a server that drains at once, as Ctrl-C twice.
func TestSecondSignal(t *testing.T) {
	s := mustServe(t, "--store", "memory", "--drain", "3600")
	if err := s.Terminate(); err != nil {
		t.Fatal(err)
	}
	awaitStopping(t, time.Now().Add(stopTimeout), s.url)
	if err := s.Terminate(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(stopTimeout); err == nil || !strings.Contains(err.Error(), "signal: terminated") {
		t.Errorf("58: %v", err)
	}
}

// A server without an audit log goes on after SIGHUP, by which service managers
// reload: it does then what SIGTERM asks for, and ends without an error.
func TestHangup(t *testing.T) {
	s := mustServe(t, "--store", "memory")
	for _, signal := range []os.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if err := s.Cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Wait(stopTimeout + stopGrace); err != nil {
		t.Errorf("it ended with %v: %s", err, s.Log)
	}
}
