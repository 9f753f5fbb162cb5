package panel_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/todo"
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
	_, base := servertest.Site(t)
	write := servertest.Writer(t, base, "claude-code")
	h := handed{t: t, write: func() { write(servertest.Todos("pending", "Write tests", "Ship", "Tell Ann")) }}
	h.write()
	h.list = base + "/lists/" + servertest.ListIDs(t, base)[0]
	return h
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
	has := func(what, text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if not, is := strings.CutPrefix(w, "!"); strings.Contains(text, not) == is {
				t.Errorf("%s: %q: %s", what, w, text)
			}
		}
	}
	h.edit(`{"do":"text","id":"2","text":"Ship it <now>"}`)
	h.edit(`{"do":"rename","text":"Mine"}`)
	has("waits", h.item("2"), `<span class="yours">you reworded, waits to be seen</span>`, "!Bring back")
	has("waits", page(t, h.list), "will see your 2 changes", "you renamed, waits to be seen", "<span>rev. 2</span><span>waits to be seen</span>", `<span>rev. 1</span></span>`)
	h.write()
	has("seen", h.item("2"), `<span class="small seen">your words, seen</span>`, "!Bring back", "!waits")
	has("seen", page(t, h.list), "!waits to be seen", "!you renamed", "<span>rev. 2</span><span>seen</span>")
	h.edit(`{"do":"move","id":"3","to":0}`)
	has("order waits", h.item("3"), "you moved, waits to be seen")
	has("order waits", page(t, h.list), "<dt>Order</dt><dd><bdi>yours, waits to be seen</bdi>")
	h.insist()
	has("order seen", page(t, h.list), "<dt>Order</dt><dd><bdi>yours, seen</bdi>")
	h.write()
	has("overridden", h.item("2"), `<span class="yours overridden">your words, overridden</span>`, back)
	has("overridden", page(t, h.list), "<dt>Order</dt><dd><bdi>yours, overridden</bdi>", "Your order of the items is overridden.", `data-edit="{&#34;do&#34;:&#34;back&#34;}" class="link end back" aria-label="Bring back your order"`,
		"<span>rev. 4</span><span>overridden</span>", "overrode your words")
	h.edit(`{"do":"status","id":"2","status":"completed"}`)
	has("overridden and ticked", h.item("2"), "you ticked, waits to be seen", "your words, overridden", back)
	has("its revision", page(t, h.list+"?revision=2"), `<span class="overridden yours">overridden</span>`)
	has("the agent's", page(t, h.list+"?revision=8"), `<span class="small">overrode your words</span>`, "”, overrode your order", "repeated what you replaced")

	h.edit(`{"do":"back","id":"2"}`)
	h.edit(`{"do":"back"}`)
	has("brought back", h.item("2"), "<bdi>Ship it &lt;now&gt;</bdi>", "waits to be seen", "!Bring back", "!overridden")
	has("brought back", page(t, h.list), "!is overridden", "yours, waits to be seen")
}

// What an agent insists on against what a person added and deleted is said on the page, and one
// click makes it the person's again.
func TestPanelBringsBackAdditionsAndDeletions(t *testing.T) {
	h := newHanded(t)
	h.edit(`{"do":"remove","id":"2"}`)
	h.edit(`{"do":"add","text":"Call <Ben>"}`)
	h.write()
	if text := page(t, h.list); strings.Contains(text, "overridden") || strings.Contains(text, "Bring back") {
		t.Errorf("an agent that was just told: %s", text)
	}
	h.insist()
	text := page(t, h.list)
	const out = `The agent left out what you added: <bdi>Call &lt;Ben&gt;</bdi>`
	const back = `data-edit="{&#34;do&#34;:&#34;back&#34;,&#34;id&#34;:&#34;`
	if !strings.Contains(text, out) || !strings.Contains(text, "you deleted it, overridden") || strings.Count(text, back) != 2 {
		t.Fatalf("overridden: %s", text)
	}
	for range 2 {
		_, from, _ := strings.Cut(page(t, h.list), back)
		id, _, _ := strings.Cut(from, "&")
		h.edit(`{"do":"back","id":"` + id + `"}`)
	}
	if text := page(t, h.list); strings.Contains(text, "Bring back") || strings.Contains(text, "Ship</bdi>") || !strings.Contains(text, "<bdi>Call &lt;Ben&gt;</bdi>") {
		t.Errorf("brought back: %s", text)
	}
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
