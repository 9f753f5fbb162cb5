package server

import (
	"cmp"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/board"
	"todo-mcp/internal/clients"
	"todo-mcp/internal/todo"
)

// identify reads from the _meta of the message, which may be nil, who sent it. It reads
// what a hook said about the call, and ignores a failure to do so: the call then counts as
// one without a hook.
func (r *request) identify(meta *mcp.Meta) {
	r.lists, r.client, r.meta = r.server.Board.For(r.Identity), r.Client, nil
	if meta != nil {
		r.meta = meta.AdditionalFields
	}
	if client := meta.ClientInfo(); client != nil && r.message.Modern {
		r.client = *client
	}
	if id := r.text(metaToolUse); id != "" {
		r.host, _ = r.lists.HostCall(r.ctx, board.CallKind, id)
	}
	r.findCaller()
	r.who = r.lists.Own(r.who)
}

// text returns a field of the request's _meta; empty when it is no string.
func (r *request) text(key string) string {
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
	metaCodexSession = "sessionId" // of a sub-agent's thread: the main agent's thread
)

// sessionLasts is for how long after its last call a client over HTTP counts as
// there, unless it has a stream open.
const sessionLasts = 30 * time.Minute

// findCaller sets who is calling. The first step that applies decides the key of the
// conversation (docs/spec/architecture.md, "Who is calling").
func (r *request) findCaller() {
	known := clients.Find(r.client.Name)
	// The workspace is what a hook said, else the client's header or roots, else the
	// working directory, which is empty over HTTP.
	r.who = board.Conversation{Client: todo.Cut(r.client.Name, 64), Workspace: todo.Folder(cmp.Or(r.host.Folder, r.Folder))}
	who, variable := &r.who, ""
	if !r.Process {
		who.Lasts = sessionLasts
	} else if who.Workspace = cmp.Or(who.Workspace, r.server.Dir); r.server.Getenv != nil {
		variable = r.server.Getenv(known.Variable)
	}
	switch field, id := r.conversation(); {
	case r.host.Session != "": // 1: a hook of the host said which chat makes this very call
		who.Key, who.Chat = todo.ChatKey(r.host.Session), todo.ChatID(r.host.Session)
	case id != "": // 2: the host sent a conversation id in _meta
		who.Key, who.Chat = todo.FieldKey(field, id), todo.ChatID(id)
	case r.Session != "" && !known.SessionPerCall && !r.message.Modern: // 3
		who.Key, who.Shared = "session:"+todo.Digest(r.Session), known.SharesConnection
		who.Hint = who.Shared
	case variable != "": // 4: after a command such as /clear the process goes on with another chat
		who.Key, who.Chat, who.Hint = todo.ChatKey(variable), todo.ChatID(variable), true
	case r.Process: // 5: a command such as /new begins another chat in it
		who.Key, who.Hint, who.Shared = "process:"+r.server.Board.Process(), true, known.SharesConnection
	default: // 6: client and workspace, which several chats of a user may share
		who.Key, who.Hint, who.Shared = "http:"+who.Client+":"+who.Workspace, true, true
	}
	if who.Shared {
		who.Key = todo.SharedKey(who.Key)
	}
	if name := cmp.Or(r.List, r.server.List); name != "" { // in the URL or a header, or by --list
		who.Name, who.Hint, who.Shared = name, false, false
		who.Key += "@" + todo.NameKey(name)
	}
	r.findSubAgent()
}

// conversation returns the conversation's id in _meta, and the field that carries it:
// todo-mcp's own first, then the fields of known hosts. id is empty where there is none.
func (r *request) conversation() (field, id string) {
	for _, field := range []string{
		metaConversation, clients.MetaVSCode, metaCodexThread, clients.MetaOpencode, "sessionID", clients.MetaAntigravity,
	} {
		if id := r.text(field); id != "" {
			return field, id
		}
	}
	inner, _ := r.meta[clients.MetaZCode].(map[string]any)
	id, _ = inner["session_id"].(string)
	return clients.MetaZCode, id
}

// findSubAgent changes who is calling to the sub-agent that the host names, if any. Its
// key contains the main agent's key, or is the host's own for the sub-agent's thread.
func (r *request) findSubAgent() {
	main := r.who
	thread, session := r.text(metaCodexThread), r.text(metaCodexSession)
	agent := cmp.Or(r.host.Agent, r.text(metaAgent))
	switch {
	case agent != "":
		if parent := r.text(metaParent); parent != "" {
			main.Key, main.Chat, main.Hint, main.Shared, main.Name = todo.FieldKey(metaConversation, parent), todo.ChatID(parent), false, false, ""
		}
		r.who = main
		r.who.Key = todo.AgentKey(main.Key, agent)
	case thread != "" && session != "" && session != thread && strings.HasPrefix(main.Key, todo.FieldKey(metaCodexThread, thread)):
		agent = "agent " + todo.Cut(thread[max(0, len(thread)-8):], 8)
		main.Key = todo.FieldKey(metaCodexThread, session)
	default:
		return
	}
	r.parent, r.who.Name = main.CurrentKey(), ""
	r.agent = todo.AgentName(agent)
}

// operation returns the operation of a tool call, or the zero Operation. Its digest
// covers the tool and the arguments. An id that the caller chose for repeating
// is refused when it comes with another call; a host's id of the call is only
// taken for a repeat when the call is the same. The first belongs to the list's name if
// there is one, as the repeat may come from another process or session.
func (r *request) operation() todo.Operation {
	kind, who, id := "caller:", r.who.CurrentKey(), r.text(metaOperation)
	if id == "" {
		kind, who, id = "host:", r.who.Key, cmp.Or(r.text(metaToolUse), r.text(metaCodexCall))
	}
	if id == "" {
		return todo.Operation{}
	}
	content := todo.Digest(r.tool + "\x00" + string(r.arguments))
	if kind == "host:" {
		id += "\x00" + content
	}
	return todo.Operation{ID: kind + todo.Digest(r.Principal+"\x00"+who+"\x00"+id), Digest: content}
}
