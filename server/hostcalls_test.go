package server_test

import (
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// hookSays says, as a hook of Claude Code does, which chat makes a call before it comes.
func hookSays(r *chattest.Rig, principal, call string, by board.Conversation, at time.Time) {
	r.Helper()
	b := board.NewBoard(r.Store, board.WithClock(func() time.Time { return at }))
	defer b.Close()
	servertest.Check(r, b.As(principal).HearKey(r.Context(), by, board.CallKey, call, board.KeyAge))
}

// heard returns the chat of a host's session, or of a sub-agent there, in a folder.
func heard(session, agent, folder string) board.Conversation {
	who := board.Conversation{Key: todo.ChatKey(session), Chat: session, Workspace: folder}
	if agent != "" {
		who.Parent, who.Key, who.Agent = who.Key, todo.AgentKey(who.Key, agent), agent
	}
	return who
}

// A hook's word about one call says nothing about others, nor about the calls of
// another principal; it is not used after KeyAge, also when no later hook has
// cleared it away.
func TestHookAboutAnotherCall(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, _ func() *chattest.Rig) {
		now := time.Now()
		note := func(principal, id string, at time.Time) {
			t.Helper()
			hookSays(r, principal, id, heard("s-"+id, "", ""), at)
		}
		note("somebody", "foreign", now)
		note("", "new", now)
		note("", "old", now.Add(-board.KeyAge-time.Minute))
		conn := r.Start(nil).Chat("claude-code")
		for id, known := range map[string]bool{"old": false, "foreign": false, "unknown": false, "new": true} {
			conn.With(`"claudecode/toolUseId":%q`, id).Writes("p:" + id + "1 p:" + id + "2")
			if by := r.Found()[0].List.Conversation; (by == todo.ChatID("", "", todo.ChatKey("s-"+id), false)) != known {
				t.Errorf("%s: began by %s", id, by)
			}
		}
	})
}

// Who is calling: what the client of a process wrote before a hook proved its chat passes to the
// chat that is proved. After /clear the next chat begins its own; a call without proof is of the
// chat that was proved last, and not of the one that a stale variable names. An id that a client
// makes up to look like ours proves nothing.
func TestAProcessKnowsItsChat(t *testing.T) {
	for name, variable := range map[string]string{"without a variable": "", "with a stale one": "s-1"} {
		t.Run(name, func(t *testing.T) {
			r := &chattest.Rig{T: t, By: chattest.Stdio, Store: chattest.Memory()}
			conn := r.Start(func(cfg *server.Config) {
				cfg.Getenv = func(string) string { return variable }
			}).Chat("claude-code")
			newest := func() todo.Snapshot { t.Helper(); return r.Found()[0] }
			conn.With(`"claudecode/toolUseId":"todo-mcp/topic/chat-s-1"`).Writes("p:A p:B")
			first := newest()
			hookSays(r, "", "toolu_1", heard("s-1", "", ""), time.Now())
			conn.With(`"claudecode/toolUseId":"toolu_1"`).Writes("i:A p:B p:C")
			if l := newest(); l.List.ID != first.List.ID || l.Revision != 2 {
				t.Errorf("the proved chat goes on with %s at %d, want the list of its process", l.List.ID, l.Revision)
			}
			hookSays(r, "", "toolu_2", heard("s-2", "", ""), time.Now()) // after /clear
			conn.With(`"claudecode/toolUseId":"toolu_2"`).Writes("p:A p:B")
			second := newest()
			if second.List.ID == first.List.ID || second.List.Chat != "s-2" {
				t.Errorf("after /clear the list of %q is %s", second.List.Chat, second.List.ID)
			}
			conn.Writes("i:A p:B p:D")
			if l := newest(); l.List.ID != second.List.ID || l.Revision != 2 {
				t.Errorf("a call without proof is of %q, revision %d", l.List.Chat, l.Revision)
			}
		})
	}
}

// A write that is repeated after the chat of its process was proved is applied once: its
// operation is the chat's.
func TestRepeatAfterProof(t *testing.T) {
	r := &chattest.Rig{T: t, By: chattest.Stdio, Store: chattest.Memory()}
	conn := r.Start(func(cfg *server.Config) {}).Chat("claude-code")
	add := func() {
		t.Helper()
		conn.With(`"claudecode/toolUseId":"toolu_1"`).Calls("create_todos", `{"items":["A"]}`)
	}
	add()
	hookSays(r, "", "toolu_1", heard("s-1", "", ""), time.Now())
	add() // the host sends it again
	found := r.Found()
	if len(found) != 1 || len(found[0].Items) != 1 {
		t.Errorf("D5: the repeat was applied: %+v", found)
	}
	conn.With(`"claudecode/toolUseId":"toolu_2"`).Calls("create_todos", `{"items":["A"]}`)
	if items := r.Found()[0].Items; len(items) != 2 {
		t.Errorf("another call with the same content is taken for a repeat: %d items", len(items))
	}
}

// A hook of a client that says nothing of the chat to a server names the host's process, and the
// server of that process writes the chat's lists: what it wrote before passes to it. A server of
// another process, and one over HTTP, know nothing by that.
func TestAServerKnowsItsHost(t *testing.T) {
	r := &chattest.Rig{T: t, By: chattest.Stdio, Store: chattest.Memory()}
	host := func(id string) *chattest.Chat {
		return r.Start(func(cfg *server.Config) { cfg.Host = id }).Chat("gemini-cli-mcp-client")
	}
	one, two := host("h1"), host("h2")
	one.Writes("p:A p:B")
	first := r.Found()[0]
	lists := board.NewBoard(r.Store).As("")
	servertest.Check(t, lists.HearKey(t.Context(), heard("s-1", "", ""), board.HostKey, "h1", board.KeyAge))
	one.Writes("i:A p:B p:C")
	if l := r.Found()[0]; l.List.ID != first.List.ID || l.Revision != 2 {
		t.Errorf("the chat in its process goes on with %s at %d, want the list of its process", l.List.ID, l.Revision)
	}
	two.Writes("p:X p:Y")
	if l := r.Found()[0]; l.List.ID == first.List.ID || l.List.Chat != "" {
		t.Errorf("the server of another process writes list %s of chat %q", l.List.ID, l.List.Chat)
	}
	one.Writes("c:A c:B c:C")
	one.Writes("p:D p:E")
	if l := r.Found()[0]; l.List.Chat != "s-1" {
		t.Errorf("the next list is of chat %q", l.List.Chat)
	}
}
