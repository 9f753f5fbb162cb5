package cli

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// Why the address for operators is served no more is logged, unless it was closed.
func TestServeUntilClosed(t *testing.T) {
	s, err := load(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	a := &app{Env: Env{Stderr: &log}, settings: s}
	srv := &http.Server{} //nolint:gosec // it takes no connection
	l.Close()
	a.serveUntilClosed(srv, l)
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("a listener that failed: %q", log.String())
	}
	log.Reset()
	srv.Close()
	a.serveUntilClosed(srv, l)
	if log.Len() > 0 {
		t.Errorf("closed: %s", log.String())
	}
}
