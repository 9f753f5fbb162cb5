package remote

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// A permanent refusal ends Follow with an error that says what to do; a
// temporary one is retried.
func TestRefusals(t *testing.T) {
	for _, a := range []struct {
		status     int
		body, want string
	}{
		{401, `{"error":"no"}`, "--token"},
		{403, `{"error":"this Host\u001b[2J is not served"}`, `this Host\x1b[2J is not served`},
		{404, "gone", "not found"},
		{200, "<html>", "not a todo-mcp server"},
		{200, "null", "not a todo-mcp server"},
		{500, "", "lost"},
		{503, "", "lost"},
		{429, "", "lost"},
	} {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(a.status)
			io.WriteString(w, a.body)
		}))
		next := follow(t, newClient(t, ts.URL, "s3cret"))
		if got := next(); !strings.Contains(got, a.want) || strings.Contains(got, "s3cret") {
			t.Errorf("%d %s: %q, want %q in it", a.status, a.body, got, a.want)
		}
		ts.Close()
	}
}

// Once connected, Follow retries after wrong responses, which a proxy may send
// while the server restarts, but still ends when the credentials are rejected.
func TestRefusalsAfterConnecting(t *testing.T) {
	answers := []struct {
		status int
		body   string
	}{{200, "[]"}, {404, ""}, {200, "<html>"}, {502, ""}, {200, "[]"}, {401, ""}}
	n := 0
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/events" {
			return // an empty stream
		}
		w.WriteHeader(answers[n].status)
		io.WriteString(w, answers[n].body)
		n++
	}))
	defer ts.Close()
	next := follow(t, newClient(t, ts.URL, ""))
	expect(t, next, "all", "lost", "lost", "lost", "lost", "all", "lost")
	if got := next(); !strings.Contains(got, "another token") {
		t.Errorf("ended with %q", got)
	}
}

// Follow keeps trying to reach a server that is not up yet, and pauses longer
// before each try.
func TestServerNotYetUp(t *testing.T) {
	ts := httptest.NewServer(http.NotFoundHandler())
	ts.Close()
	c := newClient(t, ts.URL, "")
	var tries []int
	c.pause = func(_ context.Context, try int) { tries = append(tries, try) }
	ctx, cancel := context.WithCancel(t.Context())
	c.Follow(ctx, nil, func(error) {
		if len(tries) == 3 {
			cancel()
		}
	})
	if want := []int{1, 2, 3, 4}; !slices.Equal(tries, want) {
		t.Errorf("tries %v, want %v", tries, want)
	}
	start := time.Now()
	backOff(ctx, 40)
	if time.Since(start) > time.Second {
		t.Error("backOff waited although its context had ended")
	}
}

// New rejects bad addresses and tokens.
func TestNew(t *testing.T) {
	for _, bad := range []string{"", "localhost:8765", "ftp://x", "http://", "http://a b", "/x"} {
		if _, err := New(bad, ""); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:8765") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := New("http://x", "a\nb"); err == nil || strings.Contains(err.Error(), "a\nb") {
		t.Errorf("token: %v", err)
	}
	if c := newClient(t, "https://user:pass@x/y?q#f", ""); c.Where() != "https://user:xxxxx@x/y" {
		t.Errorf("where: %s", c.Where())
	}
}
