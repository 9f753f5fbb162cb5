package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/server/subscriptions"
)

const jsonType = "application/json"

func (s *Server) addResources() {
	s.mcp.AddResource(mcp.Resource{URI: subscriptions.Current, Name: "list", Title: "Current todo list", MIMEType: jsonType,
		Description: "This conversation's todo list, as JSON and as markdown"}, s.readList)
	s.mcp.AddResource(mcp.Resource{URI: subscriptions.All, Name: "lists", Title: "Unfinished todo lists", MIMEType: jsonType,
		Description: "The todo lists that have open items, of earlier conversations as well: ids, titles, progress, workspaces, times",
	}, s.readUnfinished)
	s.mcp.AddResourceTemplate(mcp.NewResourceTemplate(subscriptions.One+"{id}", "list by id",
		mcp.WithTemplateTitle("Todo list"),
		mcp.WithTemplateDescription("One todo list, as JSON and as markdown"),
		mcp.WithTemplateMIMEType(jsonType)), s.readList)
}

// readList reads the conversation's list, or one by its id, as JSON and as markdown, both
// under the same URI.
func (s *Server) readList(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	r, uri := identified(ctx, req.Params.Meta), req.Params.URI
	target := board.Target{Conversation: r.who, Agent: r.agent}
	id, one := strings.CutPrefix(uri, subscriptions.One)
	if one {
		target.List = id
	}
	list, err := r.lists.Show(ctx, target)
	if err != nil && (one || !errors.Is(err, board.ErrNotFound)) {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	list.Later = nil // agents read it
	data, err := json.Marshal(render.Document(list))
	if err != nil {
		return nil, fmt.Errorf("encode the list: %w", err)
	}
	return []mcp.ResourceContents{
		mcp.TextResourceContents{URI: uri, MIMEType: jsonType, Text: string(data)},
		mcp.TextResourceContents{URI: uri, MIMEType: "text/markdown", Text: render.Markdown(list)},
	}, nil
}

// unfinishedDocument is one list of the resource todo://lists.
type unfinishedDocument struct {
	List      string    `json:"list"` // its id
	Title     string    `json:"title"`
	Completed int       `json:"completed"`
	Total     int       `json:"total"` // without cancelled items
	Workspace string    `json:"workspace,omitempty"`
	Client    string    `json:"client,omitempty"` // began it
	Updated   time.Time `json:"updated"`          // RFC 3339, UTC, in whole seconds
}

// maxListed is how many lists the resource todo://lists has at most.
const maxListed = 100

func (s *Server) readUnfinished(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	r := identified(ctx, req.Params.Meta)
	lists, err := unfinished(r)
	if err != nil {
		return nil, err
	}
	documents := make([]unfinishedDocument, min(len(lists), maxListed))
	for i, l := range lists[:len(documents)] {
		p := l.Progress()
		documents[i] = unfinishedDocument{l.List.ID, l.Title(), p.Done, p.Total, l.List.Workspace, l.List.Client,
			l.Updated.UTC().Truncate(time.Second)}
	}
	data, err := json.Marshal(map[string]any{"lists": documents})
	if err != nil {
		return nil, fmt.Errorf("encode the lists: %w", err)
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: subscriptions.All, MIMEType: jsonType, Text: string(data)}}, nil
}
