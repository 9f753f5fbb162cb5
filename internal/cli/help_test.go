package cli

import (
	"slices"
	"strings"
	"testing"

	"todo-mcp/internal/cli/app"
)

// Each command shows the settings that it uses, and no others.
func TestCommandsShowTheirSettings(t *testing.T) {
	const (
		store  = "store store-notices archive-after request-timeout"
		writes = store + " keep-revisions max-lists max-size audit-log"
		lists  = writes + " list"
		tool   = lists + " max-items max-content-length in-progress item-ids prompts"
		stdio  = tool + " tools structured lang log-level issuer audience tenant-claim client-id client-secret addr" +
			" public-url tls-cert tls-key trusted-proxies max-rate allowed-hosts allowed-origins max-streams"
	)
	want := map[string]string{
		"stdio": stdio + " tokens", "serve": stdio + " admin-addr drain tokens", "doctor": stdio + " admin-addr drain tokens",
		"TodoWrite": tool, "token": "tokens", "demo": "addr",
		"hook": writes, "restore": writes, "rename": writes, "archive": writes, "delete": writes,
		"watch": lists, "edit": lists, "import": lists,
		"show": store + " list", "history": store + " list", "lists": store, "prune": store, "check": store, "export": store,
	}
	for _, c := range commands() {
		var shown []string
		for _, row := range app.NewSettings().Rows {
			if slices.Contains(c.groups, row.Group) {
				shown = append(shown, row.Name)
			}
		}
		if got := strings.Join(shown, " "); got != want[c.name] {
			t.Errorf("%s shows\n%s\nwant\n%s", c.name, got, want[c.name])
		}
	}
}
