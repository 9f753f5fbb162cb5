package server_test

import (
	"testing"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/chattest"
	"todo-mcp/internal/store/storetest"
)

// hookSays stores what a hook of Claude Code said about a call before it came.
func hookSays(r *chattest.Rig, call board.HostCall, at time.Time) {
	r.Helper()
	if err := storetest.NoteHostCall(r.Context(), r.Store, call, at); err != nil {
		r.Fatal(err)
	}
}

// A hook's word about one call says nothing about others, nor about the calls of
// another principal; it is not used after HostCallAge, also when no later hook has
// cleared it away.
func TestHookAboutAnotherCall(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, _ func() *chattest.Rig) {
		now := time.Now()
		note := func(principal, id string, at time.Time) {
			t.Helper()
			hookSays(r, board.HostCall{HostCallKey: storetest.CallOf(principal, id), Session: "s-" + id}, at)
		}
		note("somebody", "foreign", now)
		note("", "new", now)
		note("", "old", now.Add(-board.HostCallAge-time.Minute))
		conn := r.Start(nil).Chat("claude-code")
		for id, known := range map[string]bool{"old": false, "foreign": false, "unknown": false, "new": true} {
			conn.With(`"claudecode/toolUseId":%q`, id).Writes("p:" + id + "1 p:" + id + "2")
			if by := r.Found()[0].List.Conversation; (by == "chat:s-"+id) != known {
				t.Errorf("%s: began by %s", id, by)
			}
		}
	})
}
