package panel_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// inSession connects a client over HTTP, and returns functions that call TodoWrite,
// take up a list by the prompt "resume", and end the client's session.
func inSession(t *testing.T, url string) (write, resume func(string), end func()) {
	t.Helper()
	id := servertest.NewSession(t, url+"/mcp", "gemini-cli")
	send := func(message, want string) {
		t.Helper()
		servertest.Is(t, "it is answered", 200, want)(servertest.Post(t, url+"/mcp", message, "Mcp-Session-Id", id))
	}
	write = func(args string) { t.Helper(); send(servertest.Call(1, "TodoWrite", args), "updated") }
	resume = func(list string) {
		t.Helper()
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"resume","arguments":{"list":%q}}}`, list), "Carry on")
	}
	return write, resume, func() { t.Helper(); servertest.Ask(t, "DELETE", url+"/mcp", "", "Mcp-Session-Id", id) }
}

const (
	firstPlan  = `{"todos":[{"content":"Lay the keel","activeForm":"Laying the keel","status":"in_progress"},{"content":"Caulk it","activeForm":"Caulking it","status":"pending"}]}`
	secondPlan = `{"todos":[{"content":"Raise the mast","activeForm":"Raising the mast","status":"in_progress"},{"content":"Bend the sails","activeForm":"Bending the sails","status":"pending"}]}`
)

// page returns a page as HTML.
func page(t *testing.T, url string) string {
	t.Helper()
	status, _, html := servertest.Ask(t, "GET", url, "")
	if status != 200 {
		t.Fatal(url, status, html)
	}
	return html
}

// A sub-agent's failed items are counted beside its name, on the card of its group and on the page of the main list.
func TestFailedItemsOfSubAgents(t *testing.T) {
	s := servertest.New(t, storetest.NewMemory(), nil)
	url := servertest.Serve(t, s, nil).URL
	main := servertest.Apply(t, s.Board.As(""), servertest.In("main"), func(d *todo.Draft) { d.Append("Ship it") })
	sub := servertest.In("sub")
	sub.Target.Conversation.Parent, sub.Target.Conversation.Agent = "main", "tester"
	servertest.Apply(t, s.Board.As(""), sub, func(d *todo.Draft) {
		d.Append("Test it")
		d.Append("Test it again")
		d.SetStatus("1", todo.Failed)
	})
	for _, path := range []string{"/", "/lists/" + main.List.ID} {
		checktest.Same(t, "1 failed on "+path, strings.Count(page(t, url+path), ">1 failed</span> · <bdi>next: Test it again<"), 1)
	}
}

// Cards of one project that read alike show when their lists began. A branch that is not main
// stands beside the agent, so that the card differs and needs no time.
func TestListsThatReadAlike(t *testing.T) {
	store := storetest.NewMemory()
	s := servertest.New(t, store, nil)
	url := servertest.Serve(t, s, nil).URL
	write := func(key, branch string) todo.Snapshot {
		w := servertest.In(key)
		w.Target.Conversation.Workspace = "/src/app"
		checktest.Must(s.Board.As("").Hear(t.Context(), w.Target.Conversation, func(c *todo.Chat, _ time.Time) { c.Branch = branch }))(t)
		return servertest.Apply(t, s.Board.As(""), w, func(d *todo.Draft) { d.Append("Fix it") })
	}
	one, two, other := write("one", ""), write("two", "main"), write("other", "retry")
	html := page(t, url)
	for l, want := range map[string]bool{one.List.ID: true, two.List.ID: true, other.List.ID: false} {
		if said := regexp.MustCompile(`id="apart-` + l + `" class="small"> \d\d:\d\d<`).MatchString(html); said != want {
			t.Errorf("%s says when it began: %v", l, said)
		}
	}
	checktest.Same(t, "the branch is said", strings.Count(html, ">retry<"), 1)
}

// element returns the HTML from the tag with an id to the next closing tag of the
// same name.
func element(t *testing.T, html, tag, id string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<` + tag + ` [^>]*id="` + id + `".*?</` + tag + `>`).FindString(html)
	if found == "" {
		t.Fatalf("no %s in %s", id, html)
	}
	return found
}

// A list that its chat left behind is a row on the board, with the item where it
// stopped and the time of its last write. Its own page says how to take it up
// again. No time runs on the row or the page.
func TestPanelShowsWhatWasLeftOpen(t *testing.T) {
	now := time.Now()
	s := servertest.New(t, nil, nil)
	web := servertest.Serve(t, s, func(c *edge.Config) { c.Now = func() time.Time { return now } })
	write, _, end := inSession(t, web.URL)
	write(firstPlan)
	now = time.Now()
	has(t, page(t, web.URL), `!id="row-`, "data-run", "Working")
	write(strings.NewReplacer("in_progress", "completed", "pending", "in_progress").Replace(firstPlan))
	end()
	write, _, _ = inSession(t, web.URL)
	write(secondPlan)
	ids := servertest.ListIDs(t, web.URL)
	second, first := ids[0], ids[1]
	html := page(t, web.URL)
	row := element(t, html, "li", "row-"+first)
	if !regexp.MustCompile(`<time datetime="([^"]+)" title="[^"]+" data-ago>\d+\x{202f}s ago</time>`).MatchString(row) {
		t.Errorf("it does not say since when: %s", row)
	}
	has(t, row, "stopped at: Caulk it", "!data-run", `class="lamp off"`)
	own := page(t, web.URL+"/lists/"+first)
	has(t, own, "!data-run")
	has(t, element(t, own, "div", "head"), "Left open", "The prompt <code>resume</code> takes it up")
	has(t, html, "!card-"+first)
	has(t, element(t, html, "section", "left"), "row-"+first)
	has(t, element(t, html, "article", "card-"+second), "data-run", "Working")
}

// A page asks for changes after the highest Seq of its lists. The list with that Seq may have
// changed earlier than others, as after an import.
func TestPanelGoesOnAfterWhatItShows(t *testing.T) {
	store := storetest.NewMemory()
	web := servertest.Serve(t, servertest.New(t, store, nil), nil)
	var newest todo.Snapshot
	for n := range 3 {
		var err error
		newest, err = storetest.Save(t.Context(), store, todo.Snapshot{List: todo.List{ID: strconv.Itoa(n)}, Revision: 1,
			LastID: 1, Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}, Updated: time.Now().Add(-time.Duration(n) * time.Hour)})
		checktest.Check(t, err)
	}
	has(t, regexp.MustCompile(`<main[^>]*`).FindString(page(t, web.URL)), fmt.Sprintf(`data-seq="%d"`, newest.Seq))
}

// The time of a list on which no agent works ends at its last change. A time per item below a second
// is not shown. A bar's text is one element, since a bar has gaps between its elements.
func TestPanelTimesWhatRests(t *testing.T) {
	later := time.Now().Add(9 * 24 * time.Hour)
	web := servertest.Serve(t, servertest.New(t, nil, nil), func(c *edge.Config) { c.Now = func() time.Time { return later } })
	write, _, end := inSession(t, web.URL)
	write(`{"todos":[{"content":"A","activeForm":"A","status":"completed"},{"content":"B","activeForm":"B","status":"completed"},{"content":"C","activeForm":"C","status":"pending"}]}`)
	end()
	html := page(t, web.URL+"/lists/"+servertest.ListIDs(t, web.URL)[0])
	has(t, html, "<dt>Time</dt><dd><bdi>0\u202fs</bdi>", `id="left"><span>Left open, <bdi>next: C</bdi>. The prompt`)
}

// drawn is the data of a "list" event.
type drawn struct {
	ID     string
	Pieces map[string]string
}

// sent returns the name and data of the next event of a list's own page.
func sent(stream *servertest.Events) string {
	_, name, data := stream.Event()
	return name + " " + data
}

func nextDrawn(t *testing.T, stream *servertest.Events) (d drawn) {
	t.Helper()
	_, name, data := stream.Event()
	if err := json.Unmarshal([]byte(data), &d); err != nil || name != "list" {
		t.Fatalf("%s %s: %v", name, data, err)
	}
	return d
}

// follow opens the stream of a page and returns the version in its first event.
func follow(t *testing.T, url string) (stream *servertest.Events, version string) {
	t.Helper()
	stream = servertest.OpenStream(t, "GET", url, "")
	stream.Expect("retry: 1000")
	stream.Expect("")
	return stream, greeted(t, stream)
}

// greeted returns the version in the stream's next event, which must be "hello".
func greeted(t *testing.T, stream *servertest.Events) string {
	t.Helper()
	var hello struct{ Process, Version string }
	_, name, data := stream.Event()
	if err := json.Unmarshal([]byte(data), &hello); err != nil || name != "hello" || hello.Process == "" {
		t.Fatalf("%s %s: %v", name, data, err)
	}
	return hello.Version
}

// shown returns the version that a page shows.
func shown(t *testing.T, url string) string {
	t.Helper()
	return regexp.MustCompile(`data-version="([^"]*)"`).FindStringSubmatch(page(t, url))[1]
}

// When a chat takes up another list, an open board is told once to load again, and then
// shows the list left behind as a row; an open page of that list gets the list.
func TestPanelSendsWhatWasLeftOpen(t *testing.T) {
	_, base := servertest.Site(t)
	earlier, _, end := inSession(t, base)
	earlier(secondPlan)
	end()
	second := servertest.ListIDs(t, base)[0]
	write, resume, _ := inSession(t, base)
	write(firstPlan)
	first := servertest.ListIDs(t, base)[0]
	b, _ := follow(t, base+"/panel/events")
	own, _ := follow(t, base+"/panel/events?list="+first)
	resume(second)
	checktest.Same(t, "the board is told to show", greeted(t, b), shown(t, base))
	write(strings.Replace(secondPlan, "pending", "completed", 1))
	if d := nextDrawn(t, b); d.ID != second || !strings.Contains(d.Pieces["row-"+second], `data-state="working"`) || !strings.Contains(d.Pieces["card-"+second], "Raising the mast") {
		t.Errorf("the second plan: %+v", d)
	}
	has(t, element(t, page(t, base), "li", "row-"+first), `data-state="left open"`, "stopped at: Lay the keel")
	has(t, sent(own), "list ", "Left open")
}

// A page has the version that it shows; its stream has the version that the page
// should show. The two differ after the process of a list's chat ends. When the list
// is taken up again, the stream sends the list, and the first version returns.
func TestPanelSendsWhatDiffers(t *testing.T) {
	store := storetest.NewMemory()
	s := servertest.New(t, store, nil)
	web := servertest.Serve(t, s, nil)
	other := board.NewBoard(store)
	conversation := board.Conversation{Key: "process:a", Hint: true}
	list := servertest.Apply(t, other.As(""), board.Write{Target: board.Target{Conversation: conversation, Append: true}}, func(d *todo.Draft) { d.Append("A") })
	stream, working := follow(t, web.URL+"/panel/events")
	checktest.Same(t, "nothing changed, but the page shows", working, shown(t, web.URL))
	other.Close()
	if left := greeted(t, stream); left == working || left != shown(t, web.URL) {
		t.Errorf("its process ended: the page should show %s", left)
	}
	checktest.Check(t, s.Board.As("").SetCurrent(t.Context(), conversation, list))
	if d := nextDrawn(t, stream); d.ID != list.List.ID || !strings.Contains(d.Pieces["row-"+d.ID], `data-state="working"`) || shown(t, web.URL) != working {
		t.Errorf("it was taken up again: %+v", d)
	}
}

// An archived sub-agent's list leaves the main list's card, and an archived main
// list leaves the board. Open items of an archived list have no running time.
func TestPanelHidesArchivedLists(t *testing.T) {
	s, base := servertest.Site(t)
	send := servertest.Sender(t, base, "tester")
	write := func(args, meta string) {
		t.Helper()
		send(servertest.WithMeta(servertest.Call(1, "TodoWrite", args), meta))
	}
	write(firstPlan, "")
	main := servertest.ListIDs(t, base)[0]
	write(secondPlan, `"todo-mcp/agent":"helper"`)
	sub := servertest.ListIDs(t, base)[0]
	has(t, page(t, base), "Raising the mast")
	stream, _ := follow(t, base+"/panel/events")
	own, _ := follow(t, base+"/panel/events?list="+sub)
	write(strings.Replace(secondPlan, "Bend", "Cut", 1), `"todo-mcp/agent":"helper"`)
	checktest.Same(t, "a sub-agent's list changed, and is drawn in", nextDrawn(t, stream).ID, main)
	has(t, sent(own), "list ", "Cut the sails")
	archive := func(id string) drawn {
		t.Helper()
		checktest.Must(s.Board.As("").Archive(t.Context(), id, todo.Writer{Person: true}))(t)
		return nextDrawn(t, stream)
	}
	if d := archive(sub); d.ID != main || strings.Contains(d.Pieces["card-"+main], "data-archived") || strings.Contains(d.Pieces["card-"+main], "Raising the mast") {
		t.Errorf("a sub-agent's list was archived: %+v", d)
	}
	has(t, page(t, base), "!Raising the mast", "Laying the keel")
	has(t, page(t, base+"/lists/"+sub), "<span>Archived</span>", "!data-run")
	has(t, sent(own), "list ", "Archived")
	if d := archive(main); d.ID != main || !strings.Contains(d.Pieces["card-"+main], "data-archived") {
		t.Errorf("a main list was archived: %+v", d)
	}
	has(t, page(t, base), "!Laying the keel")
}

// leftOpen serves a list "leftN" for each number N of days: the list was left open N days ago.
func leftOpen(t *testing.T, days ...int) (url string) {
	t.Helper()
	store := storetest.NewMemory()
	for _, n := range days {
		at := time.Now().Add(-time.Duration(n)*24*time.Hour - time.Minute)
		l := todo.List{ID: fmt.Sprintf("left%d", n), Client: "claude-code", Chat: "4f1c", Conversation: "chat:4f1c", Workspace: "/src/a'b", Created: at}
		_, err := storetest.Save(t.Context(), store, todo.Snapshot{List: l, Revision: 1, LastID: 2, Updated: at, Worked: at,
			Items: []todo.Item{{ID: "1", Text: "Lay the keel", Status: todo.InProgress}, {ID: "2", Text: "Caulk it", Status: todo.Pending}}})
		checktest.Check(t, err)
	}
	return servertest.Serve(t, servertest.New(t, store, nil), nil).URL
}

// The row and the page of a list that was left open offer the command that resumes its chat,
// and an action that ticks its open items. If a list is older than a day, a button above the
// rows archives older lists.
func TestPanelOffersToTakeUp(t *testing.T) {
	url := leftOpen(t, 0, 2, 8, 9, 40)
	html := page(t, url+"/?show=left")
	const command = `data-command="cd &#39;/src/a&#39;\&#39;&#39;b&#39; &amp;&amp; claude --resume 4f1c"`
	has(t, html, "data-older")
	has(t, element(t, html, "li", "row-left0"), command, `data-open="left0"`)
	has(t, page(t, url+"/lists/left0"), command, `data-do="command"`, `data-do="finish"`)
	has(t, page(t, leftOpen(t, 0)), "!data-older")
}

// handed is a list that an agent writes, always with the same plan, and that a person edits.
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
	servertest.Is(h.t, "it is answered", 200)(servertest.Post(h.t, h.list+"/edit", body))
}

// insist lets the agent write its plan until the plan overrides the person's edits.
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

// The page says whether a person's edit waits to be seen, is seen or is overridden: beside
// items, the order, the title and revisions. An overridden edit can be brought back.
func TestPanelSaysWhatBecameOfAPersonsEdit(t *testing.T) {
	h := newHanded(t)
	const back = `data-edit="{&#34;do&#34;:&#34;back&#34;,&#34;id&#34;:&#34;2&#34;}" class="link back small" title="Ship it &lt;now&gt;" aria-label="Bring back: Ship it &lt;now&gt;">Bring back</button>`
	h.edit(`{"do":"text","id":"2","text":"Ship it <now>"}`)
	h.edit(`{"do":"rename","text":"Mine"}`)
	has(t, h.item("2"), `<span class="yours">you: reworded, waits to be seen</span>`, "!Bring back")
	has(t, page(t, h.list), "will see your 2 changes", "you renamed, waits to be seen", "<span>rev. 2</span><span>waits to be seen</span>", `<span>rev. 1</span></span>`)
	h.write()
	has(t, h.item("2"), `<span class="small seen">your words, seen</span>`, "!Bring back", "!waits")
	has(t, page(t, h.list), "!waits to be seen", "!you renamed", "<span>rev. 2</span><span>seen</span>")
	h.edit(`{"do":"move","id":"3","to":0}`)
	has(t, h.item("3"), "you: moved to 1, waits to be seen")
	has(t, page(t, h.list), "<dt>Order</dt><dd><bdi>yours, waits to be seen</bdi>")
	h.insist()
	has(t, page(t, h.list), "<dt>Order</dt><dd><bdi>yours, seen</bdi>")
	h.write()
	has(t, h.item("2"), `<span class="yours overridden">your words, overridden</span>`, back)
	has(t, page(t, h.list), "<dt>Order</dt><dd><bdi>yours, overridden</bdi>", "Your order of the items is overridden.", `data-edit="{&#34;do&#34;:&#34;back&#34;}" class="link end back" aria-label="Bring back your order"`,
		"<span>rev. 4</span><span>overridden</span>")
	h.edit(`{"do":"status","id":"2","status":"completed"}`)
	has(t, h.item("2"), "you: pending → completed, waits to be seen", "your words, overridden", back)
	has(t, page(t, h.list+"?revision=2"), `<span class="overridden yours">overridden</span>`)
	has(t, page(t, h.list+"?revision=8"), `<span class="small">reworded</span>`)

	h.edit(`{"do":"back","id":"2"}`)
	h.edit(`{"do":"back"}`)
	has(t, h.item("2"), "<bdi>Ship it &lt;now&gt;</bdi>", "waits to be seen", "!Bring back", "!overridden")
	has(t, page(t, h.list), "!is overridden", "yours, waits to be seen")
}

// When an agent leaves out an item that a person added, or keeps an item that the person deleted,
// the page says so, and one click brings the person's edit back.
func TestPanelBringsBackAdditionsAndDeletions(t *testing.T) {
	h := newHanded(t)
	h.edit(`{"do":"remove","id":"2"}`)
	h.edit(`{"do":"add","text":"Call <Ben>"}`)
	h.write()
	has(t, page(t, h.list), "!overridden", "!Bring back") // this write only told the agent of the edits
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

// A person's edit counts as seen as soon as a call tells the agent of it, even a call
// that changes nothing, and an open page shows this.
func TestPanelTellsWhatWasRead(t *testing.T) {
	h := newHanded(t)
	h.edit(`{"do":"text","id":"2","text":"Ship it"}`)
	base, id, _ := strings.Cut(h.list, "/lists/")
	stream := servertest.OpenStream(t, http.MethodGet, base+"/panel/events?list="+id, "")
	stream.Expect("event: hello")
	h.write()
	stream.Until("your words, seen")
}

// The page of a mirrored list has no controls for its items, and says why. An edit of an
// item that is sent nevertheless is refused for the same reason. The list can be renamed,
// archived and deleted.
func TestPanelMirrored(t *testing.T) {
	s, base := servertest.Site(t)
	list := base + "/lists/" + mirror(t, s, func(d *todo.Draft) {
		d.Append("Read <b>it</b>", "Write it")
		d.Put(todo.CoreView(), todo.Line{ID: "2", Owner: new("reader"), Priority: "high", Details: "All <b>of</b> it", WaitsFor: []string{"1"}})
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

// mirror changes a list that mirrors a list of Claude Code's own todo tool.
func mirror(t *testing.T, s *server.Server, change func(d *todo.Draft)) todo.Snapshot {
	t.Helper()
	w := servertest.In("mirror:a")
	w.Conversation.Mirrors, w.Conversation.Client, w.Writer.Client = true, "claude-code", "claude-code"
	return servertest.Apply(t, s.Board.As(""), w, change)
}

// The card of a list on which several agents work has ready items before waiting items. It
// names each item's agent, and the item for which an item waits. The description of a pull
// request also names the item for which an item waits.
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
