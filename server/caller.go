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
	metaTitle        = "todo-mcp/title" // of the list, unless it was given one
)

// The _meta fields of hosts that are more than a conversation's id.
const (
	metaToolUse      = "claudecode/toolUseId"
	metaCodexCall    = "callId"
	metaCodexThread  = clients.MetaCodexThread
	metaCodexSession = "sessionId" // of a sub-agent's thread: the main agent's thread
)

// sessionLasts is for how long after its last call a client over HTTP counts as
// there, unless it has a stream open.
const sessionLasts = 30 * time.Minute

// chatFields are the fields of _meta in which the chat's id may be: todo-mcp's own, else one of
// a known host.
var chatFields = []string{metaConversation, clients.MetaVSCode, metaCodexThread, clients.MetaOpencode, "sessionID",
	clients.MetaAntigravity, clients.MetaZCode}

// identified returns the message that a context belongs to, with who sent it by its _meta,
// which may be nil. The first step that applies decides the key of the conversation
// (docs/spec/architecture.md, "Who is calling"). Where it cannot be read what a hook said about
// the call, that counts as one without a hook.
func identified(ctx context.Context, meta *mcp.Meta) *request {
	r := mcpserver.ClientSessionFromContext(ctx).(*request)
	r.ctx, r.lists, r.client, r.said = ctx, r.server.Board.For(r.Identity), r.Client, nil
	if meta != nil {
		r.readMeta(meta)
	}
	known := clients.Find(r.client.Name)
	if known.ByHost && r.Process && r.server.Host != "" && r.host.ID == "" {
		r.host, _ = r.lists.Keyed(ctx, board.HostKey, r.server.Host)
	}
	// The workspace is what a hook said, else the client's header or roots, else the
	// working directory, which is empty over HTTP.
	r.who = board.Conversation{Client: todo.Cut(r.client.Name, 64), Workspace: todo.Folder(cmp.Or(r.host.Folder, r.Folder))}
	who, variable := &r.who, ""
	if !r.Process {
		who.Lasts = sessionLasts
	} else if who.Workspace = cmp.Or(who.Workspace, r.server.Dir); r.server.Getenv != nil {
		variable = r.server.Getenv(known.Variable)
	}
	id := ""
	for _, field := range chatFields {
		id = cmp.Or(id, r.said[field])
	}
	switch {
	case r.host.ID != "": // 1: a hook of the host said which chat makes this very call, or is in the host's process
		who.Key, who.Chat = r.host.ID, r.host.HostID
	case id != "": // 2: the host sent its id of the chat in _meta
		who.Key, who.Chat = todo.ChatKey(id), todo.HostID(id)
	case r.Session != "" && !known.SessionPerCall && !r.message.Modern: // 3
		who.Key, who.Shared = "session:"+todo.Digest(r.Session), known.SharesConnection
		who.Hint = who.Shared
	case variable != "": // 4: after a command such as /clear the process goes on with another chat
		who.Key, who.Chat, who.Hint = todo.ChatKey(variable), todo.HostID(variable), true
	case r.Process: // 5: a command such as /new begins another chat in it
		who.Key, who.Hint, who.Shared = r.processKey(), true, known.SharesConnection
	default: // 6: client and workspace, which several chats of a user may share
		who.Key, who.Hint, who.Shared = "http:"+who.Client+":"+who.Workspace, true, true
	}
	if r.Process && !known.SharesConnection {
		r.remember()
	}
	if name := cmp.Or(r.List, r.server.List); name != "" { // in the URL or a header, or by --list
		who.Name, who.Hint, who.Shared = name, false, false
		if who.Chat == "" { // what a session does by each name is a chat of its own
			who.Key += "@name:" + name
		}
	}
	if len(r.said) > 0 { // else no host names one
		r.findSubAgent()
	}
	r.who = r.lists.Own(r.who)
	return r
}

// readMeta reads what the message says of its sender itself.
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
		r.client = *client
	}
	if id := r.said[metaToolUse]; id != "" {
		r.host, _ = r.lists.Keyed(r.ctx, board.CallKey, id)
	}
}

// proved is the chat that the client of a process was proved to serve last. To the first one passes
// what was written before, with its first write.
type proved struct {
	key, host string
	isFirst   bool
}

// remember notes which chat a client on stdio, whose process serves one at a time, is proved to
// serve: a call without proof is taken for that one's then, and what was known by the process
// before passes to it.
func (r *request) remember() {
	who := &r.who
	thread := r.said[metaCodexThread]
	switch last := r.server.proved.Load(); {
	case r.host.Parent != "", r.said[metaAgent] != "", cmp.Or(r.said[metaCodexSession], thread) != thread: // a sub-agent's
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

// processKey returns the key by which the client of a process is known without any other.
func (r *request) processKey() string { return "process:" + r.server.Board.Process() }

// findSubAgent changes who is calling to the sub-agent that the host names, if any. In Codex it
// has a thread of its own, and its hooks know it by that and the main agent's.
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
	r.agent, r.parent, r.who = todo.AgentName(agent), main.Key, main
	r.who.Key, r.who.Parent, r.who.Agent, r.who.Name = own, main.Key, r.agent, ""
}

// operation returns the operation of a tool call, and the id that it had before the chat of
// its process was proved; both are zero for none. Its digest covers the tool and the arguments.
// An id that the caller chose for repeating is refused when it comes with another call; a
// host's id of the call is only taken for a repeat when the call is the same. Both are of the
// chat; the first belongs to the list's name if there is one, as the repeat may come from
// another process or session.
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
	switch {
	case kind == "caller:" && r.who.Name != "":
		o.ID = of("name:" + r.who.Name)
	case r.who.Takes != "":
		o.ID, before = of(r.who.Key), of(r.who.Takes)
	default:
		o.ID = of(r.who.Key)
	}
	return o, before
}
