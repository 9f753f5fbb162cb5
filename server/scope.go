package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// caller is who makes a call, which decides the scope of its list.
type caller struct {
	scope  todo.Scope
	begin  todo.List // describes a list that the call begins
	client string
	agent  string // the sub-agent; empty for the main agent
}

// request is what the steps of Server.caller examine.
type request struct {
	ctx    context.Context
	peer   Peer
	meta   map[string]any
	client mcp.Implementation
}

// newRequest returns the request of a message from its context and its _meta,
// which may be nil.
func newRequest(ctx context.Context, meta *mcp.Meta) request {
	r := request{ctx: ctx, peer: peerOf(ctx), client: clientOf(ctx)}
	if meta != nil {
		r.meta = meta.AdditionalFields
	}
	return r
}

// caller returns who is calling. The first step that applies decides the scope
// (docs/spec/architecture.md, "Who is calling").
func (s *Server) caller(r request) caller {
	c := caller{client: todo.Cut(r.client.Name, 64)}
	c.begin.Workspace = s.workspace(r)
	for _, step := range []func(request, *caller) bool{
		s.namedList, s.conversation, s.session, s.process, s.sessionless,
	} {
		if step(r, &c) {
			break
		}
	}
	c.scope.Principal = r.peer.Principal
	s.followResumed(&c)
	s.subAgent(r, &c)
	return c
}

// followResumed replaces the scope of a conversation that resumed the list of
// another conversation with the scope of that list, so that its writes reach it.
func (s *Server) followResumed(c *caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if scope, ok := s.resumed[c.scope.Key()]; ok {
		c.scope = scope
	}
}

// maxResumed is how many resumed conversations are remembered. When it is
// reached, all are forgotten; the next write of such a conversation begins or
// continues the list of its own scope.
const maxResumed = 10_000

// resume makes the next writes of a conversation reach a list that another
// conversation began. A caller in a shared scope only gets the list as its
// current one, because writes there choose their list by their texts.
func (s *Server) resume(c caller, list todo.Snapshot) {
	if !c.scope.Exclusive || list.List.Scope.Principal != c.scope.Principal {
		s.setCurrentList(c, list.List.ID)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.resumed) >= maxResumed {
		clear(s.resumed)
	}
	scope := list.List.Scope
	if !scope.Exclusive { // the scope may have several lists
		s.current[scope.Key()] = list.List.ID
	}
	s.resumed[c.scope.Key()] = scope
}

// namedList is step 1: the user named a list, in the URL or a header or by
// --list.
func (s *Server) namedList(r request, c *caller) bool {
	name := cmp.Or(r.peer.List, s.List)
	if name == "" {
		return false
	}
	c.scope = NamedScope(name)
	c.begin.Name = name
	return true
}

// NamedScope returns the scope of a list that the user named. It is exclusive
// and has no principal.
func NamedScope(name string) todo.Scope {
	return todo.Scope{Conversation: "name:" + name, Exclusive: true}
}

// conversation is step 2: the host sent a conversation id in _meta.
func (s *Server) conversation(r request, c *caller) bool {
	for _, key := range append(conversationKeys(), s.Conversations...) {
		if id, ok := r.meta[key].(string); ok && id != "" {
			c.scope = todo.Scope{Conversation: "conversation:" + key + ":" + opaque(id), Exclusive: true}
			return true
		}
	}
	return false
}

// conversationKeys returns the _meta fields that carry a conversation id:
// todo-mcp's own first, then those that known hosts send.
func conversationKeys() []string {
	return []string{metaConversation, "vscode.conversationId", "threadId", "sessionID"}
}

// The _meta fields that todo-mcp defines.
const (
	metaConversation = "todo-mcp/conversation"
	metaAgent        = "todo-mcp/agent"
	metaParent       = "todo-mcp/parent"
	metaOperation    = "todo-mcp/operation"
)

// session is step 3: an HTTP session, unless its client opens one for each call.
func (s *Server) session(r request, c *caller) bool {
	id := r.peer.Session
	if id == "" || mcpserver.IsModernRequest(r.ctx) || knownClient(r.client.Name).sessionPerCall {
		return false
	}
	c.scope = todo.Scope{Conversation: "session:" + digest(id), Exclusive: true}
	return true
}

// process is step 4: stdio, where one process may serve many chats.
func (s *Server) process(r request, c *caller) bool {
	if !r.peer.Process {
		return false
	}
	c.scope = todo.Scope{Conversation: "stdio:" + c.client + ":" + s.Dir}
	return true
}

// sessionless is step 5: HTTP where no other step applied. All such callers of a
// principal share one scope.
func (s *Server) sessionless(_ request, c *caller) bool {
	c.scope = todo.Scope{Conversation: "http"}
	return true
}

// subAgent changes the caller to the sub-agent that _meta names, if any: with
// an exclusive scope below the conversation's, and the conversation's list as
// parent.
func (s *Server) subAgent(r request, c *caller) {
	agent, _ := r.meta[metaAgent].(string)
	if agent == "" {
		return
	}
	if main, err := s.lists(r.ctx).Resolve(r.ctx, s.target(*c, nil)); err == nil {
		c.begin.Parent = main.List.ID
	}
	c.agent = todo.Cut(strings.ToValidUTF8(agent, "?"), 64)
	c.begin.Agent, c.begin.Name = c.agent, ""
	c.scope.Conversation += "/agent:" + opaque(agent)
	c.scope.Exclusive = true
}

// target returns which of the caller's lists a call means: the one with the id
// that the call names, else the only list of an exclusive scope. In a shared
// scope a whole-list write chooses by its texts, a change of one item by the
// item, and anything else means the current list. A nil call means a read.
func (s *Server) target(c caller, call *tools.Call) todo.Target {
	if call == nil {
		call = &tools.Call{}
	}
	t := todo.Target{Scope: c.scope, List: call.List}
	if c.scope.Exclusive {
		return t
	}
	current := s.currentList(c)
	t.Choose = todo.ByID(current)
	switch {
	case call.Lines != nil:
		t.Choose = todo.Affinity(call.Lines, current, s.Now())
	case call.Item != "":
		t.Choose = todo.ByItem(call.Item, current)
	}
	return t
}

// currentList returns the id of the list that this process used last in the
// caller's scope, or empty. Only shared scopes have one.
func (s *Server) currentList(c caller) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[c.scope.Key()]
}

// setCurrentList records the list that this process used last in a shared scope,
// which the next read or append there means. It ignores exclusive scopes.
func (s *Server) setCurrentList(c caller, list string) {
	if c.scope.Exclusive || list == "" {
		return
	}
	s.mu.Lock()
	s.current[c.scope.Key()] = list
	s.mu.Unlock()
}

// workspace returns the folder that the client works in: the first of its roots,
// else the working directory. It is empty over HTTP.
func (s *Server) workspace(r request) string {
	if !r.peer.Process {
		return ""
	}
	return cmp.Or(r.peer.Folder, s.Dir)
}

// opaque returns an id from a client in a form that fits into a key: unchanged
// if it has at most 128 bytes, all visible ASCII, else its digest.
func opaque(id string) string {
	plain := len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
	if plain {
		return id
	}
	return digest(id)
}

// digest returns half of the text's SHA-256 in hexadecimal, 32 characters.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
