package run_test

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/auth"
)

// A server with a certificate speaks TLS, HTTP/2 too, signs in by it with a cookie
// that is only sent by TLS, and takes up a new certificate while it runs. A
// certificate that cannot be read leaves the one before.
func TestServeTLS(t *testing.T) {
	t.Parallel() // most of it waits
	folder := t.TempDir()
	cert, key, tokens := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), filepath.Join(folder, "tokens")
	programtest.Certify(t, cert, key, 1)
	token, err := auth.NewToken(tokens, auth.Token{Name: "ann", Scopes: []string{auth.ScopeWrite}})
	if err != nil {
		t.Fatal(err)
	}
	s := programtest.Serve(t, "--store", "memory", "--tls-cert", cert, "--tls-key", key, "--tokens", tokens)
	if !strings.HasPrefix(s.URL, "https://") {
		t.Fatalf("it says %s", s.URL)
	}
	client := &http.Client{
		Transport:     &http.Transport{ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	post := func() http.Response {
		t.Helper()
		res, err := client.Post(s.URL+"/signin", "application/x-www-form-urlencoded", strings.NewReader("token="+token))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return *res
	}
	res := post()
	if cookie := res.Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-todo-signed-in=") || !strings.Contains(cookie, "Secure") {
		t.Errorf("cookie %q", cookie)
	}
	if res.Proto != "HTTP/2.0" {
		t.Errorf("it speaks %s", res.Proto)
	}
	until := func(want int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; {
			serial := post().TLS.PeerCertificates[0].SerialNumber.Int64()
			if serial == want {
				return
			} else if time.Now().After(deadline) {
				t.Fatalf("certificate %d, want %d", serial, want)
			}
		}
	}
	until(1)
	programtest.Certify(t, cert, key, 2)
	until(2)
	if err := os.WriteFile(key, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(2)
	programtest.Certify(t, cert, key, 3)
	until(3)
}

// Behind a trusted proxy an address in the network is served; the client is who the
// proxy says, and a client's own word for it is not believed.
func TestServeBehindProxy(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	token, err := auth.NewToken(tokens, auth.Token{Name: "ann", Scopes: []string{auth.ScopeWrite}})
	if err != nil {
		t.Fatal(err)
	}
	s := programtest.Serve(t, "--store", "memory", "--trusted-proxies", "127.0.0.1", "--public-url", "https://Todo.Example.com", "--tokens", tokens)
	ask := func(forwarded, token string) int {
		status, _ := programtest.Get(t, s.URL+"/api/lists", "Host", "todo.example.com", "X-Forwarded-For", forwarded, "Authorization", "Bearer "+token)
		return status
	}
	if status := ask("192.0.2.1", token); status != 200 {
		t.Fatalf("a valid token: %d", status)
	}
	untilLimited := func(forwarded string) (tries int) {
		for ask(forwarded, "todo_wrong") != http.StatusTooManyRequests {
			if tries++; tries > 100 {
				t.Fatal("failed sign-ins behind a proxy are not limited")
			}
		}
		return tries
	}
	allowed := untilLimited("198.51.100.7, 192.0.2.2")
	if status := ask("192.0.2.1, 192.0.2.3", "todo_wrong"); status != http.StatusUnauthorized {
		t.Errorf("another client: %d", status)
	}
	// One more try is allowed now and then.
	if tries := untilLimited("203.0.113.9, 192.0.2.2"); tries > allowed/2 {
		t.Errorf("a client that says it is another one has %d tries, and had %d", tries, allowed)
	}
}
