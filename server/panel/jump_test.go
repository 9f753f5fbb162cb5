package panel_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"todo-mcp/server/servertest"
)

// The jump leads by words to lists, by their title, project, agent and items, then to what
// left one, and to commands; a search looks in earlier revisions when it is asked to.
// BAD-INPUT 36, 38: no text in it is taken for HTML, nor is what was typed.
func TestPanelJump(t *testing.T) {
	base := tabled(t, "beta claude-code /src/shop 1/3 2", "Alpha codex /src/api 2/2 5", "Away codex /src/api 0/1 1")
	write := servertest.Writer(t, base, "gemini-cli")
	write(servertest.Todos("pending", "Paint <b>it</b>", "Buy rope"))
	write(servertest.Todos("pending", "Dry the hull", "Buy rope"))
	id := servertest.ListIDs(t, base)[0]
	option := regexp.MustCompile(`<bdi class="cut">(.*?)</bdi><span class="small cut">`)
	jump := func(query string) (names []string, html string) {
		t.Helper()
		html = page(t, base+"/panel/jump?q="+url.QueryEscape(query))
		for _, m := range option.FindAllStringSubmatch(html, -1) {
			names = append(names, m[1])
		}
		return names, html
	}
	const search = "Search all lists, and what left them"
	for query, want := range map[string]string{
		"ALPHA":          "Alpha|" + search,
		"shop beta":      "beta|" + search,
		"  api   codex ": "Alpha|Away|" + search,
		"rope hull":      "Dry the hull|" + search,
		"gemini":         "Dry the hull|" + search,
		"aint":           "Paint &lt;b&gt;it&lt;/b&gt;|" + search,
		"table":          search + "|Table",
		"settings dark":  search + "|Settings: dark theme",
		"<script>\u202e": search,
	} {
		if got, html := jump(query); strings.Join(got, "|") != want || strings.Contains(html, "<b>") || strings.Contains(html, "<script>") {
			t.Errorf("%q: %s, want %s: %s", query, got, want, html)
		}
	}
	if got, _ := jump(""); len(got) < 10 || got[0] != "Dry the hull" {
		t.Errorf("without words: %s", got)
	}
	if _, html := jump("Paint"); !strings.Contains(html, `data-href="lists/`+id+`?revision=1"`) || !strings.Contains(html, "in revision 1 of ") {
		t.Errorf("what left a list: %s", html)
	}
	if html := page(t, base+"/?q=paint"); strings.Contains(html, "row-"+id) || !strings.Contains(html, `href="./?history=true&amp;q=paint"`) {
		t.Errorf("a search finds what left a list unasked: %s", html)
	}
	row := element(t, page(t, base+"/?history=true&q=paint"), "li", "row-"+id)
	if !strings.Contains(row, `href="lists/`+id+`?revision=1"`) || !strings.Contains(row, "in revision 1: <bdi><mark>Paint</mark> &lt;b&gt;it") {
		t.Errorf("a search does not find what left a list: %s", row)
	}
}

// A person's theme is on every page from its first byte; another value is none.
func TestPanelTheme(t *testing.T) {
	_, base := servertest.Site(t)
	for theme, want := range map[string]string{"dark": "dark", "light": "light", `"><script>`: "", "": ""} {
		cookie := (&http.Cookie{Name: "theme", Value: url.QueryEscape(theme)}).String()
		for _, path := range []string{"/", "/?view=table", "/today"} {
			if _, _, html := servertest.Ask(t, "GET", base+path, "", "Cookie", cookie); !strings.Contains(html, `<html lang="en" data-theme="`+want+`">`) {
				t.Errorf("%s, %s: %.100s", theme, path, html)
			}
		}
	}
}
