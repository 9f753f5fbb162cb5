package panel_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// tabled serves lists whose agents are gone, of which each is "title client folder
// done/total hours-ago".
func tabled(t *testing.T, lists ...string) (url string) {
	t.Helper()
	store := memory.New()
	for n, text := range lists {
		var title, client, folder string
		var done, total, hours int
		if _, err := fmt.Sscanf(text, "%s %s %s %d/%d %d", &title, &client, &folder, &done, &total, &hours); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-time.Duration(hours) * time.Hour)
		s := todo.Snapshot{List: todo.List{ID: fmt.Sprint("l", n), Client: client, Workspace: folder, Created: at.Add(-time.Duration(total) * time.Hour)},
			Revision: 1, LastID: total, Updated: at, Worked: at, GivenTitle: title, Archived: title == "Away"}
		for i := range total {
			item := todo.Item{ID: fmt.Sprint(i + 1), Text: "A", Status: todo.Pending}
			if i < done {
				item.Status = todo.Completed
			}
			s.Items = append(s.Items, item)
		}
		if _, err := storetest.Save(t.Context(), store, s); err != nil {
			t.Fatal(err)
		}
	}
	return servertest.Serve(t, servertest.New(t, store, nil), nil).URL
}

// The table has all lists, sorted by a column and filtered by state, agent and project, as
// its address says; whatever that says, it is a page with these links and no other text.
func TestPanelTable(t *testing.T) {
	url := tabled(t, "beta claude-code /src/b 1/3 2", "Alpha codex /src/a 2/2 5", "gamma gemini-cli /src/b 0/9 30", "Away codex /src/a 0/1 1", "<i>delta</i> claude-code /src/c 3/4 4")
	rows := regexp.MustCompile(`<tr id="line-[^>]* data-title="([^"]*)"`)
	for query, want := range map[string]string{
		"":                            "beta &lt;i&gt;delta&lt;/i&gt; Alpha gamma",
		"&sort=title":                 "&lt;i&gt;delta&lt;/i&gt; Alpha beta gamma",
		"&sort=-title":                "gamma beta Alpha &lt;i&gt;delta&lt;/i&gt;",
		"&sort=state":                 "beta &lt;i&gt;delta&lt;/i&gt; gamma Alpha",
		"&sort=agent":                 "beta &lt;i&gt;delta&lt;/i&gt; Alpha gamma",
		"&sort=project":               "Alpha beta gamma &lt;i&gt;delta&lt;/i&gt;",
		"&sort=-progress":             "Alpha &lt;i&gt;delta&lt;/i&gt; beta gamma",
		"&sort=changed":               "gamma Alpha &lt;i&gt;delta&lt;/i&gt; beta",
		"&sort=-time":                 "gamma &lt;i&gt;delta&lt;/i&gt; beta Alpha",
		"&sort=%3Cscript%3E&page=-1":  "beta &lt;i&gt;delta&lt;/i&gt; Alpha gamma",
		"&state=left+open":            "beta &lt;i&gt;delta&lt;/i&gt; gamma",
		"&state=finished":             "Alpha",
		"&state=archived":             "Away",
		"&agent=Claude+Code":          "beta &lt;i&gt;delta&lt;/i&gt;",
		"&agent=Codex&state=archived": "Away",
		"&project=%2Fsrc%2Fb":         "beta gamma",
		"&project=":                   "",
		"&state=%22%3E%3Cscript%3E&agent=%3Cb%3E&project=%3Cb%3E": "",
		"&page=99999999999999999999":                              "beta &lt;i&gt;delta&lt;/i&gt; Alpha gamma",
		"&page=7":                                                 "beta &lt;i&gt;delta&lt;/i&gt; Alpha gamma",
	} {
		html := page(t, url+"/?view=table"+query)
		var got []string
		for _, m := range rows.FindAllStringSubmatch(html, -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want || strings.Contains(html, "<script>") || strings.Contains(html, "<b>") || strings.Contains(html, "<i>d") {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	html := page(t, url+"/?view=table&sort=-title&agent=Codex")
	for _, want := range []string{`<th scope="col" id="by-title" class="c-title" aria-sort="descending"><a href="./?agent=Codex&amp;sort=title&amp;view=table">List</a>`,
		`<a href="./?agent=Codex&amp;sort=-changed&amp;view=table">Changed</a>`, `<option value="Codex" selected>Codex</option>`, `<input type="hidden" name="sort" value="-title">`} {
		if !strings.Contains(html, want) {
			t.Errorf("lacks %s: %s", want, html)
		}
	}
	if html := page(t, url+"/?project=%2Fsrc%2Fb"); !strings.Contains(html, `href="./?project=%2Fsrc%2Fb&amp;view=table"`) {
		t.Errorf("a project's page does not lead to its table: %s", html)
	}
}

// Of 2,000 lists the table shows 200 a page, each once, however it is sorted.
func TestPanelTablePages(t *testing.T) {
	var lists []string
	for n := range 2000 {
		lists = append(lists, fmt.Sprintf("List-%04d claude-code /src/a %d/7 %d", n, n%8, n))
	}
	url := tabled(t, lists...)
	seen := make(map[string]bool)
	next := regexp.MustCompile(`href="([^"]*)">Next`)
	address, pages, began := "./?view=table&sort=progress", 0, time.Now()
	for ; address != ""; pages++ {
		html := page(t, url+strings.TrimPrefix(address, "."))
		for _, m := range regexp.MustCompile(`<tr id="line-(l\d+)"`).FindAllStringSubmatch(html, -1) {
			seen[m[1]] = true
		}
		address = ""
		if m := next.FindStringSubmatch(html); m != nil {
			address = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	t.Logf("%s a page", time.Since(began)/time.Duration(pages))
	if pages != 10 || len(seen) != 2000 {
		t.Errorf("%d lists on %d pages", len(seen), pages)
	}
}
