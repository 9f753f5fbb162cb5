package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// handler returns the handler of one tool: it reads the arguments, applies the
// change and returns the result.
func (s *Server) handler(tool *tools.Tool) mcpserver.ToolHandlerFunc {
	return s.answering(tool, func(ctx context.Context, raw json.RawMessage, req mcp.CallToolRequest) (tools.Result, error) {
		return s.call(ctx, tool, raw, newRequest(ctx, req.Params.Meta))
	})
}

// answering returns a handler that converts what answer returns: a result, with
// isError set when the model made a mistake, becomes what the client gets; an
// error is the server's failure, which is logged and becomes a JSON-RPC error.
func (s *Server) answering(tool *tools.Tool, answer func(context.Context, json.RawMessage, mcp.CallToolRequest) (tools.Result, error)) mcpserver.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw, err := rawArguments(req)
		if err != nil {
			return nil, err
		}
		result, err := answer(ctx, raw, req)
		if err != nil {
			s.Log.Error("call failed", "tool", tool.Name, "error", err)
			return nil, err
		}
		return s.convert(result, knownClient(clientOf(ctx).Name)), nil
	}
}

// rawArguments returns the arguments as the client sent them. A caller within
// the process may set no raw arguments; then it encodes the decoded ones.
func rawArguments(req mcp.CallToolRequest) (json.RawMessage, error) {
	if req.Params.RawArguments != nil || req.Params.Arguments == nil {
		return req.Params.RawArguments, nil
	}
	raw, err := json.Marshal(req.Params.Arguments)
	if err != nil {
		return nil, fmt.Errorf("encode arguments: %w", err)
	}
	return raw, nil
}

func (s *Server) call(ctx context.Context, tool *tools.Tool, raw json.RawMessage, r request) (tools.Result, error) {
	call, err := tool.Read(raw)
	if err != nil {
		return failure(tool, err)
	}
	who := s.caller(r)
	out, err := s.apply(ctx, tool, call, who, operation(r, tool.Name, raw))
	if err != nil {
		return failure(tool, err)
	}
	s.setCurrentList(who, out.After.List.ID)
	return tool.Result(call, out), nil
}

func (s *Server) apply(ctx context.Context, tool *tools.Tool, call *tools.Call, who caller, op todo.Operation) (todo.Outcome, error) {
	target := s.target(who, call)
	if call.Change == nil {
		snapshot, err := s.lists(ctx).Resolve(ctx, target)
		if errors.Is(err, todo.ErrNotFound) && call.List == "" {
			err = nil
		}
		if err != nil {
			return todo.Outcome{}, fmt.Errorf("the todo list could not be read: %w", err)
		}
		return todo.Outcome{After: snapshot}, nil
	}
	out, err := s.lists(ctx).Apply(ctx, todo.Write{
		Target:    target,
		Begin:     who.begin,
		Writer:    todo.Writer{Client: who.client, Variant: tool.Name, Agent: who.agent},
		Operation: op,
		Change:    s.namingOtherList(who, call),
	})
	if err != nil {
		return todo.Outcome{}, fmt.Errorf("the todo list could not be saved: %w", err)
	}
	return out, nil
}

// namingOtherList returns a call's change. When the call changes one item of a
// list that is not the caller's current one, the change adds a note with the id
// of that list.
func (s *Server) namingOtherList(who caller, call *tools.Call) todo.Change {
	if call.Item == "" || who.scope.Exclusive {
		return call.Change
	}
	current := s.currentList(who)
	return func(d *todo.Draft) error {
		if id := d.Before().List.ID; id != current && id != "" {
			d.Note("This is another open list: " + id)
		}
		return call.Change(d)
	}
}

// operation returns the operation that the caller named in _meta, or the zero
// Operation. Its digest covers the tool and the arguments, so that the same id
// with a different call is detected.
func operation(r request, tool string, raw json.RawMessage) todo.Operation {
	id, _ := r.meta[metaOperation].(string)
	if id == "" {
		return todo.Operation{}
	}
	return todo.Operation{ID: "caller:" + opaque(id), Digest: digest(tool + "\x00" + string(raw))}
}

// failure returns the tool's result for an error that the model can act on, and
// any other error as an error.
func failure(tool *tools.Tool, err error) (tools.Result, error) {
	if result, ok := tool.Failure(err); ok {
		return result, nil
	}
	return tools.Result{}, err
}
