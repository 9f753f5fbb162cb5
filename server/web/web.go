// Package web assembles everything that is served over HTTP: MCP, the API for
// front ends and the panel.
package web

import (
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/api"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/mcphttp"
	"github.com/todo-mcp/todo-mcp/server/panel"
)

// New returns an edge with all routes; s answers MCP clients. It returns an
// error for an invalid origin.
func New(s *server.Server, c edge.Config) (*edge.Edge, error) {
	e, err := edge.New(c)
	if err != nil {
		return nil, err
	}
	mcphttp.Route(e, s)
	api.Route(e)
	e.Handle("POST /hook", edge.JSON, takeEvents(s.Texts.Language))
	panel.New(c.Board.Process(), c.Now).Route(e)
	return e, nil
}
