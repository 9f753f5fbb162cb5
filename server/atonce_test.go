package server_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
)

// BAD-INPUT 54: processes that write one list at once, over HTTP each with several calls
// at once, lose nothing: every item is there once, what was closed stays closed, and
// every change is a revision of its own (docs/reliability.md).
func TestProcessesWriteAtOnce(t *testing.T) {
	named := func(r *chattest.Rig, i int) *chattest.Chat { return r.Named("release").Conversation(fmt.Sprint(i)) }
	for name, of := range map[string]struct {
		processes, each int
		chat            func(r *chattest.Rig, i int) *chattest.Chat
		closes          bool // each its own items of a plan that all know, else it adds
	}{
		"four agents add":                {4, 10, named, false},
		"eight agents close their items": {8, 5, named, true},
		"one conversation in two processes": {2, 12,
			func(r *chattest.Rig, _ int) *chattest.Chat { return r.Connect().Conversation("a") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
				all := of.processes * of.each
				var want []string
				for n := range all {
					want = append(want, fmt.Sprintf("Step-%02d", n))
				}
				if of.closes {
					of.chat(r, 0).Adds(want...)
				}
				act := func(c *chattest.Chat, n int) {
					if of.closes {
						c.Sets(fmt.Sprint(n+1), "completed").Says("→ completed")
					} else {
						c.Adds(want[n]).Says("1 created")
					}
				}
				var work sync.WaitGroup
				for i := range of.processes {
					c, own := of.chat(open(), i), i*of.each
					work.Go(func() {
						for n := range of.each {
							if r.By.Piped() {
								act(c, own+n) // a pipe's answers come in order
							} else {
								work.Go(func() { act(c, own+n) })
							}
						}
					})
				}
				work.Wait()
				l, changes := r.Load(r.Newest()), all
				if of.closes {
					changes++
				}
				var got []string
				for _, i := range l.Items {
					if got = append(got, i.Text); (i.Status == todo.Completed) != of.closes {
						t.Errorf("54: %s is %s", i.Text, i.Status)
					}
				}
				if slices.Sort(got); !slices.Equal(got, want) || l.Revision != int64(changes) || len(r.Found()) != 1 {
					t.Errorf("54: %d lists; the items at revision %d are %q", len(r.Found()), l.Revision, got)
				}
			})
		})
	}
}

// BAD-INPUT 54: two processes that begin the list of one conversation at once
// begin one, which has what both wrote.
func TestOneListBeginsInTwoProcesses(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
		chats := []*chattest.Chat{r.Connect(), open().Connect()}
		for n := range 20 {
			var work sync.WaitGroup
			for i, c := range chats {
				work.Go(func() { c.Conversation(fmt.Sprint("c", n)).Adds(fmt.Sprintf("From-%d", i)) })
			}
			work.Wait()
			got := strings.Fields(chats[0].Conversation(fmt.Sprint("c", n)).Reads().String())
			if slices.Sort(got); fmt.Sprint(got) != "[p:From-0 p:From-1]" {
				t.Errorf("54: %q", got)
			}
		}
		if got := len(r.Lists()); got != 20 {
			t.Errorf("54: %d lists", got)
		}
	}, chattest.Stdio, chattest.Sessionless)
}

// BAD-INPUT 44, 54: a call that two processes make at once with one id is applied
// once, and both get the same answer.
func TestRepeatAtOnceSameAnswer(t *testing.T) {
	chattest.OverFile(t, func(r *chattest.Rig, open func() *chattest.Rig) {
		chats := []*chattest.Chat{r.Connect().Conversation("c"), open().Connect().Conversation("c")}
		const times = 40
		for n := range times {
			var work sync.WaitGroup
			answers := make([]string, len(chats))
			for i, c := range chats {
				work.Go(func() { answers[i] = c.InOperation(fmt.Sprint("op-", n)).Adds("Step").Says("1 created").Text() })
			}
			work.Wait()
			if answers[0] != answers[1] {
				t.Errorf("44: %d: answers\n%s\n%s", n, answers[0], answers[1])
			}
		}
		r.Expect(strings.TrimSpace(strings.Repeat("p:Step ", times)))
	})
}
