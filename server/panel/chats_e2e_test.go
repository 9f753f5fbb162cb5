//go:build e2e

package panel_test

import (
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// A chat without a list is on the board from its first event on: what it asks, that it works; idle
// chats are one line, and one that ended is gone.
func TestPanelShowsChats(t *testing.T) {
	s, base := servertest.Site(t)
	ctx := servertest.Open(t, base)
	who := board.Conversation{Key: todo.ChatKey("s"), Client: "claude-code", Workspace: "/src/app", Detached: true, Lasts: time.Hour}
	hear := func(heard func(c *todo.Chat, at time.Time)) {
		t.Helper()
		if _, err := s.Board.As("").Hear(t.Context(), who, heard); err != nil {
			t.Fatal(err)
		}
	}
	hear(func(c *todo.Chat, at time.Time) {
		c.Titled(todo.Topic{Text: "Publish <b>it</b>", From: todo.FromPrompt}, at)
		c.Says(todo.Asks, "run `npm publish`?", at)
	})
	servertest.Until(t, ctx, `document.querySelector('.card h3')?.textContent === 'Publish <b>it</b>' && document.querySelector('.card .bar').textContent === 'Claude Code asks: run npm publish?' &&
		document.querySelector('.card .state').textContent === 'Asked' && document.getElementById('waits').textContent === '1 waits for you' && !document.getElementById('empty')`)
	if !servertest.Eval[bool](t, ctx, `document.querySelector('.card h3 a').getAttribute('href') === './?project=%2Fsrc%2Fapp' && !document.querySelector('.card progress, .card [data-menu]')`) {
		t.Error("the card of a chat offers what is a list's")
	}
	hear(func(c *todo.Chat, at time.Time) { c.Says(todo.Works, "", at) })
	servertest.Until(t, ctx, `document.querySelector('.card .state')?.textContent === 'Working' && document.getElementById('waits').hidden`)
	hear(func(c *todo.Chat, at time.Time) { c.Says(todo.Rests, "", at) })
	servertest.Until(t, ctx, `!document.querySelector('.card') && document.querySelector('#quiet summary').textContent === '1 idle chat without a list: app'`)
	hear(func(c *todo.Chat, at time.Time) { c.End("other", at) })
	servertest.Until(t, ctx, `!document.getElementById('quiet') && !!document.getElementById('empty')`)
}
