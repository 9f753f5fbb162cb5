// Package web puts together everything that is served over HTTP.
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

// Config is what serving over HTTP needs.
type Config struct {
	Board *todo.Board
	// Hosts and Origins are allowed beside the loopback ones and our own, see
	// [edge.Config].
	Hosts, Origins []string
	// SessionKey returns the key that signs session ids. It is called once,
	// when the first is needed.
	SessionKey func() []byte
	// Log receives our own failures; never any list's content. Nil discards.
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Timeout, BodyTimeout, MaxStreams and Streams are [edge.Config]'s; 0 takes
	// its defaults.
	Timeout, BodyTimeout time.Duration
	MaxStreams           int
	Streams              sse.Limits
}

// New returns all routes behind one edge, for people and for front ends, with
// s for MCP clients.
func New(s *server.Server, c Config) (*edge.Edge, error) {
	e, err := edge.New(edge.Config{
		Board: c.Board, Hosts: c.Hosts, Origins: c.Origins, Log: c.Log,
		Timeout: c.Timeout, BodyTimeout: c.BodyTimeout, MaxStreams: c.MaxStreams, Streams: c.Streams,
	})
	if err != nil {
		return nil, err
	}
	p, err := panel.New(panel.Config{Process: c.Board.Process(), Timeout: e.Timeout(), Log: c.Log, Now: c.Now})
	if err != nil {
		return nil, err
	}
	mcphttp.New(s, mcphttp.Config{SessionKey: c.SessionKey}).Route(e)
	api.Route(e)
	p.Route(e)
	return e, nil
}
