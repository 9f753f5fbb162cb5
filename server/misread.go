package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/server/jsonrpc"
)

// noteMisread has a request know why mcp-go could not read its params.
func noteMisread(hooks *mcpserver.Hooks) {
	hooks.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
		var unread *mcpserver.UnparsableMessageError
		if errors.As(err, &unread) {
			mcpserver.ClientSessionFromContext(ctx).(*request).misread = unread
		}
	})
}

// answer has mcp-go answer the message. An error has the message's id, and says in words of
// the protocol what is wrong with the params: mcp-go's has names of Go.
func (r *request) answer(ctx context.Context) mcp.JSONRPCMessage {
	answer := r.server.mcp.HandleMessage(ctx, r.message.Brief)
	refused, ok := answer.(mcp.JSONRPCError)
	if !ok || r.message.ID == nil {
		return answer
	}
	refused.ID = jsonrpc.RequestID(r.message.ID)
	if r.misread != nil {
		refused.Error = mcp.NewJSONRPCErrorDetails(mcp.INVALID_PARAMS, misreading(r.misread), nil)
	}
	return refused
}

// misreading says what is wrong with params, and quotes nothing of them.
func misreading(err error) string {
	var odd *json.UnmarshalTypeError
	if !errors.As(err, &odd) {
		return "params: not of the shape that the protocol has for this method"
	}
	isOfGo := func(name string) bool { return name != strings.ToLower(name[:1])+name[1:] } // an embedded struct
	path := slices.DeleteFunc(strings.Split(odd.Field, "."), isOfGo)
	wanted := map[reflect.Kind]string{reflect.Struct: "object", reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "bool"}
	got, _, _ := strings.Cut(odd.Value, " ") // behind it stands the number
	named := map[string]string{"object": "an object", "array": "an array", "string": "a string", "bool": "a boolean"}
	const other = "a number"
	return fmt.Sprintf("%s: expected %s, got %s", strings.Join(path, "."), cmp.Or(named[wanted[odd.Type.Kind()]], other), cmp.Or(named[got], other))
}
