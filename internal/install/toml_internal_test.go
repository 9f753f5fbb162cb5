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
	path := []string{"mcp_servers", "todo"}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseTOML([]byte(text))
		if err != nil {
			return
		}
		_, before, _ := takeServer(text, path[0], path[1])
		for range 2 {
			server := object{{"command", "todo-mcp"}, {"args", []string{"#\n\"'"}}}
			if _, err := d.set(server, path...); err != nil {
				if !errors.Is(err, errNotEdited) {
					t.Errorf("%q: %v", text, err)
				}
				return
			}
		}
		if changed, err := d.set([]string{}, append(path, "args")...); err != nil || !changed {
			t.Errorf("%q: %v", text, err)
		}
		if changed, err := d.remove(append(path, "args")...); err != nil || !changed {
			t.Errorf("%q: %v", text, err)
		}
		if is, err := inLine(d.at(path...)); err != nil || is != `{"command": "todo-mcp"}` {
			t.Errorf("%q: it is %s (%v)", text, is, err)
		}
		if changed, err := d.remove(path...); err != nil || !changed {
			t.Errorf("%q: %v", text, err)
		}
		if _, after, err := takeServer(string(d.data), path[0], path[1]); err != nil || after != before {
			t.Errorf("%q becomes %q (%v)", text, d.data, err)
		}
	})
}
