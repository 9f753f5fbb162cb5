package install_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/install"
)

// link adds this server to a client by one click: the program is run by npx.
type link struct {
	title string
	own   string // opens the program itself; many pages show no links but those to pages
	page  string // a page of the client's maker that leads to it
}

// links returns the links of the clients that have such, with what
// `npx -y todo-mcp install` writes.
func links(t *testing.T) []link {
	t.Helper()
	entry := func(client string) (e map[string]any) {
		m := newMachine(t)
		m.Executable = filepath.Join(m.Home, "_npx", "todo-mcp")
		_, text, err := find(t, client).Snippet(m, install.Options{})
		var file map[string]map[string]map[string]any
		if err = errors.Join(err, json.Unmarshal([]byte(text), &file)); err != nil {
			t.Fatal(err)
		}
		for _, servers := range file {
			e = servers["todo"]
		}
		return e
	}
	config := func(e map[string]any) []byte {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	cursor := url.Values{"name": {"todo"}, "config": {base64.StdEncoding.EncodeToString(config(entry("cursor")))}}.Encode()
	e := entry("vscode")
	page := "vscode.dev/redirect/mcp/install?" + url.Values{"name": {"todo"}, "config": {string(config(e))}}.Encode()
	e["name"] = "todo"
	own := ":mcp/install?" + url.PathEscape(string(config(e)))
	return []link{
		{"Cursor", "cursor://anysphere.cursor-deeplink/mcp/install?" + cursor, "https://cursor.com/en/install-mcp?" + cursor},
		{"VS Code", "vscode" + own, "https://" + page},
		{"VS Code Insiders", "vscode-insiders" + own, "https://insiders." + page + "&quality=insiders"},
	}
}

// docs/clients.md has the links.
func TestLinksAreDocumented(t *testing.T) {
	var pages, own strings.Builder
	for _, l := range links(t) {
		pages.WriteString("- [Add to " + l.title + "](" + l.page + ")\n")
		own.WriteString(l.own + "\n")
	}
	text := "\n" + pages.String() + "\nThe same for what opens the programs themselves:\n\n```text\n" + own.String() + "```\n\n"
	const mark = "<!-- links -->\n"
	path := filepath.Join("..", "..", "docs", "clients.md")
	parts := strings.SplitN(read(t, path), mark, 3)
	if len(parts) != 3 {
		t.Fatal("docs/clients.md has no two marks of links")
	}
	if *update {
		write(t, path, parts[0]+mark+text+mark+parts[2])
	} else if diff := cmp.Diff(text, parts[1]); diff != "" {
		t.Errorf("docs/clients.md differs from the table; run with -update (-want +got):\n%s", diff)
	}
}
