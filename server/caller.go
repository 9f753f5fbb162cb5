package server

import (
	"cmp"
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// The _meta fields that todo-mcp defines.
const (
	metaConversation = "todo-mcp/conversation"
	metaAgent        = "todo-mcp/agent"
	metaParent       = "todo-mcp/parent" // the conversation of the sub-agent's main agent
	metaEnded        = "todo-mcp/ended"  // true with a sub-agent's last call
	metaOperation    = "todo-mcp/operation"
	metaTitle        = "todo-mcp/title" // a title for the list, unless it has one
)

// The hosts' _meta fields that identify a call, and Codex's fields that distinguish a sub-agent from its main agent.
const (
	metaToolUse      = "claudecode/toolUseId"
	metaCodexCall    = "callId"
	metaCodexThread  = clients.MetaCodexThread
	metaCodexSession = "sessionId" // in a sub-agent's call: the main agent's thread
)

// sessionLasts is how long after its last call an HTTP client without an open stream counts as present.
const sessionLasts = 30 * time.Minute

// identified returns the request that ctx carries, after setting its caller from the client's session and from meta,
// which may be nil. The first case below that applies decides the key of the conversation (docs/spec/architecture.md,
// "Who is calling"). If a hook's note about the call cannot be read, the call counts as one without a hook.
func identified(ctx context.Context, meta *mcp.Meta) *request {
	r := mcpserver.ClientSessionFromContext(ctx).(*request)
	r.ctx, r.lists, r.said = ctx, r.server.Board.For(r.Identity), nil
	if meta != nil {
		r.readMeta(meta)
	}
	known := clients.Find(r.Client.Name)
	if known.ByHost && r.Process && r.server.Host != "" && r.host.ID == "" {
		r.host, _ = r.lists.Keyed(ctx, board.HostKey, r.server.Host)
	}
	// The workspace comes from a hook, else from the client's header or roots, else it is the working directory,
	// which is empty over HTTP.
	r.who = board.Conversation{Client: todo.Cut(r.Client.Name, 64), Workspace: todo.Folder(cmp.Or(r.host.Folder, r.Folder))}
	who, variable := &r.who, ""
	if !r.Process {
		who.Lasts = sessionLasts
	} else if who.Workspace = cmp.Or(who.Workspace, r.server.Dir); r.server.Getenv != nil {
		variable = r.server.Getenv(known.Variable)
	}
	id := r.said[metaConversation]
	for _, c := range clients.All() {
		if c.ChatID != "" {
			id = cmp.Or(id, r.said[c.ChatID])
		}
	}
	switch {
	case r.host.ID != "": // 1: a hook named this call's chat, or the chat in the host's process
		who.Key, who.Chat = r.host.ID, r.host.HostID
	case id != "": // 2: the host's id of the chat in _meta
		who.Key, who.Chat = todo.ChatKey(id), todo.HostID(id)
	case r.Session != "" && !known.SessionPerCall && !r.message.Modern: // 3: the HTTP session
		who.Key, who.Shared = "session:"+todo.Digest(r.Session), known.SharesConnection
		who.Hint = who.Shared
	case variable != "": // 4: a hint, since after a command such as /clear the process continues with another chat
		who.Key, who.Chat, who.Hint = todo.ChatKey(variable), todo.HostID(variable), true
	case r.Process: // 5: a hint, since a command such as /new begins another chat in the process
		who.Key, who.Hint, who.Shared = r.processKey(), true, known.SharesConnection
	default: // 6: client and workspace, which several chats of a user may share
		who.Key, who.Hint, who.Shared = "http:"+who.Client+":"+who.Workspace, true, true
	}
	if r.Process && !known.SharesConnection {
		r.remember()
	}
	if name := cmp.Or(r.List, r.server.List); name != "" { // from the URL, a header or --list
		who.Name, who.Hint, who.Shared = name, false, false
		if who.Chat == "" { // without a host's chat id, each name is a chat of its own
			who.Key += "@name:" + name
		}
	}
	if len(r.said) > 0 {
		r.findSubAgent()
	}
	r.who = r.lists.Own(r.who)
	return r
}

func (r *request) readMeta(meta *mcp.Meta) {
	r.said = make(map[string]string)
	for key, value := range meta.AdditionalFields {
		if key == clients.MetaZCode {
			fields, _ := value.(map[string]any)
			value = fields["session_id"]
		}
		if text, ok := value.(string); ok {
			r.said[key] = text
		}
	}
	r.ended = meta.AdditionalFields[metaEnded] == true
	if client := meta.ClientInfo(); client != nil && r.message.Modern {
		r.Client = *client
	}
	if id := r.said[metaToolUse]; id != "" {
		r.host, _ = r.lists.Keyed(r.ctx, board.CallKey, id)
	}
}

// proved is the chat that the process's client serves, as a call last proved. isFirst is true for the first proved chat
// until it writes: that write takes over the list that was written before any proof.
type proved struct {
	key, host string
	isFirst   bool
}

// remember notes the chat that a stdio client serves, if the call proves it. A later call without proof counts for the
// chat noted last. The first chat noted takes over what was written under the process's key.
func (r *request) remember() {
	who := &r.who
	thread := r.said[metaCodexThread]
	switch last := r.server.proved.Load(); {
	case r.host.Parent != "", r.said[metaAgent] != "", cmp.Or(r.said[metaCodexSession], thread) != thread: // a sub-agent's call proves nothing
	case !who.Hint:
		if last == nil || last.key == who.Key && last.isFirst {
			who.Takes = r.processKey()
		}
		if last == nil || last.key != who.Key {
			r.server.proved.Store(&proved{who.Key, who.Chat, last == nil})
		}
	case who.Hint && last != nil:
		who.Key, who.Chat = last.key, last.host
		if last.isFirst {
			who.Takes = r.processKey()
		}
	}
}

// processKey returns the key of a conversation that is known by its process alone.
func (r *request) processKey() string { return "process:" + r.server.Board.Process() }

// findSubAgent changes the caller to the sub-agent that the host names, if any. A sub-agent of Codex has a thread of
// its own, and its session id is the thread of its main agent.
func (r *request) findSubAgent() {
	main, own := r.who, ""
	thread, session, agent := r.said[metaCodexThread], r.said[metaCodexSession], r.said[metaAgent]
	switch {
	case r.host.Parent != "":
		own, main.Key, agent = r.host.ID, r.host.Parent, r.host.Agent
	case agent != "":
		if parent := r.said[metaParent]; parent != "" {
			main.Key, main.Chat, main.Hint, main.Shared, main.Name = todo.ChatKey(parent), todo.HostID(parent), false, false, ""
		}
		own = todo.AgentKey(main.Key, agent)
	case thread != "" && session != "" && session != thread && main.Key == todo.ChatKey(thread):
		agent = "agent " + todo.Cut(thread[max(0, len(thread)-8):], 8)
		main.Key = todo.ChatKey(session)
		own = todo.AgentKey(main.Key, thread)
	default:
		return
	}
	main = r.lists.Own(main)
	r.who = main
	r.who.Key, r.who.Parent, r.who.Agent, r.who.Name = own, main.Key, todo.AgentName(agent), ""
}

// operation returns the operation of a tool call, zero if the call has no id. If the chat takes over another key, the
// result before is the operation's id under that key. The digest covers tool and arguments. A repeated caller's id with
// another digest is refused; a repeated host's id with another digest is another operation. An id counts within its
// chat. But a caller's id for a named list counts for that name, since another process or session may repeat the call.
func (r *request) operation() (o todo.Operation, before string) {
	kind, id := "caller:", r.said[metaOperation]
	o.Digest = todo.Digest(r.tool + "\x00" + string(r.arguments))
	if id == "" {
		if id = cmp.Or(r.said[metaToolUse], r.said[metaCodexCall]); id == "" {
			return todo.Operation{}, ""
		}
		kind, id = "host:", id+"\x00"+o.Digest
	}
	of := func(chat string) string { return kind + todo.Digest(r.Principal+"\x00"+chat+"\x00"+id) }
	if o.ID = of(r.who.Key); kind == "caller:" && r.who.Name != "" {
		o.ID = of("name:" + r.who.Name)
	} else if r.who.Takes != "" {
		before = of(r.who.Takes)
	}
	return o, before
}
