package run

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"todo-mcp/internal/cli/app"
)

// Why the address for operators is served no more is logged, unless it was closed.
func TestServeUntilClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	a := &app.App{Env: app.Env{Stderr: &log}, Settings: &app.Settings{}}
	srv := &http.Server{} //nolint:gosec // it takes no connection
	l.Close()
	serveUntilClosed(a, srv, l)
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("a listener that failed: %q", log.String())
	}
	log.Reset()
	srv.Close()
	serveUntilClosed(a, srv, l)
	if log.Len() > 0 {
		t.Errorf("closed: %s", log.String())
	}
}
