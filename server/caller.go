package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/clients"
	"todo-mcp/internal/todo"
)

// caller is who makes a call.
type caller struct {
	who    todo.Conversation
	client string
	agent  string // the sub-agent; empty for the main agent
	parent string // the key of a sub-agent's main conversation
}

// reads returns what a read of the caller says about its list.
func (c caller) reads() todo.Target { return todo.Target{Conversation: c.who, Agent: c.agent} }

// request is what the steps of Server.caller examine.
type request struct {
	ctx    context.Context
	peer   Peer
	meta   map[string]any
	client mcp.Implementation
	// host is what a hook of the host said about this call; the zero HostCall
	// for most.
	host todo.HostCall
	// workspace is the folder that the caller works in: what a hook said, else the first
	// of the client's roots, else the working directory, which is empty over HTTP.
	workspace string
	// arguments are those of a tool call.
	arguments json.RawMessage
}

// newRequest returns the request of a message from its context and its _meta,
// which may be nil. It reads what a hook said about the call, and ignores a
// failure to do so: the call then counts as one without a hook.
func (s *Server) newRequest(ctx context.Context, meta *mcp.Meta) request {
	r := request{ctx: ctx, peer: PeerOf(ctx), client: clientOf(ctx)}
	if meta != nil {
		r.meta = meta.AdditionalFields
	}
	if id := r.text(metaToolUse); id != "" {
		r.host, _ = s.lists(ctx).HostCall(ctx, id)
	}
	if r.workspace = cmp.Or(r.host.Folder, r.peer.Folder); r.workspace == "" && r.peer.Process {
		r.workspace = s.Dir
	}
	return r
}

// text returns a field of the request's _meta; empty when it is no string.
func (r request) text(key string) string {
	text, _ := r.meta[key].(string)
	return text
}

// The _meta fields that todo-mcp defines.
const (
	metaConversation = "todo-mcp/conversation"
	metaAgent        = "todo-mcp/agent"
	metaParent       = "todo-mcp/parent" // the conversation of the sub-agent's main agent
	metaEnded        = "todo-mcp/ended"  // true with a sub-agent's last call
	metaOperation    = "todo-mcp/operation"
	metaTitle        = "todo-mcp/title" // of the list, unless it was given one
)

// The _meta fields of hosts that are more than a conversation's id.
const (
	metaToolUse      = "claudecode/toolUseId"
	metaCodexCall    = "callId"
	metaCodexThread  = clients.MetaCodexThread
	metaVSCode       = clients.MetaVSCode
	metaOpencode     = clients.MetaOpencode
	metaAntigravity  = clients.MetaAntigravity
	metaZCode        = clients.MetaZCode
	metaCodexSession = "sessionId" // of a sub-agent's thread: the main agent's thread
)

// sessionLasts is for how long after its last call a client over HTTP counts as
// there, unless it has a stream open.
const sessionLasts = 30 * time.Minute

// caller returns who is calling. The first step that applies decides the key of
// the conversation (docs/spec/architecture.md, "Who is calling").
func (s *Server) caller(r request) caller {
	c := caller{client: todo.Cut(r.client.Name, 64)}
	c.who.Client, c.who.Workspace = c.client, r.workspace
	if !r.peer.Process {
		c.who.Lasts = sessionLasts
	}
	for _, step := range []func(request, *caller) bool{
		s.hook, s.conversation, s.session, s.environment, s.process, s.nobody,
	} {
		if step(r, &c) {
			break
		}
	}
	s.named(r, &c)
	s.subAgent(r, &c)
	return c
}

// hook is step 1: a hook of the host said which chat makes this very call.
func (s *Server) hook(r request, c *caller) bool {
	if r.host.Session == "" {
		return false
	}
	c.who.Key, c.who.Chat = ChatKey(r.host.Session), r.host.Session
	return true
}

// ChatKey returns the key of a chat by the host's own id for it, as hooks, the
// environment and status lines tell it.
func ChatKey(id string) string { return chatKind + opaque(id) }

// IsChatKey reports whether a key is one that [ChatKey] returns.
func IsChatKey(key string) bool { return strings.HasPrefix(key, chatKind) }

const chatKind = "chat:"

// MirrorKey returns the key of a chat as the holder of the list that mirrors its
// host's own todo list: a chat may use both tools.
func MirrorKey(id string) string { return "mirror:" + opaque(id) }

// AgentKey returns the key of a sub-agent by that of its main agent's conversation.
func AgentKey(main, agent string) string { return main + "/agent:" + opaque(agent) }

// AgentName returns the name of a sub-agent as lists have it.
func AgentName(agent string) string { return todo.Cut(strings.ToValidUTF8(agent, "?"), 64) }

// conversation is step 2: the host sent a conversation id in _meta.
func (s *Server) conversation(r request, c *caller) bool {
	for _, key := range conversationKeys() {
		if id := r.text(key); id != "" {
			c.who.Key, c.who.Chat = conversationKey(key, id), id
			return true
		}
	}
	if context, ok := r.meta[metaZCode].(map[string]any); ok {
		if id, _ := context["session_id"].(string); id != "" {
			c.who.Key, c.who.Chat = conversationKey(metaZCode, id), id
			return true
		}
	}
	return false
}

// conversationKeys returns the _meta fields that carry a conversation id:
// todo-mcp's own first, then those that known hosts send.
func conversationKeys() []string {
	return []string{metaConversation, metaVSCode, metaCodexThread, metaOpencode, "sessionID", metaAntigravity}
}

func conversationKey(field, id string) string { return "conversation:" + field + ":" + opaque(id) }

// session is step 3: an HTTP session, unless its client opens one for each call.
func (s *Server) session(r request, c *caller) bool {
	id := r.peer.Session
	if id == "" || mcpserver.IsModernRequest(r.ctx) || clients.Find(r.client.Name).SessionPerCall {
		return false
	}
	s.connection(r, c, "session:"+digest(id))
	c.who.Hint = c.who.Shared
	return true
}

// connection gives the conversation the key of its connection, which several chats may
// share with some clients.
func (s *Server) connection(r request, c *caller, key string) {
	c.who.Key, c.who.Hint, c.who.Shared = key, true, clients.Find(r.client.Name).SharesConnection
	if c.who.Shared {
		c.who.Key = todo.SharedKey(key)
	}
}

// environment is step 4: on stdio, the host's id of the chat in the environment
// of this process. It is a hint: after a command such as /clear the host goes on
// with another chat and the same process.
func (s *Server) environment(r request, c *caller) bool {
	if !r.peer.Process || s.Getenv == nil {
		return false
	}
	id := s.Getenv(clients.Find(r.client.Name).Variable)
	if id == "" {
		return false
	}
	c.who.Key, c.who.Chat, c.who.Hint = ChatKey(id), id, true
	return true
}

// process is step 5: on stdio, this process. It is a hint, because a command such as
// /new begins another chat in it.
func (s *Server) process(r request, c *caller) bool {
	if !r.peer.Process {
		return false
	}
	s.connection(r, c, "process:"+s.Board.Process())
	return true
}

// nobody is step 6: client and workspace, which several chats of a user may share.
func (s *Server) nobody(r request, c *caller) bool {
	c.who.Key, c.who.Hint, c.who.Shared = todo.SharedKey("http:"+c.client+":"+c.who.Workspace), true, true
	if r.peer.Subject != "" { // several may have the lists of one principal
		c.who.Key += "/user:" + opaque(r.peer.Subject)
	}
	return true
}

// named gives the conversation the list that its user named, in the URL or a
// header or by --list.
func (s *Server) named(r request, c *caller) {
	if name := cmp.Or(r.peer.List, s.List); name != "" {
		c.who.Name, c.who.Hint, c.who.Shared = name, false, false
		c.who.Key += "@" + todo.NameKey(name)
	}
}

// subAgent changes the caller to the sub-agent that the host names, if any. Its
// key contains that of the main agent's conversation, or is the host's own for
// the sub-agent's thread.
func (s *Server) subAgent(r request, c *caller) {
	main := c.who
	thread, session := r.text(metaCodexThread), r.text(metaCodexSession)
	agent := cmp.Or(r.host.Agent, r.text(metaAgent))
	switch {
	case agent != "":
		if parent := r.text(metaParent); parent != "" {
			main.Key, main.Chat, main.Hint, main.Shared, main.Name = conversationKey(metaConversation, parent), parent, false, false, ""
		}
		c.who = main
		c.who.Key = AgentKey(c.who.Key, agent)
	case thread != "" && session != "" && session != thread && strings.HasPrefix(main.Key, conversationKey(metaCodexThread, thread)):
		agent = "agent " + todo.Cut(thread[max(0, len(thread)-8):], 8)
		main.Key = conversationKey(metaCodexThread, session)
	default:
		return
	}
	c.parent, c.who.Name = main.Holder(), ""
	c.agent = AgentName(agent)
}

// operation returns the operation of a call, or the zero Operation. Its digest
// covers the tool and the arguments. An id that the caller chose for repeating
// is refused when it comes with another call; a host's id of the call is only
// taken for a repeat when the call is the same. The first belongs to the list's name if
// there is one, as the repeat may come from another process or session.
func operation(r request, c caller, tool string) todo.Operation {
	kind, who, id := "caller:", c.who.Holder(), r.text(metaOperation)
	if id == "" {
		kind, who, id = "host:", c.who.Key, cmp.Or(r.text(metaToolUse), r.text(metaCodexCall))
	}
	if id == "" {
		return todo.Operation{}
	}
	content := digest(tool + "\x00" + string(r.arguments))
	if kind == "host:" {
		id += "\x00" + content
	}
	return todo.Operation{ID: kind + digest(r.peer.Principal+"\x00"+who+"\x00"+id), Digest: content}
}

// titled returns a change that also gives the list the title that the host sent,
// unless it was given one before. A title that [todo.CleanTitle] refuses is passed
// over.
func titled(title string, change todo.Change) todo.Change {
	title, err := todo.CleanTitle(title)
	if err != nil || title == "" || change == nil {
		return change
	}
	return func(d *todo.Draft) error {
		d.Suggest(title)
		return change(d)
	}
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
