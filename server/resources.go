package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// The URIs of the resources.
const (
	currentURI   = "todo://list"
	listURI      = "todo://lists/"
	listTemplate = "todo://lists/{id}"
)

func (s *Server) addResources() {
	s.mcp.AddResource(mcp.NewResource(currentURI, "list",
		mcp.WithResourceTitle("Current todo list"),
		mcp.WithResourceDescription("This conversation's todo list, as JSON and as markdown"),
		mcp.WithMIMEType("application/json")), s.readCurrent)
	s.mcp.AddResourceTemplate(mcp.NewResourceTemplate(listTemplate, "list by id",
		mcp.WithTemplateTitle("Todo list"),
		mcp.WithTemplateDescription("One todo list, as JSON and as markdown"),
		mcp.WithTemplateMIMEType("application/json")), s.readList)
}

func (s *Server) readCurrent(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	who := s.caller(newRequest(ctx, nil))
	snapshot, err := s.lists(ctx).Resolve(ctx, s.target(who, nil))
	if err != nil && !errors.Is(err, todo.ErrNotFound) {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	return contents(currentURI, snapshot)
}

func (s *Server) readList(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	id := strings.TrimPrefix(req.Params.URI, listURI)
	snapshot, err := s.lists(ctx).Load(ctx, id, 0)
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	return contents(req.Params.URI, snapshot)
}

// contents returns a list as JSON and as markdown, both under the same URI.
func contents(uri string, s todo.Snapshot) ([]mcp.ResourceContents, error) {
	data, err := json.Marshal(render.Document(s))
	if err != nil {
		return nil, fmt.Errorf("encode the list: %w", err)
	}
	return []mcp.ResourceContents{
		mcp.TextResourceContents{URI: uri, MIMEType: "application/json", Text: string(data)},
		mcp.TextResourceContents{URI: uri, MIMEType: "text/markdown", Text: render.Markdown(s)},
	}, nil
}
