package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
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
	meta   map[string]any
	header http.Header // nil on stdio
	client mcp.Implementation
}

func newRequest(ctx context.Context, meta *mcp.Meta, header http.Header) request {
	r := request{ctx: ctx, client: clientOf(ctx, header)}
	if meta != nil {
		r.meta = meta.AdditionalFields
	}
	if httpRequest(ctx) != nil {
		r.header = header
	}
	return r
}

// caller finds the scope: the first of the steps that applies (ARCHITECTURE.md,
// "Who is calling").
func (s *Server) caller(r request) caller {
	c := caller{client: cutRunes(r.client.Name, 64)}
	c.begin.Workspace = s.workspace(r)
	for _, step := range []func(request, *caller) bool{
		s.namedList, s.conversation, s.session, s.process, s.everybody,
	} {
		if step(r, &c) {
			break
		}
	}
	s.goOn(&c)
	s.subAgent(r, &c)
	return c
}

// goOn puts a conversation that resumed another's list into that one's place.
func (s *Server) goOn(c *caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if scope, ok := s.resumed[c.scope.Key()]; ok {
		c.scope = scope
	}
}

// maxResumed bounds how many conversations are known to go on with another's
// list; past it they are forgotten, and a write finds its list by other ways.
const maxResumed = 10_000

// resume makes an exclusive conversation go on with a list of another: its next
// write is that list's. A shared scope finds the list by what is written.
func (s *Server) resume(c caller, list todo.Snapshot) {
	if !c.scope.Exclusive || list.List.Scope.Principal != c.scope.Principal {
		s.wrote(c, list.List.ID)
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
	name := s.List
	if asked := askedList(r.ctx); asked != "" {
		name = asked
	}
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
	id := r.header.Get(mcpserver.HeaderKeySessionID)
	if id == "" || mcpserver.IsModernRequest(r.ctx) || knownClient(r.client.Name).sessionPerCall {
		return false
	}
	c.scope = todo.Scope{Conversation: "session:" + digest(id), Exclusive: true}
	return true
}

// process is step 4: stdio, where one process may serve many chats.
func (s *Server) process(r request, c *caller) bool {
	if r.header != nil {
		return false
	}
	c.scope = todo.Scope{Conversation: "stdio:" + c.client + ":" + s.Dir}
	return true
}

// everybody is step 5: HTTP without any of these.
func (s *Server) everybody(_ request, c *caller) bool {
	c.scope = todo.Scope{Conversation: "http"}
	return true
}

// subAgent gives a sub-agent a scope of its own under the conversation's.
func (s *Server) subAgent(r request, c *caller) {
	agent, _ := r.meta[metaAgent].(string)
	if agent == "" {
		return
	}
	if main, err := s.lists().Resolve(r.ctx, s.target(*c, nil)); err == nil {
		c.begin.Parent = main.List.ID
	}
	c.agent = cutRunes(strings.ToValidUTF8(agent, "?"), 64)
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

// wrote remembers the list that this process wrote last in a shared scope: what
// its next read or append means.
func (s *Server) wrote(c caller, list string) {
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
	if r.header != nil {
		return ""
	}
	if session, ok := mcpserver.ClientSessionFromContext(r.ctx).(*stdioSession); ok {
		return cmp.Or(session.Root(), s.Dir)
	}
	return s.Dir
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

func cutRunes(text string, most int) string {
	runes := []rune(text)
	return string(runes[:min(most, len(runes))])
}
