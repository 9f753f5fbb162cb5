package panel_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// A search finds what stands in lists now, and what left them when it is asked to.
// BAD-INPUT 37: no text that it shows is taken for HTML.
func TestPanelSearchesWhatLeft(t *testing.T) {
	_, base := servertest.Site(t)
	write := servertest.Writer(t, base, "gemini-cli")
	write(servertest.Todos("pending", "Buy rope", "Paint <b>it</b>"))
	write(servertest.Todos("pending", "Buy rope", "Dry the hull"))
	id := servertest.ListIDs(t, base)[0]
	if html := page(t, base+"/?q=paint"); strings.Contains(html, "row-"+id) || !strings.Contains(html, `href="./?history=true&amp;q=paint"`) {
		t.Errorf("a search finds what left a list unasked: %s", html)
	}
	row := element(t, page(t, base+"/?history=true&q=paint"), "li", "row-"+id)
	if !strings.Contains(row, `href="lists/`+id+`?revision=1"`) || !strings.Contains(row, "in revision 1: <bdi><mark>Paint</mark> &lt;b&gt;it") {
		t.Errorf("a search does not find what left a list: %s", row)
	}
}

// A person's theme is on every page from its first byte; another value is none. An address
// of a view that is no more leads to the board.
func TestPanelTheme(t *testing.T) {
	_, base := servertest.Site(t)
	for theme, want := range map[string]string{"dark": "dark", "light": "light", `"><script>`: "", "": ""} {
		cookie := (&http.Cookie{Name: "theme", Value: url.QueryEscape(theme)}).String()
		for _, path := range []string{"/", "/?view=table&sort=-title", "/today"} {
			if _, _, html := servertest.Ask(t, "GET", base+path, "", "Cookie", cookie); !strings.Contains(html, `<html lang="en" data-theme="`+want+`">`) {
				t.Errorf("%s, %s: %.100s", theme, path, html)
			}
		}
	}
}
