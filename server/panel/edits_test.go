package panel_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// handed is a list with an agent that keeps to its plan, and a person.
type handed struct {
	t     *testing.T
	list  string // its address
	write func()
}

func newHanded(t *testing.T) handed {
	t.Helper()
	plan := servertest.Todos("pending", "Write tests", "Ship", "Tell Ann")
	write, _, list := listed(t, "claude-code", plan)
	return handed{t, list, func() { write(plan) }}
}

func (h handed) edit(body string) {
	h.t.Helper()
	if status, _, answer := servertest.Post(h.t, h.list+"/edit", body); status != 200 {
		h.t.Fatal(status, answer)
	}
}

// insist lets the agent write its plan until it has overridden the person.
func (h handed) insist() {
	for range todo.MaxRepeats + 1 {
		h.write()
	}
}

// item returns an item's element on the list's page.
func (h handed) item(id string) string {
	h.t.Helper()
	_, from, ok := strings.Cut(page(h.t, h.list), `id="i-`+id+`"`)
	if !ok {
		h.t.Fatalf("no item %s", id)
	}
	item, _, _ := strings.Cut(from, "</li>")
	return item
}

// The page says of each change that it waits to be seen, is seen, or is overridden, of
// items, of the order, of the title and of revisions. What is overridden comes back.
func TestPanelSaysWhatBecameOfAPersonsEdit(t *testing.T) {
	h := newHanded(t)
	const back = `data-edit="{&#34;do&#34;:&#34;back&#34;,&#34;id&#34;:&#34;2&#34;}" class="link back small" title="Ship it &lt;now&gt;" aria-label="Bring back: Ship it &lt;now&gt;">Bring back</button>`
	h.edit(`{"do":"text","id":"2","text":"Ship it <now>"}`)
	h.edit(`{"do":"rename","text":"Mine"}`)
	has(t, h.item("2"), `<span class="yours">you reworded, waits to be seen</span>`, "!Bring back")
	has(t, page(t, h.list), "will see your 2 changes", "you renamed, waits to be seen", "<span>rev. 2</span><span>waits to be seen</span>", `<span>rev. 1</span></span>`)
	h.write()
	has(t, h.item("2"), `<span class="small seen">your words, seen</span>`, "!Bring back", "!waits")
	has(t, page(t, h.list), "!waits to be seen", "!you renamed", "<span>rev. 2</span><span>seen</span>")
	h.edit(`{"do":"move","id":"3","to":0}`)
	has(t, h.item("3"), "you moved, waits to be seen")
	has(t, page(t, h.list), "<dt>Order</dt><dd><bdi>yours, waits to be seen</bdi>")
	h.insist()
	has(t, page(t, h.list), "<dt>Order</dt><dd><bdi>yours, seen</bdi>")
	h.write()
	has(t, h.item("2"), `<span class="yours overridden">your words, overridden</span>`, back)
	has(t, page(t, h.list), "<dt>Order</dt><dd><bdi>yours, overridden</bdi>", "Your order of the items is overridden.", `data-edit="{&#34;do&#34;:&#34;back&#34;}" class="link end back" aria-label="Bring back your order"`,
		"<span>rev. 4</span><span>overridden</span>", "overrode your words")
	h.edit(`{"do":"status","id":"2","status":"completed"}`)
	has(t, h.item("2"), "you ticked, waits to be seen", "your words, overridden", back)
	has(t, page(t, h.list+"?revision=2"), `<span class="overridden yours">overridden</span>`)
	has(t, page(t, h.list+"?revision=8"), `<span class="small">overrode your words</span>`, "”, overrode your order", "repeated what you replaced")

	h.edit(`{"do":"back","id":"2"}`)
	h.edit(`{"do":"back"}`)
	has(t, h.item("2"), "<bdi>Ship it &lt;now&gt;</bdi>", "waits to be seen", "!Bring back", "!overridden")
	has(t, page(t, h.list), "!is overridden", "yours, waits to be seen")
}

// What an agent insists on against what a person added and deleted is said on the page, and one
// click makes it the person's again.
func TestPanelBringsBackAdditionsAndDeletions(t *testing.T) {
	h := newHanded(t)
	h.edit(`{"do":"remove","id":"2"}`)
	h.edit(`{"do":"add","text":"Call <Ben>"}`)
	h.write()
	has(t, page(t, h.list), "!overridden", "!Bring back") // the agent was just told
	h.insist()
	text := page(t, h.list)
	const back = `data-edit="{&#34;do&#34;:&#34;back&#34;,&#34;id&#34;:&#34;`
	has(t, text, `The agent left out what you added: <bdi>Call &lt;Ben&gt;</bdi>`, "you deleted it, overridden")
	if strings.Count(text, back) != 2 {
		t.Fatalf("overridden: %s", text)
	}
	for range 2 {
		_, from, _ := strings.Cut(page(t, h.list), back)
		id, _, _ := strings.Cut(from, "&")
		h.edit(`{"do":"back","id":"` + id + `"}`)
	}
	has(t, page(t, h.list), "!Bring back", "!Ship</bdi>", "<bdi>Call &lt;Ben&gt;</bdi>")
}

// What waits is seen as soon as the agent knows, also by a call that changes nothing:
// an open page is told.
func TestPanelTellsWhatWasRead(t *testing.T) {
	h := newHanded(t)
	h.edit(`{"do":"text","id":"2","text":"Ship it"}`)
	base, id, _ := strings.Cut(h.list, "/lists/")
	stream := servertest.OpenStream(t, http.MethodGet, base+"/panel/events?list="+id, "")
	stream.Expect("event: hello")
	h.write()
	stream.Until("your words, seen")
}

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
		has(t, page(t, address), `!class="grip"`, `!id="add"`, "!data-menu", `!&#34;status&#34;`, `!name="text"`, `!id="restore"`, "!reword")
	}
	has(t, page(t, list), "Claude Code keeps this list in its own todo tool", "priority: high, reader, waits for Read &lt;b&gt;it&lt;/b&gt;", "All &lt;b&gt;of&lt;/b&gt; it", `data-do="rename"`, `&#34;archive&#34;`, `&#34;delete&#34;`)
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
	html := page(t, base)
	if !regexp.MustCompile("(?s)>Writes<.*>Claude Code<.*>Reads<.*>Codex<.*>Tests<.*>Waits<.*>waits for Tests<").MatchString(html) {
		t.Errorf("the card: %s", html)
	}
	has(t, render.PullRequest([]todo.Snapshot{list}, 0), "Waits *(waits for Tests)*")
}
