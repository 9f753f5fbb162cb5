package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/settings.md")

// docs/settings.md is what the settings table generates.
func TestSettingsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Settings\n\nA flag wins over a variable, a variable over a line `name = value` of the config file\n" +
		"(`$XDG_CONFIG_HOME/todo-mcp/config`, or the file that `--config` or `TODO_CONFIG` names).\n" +
		"A value that is not allowed stops the start.\n\n| flag | variable | default | what it does |\n|---|---|---|---|\n")
	for _, row := range table() {
		def := "`" + row.def + "`"
		if row.def == "" {
			def = ""
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n", row.name, row.variable(), def, row.help)
	}
	path := filepath.Join("..", "..", "docs", "settings.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/settings.md differs from the settings table (%v); run with -update", err)
	}
}

// Every command and flag that README names exists.
func TestReadmeCommands(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	flags := make(map[string]bool)
	for _, c := range commands() {
		for _, f := range ownFlags(c) {
			flags[f.Name] = true
		}
	}
	for _, row := range table() {
		flags[row.name] = true
	}
	ours := regexp.MustCompile("(?:^ {4}|`|\")todo-mcp ([A-Za-z]+)([^`\"\n]*)|`(--[a-z-]+)[^`\n]*`")
	found := 0
	for line := range strings.Lines(string(data)) {
		for _, m := range ours.FindAllStringSubmatch(line, -1) {
			found++
			if _, ok := findCommand(m[1]); m[1] != "" && !ok {
				t.Errorf("README names the command %q", m[1])
			}
			for _, name := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(m[2]+m[3], -1) {
				if !flags[name[1]] {
					t.Errorf("README names the flag %q", name[1])
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d commands and flags were found in README", found)
	}
}

// Every setting accepts its own default and is complete, and no two have the
// same name.
func TestDefaultsAreAllowed(t *testing.T) {
	if _, err := load(nil); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, row := range table() {
		if seen[row.name] || row.help == "" || row.set == nil {
			t.Errorf("setting %q is a duplicate, or has no help or no set function", row.name)
		}
		seen[row.name] = true
	}
}
