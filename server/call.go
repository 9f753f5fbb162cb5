package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// handler returns the handler of one tool: it reads the arguments, applies the
// change and returns the result.
func (s *Server) handler(tool *tools.Tool) mcpserver.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := s.newRequest(ctx, req.Params.Meta)
		if s.mustAskForRoots(&r, req.Params.InputResponses) {
			return rootsQuestion().ToolResult(), nil
		}
		return s.answer(ctx, tool, req, func(raw json.RawMessage) (tools.Result, error) { return s.call(ctx, tool, raw, r) })
	}
}

// Writes reports whether a message is a call of a tool that would change a list.
func (s *Server) Writes(method string, message []byte) bool {
	if method != string(mcp.MethodToolsCall) {
		return false
	}
	var m struct {
		Params struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	_ = json.Unmarshal(message, &m) // arguments of a wrong type are refused by the tool
	all := slices.Concat(s.Tools, s.pageTools)
	i := slices.IndexFunc(all, func(t *tools.Tool) bool { return t.Name == m.Params.Name })
	if i < 0 {
		return false
	}
	call, err := all[i].Read(m.Params.Arguments)
	return err == nil && (call.Change != nil || call.Edit.Do != "")
}

// answer converts what call returns: a result, with isError set when the model
// made a mistake, becomes what the client gets; an error is the server's
// failure, which is logged and becomes a JSON-RPC error.
func (s *Server) answer(ctx context.Context, tool *tools.Tool, req mcp.CallToolRequest, call func(json.RawMessage) (tools.Result, error)) (*mcp.CallToolResult, error) {
	raw, err := rawArguments(ctx, req)
	if err != nil {
		return nil, err
	}
	result, err := call(raw)
	switch {
	case abandoned(ctx, err):
		s.Log.Debug("the caller has gone", "tool", tool.Name, "error", err)
		return nil, err
	case err != nil:
		s.Log.Error("call failed", "tool", tool.Name, "error", err)
		return nil, err
	}
	return s.convert(result, knownClient(ctx)), nil
}

// abandoned reports whether a request failed because its caller had gone: that is no
// failure of the server's.
func abandoned(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled)
}

// rawArguments returns the arguments as the client sent them. A caller within
// the process may set no raw arguments; then it encodes the decoded ones.
func rawArguments(ctx context.Context, req mcp.CallToolRequest) (json.RawMessage, error) {
	if raw := PeerOf(ctx).Arguments; raw != nil {
		return raw, nil
	}
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
	call.Change = titled(r, call.Change)
	who := s.caller(r)
	out, err := s.apply(ctx, tool, call, who, operation(r, who, tool.Name, raw))
	if err != nil {
		return failure(tool, err)
	}
	if ended, _ := r.meta[metaEnded].(bool); ended && who.agent != "" && out.After.Revision > 0 {
		if _, err := s.lists(ctx).Archive(ctx, out.After.List.ID, true, todo.Writer{Client: who.client, Agent: who.agent}); err != nil {
			return tools.Result{}, fmt.Errorf("the sub-agent's list could not be archived: %w", err)
		}
	}
	if out.Elsewhere == "" && (call.Change != nil || call.List == "") { // else it holds what it held
		s.subscriptions.SetCurrent(r.peer.Identity, who.who.Key, out.After.List.ID)
	}
	return s.result(tool, call, out), nil
}

// result returns a tool's result for an outcome, with the address of the list's
// page if a panel is known.
func (s *Server) result(tool *tools.Tool, call *tools.Call, out todo.Outcome) tools.Result {
	result := tool.Result(call, out)
	if result.List != nil && s.panel != "" {
		result.List.Panel = strings.TrimSuffix(s.panel, "/") + "/lists/" + result.List.ID
	}
	return result
}

func (s *Server) apply(ctx context.Context, tool *tools.Tool, call *tools.Call, who caller, op todo.Operation) (todo.Outcome, error) {
	target := who.target(call)
	if call.Change == nil {
		snapshot, err := s.lists(ctx).Show(ctx, target)
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
		Begin:     who.begin(),
		Writer:    todo.Writer{Client: who.client, Variant: tool.Name, Agent: who.agent},
		Operation: op,
		Change:    call.Change,
	})
	if err != nil {
		return todo.Outcome{}, fmt.Errorf("the todo list could not be saved: %w", err)
	}
	return out, nil
}

// failure returns the tool's result for an error that the model can act on, and
// any other error as an error.
func failure(tool *tools.Tool, err error) (tools.Result, error) {
	if result, ok := tool.Failure(err); ok {
		return result, nil
	}
	return tools.Result{}, err
}
