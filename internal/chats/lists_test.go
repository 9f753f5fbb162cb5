//go:build e2e && linux

package chats

import (
	"strings"
	"testing"

	"todo-mcp/internal/chattest"
)

// Rule 5.
func TestClearingShowsAnEmptyListEverywhere(t *testing.T) {
	each(t, append(threeCertain(), where{stdio, known("cursor-vscode")}, where{sessionless, known("my-agent")}), func(p *place) {
		for _, status := range []string{"p", "c"} {
			p.Run(status, func(t *testing.T) {
				q := newPlace(t, p.where)
				c := q.chat("one")
				plan := "c:Read the parser " + status + ":Fix the parser"
				list := c.Writes(plan).List()
				events := q.follow("/api/events")
				cleared := c.Writes("").Says("0 completed, 0 in_progress, 0 pending")
				if got := cleared.Items(); len(got) > 0 {
					q.Errorf("the answer shows %s", chattest.Show(got))
				}
				c.Shows("")
				if l := q.shown(); len(l.Items) > 0 {
					q.Errorf("a person is shown %s", l)
				}
				if line := q.run("show", "--format", "statusline"); strings.Contains(line, "the parser") {
					q.Errorf("the status line is %q", line)
				}
				if todos := q.workspace(""); len(todos) > 0 {
					q.Errorf("a front end restores %v", todos)
				}
				events.Expect("data: []")
				for id, state := range q.states() {
					if l := q.shown(id); len(l.Items) > 0 {
						q.Errorf("front ends are told that %s is %q", l, state)
					}
				}
				history := q.run("history", "--json", list)
				if !strings.Contains(history, "Read the parser") || !strings.Contains(history, "Fix the parser") {
					q.Errorf("the history is %s", history)
				}
				if l := q.shown(list); len(l.Items) == 0 {
					q.run("restore", list, "1") // its plan is in its history
				}
				q.holds(list, plan)
			})
		}
	})
}

// Rule 7.
func TestFrontEndFollowsTheChat(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"id", "name"} {
		t.Run("by "+by, func(t *testing.T) {
			each(t, threeCertain(), func(p *place) {
				name := map[string]string{"id": "", "name": "release"}[by]
				c := p.named("one", name)
				list := c.Writes("i:Read the parser").List()
				if by == "id" {
					name = list
				}
				stream, events := p.follow("/api/stream?list="+name), p.follow("/api/events?list="+name)
				c.Writes("c:Read the parser")
				c.Writes("i:Write the manual p:Draw the pictures p:Print it")
				stream.Expect("Write the manual")
				events.Expect("Write the manual")
				if todos := p.workspace("?list=" + name); len(todos) == 0 || todos[0].Content != "Write the manual" {
					p.Errorf("after a reload it has %v", todos)
				}
			})
		})
	}
}
