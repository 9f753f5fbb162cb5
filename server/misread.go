package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
)

// refusal returns mcp-go's refusal with the message's id. It rewords errors in the params, since mcp-go names Go types.
// It adds the timeout if that ended the request, and the listed tools' names if the called tool is unknown.
func (r *request) refusal(refused mcp.JSONRPCError) mcp.JSONRPCError {
	if r.message.ID != nil {
		refused.ID = jsonrpc.RequestID(r.message.ID)
		if r.misread != nil {
			refused.Error = mcp.NewJSONRPCErrorDetails(mcp.INVALID_PARAMS, misreading(r.misread), nil)
		}
	}
	if errors.Is(r.came.Err(), context.DeadlineExceeded) {
		refused.Error.Message += fmt.Sprintf(" after %s (see --request-timeout)", r.server.Timeout)
	}
	if r.message.Method != string(mcp.MethodToolsCall) {
		return refused
	}
	var call struct{ Name string }
	if r.message.Decode(&call); call.Name != "" && r.server.mcp.GetTool(call.Name) == nil {
		var names []string
		for _, tool := range r.server.listed(r) {
			names = append(names, tool.Name)
		}
		refused.Error.Message = fmt.Sprintf(r.server.Texts.Words.NoTool, strconv.Quote(todo.Excerpt(call.Name)), strings.Join(names, ", "))
	}
	return refused
}

// misreading describes an error in params for the client, without quoting the params.
func misreading(err error) string {
	odd, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return "params: not of the shape that the protocol has for this method"
	}
	isOfGo := func(name string) bool { return name != strings.ToLower(name[:1])+name[1:] } // the name of an embedded struct
	path := slices.DeleteFunc(strings.Split(odd.Field, "."), isOfGo)
	wanted := map[reflect.Kind]string{reflect.Struct: "object", reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "bool"}
	got, _, _ := strings.Cut(odd.Value, " ") // only the type, as in "number 1.25"
	named := map[string]string{"object": "an object", "array": "an array", "string": "a string", "bool": "a boolean"}
	const other = "a number"
	return fmt.Sprintf("%s: expected %s, got %s", strings.Join(path, "."), cmp.Or(named[wanted[odd.Type.Kind()]], other), cmp.Or(named[got], other))
}
