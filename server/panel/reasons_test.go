package panel_test

import (
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// What an agent says of an item by TodoWrite is shown on the board and the list's page, in
// the API and as markdown: why it is blocked, failed or was cancelled.
//
// BAD-INPUT 118: A reason of any type, length or content; an unknown status word → One line of at
// most 4,000 characters, or refused; passed over where the status has none
func TestPanelShowsReasons(t *testing.T) {
	_, url := servertest.Site(t)
	write := servertest.Writer(t, url, "claude-code")
	write(`{"todos":[{"content":"Sign","activeForm":"Signing","status":"blocked","reason":"no <b>key</b>"},` +
		`{"content":"Pack","activeForm":"Packing","status":"failed","reason":"the disk is *full*"},` +
		`{"content":"Announce","activeForm":"Announcing","status":"cancelled","reason":"not wanted"}]}`)
	id := servertest.ListIDs(t, url)[0]
	for path, wants := range map[string][]string{
		"/":                    {`no &lt;b&gt;key&lt;/b&gt;`},
		"/lists/" + id:         {`no &lt;b&gt;key&lt;/b&gt;`, "the disk is *full*", "not wanted"},
		"/api/lists/" + id:     {`"status":"failed","reason":"the disk is *full*"`, `"reason":"not wanted"`},
		"/lists/" + id + ".md": {`*(blocked: no \<b>key\</b>)*`, `*(failed: the disk is \*full\*)*`, "*(cancelled: not wanted)*"},
	} {
		html := page(t, url+path)
		for _, want := range wants {
			if !strings.Contains(html, want) {
				t.Errorf("%s lacks %q: %.3000s", path, want, html)
			}
		}
	}
}
