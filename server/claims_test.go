package server_test

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
)

// D5: eight agents, each with a server and a store of its own on one file, share thirty steps,
// of which most wait for others. None is done twice, or before what it waits for. What the agent
// leaves that ends in the middle, another one takes.
func TestAgentsShareSteps(t *testing.T) {
	const agents, steps, apart = 8, 30, 6
	chattest.OverFile(t, func(_ *chattest.Rig, open func() *chattest.Rig) {
		servers := make([]*chattest.Server, agents)
		chats := make([]*chattest.Chat, agents)
		for k := range chats {
			servers[k] = open().Start(func(c *server.Config) { c.List = "work" })
			chats[k] = servers[k].Chat(fmt.Sprint("agent ", k))
		}
		for n := 1; n <= steps; n++ {
			chats[0].Does("TaskCreate", fmt.Sprintf(`{"subject":"Step %d"}`, n))
			if n > apart {
				chats[0].Does("TaskUpdate", fmt.Sprintf(`{"taskId":"%d","addBlockedBy":["%d"]}`, n, n-apart))
			}
		}
		took := regexp.MustCompile(`^Task #(\d+) is yours`)
		left := took.FindStringSubmatch(chats[0].Does("TaskUpdate", `{"taskId":"next","owner":"who leaves"}`).Text())[1]
		chats[1].Calls("TaskUpdate", fmt.Sprintf(`{"taskId":%q,"owner":"agent 1"}`, left)).Fails(`is taken by "who leaves"`)
		var mu sync.Mutex
		doneBy := make(map[string][]int)
		var work sync.WaitGroup
		var leaves sync.Once
		for k := 1; k < agents; k++ {
			work.Go(func() {
				for chats[k].Context().Err() == nil {
					a, err := chats[k].Try("TaskUpdate", fmt.Sprintf(`{"taskId":"next","owner":"agent %d"}`, k))
					if err != nil {
						t.Error(err)
						return
					}
					at := took.FindStringSubmatch(a.Text())
					mu.Lock()
					n := len(doneBy)
					if at != nil {
						doneBy[at[1]] = append(doneBy[at[1]], k)
					}
					mu.Unlock()
					if n >= steps/2 {
						leaves.Do(servers[0].End)
					}
					switch {
					case at == nil && n == steps:
						return
					case at == nil:
						continue // the others are at work on what comes first
					}
					if a, err := chats[k].Try("TaskUpdate", fmt.Sprintf(`{"taskId":%q,"status":"completed"}`, at[1])); err != nil || a.Refused() != nil {
						t.Error(err, a.Refused())
						return
					}
				}
			})
		}
		work.Wait()
		for id, by := range doneBy {
			if len(by) != 1 {
				t.Errorf("step %s is done by %v", id, by)
			}
		}
		if len(doneBy) != steps || doneBy[left] == nil {
			t.Errorf("%d steps are done, the one that was left by %v", len(doneBy), doneBy[left])
		}
		list := chats[1].Reads()
		s := servers[1].Load(list.List)
		for _, i := range s.Items {
			at := slices.IndexFunc(s.Items, func(o todo.Item) bool { return o.ID == i.WaitsFor })
			if i.Status != todo.Completed || at >= 0 && i.Started.Before(s.Items[at].Ended) {
				t.Errorf("step %s: %s, begun before what it waits for", i.ID, i.Status)
			}
			t.Logf("%-8s by agent %v, waits for %s", i.Text, doneBy[i.ID], i.WaitsFor)
		}
	}, chattest.Stdio, chattest.Session)
}
