package install_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
)

// The command in an entry is the program's name if PATH finds it, but the path for a desktop client, which has another
// PATH. A program that `go run` built, and will delete, is refused.
func TestCommand(t *testing.T) {
	r := newRig(t, "cursor")
	bin, upgraded := r.m.Executable, filepath.Join(r.m.Home, "Cellar", "1.2.3", "todo-mcp")
	link := filepath.Join(r.m.Home, "link", "todo-mcp")
	r.write(upgraded, "a program")
	r.write(filepath.Join(r.m.Home, "link", "x"), "")
	checktest.Check(t, os.Symlink(upgraded, link))
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

// A path that leads to this program through a link stays, in the server's entry and in hooks.
func TestSameProgramByAnotherPath(t *testing.T) {
	r := newRig(t, "cursor")
	other := filepath.Join(r.m.Home, "my tools", "todo-mcp")
	r.write(filepath.Join(r.m.Home, "my tools", "x"), "")
	checktest.Check(t, os.Symlink(r.m.Executable, other))
	r.write(r.file(), `{"mcpServers": {"todo": {"command": "`+filepath.ToSlash(other)+`", "args": ["--panel"]}}}`)
	r.write(r.hooksFile(), strings.ReplaceAll(`{"version":1,"hooks":{"postToolUse":[{"command":"'PATH' hook --host cursor","matcher":"TodoWrite"}],"sessionEnd":[{"command":"'PATH' hook --host cursor"}]}}`, "PATH", other))
	checktest.Same(t, "it changes", r.install(install.Options{Hooks: install.Kinds()}), "")
}

// Typed returns a command that works wherever the program is.
func TestTyped(t *testing.T) {
	r := newRig(t, "gemini")
	moved, built := r.m, r.m
	moved.LookPath = func(string) (string, error) { return "", os.ErrNotExist }
	built.Executable = "/tmp/go-build1/b001/exe/todo-mcp"
	for want, m := range map[string]install.Machine{"todo-mcp install": r.m, r.m.Executable + " install": moved, "go run . install": built} {
		checktest.Same(t, "it is", m.Typed("install"), want)
	}
}

// BAD-INPUT 95: a relative home, which would be below the current folder, is refused.
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

// The text of a server that people see contains no passwords.
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

// Goose's file is YAML, which install neither reads nor edits: it says what to add and to remove.
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

// documented compares a part of a page below docs with want; with -update it writes want into the page.
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

// docs/clients.md has the places and the entries of each client, as the table of clients gives them.
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
			checktest.Check(t, json.Compact(&line, []byte(text)))
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
	r.documented("hooks.md", regexp.MustCompile(`A hook starts .* 30 ms`), strings.TrimSuffix(install.HookCost, "."))
}

// The hooks to write by hand for each client are in testdata. docs/hooks.md names the file for them, and the plugins in
// packaging have the same hooks.
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

// expectPlugin checks that the client's plugin in packaging has the same hooks as the client's settings.
func (r *rig) expectPlugin(settings string) {
	r.Helper()
	settings = strings.ReplaceAll(settings, r.m.Executable, "todo-mcp")
	hooks := func(text string) (out struct{ Hooks any }) {
		checktest.Check(r.T, json.Unmarshal([]byte(text), &out))
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

// expectCopy checks that the copy of a file has a text, and that only its owner may read it.
func (r *rig) expectCopy(path, want string) {
	r.Helper()
	info, err := os.Lstat(path + ".todo-mcp.bak")
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		r.Fatalf("%v (%v)", info, err)
	}
	checktest.Same(r.T, fmt.Sprintf("the copy of %s has", path), r.read(path+".todo-mcp.bak"), want)
}

// BAD-INPUT 95: if a file is a link, as with dotfiles in a repository, the link's target is changed; the link stays,
// and the copy of the earlier content is beside the link.
func TestLinkedFile(t *testing.T) {
	r := newRig(t, "gemini")
	path, target := r.file(), filepath.Join(r.m.Home, "dotfiles", "gemini.json")
	r.write(target, "{}\n")
	r.write(filepath.Join(filepath.Dir(path), "other"), "")
	checktest.Check(t, errors.Join(os.Chmod(target, 0o640), os.Symlink(target, path)))
	r.install(install.Options{})
	checktest.Same(t, "the link leads to", checktest.Must(os.Readlink(path))(t), target)
	if info, err := os.Stat(target); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o640 || !strings.Contains(r.read(target), "todo-mcp") {
		t.Errorf("%v (%v): %s", info.Mode(), err, r.read(target))
	}
	if files := r.files(); len(files) != 2 {
		t.Errorf("there are %q", files)
	}
	r.expectCopy(path, "{}\n")
}

// A changed file has one copy, which only its owner may read. The copy has the last content without this program or, if
// all contents name this program, the content before the first change.
func TestBackup(t *testing.T) {
	r := newRig(t, "claude-code").sample().sampleHooks()
	path, hooks := r.file(), r.hooksFile()
	before, hooksBefore := r.read(path), r.read(hooks)
	for _, step := range []func(){
		func() { r.install(install.Options{Hooks: install.Kinds()}) },
		func() { r.install(install.Options{Hooks: install.Kinds(), Args: []string{"--store", "sqlite:/x"}}) },
		func() { r.install(install.Options{URL: address}) },
		func() {
			before = `{"mcpServers": {"b": {"command": "b"}}}`
			r.write(path, before)
			r.install(install.Options{})
		},
	} {
		step()
		r.expectCopy(path, before)
		r.expectCopy(hooks, hooksBefore)
		if files := r.files(); len(files) != 2 {
			t.Errorf("there are %q", files)
		}
	}
}

// BAD-INPUT 95: a folder, a pipe, a broken link or a file that is too large is refused.
func TestNotAFile(t *testing.T) {
	for name, place := range map[string]func(path string) error{
		"is a folder":    func(path string) error { return os.Mkdir(path, 0o700) },
		"is a link to a": func(path string) error { return os.Symlink(path+"-gone", path) },
		"to a file that": func(path string) error { return os.Symlink(path, path) },
		"more than 300 MB: `install --print` shows": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 300_000_001))
		},
		"not a regular file": makePipe,
	} {
		r := newRig(t, "gemini")
		path := r.file()
		r.write(filepath.Join(filepath.Dir(path), "other"), "")
		checktest.Check(t, place(path))
		r.refused(install.Options{}, name, path)
	}
	// A file of 1 MB with many parts (15 MB with TODO_LONG, the long form of the tests) is changed, and the diff is
	// short.
	parts := 20_000
	if os.Getenv("TODO_LONG") != "" {
		parts = 200_000
	}
	r := withFile(t, "claude-code", `{"history": [`+strings.Repeat(`{"display": "`+strings.Repeat("a [ line ", 100)+`", "n": 1},`+"\n", parts/15)+strings.Repeat(`{"n": []},`, parts)+"{}]\n}\n")
	before := r.files()
	if shown := r.install(install.Options{}) + r.uninstall(install.Options{}); len(shown) > 1000 {
		t.Errorf("%d bytes are shown", len(shown))
	}
	r.expectFiles(before)
}

// BAD-INPUT 95: if another program wrote, made or removed a file of servers or of hooks since install read it, install
// does not touch the file.
func TestChangedMeanwhile(t *testing.T) {
	o := install.Options{Hooks: install.Kinds()}
	both := func(r *rig) { r.sample().sampleHooks() }
	for _, path := range []func(*rig) string{(*rig).file, (*rig).hooksFile} {
		for name, c := range map[string]struct {
			before     func(*rig)
			uninstalls bool
			after      string // what the other program writes; empty if it removes the file
		}{
			"written":        {both, false, `{"other": 1}`},
			"removed":        {both, false, ""},
			"broken":         {both, false, "{"},
			"made":           {func(*rig) {}, false, "{}"},
			"uninstalled":    {func(r *rig) { both(r); r.install(o) }, true, `{"other": 1}`},
			"made and taken": {func(r *rig) { r.install(o) }, true, `{"other": 1}`},
		} {
			r := newRig(t, "claude-code")
			c.before(r)
			plan := r.Install
			if c.uninstalls {
				plan = r.Uninstall
			}
			change := checktest.Must(plan(r.m, o))(t)
			path := path(r)
			if r.write(path, c.after); c.after == "" {
				_ = os.Remove(path)
			}
			checktest.Fails(t, name, change.Write(), path+" is left as it was: another program changed it")
			if now, _ := os.ReadFile(path); string(now) != c.after {
				t.Errorf("%s: it has %s", name, now)
			}
		}
	}
}

// BAD-INPUT 167: `uninstall` of a file with a BOM or without a last newline; of one changed since
// → The old bytes return, without copy or empty folder; its copy stays, and is named
func TestUninstallLeavesNothing(t *testing.T) {
	for client, before := range map[string]string{
		"gemini": "\ufeff{\"a\": 1}\r\n", "cursor": `{"mcpServers": {"k": {"command": "k"}}}`, "codex": "model = \"x\"\n[tui]\nnotifications = true",
	} {
		r := withFile(t, client, before)
		r.install(install.Options{})
		r.expectCopy(r.file(), before)
		r.uninstall(install.Options{})
		if entries, err := os.ReadDir(filepath.Dir(r.file())); err != nil || len(entries) != 1 || r.read(r.file()) != before {
			t.Errorf("%s: %q and %v (%v)", client, r.read(r.file()), entries, err)
		}
	}
	r := withFile(t, "cursor", `{"a": 1}`)
	r.install(install.Options{})
	r.write(r.file(), `{"b": 2, "mcpServers": {"todo": {"command": "todo-mcp"}}}`)
	change, err := r.Uninstall(r.m, install.Options{})
	checktest.Check(t, errors.Join(err, change.Write()))
	if copies := change.Copies(); len(copies) != 1 || copies[0] != r.file()+".todo-mcp.bak" {
		t.Errorf("copies: %v", copies)
	}
}
