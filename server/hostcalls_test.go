package server_test

import (
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// hookSays stores what a hook of Claude Code said about a call before it came.
func hookSays(r *chattest.Rig, principal string, call todo.HostCall, at time.Time) {
	r.Helper()
	if err := r.Store.NoteHostCall(r.Context(), principal, call, at); err != nil {
		r.Fatal(err)
	}
}

// What a hook said of a call decides exactly whose it is, also where nothing on
// the wire tells two chats or a sub-agent from its main agent: session, sub-agent
// and folder. A whole-list write then replaces the chat's list, as with any proof.
func TestHooksTellWhoCalls(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		stale := func(string) string { return "stale" } // as after /clear
		conn := r.Start(func(c *server.Config) { c.Getenv = stale }).Chat("claude-code")
		first, second := todo.HostCall{Session: "s-1", Folder: "/one"}, todo.HostCall{Session: "s-2", Folder: "/two"}
		sub := todo.HostCall{Session: "s-1", Agent: "a-1", Folder: "/one"}
		writes := func(who todo.HostCall, id, plan string) chattest.Answer {
			who.ID = id
			hookSays(r, "", who, time.Now())
			return conn.With(`"claudecode/toolUseId":%q`, id).Writes(plan)
		}
		writes(first, "toolu_1", "p:A1 p:A2")
		writes(second, "toolu_2", "p:B1 p:A2")
		writes(sub, "toolu_3", "p:S1 p:A2")
		writes(first, "toolu_4", "p:New").Says(`Put away the earlier plan, open: "A1", "A2"`)
		writes(second, "toolu_5", "c:B1 p:A2")
		writes(sub, "toolu_6", "c:S1 p:A2")
		r.Expect("c:S1 p:A2", "c:B1 p:A2", "p:New", "p:A1 p:A2")
		var began []string
		for _, l := range r.Found() {
			began = append(began, l.List.Workspace+" "+l.List.Agent+" "+l.List.Conversation)
		}
		want := []string{"/one a-1 chat:s-1/agent:a-1", "/two  chat:s-2", "/one  chat:s-1", "/one  chat:s-1"}
		if strings.Join(began, "\n") != strings.Join(want, "\n") {
			t.Errorf("the lists were begun by %q", began)
		}
		if got := r.Subs(r.Found()[2].List.ID); len(got) != 1 || got[0] != "a-1" {
			t.Errorf("sub-agents of s-1: %q", got)
		}
	})
}

// Hook and environment name a chat by the same id: calls with a hook and reads
// without one (a resource carries no tool's id) mean the same list on stdio.
func TestHookAndEnvironmentAgree(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		environment := map[string]string{"CLAUDE_CODE_SESSION_ID": "s-1"}
		conn := r.Start(func(c *server.Config) {
			c.Getenv = func(name string) string { return environment[name] }
		}).Chat("claude-code")
		hookSays(r, "", todo.HostCall{ID: "toolu_1", Session: "s-1", Folder: "/one"}, time.Now())
		conn.With(`"claudecode/toolUseId":"toolu_1"`).Writes("p:A1 p:A2")
		conn.Shows("p:A1 p:A2")
		conn.Adds("A3")
		r.Expect("p:A1 p:A2 p:A3")
	}, chattest.Stdio, chattest.StdioModern)
}

// A hook's word about one call says nothing about others, nor about the calls of
// another principal; it is not used after HostCallAge, also when no later hook has
// cleared it away.
func TestHookAboutAnotherCall(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, _ func() *chattest.Rig) {
		now := time.Now()
		note := func(principal, id string, at time.Time) {
			t.Helper()
			hookSays(r, principal, todo.HostCall{ID: id, Session: "s-" + id}, at)
		}
		note("somebody", "foreign", now)
		note("", "new", now)
		note("", "old", now.Add(-todo.HostCallAge-time.Minute))
		conn := r.Start(nil).Chat("claude-code")
		for id, known := range map[string]bool{"old": false, "foreign": false, "unknown": false, "new": true} {
			conn.With(`"claudecode/toolUseId":%q`, id).Writes("p:" + id + "1 p:" + id + "2")
			if by := r.Found()[0].List.Conversation; (by == "chat:s-"+id) != known {
				t.Errorf("%s: began by %s", id, by)
			}
		}
	})
}
