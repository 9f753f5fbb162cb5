package panel_test

import (
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// What is wrong with the store stands above the lists: who watches them is often the only
// person who looks at it.
func TestBoardWarns(t *testing.T) {
	warning := ""
	s := servertest.New(t, nil, nil)
	url := servertest.Serve(t, s, func(c *edge.Config) { c.Warn = func() string { return warning } }).URL
	if html := page(t, url); strings.Contains(html, "warnings") {
		t.Error("a board warns of nothing")
	}
	write, _, _ := inSession(t, url)
	write(firstPlan)
	if html := page(t, url); strings.Contains(html, "warnings") {
		t.Error("a board with a list warns of nothing")
	}
	warning = "the store is 81 % full\n2 rows <b>damaged</b>"
	if html := page(t, url); !strings.Contains(html, `<p class="bar lost">the store is 81 % full</p><p class="bar lost">2 rows &lt;b&gt;damaged&lt;/b&gt;</p>`) {
		t.Errorf("no warnings in %s", html)
	}
}
