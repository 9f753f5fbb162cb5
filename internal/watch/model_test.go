package watch

import (
	"fmt"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

// list returns a snapshot written ago before noon. Each of items is "status
// text", or "status text|reason".
func list(id string, seq, revision int64, ago time.Duration, items ...string) todo.Snapshot {
	s := todo.Snapshot{List: todo.List{ID: id, Name: id, Client: "claude-code", Workspace: "/src/acme-web", Created: noon().Add(-ago - time.Hour)},
		Revision: revision, Seq: seq, Updated: noon().Add(-ago), Worked: noon().Add(-ago), Writer: todo.Writer{Client: "claude-code", Variant: "TodoWrite"}}
	for i, line := range items {
		status, text, _ := strings.Cut(line, " ")
		text, reason, _ := strings.Cut(text, "|")
		item := todo.Item{ID: fmt.Sprint(i + 1), Text: text, Reason: reason, Status: todo.Status(status)}
		if item.Status == todo.InProgress {
			item.Started = s.Updated
		}
		if item.Status == todo.Completed {
			item.Started, item.Ended = s.Updated.Add(-5*time.Minute), s.Updated
		}
		s.Items = append(s.Items, item)
	}
	return s
}

func inFolder(folder string, s todo.Snapshot) todo.Snapshot {
	s.List.Workspace = folder
	return s
}

func subList(s todo.Snapshot, parent string) todo.Snapshot {
	s.List.Parent, s.List.Agent, s.List.Name = parent, s.List.ID, ""
	return s
}

func numbered(n int, status string) (items []string) {
	for i := range n {
		items = append(items, fmt.Sprintf("%s step %d", status, i+1))
	}
	return items
}

// releaseHistory returns the revisions of one list; the second is a person's.
func releaseHistory() []todo.Snapshot {
	h := []todo.Snapshot{
		list("release", 1, 1, time.Hour, "in_progress Write tests", "pending Ship", "pending Celebrate"),
		list("release", 4, 2, 20*time.Minute, "completed Write tests", "in_progress Ship", "pending Celebrate"),
		list("release", 9, 3, 4*time.Minute, "completed Write tests", "in_progress Ship 发布 🚀"),
	}
	h[1].Writer = todo.Writer{Client: "todo-mcp", Variant: "watch", Person: true}
	h[2].Items = append(h[2].Items, todo.Item{ID: "4", Text: "Tell everybody", Status: todo.Pending})
	return h
}

func exampleLists() []todo.Snapshot {
	return []todo.Snapshot{
		releaseHistory()[2],
		list("website", 8, 5, 2*time.Hour, append(numbered(12, "completed"), "in_progress build the footer", "pending check it")...),
		inFolder("/src/billing-api", list("為替レートのキャッシュを追加する", 12, 2, 90*time.Second, "completed 調べる", "in_progress テストを書く", "pending 仕上げる")),
		inFolder("/src/billing-api", list("flaky", 11, 2, 6*time.Minute, "completed Reproduce", "blocked Decide|Which browser may go?", "pending Mend")),
		list("settled", 7, 2, 3*time.Hour, numbered(9, "completed")...),
		list("half", 13, 2, 2*time.Hour, "completed a", "failed b", "cancelled c"),
		list("old", 6, 2, 50*time.Hour, "completed long ago"),
		inFolder("/src/vendors", list("forgotten", 5, 2, 90*time.Hour, "in_progress still open", "pending never begun")),
		subList(list("researcher", 10, 1, time.Minute, "in_progress read the papers", "pending sum up"), "release"),
		subList(list("reviewer", 3, 1, 30*time.Minute, "completed review"), "release"),
	}
}

// modelWith returns a model of lists whose agents are there, "forgotten" aside.
func modelWith(width, height int, lists ...todo.Snapshot) *model {
	m := newModel(Options{})
	m.tick(noon())
	m.width, m.height, m.sourceName = width, height, "todo.db"
	m.receiveStandings(map[string]Standing{"forgotten": standing(todo.LeftOpen, "")})
	m.receiveLists(lists, true)
	return m
}

func standing(state todo.State, asks string) Standing {
	return Standing{Standing: todo.Standing{State: state, Asks: asks}}
}

// unpainted returns a text without its roles.
func unpainted(text string) string {
	return strings.Map(func(r rune) rune {
		if isRole(r) {
			return -1
		}
		return r
	}, text)
}
