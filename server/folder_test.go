package server_test

import (
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
)

// BAD-INPUT 109: A header `Todo-Folder` that is a literal `${PWD}`, relative, an address
// elsewhere, or huge → Unknown. A whole path or its `file:` address on any system counts; what is
// not UTF-8 is Latin-1
func TestFolderInHeader(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "${PWD}": "", "/home/${USER}": "", "{env:PWD}": "", "/work/{env:NAME}": "", "$PWD": "", "%CD%": "",
		"work": "", "./work": "", "../work": "", "C:": "", "C:work": "", `\work`: "", `\\`: "", "https://example.com/work": "", "file:": "", "file:work": "",
		"file:///w/%zz": "", "\xff": "", " ": "",
		"/": "/", "/work": "/work", "/work/a b/": "/work/a b", "/work//x/../y/.": "/work/y", "/50%20": "/50%20", "/日本": "/日本", "/caf\xe9": "/café",
		"file:///w/a%20b/": "/w/a b", "file:///C:/work": "C:/work", `C:\work\`: `C:\work`, "d:/x": "d:/x", `\\server\share`: `\\server\share`,
		"file://localhost/w": "/w", "file://server/share/a%20b/": `\\server\share\a b`, "file://wsl.localhost/Ubuntu/home/sam": `\\wsl.localhost\Ubuntu\home\sam`,
		"file:////server/share/p": `\\server\share\p`, "file://Server:80/share": "", "file://server": "", "file://server/": "",
	} {
		if got := server.HeaderFolder(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		c.Folder = "/" + strings.Repeat("é", todo.MaxWorkspace)
		c.Writes("p:A")
		if n := len(r.Load(r.Newest()).List.Workspace); n != todo.MaxWorkspace-1 {
			t.Errorf("a workspace of %d bytes", n)
		}
	}, chattest.Sessionless)
}
