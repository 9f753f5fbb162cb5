package panel_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// has checks that a page has each text of want. A "!" before a text means that the page lacks it.
func has(t *testing.T, html string, want ...string) {
	t.Helper()
	for _, w := range want {
		if text, not := strings.CutPrefix(w, "!"); strings.Contains(html, text) == not {
			t.Errorf("%q: %.9000s", w, html)
		}
	}
}

// listed serves a site with a list that an agent wrote; base is the site's address, list the list page's address.
func listed(t *testing.T, client string, plans ...string) (write func(plan string), base, list string) {
	t.Helper()
	_, base = servertest.Site(t)
	write = servertest.Writer(t, base, client)
	for _, plan := range plans {
		write(plan)
	}
	return write, base, base + "/lists/" + servertest.ListIDs(t, base)[0]
}

func TestPanelPages(t *testing.T) {
	_, url, list := listed(t, "claude-code", servertest.Todos("pending", "A"), servertest.Todos("completed", "A"))
	for path, want := range map[string]string{
		"": "1 of 1", "?revision=1": "Revision 1 of 2", "?revision=9": "Revision 2 of 2", ".md": "- [x] A", ".md?revision=1": "- [ ] A",
	} {
		has(t, page(t, list+path), want)
	}
	for path, want := range map[string]string{"/lists/none": `href="./?show=past"`, "/lists/none.md": "There is no such list", "/nothing": ""} {
		servertest.Is(t, path, 404, want)(servertest.Ask(t, "GET", url+path, ""))
	}
	servertest.Is(t, "restore", 200, `"revision":3`)(servertest.Post(t, list+"/edit", `{"do":"restore","revision":1}`))
	for edit, want := range map[string]int{
		`{"do":"restore","revision":9}`: 404, `{"do":"restore","revision":"x"}`: 400, `{"do":"restore"}`: 400, `{"do":"dance"}`: 400, `nothing`: 400,
		`{"do":"status","id":"99","status":"completed"}`: 409, `{"do":"status","id":"1","status":"done"}`: 400, `{"do":"add","text":"  "}`: 400, `{"do":"add","text":"a\u0000"}`: 400,
	} {
		servertest.Is(t, edit, want, `"error"`)(servertest.Post(t, list+"/edit", edit))
	}
	servertest.Is(t, "a foreign page", 403)(servertest.Post(t, list+"/edit", `{"do":"restore","revision":1}`, "Origin", "http://evil.example"))
}

// BAD-INPUT 65: a list that a person has open, on the panel or another front end, is not
// abandoned. On the panel, this also holds for the lists of its sub-agents. A mere request
// for a page does not count: it may come from a program.
func TestPanelNotesWhatWasLookedAt(t *testing.T) {
	for path, looked := range map[string]int{"/lists/%s": 0, "/lists/%s.md": 0, "/api/lists/%s": 0, "/": 0, "/panel/events": 0,
		"/panel/events?list=%s": 2, "/api/events?list=%s": 1} {
		t.Run(path, func(t *testing.T) {
			store := storetest.NewMemory()
			s := servertest.New(t, store, nil)
			web, id := servertest.Serve(t, s, nil), ""
			for key, parent := range map[string]string{"sub": "main", "main": ""} {
				w := servertest.In(key)
				w.Conversation.Parent = parent
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
	web := servertest.Serve(t, servertest.New(t, storetest.NewMemoryKeeping(board.Keep{Revisions: 2}), nil), nil)
	write := servertest.Writer(t, web.URL, "claude-code")
	for _, text := range []string{"A", "B", "C", "D"} {
		write(servertest.Todos("pending", "All", text))
	}
	list := web.URL + "/lists/" + servertest.ListIDs(t, web.URL)[0]
	has(t, page(t, list), `rev. 3</span>`, `rev. 4</span>`, "earlier revisions are not kept", "!rev. 2</span>")
	has(t, page(t, list+"?revision=1"), "Revision 3 of 4", `!?revision=2"`, `!id="prev"`)
}

// A list that was deleted and brought back has its whole history.
func TestHistoryAcrossADeletion(t *testing.T) {
	_, _, list := listed(t, "tester", servertest.Todos("pending", "A"), servertest.Todos("completed", "A"))
	for _, do := range []string{"delete", "undelete"} {
		servertest.Is(t, "it is answered", http.StatusOK)(servertest.Post(t, list+"/edit", `{"do":"`+do+`"}`))
	}
	has(t, page(t, list), "brought back<", "deleted<", "began with 1 item<", "A: pending → completed<")
	has(t, page(t, list+"?revision=3"), "Revision 3 of 4", `!id="restore"`, "!.md?revision=3")
}

// BAD-INPUT 83: Faults of row 16 in an edit, a line of an import, the command TodoWrite's JSON; in the
// first two also unknown keys, lone surrogates → Refused
func TestEditReadsStrictly(t *testing.T) {
	_, _, list := listed(t, "tester", servertest.Todos("pending", "A"))
	edits := list + "/edit"
	for name, edit := range map[string]string{
		"a key in another case": `{"Do":"text","id":"1","text":"B"}`,
		"two keys, case only":   `{"do":"text","id":"1","text":"B","Text":"C"}`,
		"a key twice":           `{"do":"text","id":"1","text":"B","text":"C"}`,
		"a lone surrogate":      `{"do":"text","id":"1","text":"B\ud800"}`,
		"invalid UTF-8":         "{\"do\":\"text\",\"id\":\"1\",\"text\":\"B\xff\"}",
		"an unknown key":        `{"do":"text","id":"1","text":"B","at":3}`,
		"text behind":           `{"do":"text","id":"1","text":"B"} {}`,
	} {
		servertest.Is(t, name, 400, "not an edit")(servertest.Post(t, edits, edit))
	}
	for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain"} { // any site can send a form
		servertest.Is(t, kind, http.StatusUnsupportedMediaType)(servertest.Ask(t, "POST", edits, `{"do":"delete"}`, "Content-Type", kind))
	}
	servertest.Is(t, "a good edit", 200, `"revision":2`)(servertest.Post(t, edits, `{"do":"text","id":"1","text":"D"}`))
}

// Past lists come in pages, each list once; a search looks through all of them.
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

// An imported list may have any visible id, also one with a dot.
func TestPanelOfAListWithADot(t *testing.T) {
	store := storetest.NewMemory()
	web := servertest.Serve(t, servertest.New(t, store, nil), nil)
	checktest.Must(storetest.Save(t.Context(), store, todo.Snapshot{List: todo.List{ID: "team.plan"}, Revision: 1}))(t)
	for _, form := range []string{"", "?revision=1", ".md"} {
		page(t, web.URL+"/lists/team.plan"+form)
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

// A board of many lists reads only the lists on its cards whole. A page of left, past or
// archived lists reads no list whole: the items may be large.
func TestBoardsReadExcerpts(t *testing.T) {
	store := &counted{Store: storetest.NewMemory()}
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

// The question of a list's agent is on every page and in /api/states, and the list comes
// first, until the agent goes on. No text in a question is taken for HTML.
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
		has(t, page(t, url+path), want)
	}
	if html := page(t, url+"/"); strings.Index(html, "card-"+id) > strings.Index(html, "<bdi>B</bdi>") {
		t.Error("the list that waits is not the first")
	}
	write(servertest.Todos("in_progress", "A"))
	has(t, page(t, url), "!asks:")
}

// The server's own addresses on a page have the path of its public URL.
func TestAddressesBelowAPath(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), func(c *edge.Config) { c.PublicURL = "https://todo.example/todo" })
	has(t, page(t, web.URL), "https://todo.example/todo/mcp", `<base href="/todo/">`)
}

// A project's section of the board keeps its id whichever of its lists comes first, so that an
// open page changes only the parts of the section that differ.
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

// Warnings about the store stand above the lists: the person who watches the lists is often
// the only one to see a warning.
func TestBoardWarns(t *testing.T) {
	warning := ""
	s := servertest.New(t, nil, nil)
	url := servertest.Serve(t, s, func(c *edge.Config) { c.Warn = func() string { return warning } }).URL
	has(t, page(t, url), "!warnings")
	write, _, _ := inSession(t, url)
	write(firstPlan)
	has(t, page(t, url), "!warnings")
	warning = "the store is 81 % full\n2 rows <b>damaged</b>"
	has(t, page(t, url), `<p class="bar lost">the store is 81 % full</p><p class="bar lost">2 rows &lt;b&gt;damaged&lt;/b&gt;</p>`)
}

// The reason that an agent gives by TodoWrite for a blocked, failed or cancelled item is
// shown on the board, on the list's page, in the API and in markdown.
//
// BAD-INPUT 118: A reason of any type, length or content; an unknown status word → One line of at
// most 4,000 characters, or refused; ignored for a status without reasons
func TestPanelShowsReasons(t *testing.T) {
	_, url, list := listed(t, "claude-code", `{"todos":[{"content":"Sign","activeForm":"Signing","status":"blocked","reason":"no <b>key</b>"},`+
		`{"content":"Pack","activeForm":"Packing","status":"failed","reason":"the disk is *full*"},`+
		`{"content":"Announce","activeForm":"Announcing","status":"cancelled","reason":"not wanted"}]}`)
	id := path.Base(list)
	for path, wants := range map[string][]string{
		"/":                    {`no &lt;b&gt;key&lt;/b&gt;`},
		"/lists/" + id:         {`no &lt;b&gt;key&lt;/b&gt;`, "the disk is *full*", "not wanted"},
		"/api/lists/" + id:     {`"status":"failed","reason":"the disk is *full*"`, `"reason":"not wanted"`},
		"/lists/" + id + ".md": {`*(blocked: no \<b>key\</b>)*`, `*(failed: the disk is \*full\*)*`, "*(cancelled: not wanted)*"},
	} {
		has(t, page(t, url+path), wants...)
	}
}

// A search finds texts that lists have now and, with history=true, texts that they had.
// BAD-INPUT 37: no text on the page of results is taken for HTML.
func TestPanelSearchesWhatLeft(t *testing.T) {
	_, base, list := listed(t, "gemini-cli", servertest.Todos("pending", "Buy rope", "Paint <b>it</b>"), servertest.Todos("pending", "Buy rope", "Dry the hull"))
	id := path.Base(list)
	has(t, page(t, base+"/?q=paint"), "!row-"+id, `href="./?history=true&amp;q=paint"`)
	row := element(t, page(t, base+"/?history=true&q=paint"), "li", "row-"+id)
	has(t, row, `href="lists/`+id+`?revision=1"`, "in revision 1: <bdi><mark>Paint</mark> &lt;b&gt;it")
}

// The theme in a person's cookie is in the HTML of every page; an unknown theme is ignored.
// The address of a view that no longer exists leads to the board.
func TestPanelTheme(t *testing.T) {
	_, base := servertest.Site(t)
	for theme, want := range map[string]string{"dark": "dark", "light": "light", `"><script>`: "", "": ""} {
		cookie := (&http.Cookie{Name: "theme", Value: url.QueryEscape(theme)}).String()
		for _, path := range []string{"/", "/?view=table&sort=-title", "/today"} {
			_, _, html := servertest.Ask(t, "GET", base+path, "", "Cookie", cookie)
			has(t, html, `<html lang="en" data-theme="`+want+`">`)
		}
	}
}

// The page of a day, and its markdown, show the done, failed, waiting and open items of each
// project. Each day shows its own items; an invalid day is refused with status 400.
// BAD-INPUT 37: no text of the page is taken for HTML.
func TestPanelToday(t *testing.T) {
	store := storetest.NewMemory()
	now := time.Now()
	day := func(id string, at time.Time, items ...todo.Item) {
		t.Helper()
		for i := range items {
			items[i].ID, items[i].Started, items[i].Ended = string(rune('1'+i)), at, at
		}
		_, err := storetest.Save(t.Context(), store, todo.Snapshot{List: todo.List{ID: id, Client: "claude-code", Workspace: "/src/<b>" + id, Created: at},
			Revision: 1, LastID: len(items), Updated: at, Worked: at, GivenTitle: "<i>" + id + "</i>", Items: items})
		checktest.Check(t, err)
	}
	day("now", now, todo.Item{Text: "<script>x</script>", Status: todo.Completed},
		todo.Item{Text: "Deploy", Status: todo.Failed, Reason: "<b>no</b> key"}, todo.Item{Text: "Tell", Status: todo.Pending})
	day("before", now.AddDate(0, 0, -3), todo.Item{Text: "Plan", Status: todo.Completed})
	url := servertest.Serve(t, servertest.New(t, store, nil), nil).URL
	shows := func(path string, want ...string) {
		t.Helper()
		has(t, page(t, url+path), append(want, "!<script>", "!<b>no", "!<i>now")...)
	}
	earlier, date := now.AddDate(0, 0, -3).Format(time.DateOnly), now.Format(time.DateOnly)
	shows("/today", `<b>1</b> done`, `<span class="bad"><b>1</b> failed`, `<b>1</b> open`, "&lt;script&gt;x&lt;/script&gt;", "&lt;b&gt;no&lt;/b&gt; key",
		`href="lists/now"`, `data-view="today"`, `max="`+date+`"`, `href="today.md?day=`+date+`"`, "!Plan", "!The day after")
	shows("/today?day="+earlier, "Plan", `data-view="day"`, "The day after", "!Deploy")
	shows("/today?day=1999-01-01", "Nothing was done on this day.", "!Deploy")
	has(t, page(t, url+"/today.md"), `- [x] \<script>x`, "!Plan")
	for _, path := range []string{"/today?day=x", "/today?day=2026-13-01", "/today?day=%3Cb%3E", "/today.md?day=x"} {
		if status, _, html := servertest.Ask(t, "GET", url+path, ""); status != 400 || strings.Contains(html, "<b>") {
			t.Errorf("%s: %d %s", path, status, html)
		}
	}
}

// lockStore runs statements on a store, as another program would, and keeps their locks until unlock is called.
func lockStore(t *testing.T, path string, statements ...string) (unlock func()) {
	t.Helper()
	db := checktest.Must(sql.Open("sqlite", path))(t)
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		checktest.Must(db.Exec(s))(t)
	}
	return func() { checktest.Check(t, db.Close()) }
}

// BAD-INPUT 72: while another program has the store locked, an edit and a restore
// are refused with status 503 in time, and neither is applied when the lock ends. This holds
// for a server that already uses the store, and for one that cannot even read it.
func TestEditsOnALockedStore(t *testing.T) {
	for name, lock := range map[string][]string{
		"in use":         {"BEGIN IMMEDIATE"},
		"not to be read": {"PRAGMA locking_mode = EXCLUSIVE", "BEGIN IMMEDIATE", "CREATE TABLE other (x)"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "todo.db")
			list := twoRevisions(t, path)
			store := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
			defer store.Close()
			if name == "in use" {
				checktest.Must(store.Load(t.Context(), list, 0))(t)
			}
			log := &servertest.Log{}
			s := servertest.New(t, store, func(c *server.Config) { c.Log = log.Logger() })
			site := servertest.Serve(t, s, func(c *edge.Config) { c.Timeout = 200 * time.Millisecond })
			unlock := lockStore(t, path, lock...)
			for _, edit := range []string{`{"do":"add","text":"late"}`, `{"do":"restore","revision":1}`} {
				servertest.Is(t, "72: "+edit, http.StatusServiceUnavailable, "did not answer in time")(servertest.Post(t, site.URL+"/lists/"+list+"/edit", edit))
			}
			unlock()
			// Calls that still wait in the store's queue would be carried out before this save.
			next := checktest.Must(store.Load(t.Context(), list, 0))(t)
			next.Revision, next.Operation = next.Revision+1, todo.Operation{}
			if _, err := storetest.Save(t.Context(), store, next); err != nil || next.Revision != 3 || len(next.Items) != 2 {
				t.Errorf("72: revision %d with %d items after the lock, %v", next.Revision, len(next.Items), err)
			}
			checktest.Same(t, "72: lines in the log", len(log.Take()), 2)
		})
	}
}

// twoRevisions makes a store with a list of two revisions, and returns its id.
func twoRevisions(t *testing.T, path string) (list string) {
	t.Helper()
	store := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
	defer store.Close()
	b := board.NewBoard(store)
	defer b.Close()
	for range 2 {
		list = servertest.Apply(t, b.As(""), servertest.In("c"), func(d *todo.Draft) { d.Append("item") }).List.ID
	}
	return list
}

// BAD-INPUT 130: a list whose newest revision is damaged has a card made from its excerpt,
// which says that the list is damaged; its page and its JSON name the command to run, and its
// history has the readable revisions. Other lists are shown, also as they change.
func TestDamagedListAtWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	write := func(lists board.Lists, key, agent, text string) string {
		t.Helper()
		w := servertest.In(key)
		w.Conversation.Detached, w.Conversation.Lasts, w.Conversation.Agent = true, time.Hour, agent
		if agent != "" {
			w.Conversation.Parent = "keel"
		}
		return servertest.Apply(t, lists, w, func(d *todo.Draft) { d.Append(text) }).List.ID
	}
	before := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
	b := board.NewBoard(before)
	damaged := write(b.As(""), "keel", "", "Keel")
	write(b.As(""), "keel", "", "Ribs")
	write(b.As(""), "mast", "", "Mast")
	write(b.As(""), "keel/agent:helper", "helper", "Caulk")
	b.Close()
	checktest.Check(t, before.Close())
	lockStore(t, path, "UPDATE history SET body = replace(body, 'Ribs', 'Rips') WHERE list = '"+damaged+"' AND revision = 2")()
	store := checktest.Must(sqlite.Open(path, board.Keep{}))(t)
	t.Cleanup(func() { store.Close() })
	s := servertest.New(t, store, nil)
	url := servertest.Serve(t, s, nil).URL
	html := page(t, url)
	has(t, html, "Keel", "Mast", "helper")
	checktest.Same(t, "a list that is not damaged is said to be", strings.Count(html, "cannot be read whole"), 1)
	for _, path := range []string{"/lists/" + damaged, "/api/lists/" + damaged} {
		servertest.Is(t, path, http.StatusServiceUnavailable, "todo-mcp restore")(servertest.Ask(t, "GET", url+path, ""))
	}
	var revisions []struct{ Revision int }
	if servertest.GetJSON(t, url+"/api/lists/"+damaged+"/history", &revisions); len(revisions) != 1 || revisions[0].Revision != 1 {
		t.Errorf("its history %v", revisions)
	}
	events := servertest.OpenStream(t, "GET", url+"/panel/events", "")
	events.Expect("hello")
	write(s.Board.As(""), "keel/agent:helper", "helper", "Pitch")
	events.Expect(`"id":"` + damaged + `"`)
	write(s.Board.As(""), "mast", "", "Yard")
	events.Expect("Yard")
}
