package app

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

var update = flag.Bool("update", false, "rewrite docs/settings.md")

// docs/settings.md has the text that the settings table generates.
func TestSettingsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Settings\n\nAfter this page you can set whatever can be set, and know each default and bound.\n\nA flag wins over a variable, a variable over a line `name = value` of the config file\n" +
		"(`$XDG_CONFIG_HOME/todo-mcp/config`, or the file that `--config` or `TODO_CONFIG` names).\n" +
		"A value that is not allowed stops the start. Each command has the flags that it needs; variables\nand lines count for all.\n\n| flag | variable | default | what it does |\n|---|---|---|---|\n")
	for _, row := range NewSettings().Rows {
		def := "`" + row.Def + "`"
		if row.Def == "" {
			def = ""
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n", row.Name, row.Variable(), def, row.Help)
	}
	b.WriteString("\n" + fixedBounds())
	path := filepath.Join("..", "..", "..", "docs", "settings.md")
	if *update {
		checktest.Check(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != b.String() {
		t.Errorf("docs/settings.md differs from the settings table (%v); run with -update", err)
	}
}

// fixedBounds returns the section of docs/settings.md about bounds that are part
// of the data format, the protocol or the tools' contract.
func fixedBounds() string {
	var b strings.Builder
	b.WriteString("## Bounds that are not settings\n\n| bound | of what | where it is refused |\n|---|---|---|\n")
	for _, row := range []struct {
		most        any
		what, where string
	}{
		{todo.MaxItems, "items of a list", "the tool's result, an edit on the panel, an import"},
		{todo.MaxText, "characters of a text", "the same"},
		{todo.MaxSize, "bytes of a list: of all its texts together", "the same"},
		{todo.MaxName, "characters of a list's name", "`--list`, `?list=` and `Todo-List` (400), an import"},
		{todo.MaxDetail, "characters of a priority, due date or owner", "the tool's result, an import"},
		{todo.MaxRequest, "bytes of a message, a body, a command's input", "413 over HTTP, an error on stdio, the command"},
		{todo.MaxWorkspace, "bytes of a workspace", "cut; an import refuses it"},
		{todo.MaxLabel, "bytes of an id, a client or an agent in an import", "the import"},
		{hook.MaxEvent, "bytes of what a host tells a hook", "nowhere: a line in hook.log"},
		{64, "levels of nesting in a message", "400 over HTTP, an error on stdio"},
		{32 << 10, "bytes of an HTTP header", "431"},
		{200, "bytes of a resource's address in a subscription", "an error: no such resource"},
		{1 << 20, "bytes of a page of a history, or one larger revision", "not at all: the header `Link` leads to the next page"},
		{install.MaxFile, "bytes of a client's configuration file", "`install`, `uninstall`"},
		{2000, "lists in an answer of `/api/lists`, on the panel and in `watch`", "not at all: the last changed are shown"},
	} {
		fmt.Fprintf(&b, "| %v | %s | %s |\n", row.most, row.what, row.where)
	}
	return b.String()
}

// Every setting accepts its own default and has a help text, and no two settings have the same name.
func TestDefaultsAreAllowed(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range NewSettings().Rows {
		if err := row.use(row.Def); err != nil || seen[row.Name] || row.Help == "" {
			t.Errorf("setting %q is a duplicate, has no help, or refuses its default: %v", row.Name, err)
		}
		seen[row.Name] = true
	}
}
