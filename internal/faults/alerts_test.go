//go:build e2e && linux

package faults

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every metric and every operation of the store that an alert or the operator's page
// names is there. A server on PostgreSQL with an audit log has them all.
func TestMetricsOfAlertsExist(t *testing.T) {
	store, _ := newPostgres(t)
	s := mustServe(t, "--store", store, "--audit-log", filepath.Join(t.TempDir(), "audit.log"))
	s.session(t, "").Writes("p:A")
	_, scrape := get(s.url + "/metrics")
	found := 0
	for _, file := range []string{"packaging/prometheus/rules.yaml", "docs/operations.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\b(?:todo|mcp_server|http_server|process)_[a-z_]+[a-z]\b`).FindAllString(string(text), -1) {
			found++
			if !noMetrics[name] && !strings.Contains(scrape, "\n"+name+"{") && !strings.Contains(scrape, "\n"+name+" ") && !strings.Contains(scrape, "# TYPE "+name+" ") {
				t.Errorf("%s names %s, which is not there", file, name)
			}
		}
		for _, label := range regexp.MustCompile(`\boperation="[a-z_]+"`).FindAllString(string(text), -1) {
			if !strings.Contains(scrape, label) { // else an alert would never fire
				t.Errorf("%s names %s, which is not there", file, label)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d names: the form of metrics changed", found)
	}
}

// noMetrics are a metric that the operator's page says is not there, and the schema in
// PostgreSQL.
var noMetrics = map[string]bool{"mcp_server_session_duration_seconds": true, "todo_mcp": true}
