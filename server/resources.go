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
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/card"
	"github.com/todo-mcp/todo-mcp/server/subscriptions"
	"github.com/todo-mcp/todo-mcp/tools"
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

// readList returns the conversation's list, or one by its id, as JSON and as markdown under the same URI.
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
	list.Later = nil // not for agents
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
	Client    string    `json:"client,omitempty"` // that began it
	Updated   time.Time `json:"updated"`          // RFC 3339, UTC, in whole seconds
}

// maxListed is the most lists that the resource todo://lists has.
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

// addCard adds the app page as a resource, and the page's own tools: view reads the newest revision of its list, tick
// sets an item's status for a person.
func (s *Server) addCard() {
	s.mcp.AddResource(mcp.NewResource(card.URI, "todo list page",
		mcp.WithResourceTitle("Todo list"),
		mcp.WithResourceDescription("The page that shows a todo list in the chat"),
		mcp.WithMIMEType(card.MIME)),
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{card.Contents()}, nil
		})
	view, tick := tools.NewPage()
	s.pageTools = []*tools.Tool{view, tick}
	for _, tool := range s.pageTools {
		s.addTool(describe(tool), tool, forPage)
	}
}

// forPage answers a call of the app page. It reads or writes any list of the principal by id, whatever conversation
// the call comes from.
func forPage(r *request, tool *tools.Tool) (tools.Result, error) {
	call, err := tool.Read(r.arguments)
	if err != nil {
		return tools.Result{}, err
	}
	out, err := readOrTick(r, tool, call)
	if err != nil {
		return tools.Result{}, err
	}
	result := tool.Result(call, out)
	states, err := r.lists.States(r.ctx, out.After)
	if err != nil {
		return tools.Result{}, err
	}
	saw, err := r.lists.Saw(r.ctx, out.After)
	if err != nil {
		return tools.Result{}, err
	}
	result.List.Rests = states[out.After.List.ID].State.Rests()
	result.List.Written, result.List.Seen = out.After.Written(), saw.Revision
	return result, nil
}

// readOrTick reads a list, or sets an item's status like a person on the panel: the board merges that with later
// revisions than the person saw, and the agent learns of it with its next write.
func readOrTick(r *request, tool *tools.Tool, call *tools.Call) (out board.Outcome, err error) {
	if call.Edit.Do == "" {
		out.After, err = r.lists.Load(r.ctx, call.List, 0)
		return out, err
	}
	by := todo.Writer{Client: strings.TrimSpace(todo.Cut(r.client.Name, 59) + " card"), Variant: tool.Name}
	out, err = r.lists.Edit(r.ctx, call.List, call.Edit, by)
	if errors.Is(err, todo.ErrItemGone) {
		err = &todo.InputError{Problems: []todo.Problem{{Path: "item_id", Message: "The item is not on the list any more"}}}
	}
	if err != nil {
		return out, fmt.Errorf("the item could not be saved: %w", err)
	}
	return out, nil
}
