package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// hookSays stores what a hook of Claude Code said about a call before it came.
func (r *rig) hookSays(id, session, agent, folder string) {
	r.Helper()
	call := todo.HostCall{ID: id, Session: session, Agent: agent, Folder: folder}
	if err := r.store.NoteHostCall(context.Background(), "", call, time.Now()); err != nil {
		r.Fatal(err)
	}
}

// What a hook said of a call decides exactly whose it is, also where nothing on
// the wire tells two chats or a sub-agent from its main agent: session, sub-agent
// and folder. A whole-list write then replaces the chat's list, as with any proof.
func TestHooksTellWhoCalls(t *testing.T) {
	over(t, func(r *rig) {
		environment := func(string) string { return "stale" } // as after /clear
		conn := r.start(func(cfg *server.Config) { cfg.Getenv = environment }).chat("claude-code")
		tool := func(id string) *chat { return conn.with(`"claudecode/toolUseId":%q`, id) }
		r.hookSays("toolu_1", "s-1", "", "/one")
		r.hookSays("toolu_2", "s-2", "", "/two")
		r.hookSays("toolu_3", "s-1", "a-1", "/one")
		r.hookSays("toolu_4", "s-1", "", "/one")
		r.hookSays("toolu_5", "s-2", "", "/two")
		r.hookSays("toolu_6", "s-1", "a-1", "/one")
		tool("toolu_1").writes("p:A1 p:A2")
		tool("toolu_2").writes("p:B1 p:A2")
		tool("toolu_3").writes("p:S1 p:A2")
		if got := tool("toolu_4").writes("p:New"); !strings.Contains(got, `Put away the earlier plan, open: "A1", "A2"`) {
			t.Errorf("a new plan of the same chat: %s", got)
		}
		tool("toolu_5").writes("c:B1 p:A2")
		tool("toolu_6").writes("c:S1 p:A2")
		r.expect("c:S1 p:A2", "c:B1 p:A2", "p:New", "p:A1 p:A2")
		for i, want := range []todo.List{
			{Workspace: "/one", Agent: "a-1", Conversation: "chat:s-1/agent:a-1"},
			{Workspace: "/two", Conversation: "chat:s-2"},
			{Workspace: "/one", Conversation: "chat:s-1"},
		} {
			lists, err := r.store.Find(t.Context(), todo.Query{})
			if err != nil {
				t.Fatal(err)
			}
			if l := lists[i].List; l.Workspace != want.Workspace || l.Agent != want.Agent || l.Conversation != want.Conversation {
				t.Errorf("list %d: %+v, want %+v", i, l, want)
			}
		}
		main, _ := r.store.Cursors(t.Context(), todo.Key{Conversation: "chat:s-1"})
		if got := r.subLists(main[0].List); len(got) != 1 || got[0] != "a-1" {
			t.Errorf("sub-agents of s-1: %q", got)
		}
	})
}

// Hook and environment name a chat by the same id: calls with a hook and reads
// without one (a resource carries no tool's id) mean the same list on stdio.
func TestHookAndEnvironmentAgree(t *testing.T) {
	over(t, func(r *rig) {
		conn := r.start(func(cfg *server.Config) {
			cfg.Getenv = func(name string) string { return map[string]string{"CLAUDE_CODE_SESSION_ID": "s-1"}[name] }
		}).chat("claude-code")
		r.hookSays("toolu_1", "s-1", "", "/one")
		conn.with(`"claudecode/toolUseId":"toolu_1"`).writes("p:A1 p:A2")
		conn.shows("p:A1 p:A2")
		conn.adds("A3")
		r.expect("p:A1 p:A2 p:A3")
	}, onStdio, onStdioNew)
}

// A hook's word about one call says nothing about others, nor about the calls of
// another principal; it expires.
func TestHookAboutAnotherCall(t *testing.T) {
	overFile(t, func(r *rig, _ func() *rig) {
		now := time.Now()
		note := func(principal, id string, at time.Time) {
			t.Helper()
			if err := r.store.NoteHostCall(t.Context(), principal, todo.HostCall{ID: id, Session: "s-" + id}, at); err != nil {
				t.Fatal(err)
			}
		}
		note("", "old", now.Add(-todo.HostCallAge-time.Minute))
		note("somebody", "foreign", now)
		note("", "new", now)
		conn := r.start(nil).chat("claude-code")
		for id, known := range map[string]bool{"old": false, "foreign": false, "unknown": false, "new": true} {
			conn.with(`"claudecode/toolUseId":%q`, id).writes("p:" + id + "1 p:" + id + "2")
			lists, err := r.store.Find(t.Context(), todo.Query{Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if got := lists[0].List.Conversation == "chat:s-"+id; got != known {
				t.Errorf("%s: began by %s", id, lists[0].List.Conversation)
			}
		}
	})
}

// What a hook said of a call is not used after HostCallAge, also when no later
// hook has cleared it away.
func TestHookExpires(t *testing.T) {
	over(t, func(r *rig) {
		if err := r.store.NoteHostCall(t.Context(), "", todo.HostCall{ID: "toolu_1", Session: "s-1"}, time.Now().Add(-2*todo.HostCallAge)); err != nil {
			t.Fatal(err)
		}
		r.start(nil).chat("claude-code").with(`"claudecode/toolUseId":"toolu_1"`).writes("p:A")
		lists, _ := r.store.Find(t.Context(), todo.Query{})
		if got := lists[0].List.Conversation; got == "chat:s-1" {
			t.Errorf("began by %s", got)
		}
	})
}
