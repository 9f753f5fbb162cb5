package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Every test that a Make target chooses by name exists. `go test` would not report a name
// that no test has.
func TestMakefileNamesTests(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "grep", "-hoE", `^func (Test|Fuzz|Benchmark)\w+`, "--", "*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		known[strings.TrimSpace(strings.TrimPrefix(line, "func "))] = true
	}
	names := 0
	for _, group := range regexp.MustCompile(`\^\(?(Test[\w|]+)\)?\\?\$`).FindAllSubmatch(makefile, -1) {
		for name := range strings.SplitSeq(string(group[1]), "|") {
			if names++; !known[name] {
				t.Errorf("the Makefile chooses %s, which is no test", name)
			}
		}
	}
	if names < 10 {
		t.Errorf("only %d names of tests are found in the Makefile", names)
	}
}
