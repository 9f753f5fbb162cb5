package install_test

import (
	"strings"
	"testing"

	"todo-mcp/internal/install"
)

// Goose's file is YAML, which is not edited: its people read what to add, and what to
// take out, until a search of the file finds it.
func TestByHand(t *testing.T) {
	m, c := newMachine(t), find(t, "goose")
	path, before := sample(t, m, c)
	for _, o := range []install.Options{{}, {URL: address}} {
		write(t, path, before)
		_, snippet, err := c.Snippet(m, o)
		if err != nil {
			t.Fatal(err)
		}
		change, err := c.Install(m, o)
		if err != nil || !change.IsNone() || !strings.HasSuffix(change.ByHand, snippet) || change.File != path {
			t.Errorf("%+v (%v)", change, err)
		}
		if s, err := c.Look(m, o); err != nil || s.Name != "" {
			t.Errorf("before there is %+v (%v)", s, err)
		}
		_, extension, _ := strings.Cut(snippet, "\n")
		write(t, path, strings.Replace(before, "extensions:\n", "extensions:\n"+extension, 1))
		if s, err := c.Look(m, o); err != nil || s.Name != "todo" || s.Server.Command+s.Server.URL == "" {
			t.Errorf("there is %+v (%v)", s, err)
		}
		if change, err := c.Install(m, o); err != nil || change.ByHand != "" {
			t.Errorf("a second time: %+v (%v)", change, err)
		}
		if change, err := c.Uninstall(m, o); err != nil || !change.IsNone() || !strings.Contains(change.ByHand, "take the extension out") {
			t.Errorf("%+v (%v)", change, err)
		}
	}
}

// BAD-INPUT 97: another extension of Goose is not this server, and one of this server that
// is not as wanted is printed.
func TestByHandBesideAnother(t *testing.T) {
	m, c := newMachine(t), find(t, "goose")
	const other = "extensions:\n  other:\n    uri: https://mcp.example.com/mcp\n"
	for _, row := range []struct {
		text, want string // what to do; empty for nothing
		options    install.Options
	}{
		{other, "add this", install.Options{}},
		{"extensions:\n  other:\n    cmd: my-todo-mcp\n", "add this", install.Options{}},
		{other, "", install.Options{URL: "https://mcp.example.com/mcp"}},
		{other + "  todo:\n    cmd: todo-mcp\n", "", install.Options{}},
		{other + "  todo:\n    cmd: /gone/todo-mcp\n", "as here", install.Options{}},
		{other + "  todo:\n    cmd: todo-mcp\n", "as here", install.Options{URL: address}},
		{other + "  todo:\n    cmd: todo-mcp\n", "as here", install.Options{Args: []string{"--panel"}}},
		{other + "  todo:\n    uri: " + address + "\n  second:\n    cmd: todo-mcp\n", "", install.Options{URL: address}},
		{other + "  todo:\n    uri: " + address + "\n  second:\n    cmd: todo-mcp\n", "as here", install.Options{}},
	} {
		write(t, file(t, m, c), row.text)
		_, snippet, err := c.Snippet(m, row.options)
		if err != nil {
			t.Fatal(err)
		}
		change, err := c.Install(m, row.options)
		if err != nil || row.want == "" && change.ByHand != "" || row.want != "" && (!strings.Contains(change.ByHand, row.want) || !strings.HasSuffix(change.ByHand, snippet)) {
			t.Errorf("%s%+v: %q (%v)", row.text, row.options, change.ByHand, err)
		}
	}
	write(t, file(t, m, c), other)
	if change, err := c.Uninstall(m, install.Options{}); err != nil || change.ByHand != "" {
		t.Errorf("%q is to go (%v)", change.ByHand, err)
	}
}
