package server_test

import (
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// A file that version 2 wrote goes on with a server of now: each conversation has
// its list, a Codex thread, a named list, a sub-agent and its main agent; what a
// person changed before is told once.
func TestVersion2GoesOn(t *testing.T) {
	openOld := func(t *testing.T, by transport) *rig { return &rig{t, by, openFile(t, copyOfVersion2(t))} }
	for _, by := range someOrAll(nil) {
		t.Run(string(by), func(t *testing.T) {
			t.Run("Codex thread", func(t *testing.T) {
				r := openOld(t, by)
				count := len(r.lists())
				c := r.start(nil).chat("codex-mcp-client").with(`"threadId":"t1","sessionId":"t1"`)
				c.shows("i:Find the cause p:Fix it")
				if got := c.calls("TodoWrite", `{"todos":[{"content":"Find the cause","activeForm":"Find the cause","status":"completed"},{"content":"Fix it","activeForm":"Fix it","status":"in_progress"}]}`); got != "Todo list updated: 1 completed, 1 in_progress, 0 pending" {
					t.Error(got)
				}
				if got := r.lists(); len(got) != count || got[0] != "c:Find the cause i:Fix it" {
					t.Errorf("lists %q", got)
				}
			})
			t.Run("named list", func(t *testing.T) {
				r := openOld(t, by)
				named := func() *chat {
					if by.pipes() {
						return r.start(func(cfg *server.Config) { cfg.List = "release" }).chat("tester")
					}
					c := r.connect()
					c.query = "?list=release"
					return c
				}
				c := named()
				const write = `{"items":["Announce"]}`
				if got := c.calls("create_todos", write); !strings.Contains(got, personChanged+`set "Ship it" to completed`) {
					t.Errorf("not told: %s", got)
				}
				if got := c.calls("create_todos", write); strings.Contains(got, personChanged) {
					t.Errorf("told again: %s", got)
				}
				c.shows("p:Plan release c:Ship it p:Announce p:Announce")
			})
			t.Run("named list, read first", func(t *testing.T) {
				r := openOld(t, by)
				c := r.start(func(cfg *server.Config) { cfg.List = "release" }).chat("tester")
				c.shows("p:Plan release c:Ship it")
				if got := c.adds("Announce"); strings.Contains(got, personChanged) {
					t.Errorf("told after it was read: %s", got)
				}
			})
			t.Run("sub-agents", func(t *testing.T) {
				r := openOld(t, by)
				main := r.connect().conversation("c")
				main.shows("p:Main step")
				main.and(`"todo-mcp/agent":"searcher"`).shows("p:Search docs")
				main.and(`"todo-mcp/agent":"reader"`).shows("p:Later")
				if got := r.subLists(main.held()); len(got) != 1 || got[0] != "reader" {
					t.Errorf("sub-lists %q", got)
				}
				main.calls("update_todo", `{"id":"1","status":"completed"}`)
				reader := main.and(`"todo-mcp/agent":"reader"`)
				if !r.load(reader.held()).Archived {
					t.Error("the main list settled, and the sub-agent's is not archived")
				}
			})
			t.Run("resume", func(t *testing.T) {
				r := openOld(t, by)
				c := r.connect().conversation("new")
				if got := c.prompt("resume", `{"list":"release"}`); !strings.Contains(got, "- #1 Plan release") {
					t.Error(got)
				}
				c.shows("p:Plan release c:Ship it")
				if got := c.resource("todo://lists"); !strings.Contains(got, "Find the cause") || strings.Contains(got, "Search docs") {
					t.Errorf("todo://lists: %s", got)
				}
			})
		})
	}
}

// A list that version 2 kept for client and workspace goes on when the client
// writes most of it again.
func TestVersion2SharedListGoesOn(t *testing.T) {
	for _, env := range []string{"", "s-1"} {
		r := &rig{t, onStdio, openFile(t, copyOfVersion2(t))}
		b := todo.NewBoard(r.store, todo.WithClock(func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }))
		defer b.Close()
		c := r.start(func(cfg *server.Config) {
			cfg.Dir, cfg.Getenv, cfg.Board = "/tmp", func(string) string { return env }, b
		}).chat("claude-code")
		n := len(r.lists())
		c.calls("TodoWrite", `{"todos":[{"content":"Write code","activeForm":"Write code","status":"completed"},{"content":"Run tests","activeForm":"Run tests","status":"in_progress"}]}`)
		if got := r.lists(); len(got) != n {
			t.Errorf("env %q: %q", env, got)
		}
	}
}
