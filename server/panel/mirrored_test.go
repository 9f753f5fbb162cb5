package panel_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// The page of a mirrored list has no controls for its items, and says why; what an
// edit that is sent nevertheless is answered says so, too. It can be renamed, put away
// and deleted.
func TestPanelMirrored(t *testing.T) {
	s, base := servertest.Site(t)
	list := base + "/lists/" + mirror(t, s, func(d *todo.Draft) {
		d.Append("Read <b>it</b>", "Write it")
		d.Put(todo.CoreView(), todo.Line{ID: "2", Owner: new("reader"), Priority: new("high"), Details: new("All <b>of</b> it"), WaitsFor: []string{"1"}})
	}).List.ID
	for _, address := range []string{list, list + "?item=1", list + "?revision=1"} {
		html := page(t, address)
		for _, control := range []string{`class="grip"`, `id="add"`, "data-menu", `&#34;status&#34;`, `name="text"`, `id="restore"`, "reword"} {
			if strings.Contains(html, control) {
				t.Errorf("%s has %s", address, control)
			}
		}
	}
	html := page(t, list)
	for _, want := range []string{"Claude Code keeps this list in a todo tool of its own", "priority: high, reader, waits for Read &lt;b&gt;it&lt;/b&gt;", "All &lt;b&gt;of&lt;/b&gt; it", `data-do="rename"`, `&#34;archive&#34;`, `&#34;delete&#34;`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for edit, status := range map[string]int{
		`{"do":"status","id":"1","status":"completed"}`: http.StatusConflict,
		`{"do":"add","text":"x"}`:                       http.StatusConflict,
		`{"do":"rename","text":"x"}`:                    http.StatusOK,
		`{"do":"archive"}`:                              http.StatusOK,
	} {
		got, _, body := servertest.Post(t, list+"/edit", edit)
		if got != status || status == http.StatusConflict && !strings.Contains(body, todo.ErrMirrored.Error()) {
			t.Errorf("%s: %d %s", edit, got, body)
		}
	}
	var documents []struct {
		Mirrored bool
		Items    []struct {
			Owner    string
			WaitsFor []string `json:"waits_for"`
		}
	}
	servertest.GetJSON(t, base+"/api/lists", &documents)
	if d := documents[0]; !d.Mirrored || d.Items[1].Owner != "reader" || len(d.Items[1].WaitsFor) != 1 {
		t.Errorf("as JSON: %+v", d)
	}
}

// mirror changes a list that mirrors one of Claude Code's own.
func mirror(t *testing.T, s *server.Server, change func(d *todo.Draft)) todo.Snapshot {
	t.Helper()
	w := servertest.In("mirror:a")
	w.Begin.Mirrored, w.Target.Conversation.Client, w.Writer.Client = true, "claude-code", "claude-code"
	return servertest.Apply(t, s.Board.As(""), w, change)
}

// A card shows what can be begun before what waits for something, for what that waits, and who
// has which step, where several agents work on one list. The description of a pull request says
// for what an item waits, too.
func TestCardOfSeveralAgents(t *testing.T) {
	s, base := servertest.Site(t)
	w := servertest.In("a")
	w.Target.Conversation.Name, w.Writer.Client, w.Target.Conversation.Client = "work", "codex-mcp-client", "codex-mcp-client"
	servertest.Apply(t, s.Board.As(""), w, func(d *todo.Draft) {
		d.Append("Waits", "Reads", "Writes", "Tests")
		d.Put(todo.CoreView(), todo.Line{ID: "1", WaitsFor: []string{"4"}}, todo.Line{ID: "2", Status: "in_progress"})
	})
	w.Target.Conversation.Key, w.Writer.Client = "b", "claude-code"
	list := servertest.Apply(t, s.Board.As(""), w, func(d *todo.Draft) { d.SetStatus("3", todo.InProgress) })
	html := page(t, base+"/")
	at := -1
	for _, want := range []string{">Writes<", ">Claude Code<", ">Reads<", ">Codex<", ">Tests<", ">Waits<", ">waits for Tests<"} {
		next := strings.Index(html[at+1:], want)
		if next < 0 {
			t.Fatalf("the card has no %s behind %d", want, at)
		}
		at += 1 + next
	}
	if text := render.PullRequest([]todo.Snapshot{list}, 0); !strings.Contains(text, "Waits *(waits for Tests)*") {
		t.Errorf("the pull request does not say what waits:\n%s", text)
	}
}
