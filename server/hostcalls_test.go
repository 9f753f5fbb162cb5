package server_test

import (
	"testing"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
)

// hookSays says, as a hook of Claude Code does, which chat makes a call before it comes.
func hookSays(r *chattest.Rig, principal, call string, by board.Conversation, at time.Time) {
	r.Helper()
	b := board.NewBoard(r.Store, board.WithClock(func() time.Time { return at }))
	defer b.Close()
	if err := b.As(principal).HearCall(r.Context(), by, call); err != nil {
		r.Fatal(err)
	}
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
