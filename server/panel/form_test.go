package panel_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"todo-mcp/server/servertest"
)

// Without script every edit is a form, which leads back to the page. A form of
// which the browser does not say that it is the panel's own is refused.
func TestPanelForms(t *testing.T) {
	web := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	servertest.Writer(t, web.URL, "claude-code")(servertest.Todos("pending", "One", "Two"))
	id := listIDs(t, web.URL)[0]
	list := web.URL + "/lists/" + id
	send := func(address string, form url.Values, header, value string) (status int, location string) {
		t.Helper()
		req, err := http.NewRequest("POST", address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if header != "" {
			req.Header.Set(header, value)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode, res.Header.Get("Location")
	}
	own := func(do, text string) {
		t.Helper()
		if status, to := send(list+"/edit", url.Values{"do": {do}, "text": {text}}, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther || to != "/lists/"+id {
			t.Errorf("%s: %d to %q", do, status, to)
		}
	}
	own("status 1 completed", "")
	own("text 2", "Two, but better")
	own("add", "Three")
	own("block 3", "Wait for Ann")
	own("move 3 0", "")
	own("rename", "Named")
	html := page(t, list)
	for _, want := range []string{"<bdi>Named</bdi>", "<bdi>Two, but better</bdi>", "<bdi>Wait for Ann</bdi>", `status 1 pending`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q: %s", want, html)
		}
	}
	if strings.Index(html, `id="i-3"`) > strings.Index(html, `id="i-1"`) {
		t.Error("the third item was not moved to the top")
	}
	own("undo 1 6", "")
	if html := page(t, list); strings.Contains(html, "but better") || !strings.Contains(html, "status 1 completed") {
		t.Errorf("not undone: %s", html)
	}
	own("remove 2", "")
	own("archive", "")
	own("unarchive", "")
	own("restore 1", "")
	for name, h := range map[string][2]string{"of another site": {"Sec-Fetch-Site", "cross-site"}, "of another port": {"Sec-Fetch-Site", "same-site"}, "with a foreign origin": {"Origin", "http://evil.example"}, "that says nothing": {"", ""}} {
		for _, address := range []string{list + "/edit", web.URL + "/panel/clear"} {
			if status, _ := send(address, url.Values{"do": {"remove 1"}}, h[0], h[1]); status != http.StatusForbidden {
				t.Errorf("a form %s: %d", name, status)
			}
		}
	}
	if status, to := send(list+"/edit", url.Values{"do": {"delete"}}, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther || to != "/" {
		t.Errorf("delete: %d to %q", status, to)
	}
	res, err := http.Get(list)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	gone, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusNotFound || !strings.Contains(string(gone), `href="/?show=past"`) || !strings.Contains(string(gone), "There is no such list") {
		t.Errorf("the page of a deleted list leads nowhere: %d %s", res.StatusCode, gone)
	}
}

// Past lists come a page at a time, each once; a search looks through them all.
func TestPanelPastLists(t *testing.T) {
	s := servertest.New(t, nil, nil)
	web := servertest.Serve(t, s, nil)
	write := servertest.Writer(t, web.URL, "claude-code")
	for n := range 130 {
		write(servertest.Todos("completed", "Plan "+strings.Repeat("i", n+1)+"."))
	}
	seen := map[string]bool{}
	pages := 0
	for address := "/?show=past"; address != ""; pages++ {
		html := page(t, web.URL+address)
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
	if html := page(t, web.URL+"/?q=PLAN+i."); strings.Count(html, `<li id="row-`) != 1 || !strings.Contains(html, "<mark>Plan i.</mark>") {
		t.Errorf("the search finds %d lists", strings.Count(html, `<li id="row-`))
	}
}
