package install

import (
	"errors"
	"testing"
)

// BAD-INPUT 94: an edit of TOML is made once, changes nothing but what it is about, or is
// refused.
func FuzzTOML(f *testing.F) {
	for _, text := range []string{
		"", "a = [\n[\"x\"],\n]\n[mcp_servers.todo]\n\"command\" = 'x' # c\n[[mcp_servers.todo.env]]\n", "[mcp_servers]\ntodo = {command = 1}", "[ mcp_servers . 'todo' ] # c\r\nargs = '''\n#'''",
		"[mcp_servers.todo.env]\nA = nan\n[mcp_servers.todo]\nurl = \"x\"\nargs.a = 1\n# c\n\n[mcp_servers.a]\n", "\ufeff[mcp_servers]\n[mcp_servers.todo]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		before, err := takeEntry([]byte(text), "mcp_servers", "todo")
		if err != nil {
			return
		}
		set, drop := object{{"command", "todo-mcp"}, {"args", []string{"#\n\"'"}}}, []string{"env", "url"}
		data, err := setTOML([]byte(text), "mcp_servers", "todo", set, drop)
		if err != nil {
			if !errors.Is(err, errUnsafe) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if again, err := setTOML(data, "mcp_servers", "todo", set, nil); err != nil || string(again) != string(data) {
			t.Errorf("%q becomes %q, and a second time %q (%v)", text, data, again, err)
		}
		without, err := removeTOML(data, "mcp_servers", "todo")
		if err != nil {
			return
		}
		if after, err := takeEntry(without, "mcp_servers", "todo"); err != nil || after.entry != nil || after.rest != before.rest {
			t.Errorf("%q becomes %q (%v)", text, without, err)
		}
	})
}
