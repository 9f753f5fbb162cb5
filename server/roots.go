package server

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
	"github.com/todo-mcp/todo-mcp/server/subscriptions"
	"github.com/todo-mcp/todo-mcp/tools"
)

// Two programs with one client name may work in different folders, and a client of the sessionless protocol has no
// session. So a request that needs the folder is answered with a question for the client's roots, and the client
// repeats the request with the answer (SEP-2322). Nothing is remembered: neither a connection nor a name says which
// program sends the next request.

const rootsInput = "roots" // the id of the question

// question returns the question for the client's roots with which a sessionless message must be answered, or nil. If
// the message carries the answer, question sets the folder from it. Only clients that are known to answer are asked;
// others may fail (docs/spec/protocol.md, "Roots").
func (r *request) question() mcp.JSONRPCMessage {
	if r.Folder != "" {
		return nil // a header named the folder
	}
	var params struct {
		Name, URI string
		Meta      *mcp.Meta          `json:"_meta"`
		Responses mcp.InputResponses `json:"inputResponses"`
	}
	r.message.Decode(&params)
	if _, ok := params.Responses[rootsInput]; ok {
		if result := mcpserver.RootsResponse(params.Responses, rootsInput); result != nil {
			for _, root := range result.Roots { // take the first that is a folder of this machine
				r.Folder = cmp.Or(r.Folder, FolderOf(root.URI))
			}
		}
		return nil
	}
	methods := []mcp.MCPMethod{mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead}
	means := slices.Contains(methods, mcp.MCPMethod(r.message.Method)) && // the answer depends on the caller's lists
		(tools.Find(r.server.Tools, params.Name) != nil || params.Name == "resume" ||
			params.URI == subscriptions.Current || params.URI == subscriptions.All)
	capabilities := params.Meta.ClientCapabilities()
	if !means || capabilities == nil || capabilities.Roots == nil {
		return nil
	}
	if identified(r.ctx, params.Meta); !clients.Find(r.Client.Name).AnswersRoots || !r.who.Shared {
		return nil
	}
	return mcp.NewJSONRPCResultResponse(jsonrpc.RequestID(r.message.ID), map[string]any{
		"resultType": mcp.ResultTypeInputRequired, "inputRequests": mcp.InputRequests{rootsInput: mcp.NewRootsInputRequest()}})
}

// HeaderFolder returns the folder's path from the value of a Todo-Folder header, a path or a file: address; empty for
// anything else, such as a variable ${PWD} or {env:PWD} that a client did not replace. A path is UTF-8 or, as
// JavaScript's fetch sends it, Latin-1.
func HeaderFolder(value string) string {
	if !utf8.ValidString(value) {
		var text []rune
		for _, b := range []byte(value) {
			text = append(text, rune(b))
		}
		value = string(text)
	}
	if strings.HasPrefix(value, "file:") {
		value = FolderOf(value)
	}
	switch {
	case strings.Contains(value, "${"), strings.Contains(value, "{env:"):
	case windowsPath.MatchString(value):
		return strings.TrimRight(value, `\/`)
	case strings.HasPrefix(value, "/"):
		return path.Clean(value)
	}
	return ""
}

// windowsPath matches an absolute Windows path, on a drive (C:\) or another computer (\\server).
var windowsPath = regexp.MustCompile(`^([A-Za-z]:[\\/]|\\\\[^\\])`)

// FolderOf returns the path in a file: address of this machine, see [todo.Folder]; empty for any other address.
func FolderOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && !strings.EqualFold(u.Host, "localhost") || strings.HasPrefix(u.Path, "//") {
		return ""
	}
	return strings.TrimSuffix(todo.Folder(u.Path), "/")
}
