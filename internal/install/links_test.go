package install_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/install"
)

// entry is what a link says of the server.
type entry struct {
	Name, Type, Command string
	Args                []string
}

// decodeLink returns what the address of a link, as a program or a page takes it, says.
func decodeLink(t *testing.T, link string) (e entry) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	text := u.Query().Get("config")
	if u.Opaque != "" { // VS Code takes all of the query, and decodes it as a component
		if text, err = url.PathUnescape(u.RawQuery); err != nil {
			t.Fatal(err)
		}
	} else if u.Host == "cursor.com" || u.Scheme == "cursor" {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		text = string(data)
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("%s says %s: %v", link, text, err)
	}
	if e.Name == "" {
		e.Name = u.Query().Get("name")
	}
	return e
}

// The links of both ways say what `npx -y todo-mcp install` writes.
func TestLinks(t *testing.T) {
	want := map[string]entry{
		"Cursor":           {"todo", "", "npx", []string{"-y", "todo-mcp"}},
		"VS Code":          {"todo", "stdio", "npx", []string{"-y", "todo-mcp"}},
		"VS Code Insiders": {"todo", "stdio", "npx", []string{"-y", "todo-mcp"}},
	}
	for _, link := range links(t) {
		for _, address := range []string{link.URL, link.Page} {
			if diff := cmp.Diff(want[link.Title], decodeLink(t, address)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", address, diff)
			}
			if strings.ContainsAny(address, " \"{}()[]<>") {
				t.Errorf("%s cannot stand in markdown", address)
			}
		}
		delete(want, link.Title)
	}
	if len(want) > 0 {
		t.Errorf("there are no links for %v", want)
	}
}

// links returns those of all clients.
func links(t *testing.T) (all []install.Link) {
	t.Helper()
	for _, c := range install.Clients() {
		some, err := c.Links()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// docs/clients.md has the links of the table of clients.
func TestLinksAreDocumented(t *testing.T) {
	var pages, own strings.Builder
	for _, l := range links(t) {
		pages.WriteString("- [Add to " + l.Title + "](" + l.Page + ")\n")
		own.WriteString(l.URL + "\n")
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
