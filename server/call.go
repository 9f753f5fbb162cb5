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

// handler answers calls of one tool: arguments → change → board → result.
func (s *Server) handler(tool *tools.Tool) mcpserver.ToolHandlerFunc {
	return s.answering(tool, func(ctx context.Context, raw json.RawMessage, req mcp.CallToolRequest) (tools.Result, error) {
		return s.call(ctx, tool, raw, newRequest(ctx, req.Params.Meta))
	})
}

// answering words how a call ended: what the model did wrong is a result with
// isError; what we did wrong is an error, and a log line.
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
		return &mcp.CallToolResult{
			Content:           []mcp.Content{mcp.NewTextContent(result.Text)},
			StructuredContent: result.Structured,
			IsError:           result.IsError,
		}, nil
	}
}

// rawArguments are the arguments as they were sent; a caller within the process
// may have no such bytes.
func rawArguments(req mcp.CallToolRequest) (json.RawMessage, error) {
	if req.Params.RawArguments != nil || req.Params.Arguments == nil {
		return req.Params.RawArguments, nil
	}
	raw, err := json.Marshal(req.Params.Arguments)
	if err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
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
		return todo.Outcome{After: snapshot}, err
	}
	return s.lists(ctx).Apply(ctx, todo.Write{
		Target:    target,
		Begin:     who.begin,
		Writer:    todo.Writer{Client: who.client, Variant: tool.Name, Agent: who.agent},
		Operation: op,
		Change:    s.namingOtherList(who, call),
	})
}

// namingOtherList returns a call's change. If the call is about one item, which
// was found in another list than the caller's current one, the change also notes
// which list that is.
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

// operation is the caller's operation id, if it sent one, bound to the call's
// content so that the id cannot stand for two different writes.
func operation(r request, tool string, raw json.RawMessage) todo.Operation {
	id, _ := r.meta[metaOperation].(string)
	if id == "" {
		return todo.Operation{}
	}
	return todo.Operation{ID: "caller:" + opaque(id), Digest: digest(tool + "\x00" + string(raw))}
}

func failure(tool *tools.Tool, err error) (tools.Result, error) {
	if result, ok := tool.Failure(err); ok {
		return result, nil
	}
	return tools.Result{}, fmt.Errorf("the todo list could not be saved: %w", err)
}
