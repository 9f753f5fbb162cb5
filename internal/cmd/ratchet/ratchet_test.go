package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

// A count over its limit is refused with advice, and so is a count more than one percent below its limit. lowered
// changes only limits above their counts.
func TestLimits(t *testing.T) {
	const text = "# name limit aim how\n\ngo    1000  900 lines\ntests 10    -   lines\n"
	limits, err := parse(text)
	if err != nil || len(limits) != 2 {
		t.Fatal(limits, err)
	}
	for count, want := range map[int]string{1001: "say in the same commit what for", 1000: "", 990: "", 989: "LOWER=-lower"} {
		said := ""
		if err := limits[0].judge(count); err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, want) || (want == "") != (said == "") {
			t.Errorf("%d: %q, want %q", count, said, want)
		}
	}
	want := "# name limit aim how\n\ngo    989   900 lines\ntests 10    -   lines\n"
	if got := lowered(text, limits, map[string]int{"go": 989, "tests": 11}); got != want {
		t.Errorf("lowered:\n%s", got)
	}
	if _, err := parse("go many 900 lines"); err == nil {
		t.Error("a limit that is no number is taken")
	}
}

// countTree counts shipped code, helpers and tests separately, in a folder without git.
func TestCount(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"main.go": "package main\n", "server/a.go": "a\nb\n", "server/a_test.go": "a\nb\nc\n", "server/servertest/b.go": "a\n", "internal/cmd/x/x.go": "a\n",
		"docs/spec/architecture.md": "three short words\n", "docs/compare.md": "a\n", "README.md": "a\n", "CHANGELOG.md": "a\n", ".git.d/a.go": "a\n", "node_modules/a.go": "a\n",
	} {
		path := filepath.Join(root, file)
		checktest.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		checktest.Check(t, os.WriteFile(path, []byte(text), 0o644))
	}
	counts, err := countTree(root)
	checktest.Check(t, err)
	for name, want := range map[string]int{"go": 3, "packages": 2, "tests": 3, "helpers": 2, "docs": 20, "spec": 3, "architecture": 3, "entrances": 2, "changelog": 1} {
		if counts[name] != want {
			t.Errorf("%s is %d, want %d", name, counts[name], want)
		}
	}
}
