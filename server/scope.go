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

// caller is who is calling, and so whose list is meant.
type caller struct {
	scope  todo.Scope
	begin  todo.List // what a list that begins here is called
	client string
	agent  string // the sub-agent, if one calls
}

// request is what the steps of [Server.caller] look at.
type request struct {
	ctx    context.Context
	peer   Peer
	meta   map[string]any
	client mcp.Implementation
}

// newRequest puts together what is known of a message; meta may be nil.
func newRequest(ctx context.Context, meta *mcp.Meta) request {
	r := request{ctx: ctx, peer: peerOf(ctx), client: clientOf(ctx)}
	if meta != nil {
		r.meta = meta.AdditionalFields
	}
	return r
}

// caller finds the scope: the first of the steps that applies (ARCHITECTURE.md,
// "Who is calling").
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

// followResumed gives a conversation that resumed another conversation's list the
// scope of that list, so that its writes reach it.
func (s *Server) followResumed(c *caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if scope, ok := s.resumed[c.scope.Key()]; ok {
		c.scope = scope
	}
}

// maxResumed bounds how many resumed conversations are remembered; past it they
// are forgotten, and a write finds its list by other ways.
const maxResumed = 10_000

// resume makes the next write of a conversation reach a list that another began.
// In a shared scope it only makes that list the current one, for there a write
// finds its list by what it says.
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
	if !scope.Exclusive { // its scope may have others: this one is meant
		s.current[scope.Key()] = list.List.ID
	}
	s.resumed[c.scope.Key()] = scope
}

// namedList is step 1: the user named a list.
func (s *Server) namedList(r request, c *caller) bool {
	name := cmp.Or(r.peer.List, s.List)
	if name == "" {
		return false
	}
	c.scope = NamedScope(name)
	c.begin.Name = name
	return true
}

// NamedScope is the scope of a list that the user named.
func NamedScope(name string) todo.Scope {
	return todo.Scope{Conversation: "name:" + name, Exclusive: true}
}

// conversation is step 2: the host says which conversation it is.
func (s *Server) conversation(r request, c *caller) bool {
	for _, key := range append(conversationKeys(), s.Conversations...) {
		if id, ok := r.meta[key].(string); ok && id != "" {
			c.scope = todo.Scope{Conversation: "conversation:" + key + ":" + opaque(id), Exclusive: true}
			return true
		}
	}
	return false
}

// conversationKeys are the _meta fields hosts are known to send, and our own.
func conversationKeys() []string {
	return []string{metaConversation, "vscode.conversationId", "threadId", "sessionID"}
}

// The _meta fields of our own.
const (
	metaConversation = "todo-mcp/conversation"
	metaAgent        = "todo-mcp/agent"
	metaParent       = "todo-mcp/parent"
	metaOperation    = "todo-mcp/operation"
)

// session is step 3: an HTTP session, unless the client opens one for each call.
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

// sessionless is step 5: HTTP without any of these, where all callers share a
// scope.
func (s *Server) sessionless(_ request, c *caller) bool {
	c.scope = todo.Scope{Conversation: "http"}
	return true
}

// subAgent gives a sub-agent a scope of its own under the conversation's.
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

// target says which list of a caller's a call means: by id, or the scope's own;
// in a shared scope a whole-list write finds its list by what it says, and a
// change of one item by the item. A nil call reads.
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

// currentList is the list this process wrote last in a shared scope.
func (s *Server) currentList(c caller) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[c.scope.Key()]
}

// setCurrentList remembers the list that this process wrote last in a shared
// scope: the one its next read or append means.
func (s *Server) setCurrentList(c caller, list string) {
	if c.scope.Exclusive || list == "" {
		return
	}
	s.mu.Lock()
	s.current[c.scope.Key()] = list
	s.mu.Unlock()
}

// workspace is the folder a list is about, as far as it is known: what the
// client told of its roots, else the working directory.
func (s *Server) workspace(r request) string {
	if !r.peer.Process {
		return ""
	}
	return cmp.Or(r.peer.Folder, s.Dir)
}

// opaque makes a foreign id fit for a key: as it is when short and plain.
func opaque(id string) string {
	plain := len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' })
	if plain {
		return id
	}
	return digest(id)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
