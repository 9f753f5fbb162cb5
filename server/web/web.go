// Package web assembles everything that is served over HTTP: MCP, the API for
// front ends and the panel.
package web

import (
	"log/slog"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/api"
	"todo-mcp/server/edge"
	"todo-mcp/server/mcphttp"
	"todo-mcp/server/panel"
	"todo-mcp/server/sse"
)

// Config configures what is served over HTTP. Board and SessionKey are required.
type Config struct {
	Board *todo.Board
	// Hosts and Origins are allowed besides the loopback hosts and the server's
	// own origin; see [edge.Config].
	Hosts, Origins []string
	// SessionKey returns the key that signs session ids. It is called at most
	// once, when the first session id is made or checked.
	SessionKey func() []byte
	// Log receives the server's own failures, never any list's content; nil
	// discards them.
	Log *slog.Logger
	// Now is the clock of the panel; nil means time.Now.
	Now func() time.Time
	// Timeout, HeaderTimeout, BodyTimeout, StopTimeout, MaxStreams,
	// MaxStreamsPerClient and Streams are passed to [edge.Config]; 0 means its
	// defaults.
	Timeout, HeaderTimeout, BodyTimeout, StopTimeout time.Duration
	MaxStreams, MaxStreamsPerClient                  int
	Streams                                          sse.Limits
}

// New returns an edge with all routes; s answers MCP clients. It returns an
// error for an invalid origin.
func New(s *server.Server, c Config) (*edge.Edge, error) {
	e, err := edge.New(edge.Config{
		Board: c.Board, Hosts: c.Hosts, Origins: c.Origins, Log: c.Log,
		Timeout: c.Timeout, HeaderTimeout: c.HeaderTimeout, BodyTimeout: c.BodyTimeout, StopTimeout: c.StopTimeout, MaxStreams: c.MaxStreams, MaxStreamsPerClient: c.MaxStreamsPerClient, Streams: c.Streams,
	})
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
	return e, nil
}
