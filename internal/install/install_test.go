package install_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/todo-mcp/todo-mcp/internal/install"
)

// The command is the name that PATH finds, and the whole path for what has another
// PATH. What is there only for a moment is refused.
func TestCommand(t *testing.T) {
	r := newRig(t, "cursor")
	bin, upgraded := r.m.Executable, filepath.Join(r.m.Home, "Cellar", "1.2.3", "todo-mcp")
	link := filepath.Join(r.m.Home, "link", "todo-mcp")
	r.write(upgraded, "a program")
	r.write(filepath.Join(r.m.Home, "link", "x"), "")
	if err := os.Symlink(upgraded, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, executable, onPath string
		inTerminal, onDesktop    string // "" for an error
	}{
		{"on PATH", bin, bin, "todo-mcp", bin},
		{"not on PATH", bin, "", bin, bin},
		{"another on PATH", bin, link, bin, bin},
		{"by a link that upgrades move", upgraded, link, "todo-mcp", link},
		{"go run", "/tmp/go-build123/b001/exe/todo-mcp", "", "", ""},
	} {
		m := r.m
		m.Executable = c.executable
		m.LookPath = func(name string) (string, error) {
			if c.onPath == "" || name != "todo-mcp" {
				return "", os.ErrNotExist
			}
			return c.onPath, nil
		}
		for name, want := range map[string]string{"cursor": c.onDesktop, "gemini": c.inTerminal} {
			client, _ := install.Find(name)
			change, err := client.Install(m, install.Options{Blank: true})
			_, texts := change.Files()
			if text := strings.Join(texts, ""); (err != nil) != (want == "") || !strings.Contains(text, `"command": "`+want+`"`) && err == nil {
				t.Errorf("%s, %s: %s (%v), want %s", c.name, name, text, err, want)
			}
		}
	}
}

// Another path of this very program stays, for the server and for hooks.
func TestSameProgramByAnotherPath(t *testing.T) {
	r := newRig(t, "cursor")
	other := filepath.Join(r.m.Home, "my tools", "todo-mcp")
	r.write(filepath.Join(r.m.Home, "my tools", "x"), "")
	if err := os.Symlink(r.m.Executable, other); err != nil {
		t.Fatal(err)
	}
	r.write(r.file(), `{"mcpServers": {"todo": {"command": "`+filepath.ToSlash(other)+`", "args": ["--panel"]}}}`)
	r.write(r.hooksFile(), strings.ReplaceAll(`{"version":1,"hooks":{"postToolUse":[{"command":"'PATH' hook","matcher":"TodoWrite"}],"sessionEnd":[{"command":"'PATH' hook"}]}}`, "PATH", other))
	if shown := r.install(install.Options{Hooks: install.Kinds()}); shown != "" {
		t.Errorf("it changes:\n%s", shown)
	}
}

// The command that a person is offered works from where the program is.
func TestTyped(t *testing.T) {
	r := newRig(t, "gemini")
	moved, built := r.m, r.m
	moved.LookPath = func(string) (string, error) { return "", os.ErrNotExist }
	built.Executable = "/tmp/go-build1/b001/exe/todo-mcp"
	for want, m := range map[string]install.Machine{"todo-mcp install": r.m, r.m.Executable + " install": moved, "go run . install": built} {
		if got := m.Typed("install"); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
}

// BAD-INPUT 95: a home that is no whole path would be one below the current folder.
func TestRelativeHome(t *testing.T) {
	for home, wants := range map[string]string{"here": "not a whole path", "./here": "not a whole path", t.TempDir(): ""} {
		t.Setenv("HOME", home)
		t.Setenv("USERPROFILE", home)
		m, err := install.ThisMachine(os.Getenv)
		if (err == nil) != (wants == "") || err != nil && (!strings.Contains(err.Error(), wants) || !strings.Contains(err.Error(), home)) || err == nil && m.Home != home {
			t.Errorf("%s: %q (%v), want %q", home, m.Home, err, wants)
		}
	}
}

// What people see of a server has no passwords.
func TestServerString(t *testing.T) {
	for want, s := range map[string]install.Server{
		"todo-mcp": {Command: "todo-mcp"},
		"todo-mcp … --panel --store --token …": {Command: "todo-mcp", Args: []string{"stdio", "--panel", "--store=postgres://u:p@h/d", "--token", "t"}},
		"npx -y --registry todo-mcp …":         {Command: "npx", Args: []string{"-y", "--registry=https://u:p@h", "todo-mcp", "secret"}},
		"http://h:1/mcp":                       {URL: "http://u:p@h:1/mcp?token=x"},
		"an address":                           {URL: "http://%zz"},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Goose's file is YAML, which is not read or edited: its people read what to add and to take out.
func TestByHand(t *testing.T) {
	r := withFile(t, "goose", "- secret: [")
	before := r.files()
	odd := `--list=a: b # "c" \ & <d>`
	for want, o := range map[string]install.Options{"cmd: todo-mcp": {}, "uri: " + address: {URL: address}, "args: [" + odd + "]": {Args: []string{odd}}} {
		change, err := r.Install(r.m, o)
		_, texts := change.Files()
		var added struct{ Extensions struct{ Todo map[string]any } }
		if err = errors.Join(err, yaml.Unmarshal([]byte(texts[0]), &added)); err != nil || len(change.Notes) != 1 {
			t.Errorf("%q is to be added, noted %q (%v)", texts, change.Notes, err)
		}
		key, _, _ := strings.Cut(want, ":")
		if got := fmt.Sprint(key, ": ", added.Extensions.Todo[key]); got != want || added.Extensions.Todo["timeout"] != 300 {
			t.Errorf("%s is to be added, want %s", texts[0], want)
		}
	}
	change, err := r.Uninstall(r.m, install.Options{})
	if err != nil || !change.IsNone() || len(change.Notes) != 1 || !strings.Contains(change.Notes[0], "~/.config/goose/config.yaml") {
		t.Errorf("%q (%v)", change.Notes, err)
	}
	r.expectFiles(before)
}
