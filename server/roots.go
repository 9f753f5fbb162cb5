package server

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/clients"
	"todo-mcp/server/subscriptions"
)

// A client of the sessionless protocol belongs to no session, and two programs
// of one name may work in different folders. So each of its requests that needs
// the folder is first answered with a question for its roots, and the client
// repeats the request with the answer (SEP-2322). Nothing is remembered: neither
// a connection nor a client's name says which program sends the next request.

// rootsInput is the id of the question.
const rootsInput = "roots"

// mustAskForRoots reports whether a request must be answered with the question.
// Otherwise it sets the workspace in r from the answer, if there is one. Only
// clients that are known to answer are asked: others may fail on the question
// (docs/spec/protocol.md, "Roots").
func (s *Server) mustAskForRoots(r *request, answers mcp.InputResponses) bool {
	if _, ok := answers[rootsInput]; ok {
		root := "" // the first that is a folder of this machine
		if result := mcpserver.RootsResponse(answers, rootsInput); result != nil {
			for _, r := range result.Roots {
				root = cmp.Or(root, FolderOf(r.URI))
			}
		}
		r.workspace = cmp.Or(r.host.Folder, root, r.workspace)
		return false
	}
	if !r.modern || !clients.Find(r.client.Name).AnswersRoots {
		return false
	}
	can := (&mcp.Meta{AdditionalFields: r.meta}).ClientCapabilities()
	return can != nil && can.Roots != nil && s.caller(*r).who.Shared
}

func rootsQuestion() *mcpserver.InputRequestBuilder {
	return mcpserver.NewInputRequestBuilder("").Roots(rootsInput)
}

// askReader turns the answer to a read of a resource into the question, where
// the reader must be asked: the resource's handler can return contents alone.
func (s *Server) askReader(ctx context.Context, _ any, req *mcp.ReadResourceRequest, result *mcp.ReadResourceResult) {
	r := s.newRequest(ctx, req.Params.Meta)
	uri := req.Params.URI // these two are another one for each caller
	if (uri == subscriptions.Current || uri == subscriptions.All) && s.mustAskForRoots(&r, req.Params.InputResponses) {
		*result = *rootsQuestion().ResourceResult()
	}
}

// FolderOf returns the path of a folder from its file: address; empty for any
// other address.
func FolderOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return ""
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // file:///C:/work
		path = path[1:]
	}
	return strings.TrimSuffix(path, "/")
}
