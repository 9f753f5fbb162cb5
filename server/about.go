package server

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// icon is the panel's, as an address that holds it, in which a space is not allowed.
const icon = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2018%2018'%20stroke-width='3'%3E" +
	"%3Cpath%20stroke='%23999'%20d='M3%204h7M3%2014h9'/%3E%3Cpath%20stroke='%23465ff0'%20d='M3%209h12'/%3E%3C/svg%3E"

// about returns what clients show people of the server; its website is the panel. It is
// told with the first answer alone: as mcp-go's options would have it, it would also
// stand in every result of the sessionless protocol.
func (s *Server) about() mcp.Implementation {
	return mcp.Implementation{
		Name: "todo-mcp", Version: s.Version, Title: "Todo lists", WebsiteURL: s.Panel,
		Description: "Keeps the todo lists of agents, and shows them to people as they change",
		Icons:       []mcp.Icon{{Src: icon, MIMEType: "image/svg+xml", Sizes: []string{"any"}}},
	}
}

// introduceItself has the answers to initialize and server/discover say what the server is, and
// its instructions name the first tool that the client is listed: of a tool that a client keeps
// behind a search some models see nothing but their beginning.
func (s *Server) introduceItself(hooks *mcpserver.Hooks) {
	name := func(ctx context.Context, instructions *string) {
		if listed := s.listed(mcpserver.ClientSessionFromContext(ctx).(*request)); len(listed) > 0 {
			*instructions = strings.ReplaceAll(*instructions, "{{tool}}", listed[0].Name)
		}
	}
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, r *mcp.InitializeResult) {
		r.ServerInfo = s.about()
		name(ctx, &r.Instructions)
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, r *mcp.DiscoverResult) {
		r.EnsureResultMeta().SetServerInfo(s.about())
		name(ctx, &r.Instructions)
	})
}
