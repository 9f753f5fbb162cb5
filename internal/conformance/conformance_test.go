//go:build e2e && linux

// Package conformance runs the official conformance suite of MCP, from npm, against a running `todo-mcp serve`
// (`make conformance`). testdata/expected.txt lists each check that does not pass, with the reason. A result that
// differs from this file fails the test, even if it is better.
package conformance

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// versions are the protocol versions that the suite has scenarios for. Only the last has no sessions.
var versions = []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

func TestConformance(t *testing.T) {
	want, passes := readExpected(t)
	server := checktest.Must(programtest.Start(t, programtest.Build(t), t.TempDir(), nil,
		"serve", "--addr", "127.0.0.1:0", "--store", "memory", "--tools", "all"))(t)
	url := checktest.Must(server.URL())(t)
	var ran []string
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			ran = append(ran, version)
			results, passed := run(t, url, version)
			if passed != passes[version] {
				t.Errorf("%d checks pass, expected are %d", passed, passes[version])
			}
			for _, scenario := range slices.Sorted(maps.Keys(results)) {
				for _, r := range results[scenario] {
					k := key{version, scenario, r.ID, r.Status}
					switch why, expected := want[k]; {
					case r.passed():
					case expected:
						t.Logf("%-45s %-7s %s: %s", scenario, r.Status, r.ID, why)
						delete(want, k)
					default:
						t.Errorf("%s: %s is %s, which is not expected: %s", scenario, r.ID, r.Status, r.Message)
					}
				}
			}
			t.Logf("%s: %d scenarios, %d checks passed", version, len(results), passed)
		})
	}
	for k, why := range want {
		if slices.Contains(ran, k.version) || !slices.Contains(versions, k.version) {
			t.Errorf("%s, %s: %s is expected to be %s (%s), and is not", k.version, k.scenario, k.check, k.status, why)
		}
	}
}

type key struct{ version, scenario, check, status string }

func readExpected(t *testing.T) (want map[key]string, passes map[string]int) {
	t.Helper()
	data := checktest.Must(os.ReadFile("testdata/expected.txt"))(t)
	want, passes = make(map[key]string), make(map[string]int)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.SplitN(line, "|", 5)
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) == 3 && cells[1] == "passes":
			passes[cells[0]] = checktest.Must(strconv.Atoi(cells[2]))(t)
		case len(cells) == 5 && cells[4] != "":
			for version := range strings.FieldsSeq(cells[0]) {
				want[key{version, cells[1], cells[2], cells[3]}] = cells[4]
			}
		default:
			t.Fatalf("expected.txt: a line without a reason: %s", line)
		}
	}
	return want, passes
}

type result struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// passed reports whether a check passed. INFO is only a message, so it is not a failure.
func (r result) passed() bool { return r.Status == "SUCCESS" || r.Status == "INFO" }

func run(t *testing.T, url, version string) (results map[string][]result, passed int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out := t.TempDir()
	suite := exec.CommandContext(ctx, node(t), filepath.Join(packages, "@modelcontextprotocol", "conformance", "dist", "index.js"),
		"server", "--url", url+"/mcp", "--suite", "all", "--spec-version", version, "--output-dir", out)
	// The suite exits with 1 when a check fails. The count of passed checks shows whether all of them ran.
	text, runErr := suite.CombinedOutput()
	files, err := filepath.Glob(filepath.Join(out, "server-*", "checks.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the suite left no results: %v, %s", runErr, text)
	}
	results = make(map[string][]result)
	for _, file := range files {
		m := regexp.MustCompile(`^server-(.*)-\d{4}-\d\d-\d\dT`).FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		data, err := os.ReadFile(file)
		if err != nil || m == nil {
			t.Fatal(file, err)
		}
		var checks []result
		checktest.Check(t, json.Unmarshal(data, &checks))
		for _, c := range checks {
			if c.Status == "SUCCESS" {
				passed++
			}
		}
		results[m[1]] = checks
	}
	return results, passed
}

var packages = filepath.Join("..", "..", "testdata", "npm-conformance", "node_modules")

// node returns the path of the Node.js that is pinned with the suite: the suite may need a newer one than the system's.
func node(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(packages, "node-*", "bin", "node"))
	if err != nil || len(found) == 0 {
		t.Fatal("the conformance suite is not installed: run `make deps`")
	}
	return found[0]
}
