// Package web assembles everything that is served over HTTP: MCP, the API for
// front ends and the panel.
package web

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/api"
	"todo-mcp/server/auth"
	"todo-mcp/server/edge"
	"todo-mcp/server/mcphttp"
	"todo-mcp/server/panel"
	"todo-mcp/server/sse"
)

// Config configures what is served over HTTP. Board and SessionKey are required.
type Config struct {
	Board *todo.Board
	// SignIn says who sends a request; nil lets everybody in as the server itself.
	SignIn *auth.SignIn
	// PublicURL, SignInCheck, MaxRate, TrustedProxies and TLS are passed to
	// [edge.Config].
	PublicURL      string
	SignInCheck    time.Duration
	MaxRate        int
	TrustedProxies []netip.Prefix
	TLS            *tls.Config
	// Hosts and Origins are allowed besides the loopback hosts and the server's
	// own origin; see [edge.Config].
	Hosts, Origins []string
	// SessionKey returns the key that signs session ids. It is called at most
	// once, when the first session id is made or checked.
	SessionKey func() []byte
	// Log receives the server's own failures, never any list's content; nil
	// discards them.
	Log *slog.Logger
	// Now is the clock of the panel, of the probe and of rates; nil means time.Now.
	Now func() time.Time
	// Timeout, HeaderTimeout, BodyTimeout, StopTimeout, MaxStreams,
	// MaxStreamsPerClient and Streams are passed to [edge.Config]; 0 means its
	// defaults.
	Timeout, HeaderTimeout, BodyTimeout, StopTimeout time.Duration
	MaxStreams, MaxStreamsPerClient                  int
	Streams                                          sse.Limits
	// Ready and Observe are passed to [edge.Config].
	Ready   func() error
	Observe func(method, route string, status int, took time.Duration)
	// Metrics answers /metrics, which is not there when it is nil.
	Metrics http.Handler
}

// New returns an edge with all routes; s answers MCP clients. It returns an
// error for an invalid origin.
func New(s *server.Server, c Config) (*edge.Edge, error) {
	config := edge.Config{
		Board: c.Board, Hosts: c.Hosts, Origins: c.Origins, Log: c.Log, PublicURL: c.PublicURL, SignInCheck: c.SignInCheck, Now: c.Now, MaxRate: c.MaxRate, TrustedProxies: c.TrustedProxies, TLS: c.TLS,
		Timeout: c.Timeout, HeaderTimeout: c.HeaderTimeout, BodyTimeout: c.BodyTimeout, StopTimeout: c.StopTimeout, MaxStreams: c.MaxStreams, MaxStreamsPerClient: c.MaxStreamsPerClient, Streams: c.Streams,
		Ready: c.Ready, Observe: c.Observe,
	}
	if c.SignIn != nil {
		config.SignIn = c.SignIn
	}
	e, err := edge.New(config)
	if err != nil {
		return nil, err
	}
	p, err := panel.New(panel.Config{Process: c.Board.Process(), Now: c.Now, ReadTimeout: c.Timeout})
	if err != nil {
		return nil, err
	}
	mcphttp.New(s, mcphttp.Config{SessionKey: c.SessionKey}).Route(e)
	api.Route(e)
	p.Route(e)
	if c.Metrics != nil {
		e.Handle("GET /metrics", edge.Text, func(w http.ResponseWriter, r *edge.Request) error {
			c.Metrics.ServeHTTP(w, r.Request)
			return nil
		})
	}
	if c.SignIn != nil {
		c.SignIn.Route(e)
	}
	return e, nil
}
