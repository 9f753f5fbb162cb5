package server_test

import (
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/server"
)

// Who has which step is said where several agents work on one list, with a number where two are
// of one client; alone, an agent is not named. Programs are told the same.
func TestWhoHasWhichStep(t *testing.T) {
	chattest.OverFile(t, func(_ *chattest.Rig, open func() *chattest.Rig) {
		var all []*chattest.Chat
		var s *chattest.Server
		for _, client := range []string{"codex-mcp-client", "claude-code", "codex-mcp-client"} {
			s = open().Start(func(c *server.Config) { c.List = "work" })
			all = append(all, s.Chat(client))
		}
		for _, step := range []string{"Read", "Write", "Test", "Ship"} {
			all[0].Does("TaskCreate", `{"subject":"`+step+`"}`)
		}
		all[0].Does("TaskUpdate", `{"taskId":"4","addBlockedBy":["1","3"]}`)
		all[0].Does("TaskUpdate", `{"taskId":"1","status":"in_progress"}`)
		id := all[0].Reads().List
		beside := func() string {
			var said []string
			list := s.Load(id)
			for _, i := range list.Items {
				said = append(said, render.Beside(list, i))
			}
			shown := render.Document(list)
			for n, i := range shown.Items {
				if has := render.Has(list, list.Items[n]); i.Has != has || render.Beside(shown.Snapshot(), shown.Snapshot().Items[n]) != said[n] {
					t.Errorf("%s: programs read %q, want %q", i.Text, i.Has, has)
				}
			}
			return strings.Join(said, "|")
		}
		if got, want := beside(), "|||waits for Read and 1 more"; got != want {
			t.Errorf("alone: %s, want %s", got, want)
		}
		all[1].Does("TaskUpdate", `{"taskId":"2","status":"in_progress"}`)
		if got, want := beside(), "Codex|Claude Code||waits for Read and 1 more"; got != want {
			t.Errorf("of two clients: %s, want %s", got, want)
		}
		all[2].Does("TaskUpdate", `{"taskId":"next"}`)
		if got, want := beside(), "Codex 1|Claude Code|Codex 2|waits for Read and 1 more"; got != want {
			t.Errorf("of one client: %s, want %s", got, want)
		}
	}, chattest.Stdio, chattest.Session)
}
