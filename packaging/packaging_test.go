// Package packaging checks that the packages for users (Docker, Helm, ...) fit the program: the variables
// that they set are its settings. `make packages` runs the linters of the packages' formats.
package packaging

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

func read(t *testing.T, dir string, suffixes ...string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".go") {
			return err
		}
		for _, suffix := range suffixes {
			if strings.HasSuffix(path, suffix) {
				data, err := os.ReadFile(path)
				files[path] = string(data)
				return err
			}
		}
		return nil
	})
	checktest.Check(t, err)
	return files
}

// Every TODO_ variable that a package sets is a setting in docs/settings.md.
func TestVariablesAreSettings(t *testing.T) {
	settings := checktest.Must(os.ReadFile(filepath.Join("..", "docs", "settings.md")))(t)
	own := map[string]bool{"TODO_HOST": true} // a variable of the Compose file, for the proxy
	found := 0
	for path, text := range read(t, ".", "Dockerfile", ".yaml", "Caddyfile", ".service", ".env", "manifest.json", "server.json") {
		for _, name := range regexp.MustCompile(`\bTODO_[A-Z_]*[A-Z]\b`).FindAllString(text, -1) {
			found++
			if !own[name] && !strings.Contains(string(settings), "| `"+name+"` |") {
				t.Errorf("%s sets %s, which is no setting", path, name)
			}
		}
	}
	if found < 25 {
		t.Errorf("%d variables: their form changed", found)
	}
}

// Each alert is tested, and the operator's page says what to do about it.
func TestAlertsAreTestedAndDocumented(t *testing.T) {
	files := read(t, "prometheus", ".yaml")
	page := checktest.Must(os.ReadFile(filepath.Join("..", "docs", "operations.md")))(t)
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(files[filepath.Join("prometheus", "rules.yaml")], -1)
	if len(alerts) < 5 {
		t.Fatalf("%d alerts: their form changed", len(alerts))
	}
	for _, alert := range alerts {
		checktest.Has(t, "the tests of alerts", files[filepath.Join("prometheus", "rules_test.yaml")], "alertname: "+alert[1]+",")
		checktest.Has(t, "docs/operations.md", string(page), "| `"+alert[1]+"` |")
	}
}

// Workflows name every action by its commit: otherwise a person who can move a tag could run
// any code with the rights of a release. A job with a right to write runs no make, and no
// workflow gives that right to all its jobs.
func TestWorkflowsArePinned(t *testing.T) {
	files := read(t, filepath.Join("..", ".github", "workflows"), ".yml")
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d`)
	found := 0
	for path, text := range files {
		for _, at := range regexp.MustCompile(`uses: (.*)`).FindAllStringSubmatch(text, -1) {
			if found++; !pinned.MatchString(at[1]) {
				t.Errorf("%s uses %s, which is no commit", path, at[1])
			}
		}
		head, _, _ := strings.Cut(text, "\njobs:")
		if strings.Contains(head, ": write") {
			t.Errorf("%s gives all jobs a right to write", path)
		}
		for _, job := range regexp.MustCompile(`(?m)^  \w+:$`).Split(text, -1)[1:] {
			if strings.Contains(job, ": write") && strings.Contains(job, "make ") {
				t.Errorf("%s: a job that can publish runs what the repository has:\n%s", path, job)
			}
		}
	}
	if found < 6 {
		t.Errorf("%d actions: their form changed", found)
	}
}

// The admin address, which serves profiles, is open only to its own machine, unless the
// chart's values name the namespaces whose pods may reach it.
func TestProfilesAreForNobody(t *testing.T) {
	admin := regexp.MustCompile(`TODO_ADMIN_ADDR(?:\n +value)?[:=] *(.*)`)
	found := 0
	for path, text := range read(t, ".", ".yaml", "Dockerfile", ".service", ".env") {
		for _, at := range admin.FindAllStringSubmatch(text, -1) {
			found++
			address := strings.TrimPrefix(at[1], "{{ if .Values.monitoring.namespaceLabels }}0.0.0.0{{ else }}")
			if !strings.HasPrefix(address, "127.0.0.1") {
				t.Errorf("%s opens %s", path, at[1])
			}
		}
	}
	if found < 3 {
		t.Errorf("%d addresses: their form changed", found)
	}
}

// docs/several-databases.md repeats the measured figures of PostgreSQL from docs/operations.md.
func TestMillionIsAsMeasured(t *testing.T) {
	pages := read(t, filepath.Join("..", "docs"), "operations.md", "several-databases.md")
	measured := regexp.MustCompile(`(?m)^\| .* \| .* \| ([\d,]+(?: [kM]B)?)(?: \(.*\))? \|$`).FindAllStringSubmatch(pages[filepath.Join("..", "docs", "operations.md")], -1)
	if len(measured) != 4 {
		t.Fatalf("%d figures of PostgreSQL: their form changed", len(measured))
	}
	for _, figure := range measured {
		checktest.Has(t, "docs/several-databases.md", pages[filepath.Join("..", "docs", "several-databases.md")], figure[1])
	}
}
