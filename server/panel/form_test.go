package panel_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"todo-mcp/server/servertest"
)

// sendForm sends a form as a page without script does.
func sendForm(t *testing.T, address string, form url.Values, header, value string) (int, http.Header, string) {
	t.Helper()
	return servertest.Ask(t, "POST", address, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", header, value)
}

// Without script every edit is a form, which leads back to the page. A form of
// which the browser does not say that it is the panel's own is refused.
func TestPanelForms(t *testing.T) {
	_, base := servertest.Site(t)
	servertest.Writer(t, base, "claude-code")(servertest.Todos("pending", "One", "Two"))
	id := servertest.ListIDs(t, base)[0]
	list := base + "/lists/" + id
	own := func(do, text string) {
		t.Helper()
		status, header, _ := sendForm(t, list+"/edit", url.Values{"do": {do}, "text": {text}}, "Sec-Fetch-Site", "same-origin")
		if to := header.Get("Location"); status != http.StatusSeeOther || to != "/lists/"+id {
			t.Errorf("%s: %d to %q", do, status, to)
		}
	}
	own(`{"do":"status","id":"1","status":"completed"}`, "")
	own(`{"do":"text","id":"2"}`, "Two, but better")
	own(`{"do":"add"}`, "Three")
	own(`{"do":"block","id":"3"}`, "Wait for Ann")
	own(`{"do":"move","id":"3"}`, "")
	own(`{"do":"rename"}`, "Named")
	html := page(t, list)
	for _, want := range []string{"<bdi>Named</bdi>", "<bdi>Two, but better</bdi>", "<bdi>Wait for Ann</bdi>", `value="{&#34;do&#34;:&#34;status&#34;,&#34;id&#34;:&#34;1&#34;,&#34;status&#34;:&#34;pending&#34;}"`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q: %s", want, html)
		}
	}
	if strings.Index(html, `id="i-3"`) > strings.Index(html, `id="i-1"`) {
		t.Error("the third item was not moved to the top")
	}
	own(`{"do":"undo","from":1,"seen":6}`, "")
	if html := page(t, list); strings.Contains(html, "but better") || !strings.Contains(html, "&#34;1&#34;,&#34;status&#34;:&#34;completed") {
		t.Errorf("not undone: %s", html)
	}
	own(`{"do":"remove","id":"2"}`, "")
	own(`{"do":"archive"}`, "")
	own(`{"do":"unarchive"}`, "")
	own(`{"do":"restore","revision":1}`, "")
	for name, h := range map[string][2]string{"of another site": {"Sec-Fetch-Site", "cross-site"}, "of another port": {"Sec-Fetch-Site", "same-site"}, "with a foreign origin": {"Origin", "http://evil.example"}, "that says nothing": {"X-None", ""}} {
		for _, address := range []string{list + "/edit", base + "/panel/clear"} {
			if status, _, _ := sendForm(t, address, url.Values{"do": {`{"do":"remove","id":"1"}`}}, h[0], h[1]); status != http.StatusForbidden {
				t.Errorf("a form %s: %d", name, status)
			}
		}
	}
	status, header, _ := sendForm(t, list+"/edit", url.Values{"do": {`{"do":"delete"}`}}, "Sec-Fetch-Site", "same-origin")
	if to := header.Get("Location"); status != http.StatusSeeOther || to != "/" {
		t.Errorf("delete: %d to %q", status, to)
	}
	status, _, gone := servertest.Ask(t, "GET", list, "")
	if status != http.StatusNotFound || !strings.Contains(gone, `href="/?show=past"`) || !strings.Contains(gone, "There is no such list") {
		t.Errorf("the page of a deleted list leads nowhere: %d %s", status, gone)
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
	for address := "/?show=past"; address != ""; pages++ {
		html := page(t, base+address)
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
