package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

func (s *Server) addPrompts() error {
	plan, err := s.Texts.Text("plan")
	if err != nil {
		return err
	}
	resume, err := s.Texts.Text("resume")
	if err != nil {
		return err
	}
	s.mcp.AddPrompt(mcp.NewPrompt("plan",
		mcp.WithPromptDescription("Plan a piece of work as a todo list, then do it"),
		mcp.WithArgument("goal", mcp.ArgumentDescription("What is to be done"), mcp.RequiredArgument())),
		func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			goal := strings.TrimSpace(req.Params.Arguments["goal"])
			if goal == "" {
				return nil, errors.New("goal: say what is to be done")
			}
			return userMessage("Plan as a todo list", fill(plan, "goal", goal)), nil
		})
	s.mcp.AddPrompt(mcp.NewPrompt("resume",
		mcp.WithPromptDescription("Go on with an unfinished todo list"),
		mcp.WithArgument("list", mcp.ArgumentDescription("Id or name of the list; the last one when left out"))),
		func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			snapshot, err := s.unfinishedList(ctx, req.Params.Arguments["list"])
			if err != nil {
				return nil, err
			}
			s.resume(s.caller(newRequest(ctx, nil)), snapshot)
			return userMessage("Go on with a todo list", s.resumeText(resume, snapshot)), nil
		})
	return nil
}

func userMessage(description, text string) *mcp.GetPromptResult {
	return mcp.NewGetPromptResult(description, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))})
}

// fill replaces each {{name}} in a text; pairs alternates names and values. A
// {{name}} within a value stays.
func fill(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "{{" + pairs[i] + "}}"
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// resumeText returns the prompt text that lets a model continue a list: its open
// items and its settled ones.
func (s *Server) resumeText(text string, list todo.Snapshot) string {
	var open, done []string
	for _, item := range list.Items {
		line := "- #" + item.ID + " " + item.Text
		switch {
		case item.Status.Settled():
			done = append(done, line+" ("+string(item.Status)+")")
		case item.Status == todo.Pending:
			open = append(open, line)
		default:
			open = append(open, line+" ("+string(item.Status)+")")
		}
	}
	return fill(text, "name", list.List.Title(), "when", render.Ago(s.Now().Sub(list.Updated)),
		"open", orNothing(open), "done", orNothing(done))
}

func orNothing(lines []string) string {
	if len(lines) == 0 {
		return "- nothing"
	}
	return strings.Join(lines, "\n")
}

// unfinished returns the lists that have an open item: first those of the
// caller's workspace, then the others, each last changed first.
func (s *Server) unfinished(ctx context.Context) ([]todo.Snapshot, error) {
	all, err := s.lists(ctx).Find(ctx, todo.Query{Limit: 500})
	if err != nil {
		return nil, fmt.Errorf("find lists: %w", err)
	}
	open := slices.DeleteFunc(all, func(l todo.Snapshot) bool { return !l.Open() })
	here := s.workspace(newRequest(ctx, nil))
	local := slices.DeleteFunc(slices.Clone(open), func(l todo.Snapshot) bool { return here == "" || l.List.Workspace != here })
	others := slices.DeleteFunc(open, func(l todo.Snapshot) bool { return here != "" && l.List.Workspace == here })
	return append(local, others...), nil
}

// unfinishedList returns the unfinished list with an id or name; the first one
// when wanted is empty.
func (s *Server) unfinishedList(ctx context.Context, wanted string) (todo.Snapshot, error) {
	lists, err := s.unfinished(ctx)
	if err != nil {
		return todo.Snapshot{}, err
	}
	for _, l := range lists {
		if wanted == "" || l.List.ID == wanted || l.List.Name == wanted {
			return l, nil
		}
	}
	if wanted == "" {
		return todo.Snapshot{}, errors.New("there is no unfinished todo list")
	}
	return todo.Snapshot{}, errors.New("there is no unfinished todo list of that id or name; leave list out for the last one")
}

// completions completes the argument list of the prompt resume with the names
// (or ids) of unfinished lists.
type completions struct{ *Server }

// CompletePromptArgument implements mcpserver.PromptCompletionProvider.
func (c completions) CompletePromptArgument(ctx context.Context, prompt string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	out := &mcp.Completion{Values: []string{}}
	if prompt != "resume" || arg.Name != "list" {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	lists, err := c.unfinished(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		if name := cmp.Or(l.List.Name, l.List.ID); strings.HasPrefix(strings.ToLower(name), strings.ToLower(arg.Value)) {
			out.Values = append(out.Values, name)
		}
	}
	out.Total = len(out.Values)
	if out.HasMore = len(out.Values) > 100; out.HasMore {
		out.Values = out.Values[:100]
	}
	return out, nil
}
