package panel_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

func TestPanelPages(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	write := servertest.Writer(t, web.URL, "claude-code")
	write(servertest.Todos("pending", "A"))
	write(servertest.Todos("completed", "A"))
	var lists []map[string]any
	servertest.GetJSON(t, web.URL+"/api/lists", &lists)
	list := web.URL + "/lists/" + lists[0]["list"].(string)
	for path, want := range map[string]string{
		list: "1 of 1", list + "?revision=1": "Revision 1 of 2", list + "?revision=9": "Revision 2 of 2", list + ".md": "- [x] A", list + ".json": `"revision":2`,
		list + ".md?revision=1": "- [ ] A", list + ".json?revision=1": `"revision":1`, list + "?done": "<bdi>A</bdi>", list + "?item=1": "Move to the top", list + "?rename": "Rename</button>",
	} {
		res, err := http.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || !strings.Contains(string(data), want) {
			t.Errorf("%s: %d, lacks %q: %.300s", path, res.StatusCode, want, data)
		}
	}
	for _, path := range []string{"/lists/none", "/lists/none.md", "/nothing"} {
		if status := servertest.GetJSON(t, web.URL+path, nil); status != 404 {
			t.Errorf("%s: %d", path, status)
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

// BAD-INPUT 65: a list that a person looked at on the panel is not abandoned; one
// that the board alone showed may be.
func TestPanelNotesWhatWasLookedAt(t *testing.T) {
	for path, looked := range map[string]int{"/lists/%s": 1, "/lists/%s?revision=1": 1, "/lists/%s?done": 1, "/lists/%s.md": 1, "/lists/%s.json?revision=1": 1,
		"/": 0, "/lists/none": 0} {
		t.Run(path, func(t *testing.T) {
			store := memory.New()
			web := servertest.Serve(t, servertest.New(t, store, nil), nil)
			write := servertest.Writer(t, web.URL, "claude-code")
			write(servertest.Todos("pending", "A"))
			id := listIDs(t, web.URL)[0]
			servertest.GetJSON(t, web.URL+strings.Replace(path, "%s", id, 1), nil)
			write(servertest.Todos("completed", "A"))
			cursors, err := store.Cursors(t.Context(), todo.Key{Conversation: "person"})
			if err != nil || len(cursors) != looked || looked == 1 && (cursors[0].List != id || cursors[0].Seen != 1) {
				t.Errorf("65: cursors %+v, %v", cursors, err)
			}
		})
	}
}

// A list's page offers the revisions that are kept and no others.
func TestPanelOffersKeptRevisions(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, memory.NewKeeping(todo.Keep{Revisions: 2}), nil), nil)
	write := servertest.Writer(t, web.URL, "claude-code")
	for _, text := range []string{"A", "B", "C", "D"} {
		write(servertest.Todos("pending", "All", text))
	}
	var lists []map[string]any
	servertest.GetJSON(t, web.URL+"/api/lists", &lists)
	res, err := http.Get(web.URL + "/lists/" + lists[0]["list"].(string))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`rev. 3</span>`, `rev. 4</span>`, "earlier revisions are not kept"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("lacks %s: %s", want, data)
		}
	}
	if strings.Contains(string(data), "rev. 2</span>") {
		t.Errorf("offers a revision that is not kept: %s", data)
	}
	old := page(t, web.URL+"/lists/"+lists[0]["list"].(string)+"?revision=1")
	if !strings.Contains(old, "Revision 3 of 4") || strings.Count(old, `href="?revision=2"`) != 0 || strings.Contains(old, `id="prev"`) {
		t.Errorf("the history begins with what is kept: %s", old)
	}
}

// P5: a list is finished when nothing is open on it and its sub-agents' lists, and
// at least one of them has items. An empty list is not.
func TestPanelEmptyListIsNotFinished(t *testing.T) {
	const empty = `{"todos":[]}`
	open, done := servertest.Todos("pending", "A"), servertest.Todos("completed", "A")
	for name, c := range map[string]struct {
		main, sub string
		settled   bool
	}{
		"empty":                {empty, "", false},
		"open":                 {open, "", false},
		"done":                 {done, "", true},
		"done, sub-agent open": {done, open, false},
		"done, sub-agent none": {done, empty, true},
		"done, sub-agent done": {done, done, true},
		"open, sub-agent done": {open, done, false},
		"both empty":           {empty, empty, false},
	} {
		t.Run(name, func(t *testing.T) {
			web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
			id := servertest.Session(t, web.URL+"/mcp", "tester")
			write := func(args, meta string) {
				servertest.Post(t, web.URL+"/mcp", servertest.WithMeta(servertest.Call(1, "TodoWrite", args), meta), "Mcp-Session-Id", id)
			}
			write(open, "")
			write(c.main, "")
			if c.sub != "" {
				write(open, `"todo-mcp/agent":"helper"`)
				write(c.sub, `"todo-mcp/agent":"helper"`)
			}
			stream, _ := follow(t, web.URL+"/panel/events?after=0")
			if d := nextDrawn(t, stream); (d.State == "finished") != c.settled {
				t.Errorf("P5: event %+v", d)
			}
			if html := page(t, web.URL); strings.Contains(html, `<section class="group" id="finished"`) != c.settled {
				t.Errorf("P5: finished lists %s", html)
			}
		})
	}
}

// BAD-INPUT 83: an edit that two readers could take differently is refused and
// changes nothing.
func TestEditReadsStrictly(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	servertest.Writer(t, web.URL, "tester")(servertest.Todos("pending", "A"))
	id := listIDs(t, web.URL)[0]
	for name, edit := range map[string]string{
		"a key in another case": `{"Do":"text","id":"1","text":"B"}`,
		"two keys, case only":   `{"do":"text","id":"1","text":"B","Text":"C"}`,
		"a key twice":           `{"do":"text","id":"1","text":"B","text":"C"}`,
		"a lone surrogate":      `{"do":"text","id":"1","text":"B\ud800"}`,
		"invalid UTF-8":         "{\"do\":\"text\",\"id\":\"1\",\"text\":\"B\xff\"}",
		"an unknown key":        `{"do":"text","id":"1","text":"B","at":3}`,
		"text behind":           `{"do":"text","id":"1","text":"B"} {}`,
	} {
		if status, _, body := servertest.Post(t, web.URL+"/lists/"+id+"/edit", edit); status != 400 || !strings.Contains(body, "not an edit") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _, body := servertest.Post(t, web.URL+"/lists/"+id+"/edit", `{"do":"text","id":"1","text":"D"}`); status != 200 || !strings.Contains(body, `"revision":2`) {
		t.Errorf("a good edit: %d %s", status, body)
	}
}
