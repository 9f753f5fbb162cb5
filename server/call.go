package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/tools"
)

// addTool adds a tool; its calls run the function do. A model's mistake becomes a result in the tool's words, unless
// tool is nil. Other errors become JSON-RPC errors, see [Server.failed]. Only [Server.listTools] describes tools.
func (s *Server) addTool(name string, tool *tools.Tool, do func(*request, *tools.Tool) (tools.Result, error)) {
	s.mcp.AddTool(mcp.NewToolWithRawSchema(name, "", nil), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := identified(ctx, req.Params.Meta)
		r.tool = name
		if r.arguments = r.message.Arguments; r.arguments == nil {
			r.arguments = req.Params.RawArguments
		}
		result, err := do(r, tool)
		isRefused := false
		if err != nil && tool != nil {
			result, isRefused = tool.Failure(err)
		}
		switch {
		case errors.Is(err, tools.ErrListLeftOut):
			// An agent that forgot its list, as after a compaction of the chat, calls without items: show the list.
			if list, err := r.show(board.Target{Conversation: r.who}); err == nil {
				result.Text += "\n" + tool.Listing(list).Text
			}
		case err != nil && !isRefused:
			s.failed(r, err)
			return nil, err
		}
		if result.IsError {
			r.errorType = errorTool
		}
		return s.answer(r, result), nil
	})
}

// reads names tools of other products that read the list. Models try them here too: they work, but are not listed.
var reads = []string{"TodoRead", "todo_read", "read_todos"}

// read answers a call of a tool named in reads. The answer is the list, in the form of the client's first listed tool.
func (s *Server) read(r *request, _ *tools.Tool) (tools.Result, error) {
	list, err := r.show(board.Target{Conversation: r.who})
	if err != nil {
		return tools.Result{}, err
	}
	return s.listed(r)[0].Listing(list), nil
}

// failed logs why a call has no result. It sets r.errorType for a cancelled or refused call, which is no failure of the
// server. Refusals are logged at most once a minute (BAD-INPUT 33).
func (s *Server) failed(r *request, err error) {
	switch {
	case errors.Is(err, context.Canceled) && errors.Is(r.ctx.Err(), context.Canceled):
		r.errorType = errorCancelled
		s.Log.Debug("call cancelled", "tool", r.tool, "error", err)
	case board.IsRefusal(err):
		r.errorType = strings.ReplaceAll(string(board.KindOf(err)), " ", "_")
		s.refusals.Do(func() { s.Log.Info("call refused", "tool", r.tool, "user", r.User, "error", err) })
	default:
		s.Log.Error("call failed", "tool", r.tool, "error", err)
	}
}

// call answers a tool's call: it changes or reads the list that the call names, or else the caller's current list.
func (s *Server) call(r *request, tool *tools.Tool) (tools.Result, error) {
	call, err := tool.Read(r.arguments)
	if err != nil {
		return tools.Result{}, err
	}
	var out board.Outcome
	target, does := call.Target, "saved"
	target.Conversation = r.who
	if call.Change == nil {
		does = "read"
		out.After, err = r.show(target)
	} else {
		w := board.Write{Target: target, Change: call.Change, Title: cmp.Or(r.said[metaTitle], call.Title),
			Writer: todo.Writer{Client: r.who.Client, Variant: tool.Name, Agent: r.who.Agent}}
		if len(r.said) > 0 {
			w.Operation, w.Before = r.operation()
		}
		if out, err = r.lists.Apply(r.ctx, w); out.Changed && r.who.Takes != "" {
			if last := s.proved.Load(); last.isFirst { // false if another chat was proved meanwhile
				s.proved.CompareAndSwap(last, &proved{last.key, last.host, false})
			}
		}
	}
	if isFirst := out.Changed && out.After.Revision == 1; isFirst && call.List == "" {
		r.findLeft(out.After.List)
	} else if board.KindOf(err) == board.KindInvalid && call.List == "" {
		if _, none := r.lists.Current(r.ctx, target); errors.Is(none, board.ErrNotFound) {
			r.findLeft(todo.List{})
		}
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("the todo list could not be %s: %w", does, err)
	}
	if r.ended && r.who.Agent != "" && out.After.Revision > 0 {
		if _, err := r.lists.Archive(r.ctx, out.After.List.ID, todo.Writer{Client: r.who.Client, Agent: r.who.Agent}); err != nil {
			return tools.Result{}, fmt.Errorf("the sub-agent's list could not be archived: %w", err)
		}
	}
	if call.Change != nil && out.After.List.Conversation != r.who.Key || call.List != "" {
		s.subscriptions.Moved(r.Identity, r.who.Key)
	}
	return tool.Result(call, out), nil
}

// findLeft sets r.left to an open list that an earlier session may have left to the caller. The parameter first is the
// list that this call began, or zero if the caller has no list. An error is ignored.
func (r *request) findLeft(first todo.List) {
	r.left, _ = r.lists.Left(r.ctx, board.Target{Conversation: r.who}, first.ID)
}

// show returns the list that a call means. If the conversation has no list, show returns revision 0 and calls findLeft.
func (r *request) show(target board.Target) (todo.Snapshot, error) {
	list, err := r.lists.Show(r.ctx, target)
	if errors.Is(err, board.ErrNotFound) && target.List == "" {
		err = nil
		r.findLeft(todo.List{})
	}
	return list, err
}

// Structured says which clients get structured content (docs/spec/variants.md V3).
type Structured string

// The settings of [Config.Structured].
const (
	// StructuredAuto leaves structured content out for clients that show it to their models: it would repeat the list
	// that the model has just written.
	StructuredAuto   Structured = "auto"
	StructuredAlways Structured = "always"
	StructuredNever  Structured = "never"
)

const (
	// Keys in a result's _meta.
	metaList    = "todo-mcp/list"    // a [tools.ListState]
	metaDisplay = "todo-mcp/display" // the display that the structured content would have
	// Keys in a tool's _meta for Claude Code. Without metaAlwaysLoad, the model sees only the tool's name until it
	// searches for tools. The search covers name, description and metaSearchHint.
	metaAlwaysLoad = "anthropic/alwaysLoad"
	metaSearchHint = "anthropic/searchHint"
	searchHint     = "todo list, task list, plan, checklist"
)

func (s *Server) getsStructured(c clients.Client) bool {
	if s.Structured == StructuredAlways || s.Structured == StructuredNever {
		return s.Structured == StructuredAlways
	}
	return c.Sees == "" || c.Sees == clients.SeesText
}

// answer returns a tool's result for the client. It adds r.left, the list that an earlier session left open, if one was
// found.
func (s *Server) answer(r *request, result tools.Result) *mcp.CallToolResult {
	if r.left.Revision > 0 {
		result.Text += "\n" + tools.Left(s.Texts.Words, r.left)
	}
	known := clients.Find(r.Client.Name)
	out := &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(result.Text)}, IsError: result.IsError}
	meta := make(map[string]any)
	if result.List != nil {
		if s.Panel != "" {
			result.List.Panel = strings.TrimSuffix(s.Panel, "/") + "/lists/" + result.List.ID
		}
		meta[metaList] = result.List
	}
	if s.getsStructured(known) {
		out.StructuredContent = result.Structured
	} else if result.Display != nil {
		meta[metaDisplay] = result.Display
	}
	// Clients that show their model the whole result get no _meta: it would double what the model reads.
	if len(meta) > 0 && known.Sees != clients.SeesWholeResult {
		out.Meta = &mcp.Meta{AdditionalFields: meta}
	}
	return out
}
