package install_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// The command is the name that PATH finds, and the whole path for what has another
// PATH. What is there only for a moment is refused.
func TestCommand(t *testing.T) {
	r := newRig(t, "cursor")
	bin, upgraded := r.m.Executable, filepath.Join(r.m.Home, "Cellar", "1.2.3", "todo-mcp")
	link := filepath.Join(r.m.Home, "link", "todo-mcp")
	r.write(upgraded, "a program")
	r.write(filepath.Join(r.m.Home, "link", "x"), "")
	programtest.Check(t, os.Symlink(upgraded, link))
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
	programtest.Check(t, os.Symlink(r.m.Executable, other))
	r.write(r.file(), `{"mcpServers": {"todo": {"command": "`+filepath.ToSlash(other)+`", "args": ["--panel"]}}}`)
	r.write(r.hooksFile(), strings.ReplaceAll(`{"version":1,"hooks":{"postToolUse":[{"command":"'PATH' hook","matcher":"TodoWrite"}],"sessionEnd":[{"command":"'PATH' hook"}]}}`, "PATH", other))
	checktest.Same(t, "it changes", r.install(install.Options{Hooks: install.Kinds()}), "")
}

// The command that a person is offered works from where the program is.
func TestTyped(t *testing.T) {
	r := newRig(t, "gemini")
	moved, built := r.m, r.m
	moved.LookPath = func(string) (string, error) { return "", os.ErrNotExist }
	built.Executable = "/tmp/go-build1/b001/exe/todo-mcp"
	for want, m := range map[string]install.Machine{"todo-mcp install": r.m, r.m.Executable + " install": moved, "go run . install": built} {
		checktest.Same(t, "it is", m.Typed("install"), want)
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
		checktest.Same(t, "the server", s.String(), want)
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

// documented compares a part of a page below docs with what it should be.
func (r *rig) documented(page string, part *regexp.Regexp, want string) {
	r.Helper()
	path := filepath.Join("..", "..", "docs", page)
	text := r.read(path)
	if got := part.FindString(text); *update && got != "" {
		r.write(path, strings.Replace(text, got, want, 1))
	} else if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("docs/%s differs from the table; run with -update (-want +got):\n%s", page, diff)
	}
}

// docs/clients.md has of each client what the table says.
func TestClientsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("<!-- clients -->\n")
	r := newRig(t, "zed")
	block := func(o install.Options) string {
		if _, err := r.Install(r.m, o); err != nil {
			return "- not over HTTP: " + strings.SplitN(err.Error(), ": ", 2)[1] + ".\n"
		}
		paths, texts := r.byHand(o)
		path, text := paths[0], texts[0]
		if filepath.Ext(path) == ".json" {
			var line bytes.Buffer
			programtest.Check(t, json.Compact(&line, []byte(text)))
			return map[bool]string{false: "- ", true: "- over HTTP: "}[o.URL != ""] + "`" + strings.ReplaceAll(line.String(), r.m.Home, "/usr/local") + "`\n"
		}
		text = "```" + filepath.Ext(path)[1:] + "\n" + strings.ReplaceAll(text, r.m.Home, "/usr/local") + "```\n"
		if o.URL != "" {
			text = "\nOver HTTP:\n\n" + text
		}
		return text
	}
	for _, r.Client = range install.Clients() {
		stdio, http := block(install.Options{}), block(install.Options{URL: address})
		fmt.Fprintf(&b, "\n## %s (`%s`)\n\n%s\n\n%s%s", r.Title, r.Client.Name, r.places(), stdio, http)
	}
	r.documented("clients.md", regexp.MustCompile(`(?s)<!-- clients -->\n.*`), b.String())
}

// places returns where a client is configured on each system.
func (r *rig) places() string {
	var out []string
	for _, s := range []struct{ system, title string }{{"darwin", "macOS"}, {"windows", "Windows"}, {"linux", "Linux"}} {
		r.m.System = s.system
		out = append(out, fmt.Sprintf("`%s` (%s)", filepath.ToSlash(r.m.Short(r.file())), s.title))
	}
	out = []string{out[2], out[0], out[1]}
	if one, _, _ := strings.Cut(out[0], " ("); strings.HasPrefix(out[1], one) && strings.HasPrefix(out[2], one) {
		return one
	}
	return strings.Join(out, ", ")
}

// docs/hooks.md says which client runs which kinds of hooks.
func TestKindsAreDocumented(t *testing.T) {
	kinds := install.AllKinds()
	table := "<!-- kinds -->\n| | `" + strings.Join(kinds, "` | `") + "` |\n|---" + strings.Repeat("|---", len(kinds)) + "|\n"
	for _, c := range install.Clients() {
		if c.HookKinds() == nil {
			continue
		}
		table += "| " + c.Title + " |"
		for _, k := range kinds {
			table += map[bool]string{false: " – |", true: " yes |"}[slices.Contains(c.HookKinds(), k)]
		}
		table += "\n"
	}
	r := newRig(t, "zed")
	r.documented("hooks.md", regexp.MustCompile(`<!-- kinds -->\n(\|.*\n)+`), table)
	r.documented("hooks.md", regexp.MustCompile(`A hook starts .* 3 ms`), strings.TrimSuffix(install.HookCost, "."))
}

// What the hooks of each client look like to who writes them by hand: docs/hooks.md has
// into which file, and the plugins in packaging have the same.
func TestHooksAreDocumented(t *testing.T) {
	for _, name := range install.Names() {
		r := newRig(t, name)
		file := r.hooksFile()
		if file == "" {
			continue
		}
		_, texts := r.byHand(install.Options{Hooks: install.Kinds()})
		text := texts[min(1, len(texts)-1)]
		section := regexp.MustCompile(`(?m)^- \*\*` + r.Title + `\*\*: .*$`).FindString(r.read(filepath.Join("..", "..", "docs", "hooks.md")))
		if !strings.Contains(section, "`"+filepath.ToSlash(r.m.Short(file))+"`") {
			t.Errorf("docs/hooks.md does not name %s for %s", r.m.Short(file), r.Title)
		}
		if filepath.Ext(file) == ".js" {
			continue
		}
		r.golden("hooks"+filepath.Ext(file), strings.ReplaceAll(text, r.m.Home, "/usr/local"))
		if slices.Contains([]string{"claude-code", "codex", "gemini"}, name) {
			r.expectPlugin(text)
		}
	}
}

// expectPlugin checks that the client's plugin has the hooks of its settings.
func (r *rig) expectPlugin(settings string) {
	r.Helper()
	// A plugin's server has a name that its hooks do not know.
	asCommand := regexp.MustCompile(`(?s)"type": "mcp_tool",.*?"timeout": 5`)
	settings = asCommand.ReplaceAllString(settings, `"type": "command", "command": "todo-mcp hook", "timeout": 5`)
	settings = strings.ReplaceAll(settings, r.m.Executable, "todo-mcp")
	hooks := func(text string) (out struct{ Hooks any }) {
		programtest.Check(r.T, json.Unmarshal([]byte(text), &out))
		return out
	}
	path := filepath.Join("..", "..", "packaging", r.Client.Name, "hooks", "hooks.json")
	if *update {
		text, _ := json.MarshalIndent(hooks(settings), "", "  ")
		r.write(path, strings.Replace(string(text), `"Hooks"`, `"hooks"`, 1)+"\n")
	}
	plugin := r.read(path)
	checktest.Same(r.T, "the plugin's hooks (-want +got)", cmp.Diff(hooks(settings), hooks(plugin)), "")
}
