package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var update = flag.Bool("update", false, "write docs/spec/bad-input.md anew")

// cited returns the texts that may cite rules, by path: code, tests, scripts, pages.
func cited(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (strings.HasPrefix(e.Name(), ".") && path != "." || e.Name() == "node_modules" || path == "docs/spec") {
			return filepath.SkipDir
		}
		if !slices.Contains([]string{".go", ".txtar", ".js", ".css", ".html", ".md"}, filepath.Ext(path)) || path == "spec_test.go" {
			return nil
		}
		texts[path] = text(t, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// text returns the text of a file of the repository.
func text(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// numbers returns the numbers in a list with ranges: for "3, 7–9 and 11/12", it returns 3, 7, 8, 9, 11 and 12.
func numbers(list string) (out []int) {
	for _, m := range regexp.MustCompile(`(\d+)(?:(?:–|-|…)(\d+))?`).FindAllStringSubmatch(list, -1) {
		from, _ := strconv.Atoi(m[1])
		to, err := strconv.Atoi(m[2])
		if err != nil {
			to = from
		}
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
	}
	return out
}

var (
	rule      = regexp.MustCompile(`\b[VTCWKPHD][1-9]\b`)
	badInput  = regexp.MustCompile(`BAD-INPUT (\d+(?:(?:–|-|…|/|, | and )\d+)*)`)
	elsewhere = regexp.MustCompile(`\b(VARIANTS|ARCHITECTURE|MCP-NOTES|HOSTS|CRAFT)\b(\.md)?`)
	document  = regexp.MustCompile(`docs/[a-z/-]+\.md`)
)

// Every rule that code, tests or documents cite is in docs/spec, and every
// document that they name exists.
func TestCitedRulesExist(t *testing.T) {
	variants, bad := text(t, "docs", "spec", "variants.md"), text(t, "docs", "spec", "bad-input.md")
	defined := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^- \*\*([VTCWKPHD]\d+)\*\*`).FindAllStringSubmatch(variants, -1) {
		defined[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^- \*\*(\d+)\*\* `).FindAllStringSubmatch(bad, -1) {
		defined["BAD-INPUT "+m[1]] = true
	}
	if len(defined) < 100 {
		t.Fatalf("docs/spec defines %d rules only: its form changed", len(defined))
	}
	for path, has := range cited(t) {
		var ids []string
		ids = append(ids, rule.FindAllString(has, -1)...)
		for _, n := range rowsCited(has) {
			ids = append(ids, fmt.Sprint("BAD-INPUT ", n))
		}
		for _, id := range ids {
			if !defined[id] {
				t.Errorf("%s cites %s, which docs/spec does not have", path, id)
			}
		}
		if m := elsewhere.FindString(has); m != "" {
			t.Errorf("%s cites %s: the rules are in docs/spec", path, m)
		}
		for _, name := range document.FindAllString(has, -1) {
			if _, err := os.Stat(filepath.FromSlash(name)); err != nil {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
	}
}

// rowsCited returns the numbers of the rows of docs/spec/bad-input.md that a text cites.
func rowsCited(text string) (rows []int) {
	for _, m := range badInput.FindAllStringSubmatch(text, -1) {
		rows = append(rows, numbers(m[1])...)
	}
	return rows
}

// badInputRow matches a row of docs/spec/bad-input.md in the comment of its test: the input,
// an arrow, and the behaviour. The row may have several lines.
var badInputRow = regexp.MustCompile(`(?m)^[ \t]*(//|#) BAD-INPUT (\d+): (.*(?:\n[ \t]*(?://|#) .*)*)`)

// badInputRows returns the rows for docs/spec/bad-input.md from comments of tests, by number.
func badInputRows(t *testing.T) map[int]string {
	rows := make(map[int]string)
	for path, has := range cited(t) {
		if !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") && !strings.Contains(filepath.ToSlash(path), "/storetest/") {
			continue
		}
		for _, m := range badInputRow.FindAllStringSubmatch(has, -1) {
			row := regexp.MustCompile(`\n[ \t]*`+m[1]+` `).ReplaceAllString(m[3], " ")
			comes, happens, ok := strings.Cut(row, " → ")
			if !ok {
				continue // a comment that only cites the row
			}
			n, _ := strconv.Atoi(m[2])
			if rows[n] != "" {
				t.Errorf("two tests say what row %d is", n)
			}
			rows[n] = fmt.Sprintf("- **%d** %s → %s", n, comes, happens)
		}
	}
	return rows
}

// docs/spec/bad-input.md is made from comments: each row stands in the comment of the test
// that checks it. With -update, the test rewrites the rows whose numbers the document has.
func TestBadInput(t *testing.T) {
	path, said := filepath.Join("docs", "spec", "bad-input.md"), badInputRows(t)
	last, seen := 0, make(map[int]bool)
	lines := strings.Split(text(t, path), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "## ") {
			last = 0
		}
		m := regexp.MustCompile(`^- \*\*(\d+)\*\* `).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		if n <= last || seen[n] {
			t.Errorf("row %d stands behind row %d, or twice", n, last)
		}
		if last, seen[n] = n, true; line != said[n] && !*update {
			t.Errorf("run with -update: row %d is\n%s\nits test says\n%s", n, line, said[n])
		}
		if lines[i] = said[n]; said[n] == "" {
			t.Fatalf("no test says what row %d is: // BAD-INPUT %d: what comes → what happens", n, n)
		}
	}
	for n := range said {
		if !seen[n] {
			t.Errorf("row %d is in a test, not in %s", n, path)
		}
	}
	if len(seen) < 95 {
		t.Errorf("%d rows: their form changed", len(seen))
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every row of the table of past bugs links to a report of the bug, and names an existing
// test of this repository. The tests that docs/reliability.md names exist, too.
func TestPastBugsNameTheirTests(t *testing.T) {
	checkNamed(t, text(t, "docs", "reliability.md"))
	rows := regexp.MustCompile(`(?m)^\| ([^|]*) \| ([^|]*) \| ([^|]*) \|$`).FindAllStringSubmatch(text(t, "internal", "faults", "BUGS.md"), -1)
	if len(rows) < 12 {
		t.Fatalf("%d rows: the table's form changed", len(rows))
	}
	for _, row := range rows[1:] { // after the table's head
		if checkNamed(t, row[3]) == 0 || !strings.Contains(row[1], "](https://github.com/") {
			t.Errorf("no test or no source: %s", row[0])
		}
	}
}

// checkNamed checks that every test that a text names, as in "server/edge: TestHTTPGuard",
// exists. It returns the number of these tests.
func checkNamed(t *testing.T, in string) int {
	t.Helper()
	named := regexp.MustCompile("`?([a-z0-9./_-]+): ?(Test\\w+|Fuzz\\w+|Benchmark\\w+)`?").FindAllStringSubmatch(in, -1)
	for _, m := range named {
		files, _ := filepath.Glob(filepath.Join(filepath.FromSlash(m[1]), "*_test.go"))
		if !slices.ContainsFunc(files, func(file string) bool { return strings.Contains(text(t, file), "func "+m[2]+"(") }) {
			t.Errorf("there is no %s in %s", m[2], m[1])
		}
	}
	return len(named)
}

// Every front end draws each status, and texts for people and models describe it (CONTRIBUTING.md, "Add a status").
func TestStatusesAreShown(t *testing.T) {
	capital := regexp.MustCompile(`(?:^|_).`)
	for path, form := range map[string]string{ // WORD means in_progress, NAME means InProgress, TEXT means in progress
		"internal/render/plain.go": "todo.NAME:", "internal/watch/board.go": "todo.NAME:", "server/panel/draw.go": "todo.NAME:",
		"server/panel/page.html": `id="g-WORD"`, "server/card/card.js": "\n  WORD: [", "internal/install/sidebar.js": " WORD: ",
		"internal/cli/change/edits.go": "] TEXT", "docs/variants.md": "TEXT", "docs/spec/variants.md": "`WORD`",
		"internal/cli/app/settings.go": "TEXT", "prompts/statuses.md": "WORD", "prompts/zh/statuses.md": "WORD", "prompts/vi/statuses.md": "WORD",
	} {
		for _, status := range todo.Statuses() {
			word, isUsual := string(status), slices.Contains([]todo.Status{todo.Pending, todo.InProgress, todo.Completed}, status)
			if isUsual && (strings.HasPrefix(path, "prompts/") || strings.Contains(path, "settings") || strings.Contains(path, "sidebar")) {
				continue // these files have only the other statuses
			}
			name := capital.ReplaceAllStringFunc(word, func(s string) string { return strings.ToUpper(strings.TrimPrefix(s, "_")) })
			want := strings.NewReplacer("WORD", word, "NAME", name, "TEXT", strings.ReplaceAll(word, "_", " ")).Replace(form)
			if !strings.Contains(text(t, path), want) {
				t.Errorf("%s does not have %s", path, want)
			}
		}
	}
}
