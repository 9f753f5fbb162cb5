package server

import (
	"cmp"
	"context"
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
)

func (s *Server) addPrompts() {
	for _, p := range []struct {
		name, description, argument, means, title string
		fill                                      func(r *request, text, argument string) (string, error)
	}{
		{"plan", "Plan a piece of work as a todo list, then do it", "goal",
			"What is to be done; what the conversation is about when left out", "Plan as a todo list",
			func(_ *request, text, goal string) (string, error) {
				return strings.ReplaceAll(text, "{{goal}}", cmp.Or(strings.TrimSpace(goal), s.Texts.Words.TheGoal)), nil
			}},
		{"resume", "Go on with an unfinished todo list", "list",
			"Title, name or id of the list; the last one when left out", "Go on with a todo list", s.resume},
	} {
		s.mcp.AddPrompt(mcp.NewPrompt(p.name, mcp.WithPromptDescription(p.description),
			mcp.WithArgument(p.argument, mcp.ArgumentDescription(p.means))),
			func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				filled, err := p.fill(identified(ctx, req.Params.Meta), s.Texts.Text(p.name), req.Params.Arguments[p.argument])
				message := mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(filled))
				return mcp.NewGetPromptResult(p.title, []mcp.PromptMessage{message}), err
			})
	}
}

// resume makes the unfinished list that wanted names the current one, and returns the text by which a model continues
// it, or one that says that there is none: hosts show an error of a prompt as a fault of the protocol.
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
		return s.Texts.Words.SeveralNamed + "\n" + choices(s.Texts.Words, found), nil
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

// maxChoices is how many lists [choices] names.
const maxChoices = 10

// choices returns a line for each of the first lists.
func choices(w prompts.Words, lists []todo.Snapshot) string {
	var b strings.Builder
	for _, l := range lists[:min(len(lists), maxChoices)] {
		n := l.Progress()
		fmt.Fprintf(&b, "- %s (%s, %s)\n", l.Title(), l.List.ID, fmt.Sprintf(w.DoneOf, n.Done, n.Total))
	}
	return b.String()
}

// resumeText returns the prompt text by which a model continues a list, with its open and its settled items.
func resumeText(w prompts.Words, text string, list todo.Snapshot) string {
	lines := make(map[bool][]string) // by whether the items are settled
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

// unfinished returns the main agents' lists with an open item: first those of the caller's workspace, then the
// others, each last changed first.
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

// unfinishedLists returns the unfinished lists that wanted names, see [render.Named]. If it is empty it returns the
// first of all, or of those with the name that the connection's user chose.
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

// maxCompletion is how many runes of a title are offered, since the beginning of one names a list,
// and maxCompletions how many values MCP allows.
const maxCompletion, maxCompletions = 60, 100

// completions completes the argument of the prompt resume with names and titles of unfinished lists.
type completions struct{}

// CompletePromptArgument implements mcpserver.PromptCompletionProvider.
func (completions) CompletePromptArgument(ctx context.Context, prompt string, arg mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	out := &mcp.Completion{Values: []string{}}
	if prompt != "resume" || arg.Name != "list" {
		return out, nil
	}
	lists, err := unfinished(identified(ctx, nil))
	for _, l := range lists {
		name := cmp.Or(l.List.Name, todo.Cut(l.Title(), maxCompletion))
		fits := strings.HasPrefix(strings.ToLower(name), strings.ToLower(arg.Value))
		if fits && len(out.Values) < maxCompletions && !slices.Contains(out.Values, name) {
			out.Values = append(out.Values, name)
		}
	}
	return out, err
}
