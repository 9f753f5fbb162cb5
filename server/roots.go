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
	"github.com/todo-mcp/todo-mcp/server/jsonrpc"
	"github.com/todo-mcp/todo-mcp/server/subscriptions"
	"github.com/todo-mcp/todo-mcp/tools"
)

// A client of the sessionless protocol belongs to no session, and two programs
// of one name may work in different folders. So each of its requests that needs
// the folder is first answered with a question for its roots, and the client
// repeats the request with the answer (SEP-2322). Nothing is remembered: neither
// a connection nor a client's name says which program sends the next request.

// rootsInput is the id of the question.
const rootsInput = "roots"

// question returns the question for the client's roots, if its sessionless message must
// be answered with it, else nil: then the answer, if the message has one, sets the folder.
// Only clients that are known to answer are asked: others may fail on the question
// (docs/spec/protocol.md, "Roots").
func (r *request) question() mcp.JSONRPCMessage {
	if r.Folder != "" {
		return nil // a header has it
	}
	var params struct {
		Name, URI string
		Meta      *mcp.Meta          `json:"_meta"`
		Responses mcp.InputResponses `json:"inputResponses"`
	}
	r.message.Decode(&params)
	if _, ok := params.Responses[rootsInput]; ok {
		if result := mcpserver.RootsResponse(params.Responses, rootsInput); result != nil {
			for _, root := range result.Roots { // the first that is a folder of this machine
				r.Folder = cmp.Or(r.Folder, FolderOf(root.URI))
			}
		}
		return nil
	}
	methods := []mcp.MCPMethod{mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead}
	means := slices.Contains(methods, mcp.MCPMethod(r.message.Method)) && // the caller's lists
		(tools.Find(r.server.Tools, params.Name) != nil || params.Name == "resume" ||
			params.URI == subscriptions.Current || params.URI == subscriptions.All)
	capabilities := params.Meta.ClientCapabilities()
	if !means || capabilities == nil || capabilities.Roots == nil {
		return nil
	}
	if identified(r.ctx, params.Meta); !clients.Find(r.client.Name).AnswersRoots || !r.who.Shared {
		return nil
	}
	return mcp.NewJSONRPCResultResponse(jsonrpc.RequestID(r.message.ID), map[string]any{
		"resultType": mcp.ResultTypeInputRequired, "inputRequests": mcp.InputRequests{rootsInput: mcp.NewRootsInputRequest()}})
}

// HeaderFolder returns the path of the folder that a Todo-Folder header names, by its path
// or its file: address; empty for anything else, such as ${PWD} or {env:PWD}, which a client
// sends that puts nothing in its place. A path is in UTF-8 or, as fetch writes it, Latin-1.
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

// windowsPath matches a whole path on Windows: of a drive or of another computer.
var windowsPath = regexp.MustCompile(`^([A-Za-z]:[\\/]|\\\\[^\\])`)

// shareForm matches a folder that another computer shares, with slashes.
var shareForm = regexp.MustCompile(`^//[^/:]+/[^/]`)

// FolderOf returns the path of a folder from its file: address; empty for any
// other address.
func FolderOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	path := u.Path
	if host := strings.ToLower(u.Host); host != "" && host != "localhost" {
		path = "//" + host + path
	}
	if shareForm.MatchString(path) { // of another computer, or of WSL, on Windows
		return strings.TrimRight(strings.ReplaceAll(path, "/", `\`), `\`)
	} else if path != u.Path {
		return ""
	}
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // file:///C:/work
		path = path[1:]
	}
	return strings.TrimSuffix(path, "/")
}
