package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"todo-mcp/server"
)

// Eight agents, each in a process of its own, close their five items of one list
// at once, where the transport allows it also their own calls at once: no close is
// lost, no closed item comes back, and every close is a revision of its own
// (docs/reliability.md).
func TestEightAgentsCloseTheirItems(t *testing.T) {
	overFile(t, func(r *rig, open func() *rig) {
		const agents, each = 8, 5
		named := func(c *server.Config) { c.List = "release" }
		var steps []string
		for n := range agents * each {
			steps = append(steps, fmt.Sprintf("Step-%d", n))
		}
		r.start(named).chat("tester").conversation("planner").adds(steps...)
		var work sync.WaitGroup
		for i := range agents {
			c := open().start(named).chat("tester").conversation(fmt.Sprint("agent-", i))
			closes := func(n int) {
				if got := c.calls("update_todo", fmt.Sprintf(`{"id":"%d","status":"completed"}`, i*each+n+1)); strings.HasPrefix(got, "Error") {
					t.Errorf("agent %d: %s", i, got)
				}
			}
			work.Go(func() {
				var calls sync.WaitGroup
				for n := range each {
					if c.by.pipes() {
						closes(n) // a pipe's answers come in order
					} else {
						calls.Go(func() { closes(n) })
					}
				}
				calls.Wait()
			})
		}
		work.Wait()
		for _, i := range r.load(r.newest()).Items {
			if i.Status != "completed" {
				t.Errorf("%s is %s", i.Text, i.Status)
			}
		}
		if s := r.load(r.newest()); len(s.Items) != agents*each || s.Revision != 1+agents*each {
			t.Errorf("%d items at revision %d", len(s.Items), s.Revision)
		}
	})
}

// A whole-list write that leaves out open items names each of them in its answer,
// so that work does not vanish from a list unseen (docs/reliability.md).
func TestANarrowerPlanNamesWhatItDrops(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect().conversation("c")
		c.writes("i:Parse p:Render p:Publish")
		got := c.writes("c:Parse")
		for _, text := range []string{"Render", "Publish"} {
			if !strings.Contains(got, text) {
				t.Errorf("%s is dropped, and the answer is %q", text, got)
			}
		}
		if got := c.writes("c:Parse i:Render p:Publish"); strings.Contains(got, "Render") {
			t.Errorf("nothing is dropped, and the answer is %q", got)
		}
	})
}
