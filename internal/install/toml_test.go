package install_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/install"
)

// BAD-INPUT 94: in Codex's file the server's own tables are written anew, whoever wrote them,
// and nothing else is.
func TestTable(t *testing.T) {
	const url = "url = '" + address + "'\n"
	const table = "[mcp_servers.todo]\ncommand = 'todo-mcp'\n"
	const text = "a = \"\"\"\n[mcp_servers.work]\ncommand = 1\n\"\"\"\nb = nan\n"
	windows := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	for _, c := range []struct {
		name, before, after, without string
		options                      install.Options
	}{
		{"a new one", "model = \"x\" # mine", "model = \"x\" # mine\n\n" + table, "model = \"x\" # mine", install.Options{}},
		{
			"what a person added", "model = \"x\"\n\n[mcp_servers.todo]\n# mine\ncommand = \"/gone/todo-mcp\" # \"its\" path\nargs = [\n  \"[tui]\", # it\n]\ntool_timeout_sec = 5\n\n[mcp_servers.todo.env]\nA = \"secret\"\n\n# a screen\n[tui]\n",
			"model = \"x\"\n\n[mcp_servers.todo]\nargs = ['[tui]']\ncommand = 'todo-mcp'\ntool_timeout_sec = 5\n\n[mcp_servers.todo.env]\nA = 'secret'\n\n# a screen\n[tui]\n",
			"model = \"x\"\n\n# a screen\n[tui]\n", install.Options{},
		},
		{
			"what Codex wrote behind it", "[mcp_servers.todo]\ncommand = \"/gone/todo-mcp\"\n\n[mcp_servers.other]\ncommand = \"other\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n",
			table + "\n[mcp_servers.other]\ncommand = \"other\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n",
			"\n[mcp_servers.other]\ncommand = \"other\"\n\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n", install.Options{},
		},
		{
			"tables in several places", "[mcp_servers.todo]\ncommand = \"todo-mcp\"\nenabled = true\n\n[mcp_servers.todo.env]\nA = \"secret\"\n\n[tui]\n\n[mcp_servers.todo.tools]\nx = 1\n",
			"[mcp_servers.todo]\nenabled = true\n" + url + "\n[mcp_servers.todo.env_http_headers]\nTodo-Folder = 'PWD'\n\n[mcp_servers.todo.tools]\nx = 1\n\n[tui]\n\n", "\n[tui]\n\n", install.Options{URL: address},
		},
		{"a table that stdio has not", "[mcp_servers.todo]\n" + url + "\n[mcp_servers.todo.http_headers]\nA = \"secret\"\n# end\n", table + "# end\n", "# end\n", install.Options{}},
		{
			"lines of Windows", "\ufeff" + windows("a = 1\n\n[mcp_servers.todo]\n  command = \"/gone/todo-mcp\" # mine\n\n[tui]\n"),
			"\ufeff" + windows("a = 1\n\n"+table+"\n[tui]\n"), "\ufeff" + windows("a = 1\n\n[tui]\n"), install.Options{},
		},
		{"a text with a table, and no number", text, text + "\n" + table, text, install.Options{}},
		{"a name with other characters", "[mcp_servers.\"a (b\"]\ncommand = \"/gone/todo-mcp\"\n[[x]]\n", "[mcp_servers.'a (b']\ncommand = 'todo-mcp'\n[[x]]\n", "[[x]]\n", install.Options{}},
	} {
		r := withFile(t, "codex", c.before)
		r.install(c.options)
		if diff := cmp.Diff(c.after, r.read(r.file())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		r.uninstall(c.options)
		if now, _ := os.ReadFile(r.file()); string(now) != c.without {
			t.Errorf("%s: without it there is %q, want %q", c.name, now, c.without)
		}
	}
}

// BAD-INPUT 94: an entry that is written in another way than as a table stays, and what
// is said says what to do. Its hooks go all the same.
func TestOtherThanTable(t *testing.T) {
	for _, text := range []string{
		"mcp_servers = {todo = {command = \"/gone/todo-mcp\"}}\n", "[mcp_servers]\ntodo.command = \"/gone/todo-mcp\"\n", "mcp_servers.todo.command = \"/gone/todo-mcp\"\n",
		"a = '''\n[mcp_servers.todo]\ncommand = 1\n'''\n[mcp_servers.todo]\ncommand = \"/gone/todo-mcp\"\n",
	} {
		r := newRig(t, "codex")
		r.install(install.Options{Hooks: install.Kinds()})
		r.write(r.file(), text)
		r.refused(install.Options{}, "--print")
		if shown := r.uninstall(install.Options{}); !strings.Contains(shown, "- hooks.") || !strings.Contains(r.notes, "codex mcp remove todo") {
			t.Errorf("%q: %q\n%s", text, r.notes, shown)
		}
		if now := r.read(r.file()); now != text {
			t.Errorf("%q becomes %q", text, now)
		}
		r.write(r.file(), strings.ReplaceAll(text, "/gone/", ""))
		if shown := r.install(install.Options{}); shown != "" {
			t.Errorf("%q: it changes\n%s", text, shown)
		}
	}
	withFile(t, "codex", "mcp_servers = {a = {command = \"a\"}}\n").refused(install.Options{}, "--print")
}
