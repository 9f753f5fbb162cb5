package server

import (
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/clients"
	"todo-mcp/tools"
)

// Structured says which clients get structured content (docs/spec/variants.md
// V3).
type Structured string

// The settings of [Config.Structured].
const (
	// StructuredAuto leaves it out for clients that show it to their models,
	// where it would repeat the list that the model has just written.
	StructuredAuto   Structured = "auto"
	StructuredAlways Structured = "always"
	StructuredNever  Structured = "never"
)

// The keys of a result's _meta.
const (
	metaList    = "todo-mcp/list"    // a [tools.ListState]
	metaDisplay = "todo-mcp/display" // what would be the display of the structured content
)

// metaAlwaysLoad in a tool's _meta puts the tool into the first request of
// Claude Code. Without it the model sees the bare name until it searches.
const metaAlwaysLoad = "anthropic/alwaysLoad"

// getsStructured reports whether a client gets structured content.
func (s *Server) getsStructured(c clients.Client) bool {
	switch s.Structured {
	case StructuredAlways:
		return true
	case StructuredNever:
		return false
	default:
		return !c.Sees.HasStructured()
	}
}

// listsOutput reports whether tools are listed with their output schemas. A
// client that has one complains about a result without structured content, so
// none is listed where a result may lack it. The sessionless protocol requires
// one list for all clients.
func (s *Server) listsOutput(session *session) bool {
	if session.message.Modern {
		return s.Structured == StructuredAlways
	}
	return s.getsStructured(clients.Find(session.Client.Name))
}

// convert returns a tool's result as a client gets it.
func (s *Server) convert(r tools.Result, c clients.Client) *mcp.CallToolResult {
	out := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(r.Text)}, IsError: r.IsError}
	meta := make(map[string]any)
	if r.List != nil {
		if s.panel != "" {
			r.List.Panel = strings.TrimSuffix(s.panel, "/") + "/lists/" + r.List.ID
		}
		meta[metaList] = r.List
	}
	if s.getsStructured(c) {
		out.StructuredContent = r.Structured
	} else if r.Display != nil {
		meta[metaDisplay] = r.Display
	}
	// A model that is shown the whole result is spared the _meta: the list in
	// short alone would double what it reads.
	if len(meta) > 0 && c.Sees != clients.SeesWholeResult {
		out.Meta = &mcp.Meta{AdditionalFields: meta}
	}
	return out
}
