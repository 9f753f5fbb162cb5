package install_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
)

// Install adds the server to each client's files, as users have them, then replaces it by one over HTTP, and later adds
// hooks beside other hooks. After uninstall the files are as before. No diff shows a secret (BAD-INPUT 94).
func TestClients(t *testing.T) {
	for _, name := range edited() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name).sample()
			path, hooks, before := r.file(), r.hooksFile(), r.files()
			ext := filepath.Ext(path)
			checktest.Has(t, "the sample has no secret", before[path], "secret")
			shown := r.install(install.Options{})
			r.golden("stdio"+ext, r.read(path))
			if s := r.look(); s.Name != "todo" || !strings.HasSuffix(s.Server.String(), "todo-mcp") || !s.Found {
				t.Errorf("it is %+v", s)
			}
			if name == "claude-desktop" {
				r.refused(install.Options{URL: address}, "Connectors")
			} else {
				shown += r.install(install.Options{URL: address})
				r.golden("http"+ext, r.read(path))
			}
			r.golden("shown.diff", shown+r.uninstall(install.Options{}))
			r.expectFiles(before)
			if hooks == "" {
				return
			}
			before = r.sampleHooks().files()
			shown = r.install(install.Options{Hooks: install.Kinds()})
			if ext := filepath.Ext(hooks); ext != ".js" {
				r.golden("hooks.after"+ext, r.read(hooks))
			}
			hooksAre := map[bool]install.HookState{false: install.HooksThere, true: install.HooksPending}[name == "codex"]
			if s := r.look(); s.Hooks != hooksAre || s.Name != "todo" {
				t.Errorf("it is %+v", s)
			}
			r.golden("hooks.diff", shown+r.uninstall(install.Options{}))
			r.expectFiles(before)
		})
	}
}

// On an empty machine install makes the files with their folders, and writes the same texts as a person would by hand.
// The diff shows all changes, and uninstall leaves nothing.
func TestMissingFiles(t *testing.T) {
	for _, name := range edited() {
		r := newRig(t, name)
		shown := r.install(install.Options{Hooks: install.Kinds()})
		path := r.file()
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("%s: %v (%v)", path, info.Mode(), err)
		}
		if !strings.HasPrefix(shown, path+"\n+ ") {
			t.Errorf("%s is shown as\n%s", path, shown)
		}
		paths, texts := r.byHand(install.Options{Hooks: install.Kinds()})
		for i, path := range paths {
			checktest.Same(t, fmt.Sprintf("%s: by hand is written (-) and there is (+)", name), cmp.Diff(texts[i], r.read(path)), "")
		}
		if shown += r.uninstall(install.Options{}); strings.Contains(shown, "…") {
			t.Errorf("%s is shown as\n%s", name, shown)
		}
		if left, err := os.ReadDir(r.m.Home); err != nil || len(left) != 1 || left[0].Name() != "bin" {
			t.Errorf("%s: the folder has %v (%v)", name, left, err) // BAD-INPUT 167
		}
	}
}

// BAD-INPUT 94: a file that is broken because it is cut off somewhere is not touched. The error says where, and has no
// secret.
func TestCutFilesAreLeft(t *testing.T) {
	for _, name := range edited() {
		r := newRig(t, name).sample().sampleHooks()
		for path, whole := range r.files() {
			refused := 0
			for n := 1; n < len(whole); n += 7 {
				r.write(path, whole[:n])
				if _, err := r.Install(r.m, install.Options{Hooks: install.Kinds()}); err == nil {
					continue // the beginning is valid, as often in TOML
				}
				refused++
				r.refused(install.Options{Hooks: install.Kinds()}, path+":")
			}
			r.write(path, whole)
			if refused < 5 {
				t.Errorf("%s: refused only %d", path, refused)
			}
		}
	}
}

// Clients are found on a machine by the trace that each leaves: a folder or a program.
func TestFound(t *testing.T) {
	r := newRig(t, "zed")
	found := func() (names []string) {
		for _, c := range install.Clients() {
			if s, err := c.Look(r.m, install.Options{}); err != nil || s.Found {
				names = append(names, c.Name)
			}
		}
		return names
	}
	if got := found(); got != nil {
		t.Errorf("on an empty machine there are %v", got)
	}
	for _, trace := range strings.Fields(".claude/x .cursor/x .codex/x .config/zed/x .kimi/x bin/gemini bin/code bin/goose") {
		r.write(filepath.Join(r.m.Home, filepath.FromSlash(trace)), "")
	}
	want := strings.Fields("claude-code cursor vscode codex gemini zed kimi goose")
	if got := found(); !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}

// Variables change the places of clients' files: testdata/places.txt has lines of CLIENT|SYSTEM|VARIABLES|PLACE.
// docs/clients.md has the usual places.
func TestPlaces(t *testing.T) {
	for row := range strings.Lines(newRig(t, "zed").read(filepath.Join("testdata", "places.txt"))) {
		p := strings.Split(strings.TrimSpace(row), "|")
		r := newRig(t, p[0])
		r.m.System = p[1]
		r.m.Getenv = func(name string) string {
			for _, v := range strings.Fields(p[2]) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}
		checktest.Same(t, fmt.Sprintf("%s has", row), filepath.ToSlash(strings.Replace(r.file(), r.m.Home, "~", 1)), p[3])
	}
	r := newRig(t, "claude-desktop")
	r.m.System = "windows"
	store := filepath.Join(r.m.Home, "AppData", "Local", "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude")
	r.write(filepath.Join(store, "config.json"), "{}")
	if got := r.file(); filepath.Dir(got) != store {
		t.Errorf("Claude Desktop of the Store: %s", got)
	}
}

// Of a client's possible files install takes the one with this program, else the first that exists, else the first
// whose folder exists.
func TestSeveralFiles(t *testing.T) {
	r := newRig(t, "opencode")
	folder := filepath.Join(r.m.Home, ".config", "opencode")
	for _, c := range []struct{ name, text, want string }{
		{"../x", "", "opencode.json"},
		{"opencode.jsonc", "{}", "opencode.jsonc"},
		{"opencode.json", "{}", "opencode.json"},
		{"opencode.json", "{", "opencode.json"},
	} {
		r.write(filepath.Join(folder, c.name), c.text)
		if got := r.file(); got != filepath.Join(folder, c.want) {
			t.Errorf("with %s it is %s, want %s", c.name, got, c.want)
		}
	}
	r.refused(install.Options{}, "opencode.json:1:2")
	// The file with this program is taken, even if a file that has precedence was made later.
	r.write(filepath.Join(folder, "opencode.json"), "{}")
	r.write(filepath.Join(folder, "opencode.jsonc"), `{"mcp": {"todo": {"type": "local", "command": ["todo-mcp"]}}}`)
	if got := r.look(); got.File != filepath.Join(folder, "opencode.jsonc") || got.Name != "todo" {
		t.Errorf("the server is found as %q in %s", got.Name, got.File)
	}
	r = newRig(t, "vscode")
	r.write(filepath.Join(r.m.Home, ".config", "Code - Insiders", "User", "settings.json"), "{}")
	checktest.Has(t, "it is", r.file(), "Insiders")
}

// withHooks returns a rig whose client has a file of hooks.
func withHooks(t *testing.T, client, text string) *rig {
	t.Helper()
	r := newRig(t, client)
	r.write(r.hooksFile(), text)
	return r
}

// For each choice of kinds install writes the same hooks, whatever hooks were there before, and Look reports the same
// kinds. The choice none removes all hooks.
func TestHookKinds(t *testing.T) {
	all := install.AllKinds()
	for _, name := range install.Names() {
		known, text := newRig(t, name), map[string]string{}
		if known.hooksFile() == "" {
			continue
		}
		changed := withHooks(t, name, "")
		for _, n := range []int{63, 1, 2, 4, 8, 16, 32, 3, 5, 12, 20, 33, 31, 64, 80, 127} { // each bit is a kind
			var kinds []install.Kind
			for i, k := range all {
				if n>>i&1 == 1 {
					kinds = append(kinds, k)
				}
			}
			fresh := newRig(t, name)
			fresh.install(install.Options{Hooks: kinds})
			changed.install(install.Options{Hooks: kinds})
			s, now := fresh.look(), changed.look()
			if diff := cmp.Diff(s.Kinds, now.Kinds); diff != "" || s.Hooks != now.Hooks || s.Hooks == install.HooksOutdated {
				t.Errorf("%s with %v: %+v, and changed %+v", name, kinds, s, now)
			}
			runs := strings.Join(s.Kinds, ",")
			if name == "claude-code" && !slices.Equal(s.Kinds, kinds) && !(slices.Contains(s.Kinds, install.Waiting) && slices.Contains(s.Kinds, install.Edits)) {
				t.Errorf("%s with %v runs %s", name, kinds, runs)
			}
			if s.Hooks == install.HooksMissing {
				continue
			}
			written := strings.ReplaceAll(fresh.read(fresh.hooksFile()), fresh.m.Home, "")
			if other, seen := text[runs]; seen && other != written {
				t.Errorf("%s has several forms of %s", name, runs)
			}
			text[runs] = written
		}
		if len(text) < map[string]int{"claude-code": 12, "codex": 7, "gemini": 4}[name] {
			t.Errorf("%s has %d choices", name, len(text))
		}
		changed.install(install.Options{Hooks: []install.Kind{}})
		if s := changed.look(); s.Hooks != install.HooksMissing || s.Name == "" {
			t.Errorf("%s has %+v", name, s)
		}
	}
}

// BAD-INPUT 117: Foreign hooks that post to our address; an unknown hook kind → Foreign hooks stay, also after
// `uninstall`; the kind's error lists the kinds
func TestNoKinds(t *testing.T) {
	for _, name := range []string{"mirrors", "all mirror", "mirror,\x1b[2J", "", "none,mirror"} {
		if kinds, err := install.ParseKinds(name); err == nil || !strings.Contains(err.Error(), "mirror, calls") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q are the kinds %v, %v", name, kinds, err)
		}
	}
}

// BAD-INPUT 94: uninstall removes the hooks, even if the server's entry cannot be edited and stays.
func TestHooksGoWithoutTheServer(t *testing.T) {
	const text = "mcp_servers.todo.command = \"/gone/todo-mcp\"\n"
	r := newRig(t, "codex")
	r.install(install.Options{Hooks: install.Kinds()})
	r.write(r.file(), text)
	if shown := r.uninstall(install.Options{}); !strings.Contains(shown, "- hooks at ") || r.read(r.file()) != text {
		t.Errorf("%s\n%s", shown, r.read(r.file()))
	}
}

// outcome is a client after an install.
type outcome struct {
	*rig
	o     install.Options
	was   install.HookState // the state of hooks before
	shown string
	err   error
}

// installed writes a text, given as before, to a file of a client, then installs to the client. The first word is the
// client's name. The text goes to the file of servers or, with the word "in hooks", of hooks. The word "windows" gives
// it a byte order mark and CRLF. Other words describe the machine and set flags of install.
func installed(t *testing.T, words []string, before string) *outcome {
	t.Helper()
	out := &outcome{rig: newRig(t, words[0])}
	path := out.file()
	for _, word := range words[1:] {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "args":
			out.o.Args = strings.Fields(value)
		case "http":
			out.o.URL = value
		case "hooks":
			kinds, err := install.ParseKinds(value)
			checktest.Check(t, err)
			out.o.Hooks = kinds
		case "allow":
			allows := value != "no"
			out.o.Allow = &allows
		case "in hooks":
			path = out.hooksFile()
		case "windows":
			before = "\ufeff" + strings.ReplaceAll(before, "\n", "\r\n")
		case "os":
			out.m.System = value
			path = out.file()
		case "npx":
			out.m.Executable = filepath.Join(out.m.Home, ".npm", "_npx", "1a", "node_modules", "@todo-mcp", "linux-x64", "bin", "todo-mcp")
		case "program":
			out.m.Executable = value
			out.m.LookPath = func(string) (string, error) { return "", os.ErrNotExist }
		}
	}
	out.write(path, before)
	state, _ := out.Look(out.m, out.o)
	out.was = state.Hooks
	if _, out.err = out.Install(out.m, out.o); out.err != nil {
		out.refused(out.o, path)
	} else {
		out.shown = out.install(out.o)
	}
	return out
}

// part returns one aspect of the outcome, by its name in testdata/cases.
func (out *outcome) part(name string) string {
	path := out.file()
	switch name {
	case "notes":
		return out.notes
	case "hooks were":
		return string(out.was)
	case "shown":
		return out.shown
	case "error":
		return fmt.Sprint(out.err)
	case "files":
		return strings.Join(slices.Sorted(maps.Keys(out.files())), " ")
	case "hooks", "without hooks":
		path = out.hooksFile()
	}
	if strings.HasPrefix(name, "without") {
		out.uninstall(out.o)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "none"
	}
	return string(text)
}

// testdata/cases has many clients' files before and after install. A part whose name contains | is a file before
// install or, with the word "lines", one file in each line. The parts that follow it are the outcomes (BAD-INPUT 94).
//
// BAD-INPUT 97: Another server by our name, or a program, package or address whose name contains
// ours → It stays; our entry is called todo-mcp
//
// BAD-INPUT 99: `install` by a program in npx's cache → The entry calls npx; a user's version and
// arguments stay
func TestCases(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "cases", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%q, %v", paths, err)
	}
	for _, path := range paths {
		cases := checktest.Must(txtar.ParseFile(path))(t)
		var all []*outcome
		title := ""
		for i := range cases.Files {
			part := &cases.Files[i]
			if words := strings.Split(part.Name, " | "); len(words) > 1 {
				title, all = words[0], nil
				files := []string{string(part.Data)}
				if words[min(2, len(words)-1)] == "lines" {
					files = strings.Split(strings.TrimSpace(files[0]), "\n")
				}
				for _, before := range files {
					all = append(all, installed(t, words[1:], before))
				}
				continue
			}
			got := ""
			for _, out := range all {
				text := strings.ReplaceAll(out.part(part.Name), out.m.Home, "/HOME")
				got += strings.TrimRight(strings.NewReplacer("\ufeff", "<mark>", "\r", "<cr>").Replace(text), "\n") + "\n"
			}
			if *update {
				part.Data = []byte(got)
			} else if diff := cmp.Diff(string(part.Data), got); diff != "" {
				t.Errorf("%s, %s, %s (-want +got):\n%s", path, title, part.Name, diff)
			}
		}
		if *update {
			checktest.Check(t, os.WriteFile(path, txtar.Format(cases), 0o600))
		}
	}
}
