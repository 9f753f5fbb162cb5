package panel_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func TestPanelPages(t *testing.T) {
	_, url := servertest.Site(t)
	write := servertest.Writer(t, url, "claude-code")
	write(servertest.Todos("pending", "A"))
	write(servertest.Todos("completed", "A"))
	list := url + "/lists/" + servertest.ListIDs(t, url)[0]
	for path, want := range map[string]string{
		list: "1 of 1", list + "?revision=1": "Revision 1 of 2", list + "?revision=9": "Revision 2 of 2", list + ".md": "- [x] A",
		list + ".md?revision=1": "- [ ] A",
	} {
		if html := page(t, path); !strings.Contains(html, want) {
			t.Errorf("%s lacks %q: %.300s", path, want, html)
		}
	}
	for path, want := range map[string]string{"/lists/none": `href="./?show=past"`, "/lists/none.md": "There is no such list", "/nothing": ""} {
		if status, _, html := servertest.Ask(t, "GET", url+path, ""); status != 404 || !strings.Contains(html, want) {
			t.Errorf("%s: %d %s", path, status, html)
		}
	}
	if status, _, body := servertest.Post(t, list+"/edit", `{"do":"restore","revision":1}`); status != 200 || !strings.Contains(body, `"revision":3`) {
		t.Errorf("restore: %d %s", status, body)
	}
	for edit, want := range map[string]int{`{"do":"restore","revision":9}`: 404, `{"do":"restore","revision":"x"}`: 400, `{"do":"restore"}`: 400} {
		if status, _, _ := servertest.Post(t, list+"/edit", edit); status != want {
			t.Errorf("%s: %d", edit, status)
		}
	}
	if status, _, _ := servertest.Post(t, list+"/edit", `{"do":"restore","revision":1}`, "Origin", "http://evil.example"); status != 403 {
		t.Errorf("restore from a foreign page: %d", status)
	}
}

// BAD-INPUT 65: a list that a person has open, on the panel or another front end, is not
// abandoned, and its sub-agents' are not. A read changes nothing: who asks for a page may be
// no person.
func TestPanelNotesWhatWasLookedAt(t *testing.T) {
	for path, looked := range map[string]int{"/lists/%s": 0, "/lists/%s.md": 0, "/api/lists/%s": 0, "/": 0, "/panel/events": 0,
		"/panel/events?list=%s": 2, "/api/events?list=%s": 1} {
		t.Run(path, func(t *testing.T) {
			store := memory.New()
			s := servertest.New(t, store, nil)
			web, id := servertest.Serve(t, s, nil), ""
			for key, parent := range map[string]string{"sub": "main", "main": ""} {
				w := servertest.In(key)
				w.Begin.ParentConversation = parent
				if l := servertest.Apply(t, s.Board.As(""), w, func(d *todo.Draft) { d.Append("A") }); key == "main" {
					id = l.List.ID
				}
			}
			path := web.URL + strings.Replace(path, "%s", id, 1)
			if strings.Contains(path, "events") {
				servertest.OpenStream(t, "GET", path, "").Expect("retry: 1000")
			} else {
				page(t, path)
			}
			seen, err := store.Seen(t.Context(), board.Key{Chat: todo.PersonChat})
			if err != nil || len(seen) != looked {
				t.Errorf("65: cursors %+v, %v", seen, err)
			}
		})
	}
}

// A list's page offers the revisions that are kept and no others.
func TestPanelOffersKeptRevisions(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, memory.NewKeeping(board.Keep{Revisions: 2}), nil), nil)
	write := servertest.Writer(t, web.URL, "claude-code")
	for _, text := range []string{"A", "B", "C", "D"} {
		write(servertest.Todos("pending", "All", text))
	}
	list := web.URL + "/lists/" + servertest.ListIDs(t, web.URL)[0]
	html := page(t, list)
	for _, want := range []string{`rev. 3</span>`, `rev. 4</span>`, "earlier revisions are not kept"} {
		if !strings.Contains(html, want) {
			t.Errorf("lacks %s: %s", want, html)
		}
	}
	if strings.Contains(html, "rev. 2</span>") {
		t.Errorf("offers a revision that is not kept: %s", html)
	}
	if old := page(t, list+"?revision=1"); !strings.Contains(old, "Revision 3 of 4") || strings.Count(old, `?revision=2"`) != 0 || strings.Contains(old, `id="prev"`) {
		t.Errorf("the history begins with what is kept: %s", old)
	}
}

// A list that was deleted and brought back has its whole history.
func TestHistoryAcrossADeletion(t *testing.T) {
	_, url := servertest.Site(t)
	write := servertest.Writer(t, url, "tester")
	write(servertest.Todos("pending", "A"))
	write(servertest.Todos("completed", "A"))
	list := url + "/lists/" + servertest.ListIDs(t, url)[0]
	for _, do := range []string{"delete", "undelete"} {
		if status, _, text := servertest.Post(t, list+"/edit", `{"do":"`+do+`"}`); status != http.StatusOK {
			t.Fatal(status, text)
		}
	}
	html := page(t, list)
	for _, want := range []string{"brought back<", "deleted<", "added “A”<", "completed “A”<"} {
		if !strings.Contains(html, want) {
			t.Errorf("lacks %s: %s", want, html)
		}
	}
	if old := page(t, list+"?revision=3"); !strings.Contains(old, "Revision 3 of 4") || strings.Contains(old, `id="restore"`) || strings.Contains(old, ".md?revision=3") {
		t.Errorf("the revision that deleted it: %s", old)
	}
}

// BAD-INPUT 83: An edit, a line of an import, the JSON of the command TodoWrite: as row 16; in the
// first two also unknown keys, lone surrogates → Refused
func TestEditReadsStrictly(t *testing.T) {
	_, url := servertest.Site(t)
	servertest.Writer(t, url, "tester")(servertest.Todos("pending", "A"))
	edits := url + "/lists/" + servertest.ListIDs(t, url)[0] + "/edit"
	for name, edit := range map[string]string{
		"a key in another case": `{"Do":"text","id":"1","text":"B"}`,
		"two keys, case only":   `{"do":"text","id":"1","text":"B","Text":"C"}`,
		"a key twice":           `{"do":"text","id":"1","text":"B","text":"C"}`,
		"a lone surrogate":      `{"do":"text","id":"1","text":"B\ud800"}`,
		"invalid UTF-8":         "{\"do\":\"text\",\"id\":\"1\",\"text\":\"B\xff\"}",
		"an unknown key":        `{"do":"text","id":"1","text":"B","at":3}`,
		"text behind":           `{"do":"text","id":"1","text":"B"} {}`,
	} {
		if status, _, body := servertest.Post(t, edits, edit); status != 400 || !strings.Contains(body, "not an edit") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	// Any page can send a form.
	if status, _, body := servertest.Ask(t, "POST", edits, `do={"do":"delete"}`, "Content-Type", "application/x-www-form-urlencoded"); status != http.StatusUnsupportedMediaType {
		t.Errorf("a form: %d %s", status, body)
	}
	if status, _, body := servertest.Post(t, edits, `{"do":"text","id":"1","text":"D"}`); status != 200 || !strings.Contains(body, `"revision":2`) {
		t.Errorf("a good edit: %d %s", status, body)
	}
}

// Past lists come a page at a time, each once; a search looks through them all.
func TestPanelPastLists(t *testing.T) {
	_, base := servertest.Site(t)
	write := servertest.Writer(t, base, "claude-code")
	for n := range 130 {
		write(servertest.Todos("completed", "Plan "+strings.Repeat("i", n+1)+"."))
	}
	seen := map[string]bool{}
	pages := 0
	for address := "./?show=past"; address != ""; pages++ {
		html := page(t, base+strings.TrimPrefix(address, "."))
		rows := strings.Split(html, `<li id="row-`)
		for _, row := range rows[1:] {
			id, _, _ := strings.Cut(row, `"`)
			if seen[id] {
				t.Errorf("%s comes twice", id)
			}
			seen[id] = true
		}
		address = ""
		if _, rest, more := strings.Cut(html, `class="btn older" href="`); more {
			href, _, _ := strings.Cut(rest, `"`)
			address = strings.ReplaceAll(href, "&amp;", "&")
		}
	}
	if len(seen) != 130 || pages != 3 {
		t.Errorf("%d lists on %d pages", len(seen), pages)
	}
	if html := page(t, base+"/?q=PLAN+i."); strings.Count(html, `<li id="row-`) != 1 || !strings.Contains(html, "<mark>Plan i.</mark>") {
		t.Errorf("the search finds %d lists", strings.Count(html, `<li id="row-`))
	}
}

// A list that was imported may have any visible id.
func TestPanelOfAListWithADot(t *testing.T) {
	store := memory.New()
	web := servertest.Serve(t, servertest.New(t, store, nil), nil)
	err := store.Update(t.Context(), board.Key{}, func(tx board.Tx) error {
		_, err := tx.Save(t.Context(), todo.Snapshot{List: todo.List{ID: "team.plan"}, Revision: 1})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"", "?revision=1", ".md"} {
		if status := servertest.GetJSON(t, web.URL+"/lists/team.plan"+form, nil); status != 200 {
			t.Errorf("%s: %d", form, status)
		}
	}
}

// counted is a store that counts the lists that are read whole.
type counted struct {
	board.Store
	whole atomic.Int64
}

func (c *counted) Find(ctx context.Context, q board.Query) ([]todo.Snapshot, error) {
	found, err := c.Store.Find(ctx, q)
	if !q.Excerpt {
		c.whole.Add(int64(len(found)))
	}
	return found, err
}

func (c *counted) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	c.whole.Add(1)
	return c.Store.Load(ctx, list, revision)
}

// Of many lists a board reads those whole that it shows as cards, and a page of lists that
// rest none: their items may be large.
func TestBoardsReadExcerpts(t *testing.T) {
	store := &counted{Store: memory.New()}
	web := servertest.Serve(t, servertest.New(t, store, nil), nil)
	for range 40 {
		servertest.Writer(t, web.URL, "claude-code")(servertest.Todos("pending", "A", "B", "C"))
	}
	for path, most := range map[string]int64{"/": 24, "/?show=left": 0, "/?show=past": 0, "/?show=archived": 0} {
		store.whole.Store(0)
		html := page(t, web.URL+path)
		if n := store.whole.Load(); n > most || path == "/" && (n == 0 || !strings.Contains(html, "<bdi>C</bdi>")) {
			t.Errorf("%s reads %d lists whole, %d at most", path, n, most)
		}
	}
}

// A list whose agent asks for something says so wherever it is shown, first of all lists,
// until the agent goes on; no text in a question is taken for HTML.
func TestPanelSaysWhatIsAsked(t *testing.T) {
	s, url := servertest.Site(t)
	write := servertest.Writer(t, url, "claude-code")
	write(servertest.Todos("in_progress", "A"))
	id := servertest.ListIDs(t, url)[0]
	servertest.Writer(t, url, "claude-code")(servertest.Todos("in_progress", "B"))
	servertest.Says(t, s.Board.As(""), id, todo.Asks, "run `npm publish` <b>?")
	for path, want := range map[string]string{
		"/":                    `asks-` + id + `"><bdi>Claude Code asks: run <code>npm publish</code> &lt;b&gt;?</bdi>`,
		"/?project=":           "Claude Code asks: run",
		"/lists/" + id:         "Claude Code asks: run",
		"/api/states":          `"state":"waiting","asks":"run`,
		"/lists/" + id + ".md": "A",
	} {
		if html := page(t, url+path); !strings.Contains(html, want) {
			t.Errorf("%s lacks %q: %.2000s", path, want, html)
		}
	}
	if html := page(t, url+"/"); strings.Index(html, "card-"+id) > strings.Index(html, "<bdi>B</bdi>") {
		t.Error("the list that waits is not the first")
	}
	write(servertest.Todos("in_progress", "A"))
	if html := page(t, url+"/"); strings.Contains(html, "asks:") {
		t.Error("it asks although it goes on")
	}
}

// What a server says of its own address has the path of its public URL.
func TestAddressesBelowAPath(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), func(c *edge.Config) { c.PublicURL = "https://todo.example/todo" })
	html := page(t, web.URL+"/")
	if !strings.Contains(html, "https://todo.example/todo/mcp") || !strings.Contains(html, `<base href="/todo/">`) {
		t.Error(html)
	}
}

// A project's section of the board is the same one whichever of its lists comes first, so that
// an open page changes what differs in it alone.
func TestPanelKeepsSections(t *testing.T) {
	_, base := servertest.Site(t)
	section := func(client string) string {
		t.Helper()
		servertest.Writer(t, base, client)(servertest.Todos("pending", client))
		return regexp.MustCompile(`id="p-[^"]*"`).FindString(page(t, base))
	}
	if first, second := section("claude-code"), section("codex-mcp-client"); first == "" || first != second {
		t.Errorf("the section %s became %s", first, second)
	}
}
