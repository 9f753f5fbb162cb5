package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/server/card"
	"github.com/todo-mcp/todo-mcp/server/subscriptions"
	"github.com/todo-mcp/todo-mcp/tools"
)

func (s *Server) addPrompts() {
	add := func(name, description, argument, means, title string, fill func(r *request, text, argument string) (string, error)) {
		prompt := mcp.NewPrompt(name, mcp.WithPromptDescription(description), mcp.WithArgument(argument, mcp.ArgumentDescription(means)))
		s.mcp.AddPrompt(prompt, func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			filled, err := fill(identified(ctx, req.Params.Meta), s.Texts.Text(name), req.Params.Arguments[argument])
			message := mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(filled))
			return mcp.NewGetPromptResult(title, []mcp.PromptMessage{message}), err
		})
	}
	add("plan", "Plan a piece of work as a todo list, then do it", "goal", "What is to be done; what the conversation is about when left out",
		"Plan as a todo list", func(_ *request, text, goal string) (string, error) {
			return strings.ReplaceAll(text, "{{goal}}", cmp.Or(strings.TrimSpace(goal), s.Texts.Words.TheGoal)), nil
		})
	add("resume", "Go on with an unfinished todo list", "list", "Title, name or id of the list; the last one when left out",
		"Go on with a todo list", s.resume)
}

// resume makes the unfinished list that matches wanted the current list, and returns the text by which a model
// continues it. If none or several match, the text says so: hosts show a prompt's error as a fault of the protocol.
func (s *Server) resume(r *request, text, wanted string) (string, error) {
	found, err := unfinishedLists(r, wanted)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0 && wanted == "":
		return s.Texts.Words.NoneOpen, nil
	case len(found) == 0:
		return s.Texts.Words.NoneNamed, nil
	case len(found) > 1:
		several := s.Texts.Words.SeveralNamed + "\n"
		for _, l := range found[:min(len(found), maxChoices)] {
			n := l.Progress()
			several += fmt.Sprintf("- %s (%s, %s)\n", l.Title(), l.List.ID, fmt.Sprintf(s.Texts.Words.DoneOf, n.Done, n.Total))
		}
		return several, nil
	}
	list := found[0]
	if r.who.Name != "" && r.who.Name != list.List.Name {
		return fmt.Sprintf(s.Texts.Words.SetUpFor, strconv.Quote(r.who.Name)), nil
	}
	switch err := r.lists.SetCurrent(r.ctx, r.who, list); {
	case errors.Is(err, board.ErrReadOnly):
		return s.Texts.Words.SeeOnly, nil
	case err != nil:
		return "", err
	}
	s.subscriptions.Moved(r.Identity, r.who.Key)
	return resumeText(s.Texts.Words, text, list), nil
}

// resumeText returns the prompt text by which a model continues a list, with its open and its settled items.
func resumeText(w *prompts.Words, text string, list todo.Snapshot) string {
	lines := make(map[bool][]string) // the key says whether the items are settled
	for _, item := range list.Items {
		line, settled := "- #"+item.ID+" "+item.Text, item.Status.Settled()
		if item.Status != todo.Pending {
			line += " (" + string(item.Status) + ")"
		}
		lines[settled] = append(lines[settled], line)
	}
	return strings.NewReplacer("{{name}}", list.Title(), "{{when}}", fmt.Sprintf(w.Ago, render.Roughly(time.Since(list.Updated))),
		"{{open}}", strings.Join(lines[false], "\n"), "{{done}}", cmp.Or(strings.Join(lines[true], "\n"), "- "+w.Nothing)).Replace(text)
}

// unfinished returns main agents' lists with an open item that are not archived, of the 500 lists last changed: first
// those of the caller's workspace, then the others, each part last changed first.
func unfinished(r *request) ([]todo.Snapshot, error) {
	all, err := r.lists.Find(r.ctx, board.Query{Limit: 500})
	if err != nil {
		return nil, fmt.Errorf("find lists: %w", err)
	}
	open := slices.DeleteFunc(all, func(l todo.Snapshot) bool { return !l.Open() || l.Archived || l.List.Agent != "" })
	here := func(l todo.Snapshot) bool { return r.who.Workspace != "" && l.List.Workspace == r.who.Workspace }
	elsewhere := slices.DeleteFunc(slices.Clone(open), here)
	return append(slices.DeleteFunc(open, func(l todo.Snapshot) bool { return !here(l) }), elsewhere...), nil
}

// unfinishedLists returns the unfinished lists that match wanted, see [render.Named]. If wanted is empty, it returns
// only the first unfinished list, of those with the name that the connection's user chose, if any.
func unfinishedLists(r *request, wanted string) ([]todo.Snapshot, error) {
	if wanted != "" {
		byID, err := r.lists.Load(r.ctx, wanted, 0)
		if err == nil && byID.Open() && byID.List.Agent == "" {
			return []todo.Snapshot{byID}, nil
		} else if board.PassOver(err) != nil {
			return nil, fmt.Errorf("find list: %w", err)
		}
	}
	lists, err := unfinished(r)
	if err != nil || wanted != "" {
		found, _ := render.Named(lists, wanted)
		return found, err
	}
	if r.who.Name != "" {
		lists = slices.DeleteFunc(lists, func(l todo.Snapshot) bool { return l.List.Name != r.who.Name })
	}
	return lists[:min(len(lists), 1)], nil
}

const (
	jsonType   = "application/json"
	maxListed  = 100 // lists of the resource todo://lists
	maxChoices = 10  // lists that the prompt resume offers if several match
)

func (s *Server) addResources() {
	s.mcp.AddResource(mcp.Resource{URI: subscriptions.Current, Name: "list", Title: "Current todo list", MIMEType: jsonType,
		Description: "This conversation's todo list, as JSON and as markdown"}, s.readList)
	s.mcp.AddResource(mcp.Resource{URI: subscriptions.All, Name: "lists", Title: "Unfinished todo lists", MIMEType: jsonType,
		Description: "The todo lists that have open items, of earlier conversations as well: ids, titles, progress, workspaces, times",
	}, s.readUnfinished)
	s.mcp.AddResourceTemplate(mcp.NewResourceTemplate(subscriptions.One+"{id}", "list by id",
		mcp.WithTemplateTitle("Todo list"), mcp.WithTemplateDescription("One todo list, as JSON and as markdown"), mcp.WithTemplateMIMEType(jsonType)), s.readList)
}

// readList returns the conversation's list, or the one whose id is in the URI, as JSON and as markdown under that URI.
func (s *Server) readList(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	r, uri := identified(ctx, req.Params.Meta), req.Params.URI
	target := board.Target{Conversation: r.who}
	id, one := strings.CutPrefix(uri, subscriptions.One)
	if one {
		target.List = id
	}
	list, err := r.lists.Show(ctx, target)
	if err != nil && (one || !errors.Is(err, board.ErrNotFound)) {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	list.Later = nil                               // not for agents
	data, _ := json.Marshal(render.Document(list)) // cannot fail: a year above 9999 would, but cannot be stored
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
	Client    string    `json:"client,omitempty"` // that began the list
	Updated   time.Time `json:"updated"`          // RFC 3339, UTC, in whole seconds
}

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
	data, _ := json.Marshal(map[string]any{"lists": documents}) // cannot fail: a stored year is at most 9999
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: subscriptions.All, MIMEType: jsonType, Text: string(data)}}, nil
}

// addCard adds the app page as a resource, and the page's own tools: view reads the newest revision of its list, tick
// sets an item's status for a person.
func (s *Server) addCard() {
	s.mcp.AddResource(mcp.Resource{URI: card.URI, Name: "todo list page", Title: "Todo list", MIMEType: card.MIME,
		Description: "The page that shows a todo list in the chat"},
		func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{card.Contents()}, nil
		})
	view, tick := tools.NewPage()
	s.pageTools = []*tools.Tool{view, tick}
	for _, tool := range s.pageTools {
		s.addTool(tool.Name, tool, forPage)
	}
}

// forPage answers a call of the app page. It reads any list of the principal by id, whatever conversation the call comes
// from, or sets an item's status as a person does on the panel. The board merges this edit with revisions newer than
// the one that the person saw, and the agent learns of the edit with its next write.
func forPage(r *request, tool *tools.Tool) (tools.Result, error) {
	call, err := tool.Read(r.arguments)
	if err != nil {
		return tools.Result{}, err
	}
	var out board.Outcome
	if call.Edit.Do == "" {
		out.After, err = r.lists.Load(r.ctx, call.List, 0)
	} else {
		by := todo.Writer{Client: strings.TrimSpace(todo.Cut(r.Client.Name, 59) + " card"), Variant: tool.Name}
		if out, err = r.lists.Edit(r.ctx, call.List, call.Edit, by); errors.Is(err, todo.ErrItemGone) {
			err = &todo.InputError{Problems: []todo.Problem{{Path: "item_id", Message: "The item is not on the list any more"}}}
		} else if err != nil {
			err = fmt.Errorf("the item could not be saved: %w", err)
		}
	}
	if err != nil {
		return tools.Result{}, err
	}
	result := tool.Result(call, out)
	states, err := r.lists.States(r.ctx, out.After)
	saw, failed := r.lists.Saw(r.ctx, out.After)
	if err := cmp.Or(err, failed); err != nil {
		return tools.Result{}, err
	}
	result.List.Rests = states[out.After.List.ID].State.Rests()
	result.List.Written, result.List.Seen = out.After.Written(), saw.Revision
	return result, nil
}
