package install_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/install"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata and docs/clients.md")

const address = "http://127.0.0.1:8765/mcp"

// newMachine returns a machine of its own, with this program on its PATH.
func newMachine(t *testing.T) install.Machine {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, "bin", "todo-mcp"), "a program")
	return install.Machine{
		System: "linux", Home: home, Executable: filepath.Join(home, "bin", "todo-mcp"),
		Getenv: func(string) string { return "" },
		LookPath: func(name string) (string, error) {
			path := filepath.Join(home, "bin", name)
			_, err := os.Stat(path)
			return path, err
		},
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func find(t *testing.T, name string) install.Client {
	t.Helper()
	c, ok := install.Find(name)
	if !ok {
		t.Fatalf("no client %s", name)
	}
	return c
}

// edited are the clients whose file is edited: Goose's is not.
func edited() []install.Client {
	return slices.DeleteFunc(install.Clients(), func(c install.Client) bool { return c.Name == "goose" })
}

// file returns where a client is configured on a machine.
func file(t *testing.T, m install.Machine, c install.Client) string {
	t.Helper()
	s, err := c.Look(m, install.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s.File
}

// sample puts the sample of a client's file in its place. It returns the path and the
// text.
func sample(t *testing.T, m install.Machine, c install.Client) (path, text string) {
	t.Helper()
	path = file(t, m, c)
	text = read(t, filepath.Join("testdata", c.Name, "before"+filepath.Ext(path)))
	write(t, path, text)
	return path, text
}

// apply makes a change and returns it as it was shown.
func apply(t *testing.T, change install.Change, err error) (diff string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	diff = change.Diff()
	if _, err := change.Write(); err != nil {
		t.Fatal(err)
	}
	return diff
}

// golden compares a text of a machine with a file.
func golden(t *testing.T, m install.Machine, path, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, m.Home, "/HOME")
	if *update {
		write(t, path, got)
	}
	if diff := cmp.Diff(read(t, path), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// Each client's file as its users have it: the server is added, also one over HTTP in
// its place, a second time changes nothing, and without it the file is as it was. What
// is shown has none of the secrets (BAD-INPUT 96).
func TestClients(t *testing.T) {
	for _, c := range edited() {
		t.Run(c.Name, func(t *testing.T) {
			m := newMachine(t)
			path, before := sample(t, m, c)
			dir, ext := filepath.Join("testdata", c.Name), filepath.Ext(path)
			if !strings.Contains(before, "secret") {
				t.Error("the sample has no secret")
			}
			change, err := c.Install(m, install.Options{})
			shown := apply(t, change, err)
			golden(t, m, filepath.Join(dir, "stdio"+ext), read(t, path))
			unchanged(t, m, c, install.Options{})
			if s, err := c.Look(m, install.Options{}); err != nil || s.Name != "todo" || !strings.HasSuffix(s.Server.String(), "todo-mcp") || !s.Found {
				t.Errorf("it is %+v (%v)", s, err)
			}
			if other, err := c.Install(m, install.Options{URL: address}); c.Name == "claude-desktop" {
				if err == nil || !strings.Contains(err.Error(), "Connectors") {
					t.Errorf("over HTTP: %v", err)
				}
			} else {
				shown += apply(t, other, err)
				golden(t, m, filepath.Join(dir, "http"+ext), read(t, path))
				unchanged(t, m, c, install.Options{URL: address})
			}
			change, err = c.Uninstall(m, install.Options{})
			shown += apply(t, change, err)
			if diff := cmp.Diff(before, read(t, path)); diff != "" {
				t.Errorf("without the server it is not as before (-want +got):\n%s", diff)
			}
			if change, err := c.Uninstall(m, install.Options{}); err != nil || !change.IsNone() {
				t.Errorf("a second time (%v):\n%s", err, change.Diff())
			}
			golden(t, m, filepath.Join(dir, "shown.diff"), shown)
			if strings.Contains(shown, "secret") || strings.Contains(shown, "Bearer") {
				t.Errorf("a secret is shown:\n%s", shown)
			}
		})
	}
}

// unchanged checks that installing changes nothing.
func unchanged(t *testing.T, m install.Machine, c install.Client, o install.Options) {
	t.Helper()
	if change, err := c.Install(m, o); err != nil || !change.IsNone() {
		t.Errorf("a second time (%v):\n%s", err, change.Diff())
	}
}

// BAD-INPUT 94: a file that is cut off anywhere is not touched if it is broken by that,
// and the error says where; no secret of it is told.
func TestBrokenFilesAreLeft(t *testing.T) {
	for _, c := range edited() {
		m := newMachine(t)
		path, whole := sample(t, m, c)
		refused := 0
		for n := 1; n < len(whole); n += 7 {
			write(t, path, whole[:n])
			change, err := c.Install(m, install.Options{})
			if err == nil {
				continue // a beginning that is whole, as there are of TOML and YAML
			}
			refused++
			if !strings.HasPrefix(err.Error(), path+":") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", c.Name, err)
			}
			if now := read(t, path); now != whole[:n] || !change.IsNone() {
				t.Errorf("%s: changed to %q", c.Name, now)
			}
		}
		if refused < 5 {
			t.Errorf("%s: refused only %d", c.Name, refused)
		}
	}
}

// A file that is not there is made, with its folder.
func TestMissingFiles(t *testing.T) {
	for _, c := range edited() {
		m := newMachine(t)
		change, err := c.Install(m, install.Options{})
		diff := apply(t, change, err)
		path, snippet, err := c.Snippet(m, install.Options{})
		if err != nil || path != change.File || read(t, path) != snippet {
			t.Errorf("%s: %s has\n%s\nand to write by hand is (%v)\n%s", c.Name, change.File, read(t, change.File), err, snippet)
		}
		if !strings.HasPrefix(diff, path+"\n+ ") || strings.Contains(diff, "…") {
			t.Errorf("%s is shown as\n%s", c.Name, diff)
		}
		if runtime.GOOS != "windows" {
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: %v (%v)", path, info.Mode(), err)
			}
		}
	}
}

// What people added to the server's entry stays when it changes, and what belongs to
// the other way to a server goes.
func TestOwnSettingsStay(t *testing.T) {
	for _, c := range []struct {
		client, before, after string
		options               install.Options
	}{
		{
			"gemini", `{"mcpServers": {"todo": {"command": "/gone/todo-mcp", "args": ["--panel", "--store", "postgres://secret@db/x"], "trust": true, "env": {"TODO_LANG": "vi"}}}}`,
			`{"mcpServers": {"todo": {"command": "todo-mcp", "args": ["--panel", "--store", "postgres://secret@db/x"], "trust": true, "env": {"TODO_LANG": "vi"}}}}`, install.Options{},
		},
		{
			"gemini", `{"mcpServers": {"todo": {"command": "todo-mcp", "args": ["--panel"], "trust": true, "env": {"TODO_LANG": "vi"}}}}`,
			`{"mcpServers": {"todo": { "trust": true, "httpUrl": "` + address + `"}}}`, install.Options{URL: address},
		},
		{
			"gemini", `{"mcpServers": {"todo": {"url": "http://localhost:8765/mcp", "headers": {"A": "secret"}, "trust": true}}}`,
			`{"mcpServers": {"todo": { "trust": true, "command": "todo-mcp"}}}`, install.Options{},
		},
		{
			"gemini", `{"mcpServers": {"todo": {"url": "http://localhost:8765/mcp", "headers": {"A": "secret"}}}}`,
			`{"mcpServers": {"todo": { "headers": {"A": "secret"}, "httpUrl": "` + address + `"}}}`, install.Options{URL: address},
		},
		{
			"gemini", `{"mcpServers": {"todo": {"command": "todo-mcp", "args": ["--panel"]}}}`,
			`{"mcpServers": {"todo": {"command": "todo-mcp", "args": ["--list", "work"]}}}`, install.Options{Args: []string{"--list", "work"}},
		},
		{
			"gemini", `{"mcpServers": {"todo": {"command": "todo-mcp", "args": ["--panel"]}}}`,
			`{"mcpServers": {"todo": {"command": "todo-mcp"}}}`, install.Options{Args: []string{}},
		},
		{ // it is turned off, and stays so
			"opencode", `{"mcp": {"todo": {"type": "local", "command": ["/gone/todo-mcp", "--panel"], "enabled": false}}}`,
			`{"mcp": {"todo": {"type": "local", "command": ["todo-mcp", "--panel"], "enabled": false}}}`, install.Options{},
		},
		{ // another kind of server than ours has
			"vscode", `{"servers": {"todo": {"type": "sse", "url": "` + address + `"}}}`,
			`{"servers": {"todo": {"type": "http", "url": "` + address + `"}}}`, install.Options{URL: address},
		},
		{ // npx and containers run this program, too
			"gemini", `{"mcpServers": {"todo": {"command": "npx", "args": ["-y", "todo-mcp@1.2.3", "--panel"]}}}`,
			`{"mcpServers": {"todo": {"command": "todo-mcp", "args": ["--panel"]}}}`, install.Options{},
		},
		{
			"opencode", `{"mcp": {"todo": {"type": "local", "command": ["cmd.exe", "/c", "npx.cmd", "-y", "todo-mcp"]}}}`,
			`{"mcp": {"todo": {"type": "local", "command": ["todo-mcp"]}}}`, install.Options{},
		},
		{
			"gemini", `{"mcpServers": {"todo": {"command": "docker", "args": ["run", "-i", "-v", "/x/todo-mcp:/data", "registry.example.com/someone/todo-mcp:1.2", "stdio"]}}}`,
			`{"mcpServers": {"todo": {"command": "todo-mcp"}}}`, install.Options{},
		},
		{
			"gemini", `{"mcpServers": {"todo": {"command": "docker", "args": ["run", "-i", "--rm", "todo-mcp", "stdio"]}}}`,
			`{"mcpServers": {"todo": {"command": "todo-mcp"}}}`, install.Options{},
		},
		{
			"gemini", `{"mcpServers": {"todo": {"command": "C:\\Tools\\todo-mcp.exe", "args": ["--panel"]}}}`,
			`{"mcpServers": {"todo": {"command": "todo-mcp", "args": ["--panel"]}}}`, install.Options{},
		},
		{ // a folder of this program's source is not this program
			"gemini", `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server-filesystem", "/src/todo-mcp"]}, "mounted": {"command": "docker", "args": ["run", "-v", "/src/todo-mcp:/x", "files"]}}}`,
			`{"mcpServers": {"files": {"command": "npx", "args": ["-y", "server-filesystem", "/src/todo-mcp"]}, "mounted": {"command": "docker", "args": ["run", "-v", "/src/todo-mcp:/x", "files"]}, "todo": {"command": "todo-mcp"}}}`, install.Options{},
		},
		{ // nor is one whose name begins so
			"gemini", `{"mcpServers": {"tasks": {"command": "npx", "args": ["-y", "todo-mcp-server-by-other"], "env": {"K": "secret"}}}}`,
			`{"mcpServers": {"tasks": {"command": "npx", "args": ["-y", "todo-mcp-server-by-other"], "env": {"K": "secret"}}, "todo": {"command": "todo-mcp"}}}`, install.Options{},
		},
		{ // an address of todo-mcp serve
			"gemini", `{"mcpServers": {"todo": {"httpUrl": "http://[::1]:9000/mcp?list=work"}}}`,
			`{"mcpServers": {"todo": { "command": "todo-mcp"}}}`, install.Options{},
		},
		{ // which may be a number
			"gemini", `{"mcpServers": {"a": {}}}`, `{"mcpServers": {"a": {}, "1": {"command": "todo-mcp"}}}`, install.Options{Name: "1"},
		},
		{ // by whatever name
			"gemini", `{"mcpServers": {"a": {"command": "a"}, "tasks": {"command": "/gone/todo-mcp"}}}`,
			`{"mcpServers": {"a": {"command": "a"}, "tasks": {"command": "todo-mcp"}}}`, install.Options{},
		},
		{
			"gemini", `{"mcpServers": {"tasks": {"command": "todo-mcp"}}}`,
			`{"mcpServers": {"tasks": {"command": "todo-mcp"}, "work": {"command": "todo-mcp", "args": ["--list", "work"]}}}`, install.Options{Name: "work", Args: []string{"--list", "work"}},
		},
	} {
		m := newMachine(t)
		client := find(t, c.client)
		path := file(t, m, client)
		write(t, path, c.before)
		change, err := client.Install(m, c.options)
		diff := apply(t, change, err)
		if diff := cmp.Diff(c.after, read(t, path)); diff != "" {
			t.Errorf("%s becomes (-want +got):\n%s", c.before, diff)
		}
		if strings.Contains(diff, "secret") || strings.Contains(diff, "vi\"") {
			t.Errorf("a secret is shown:\n%s", diff)
		}
	}
}

// BAD-INPUT 97: another server of the same name is left alone.
func TestAnothersServer(t *testing.T) {
	for _, entry := range []string{
		`{"command": "npx", "args": ["todoist"]}`, `{"command": "cmd", "args": ["/c", "npx", "todoist", "todo-mcp"]}`, `{"httpUrl": "https://ai.todoist.net/mcp"}`, `{"tcp": "x"}`, `"text"`, `null`,
		`{"command": "npx", "args": ["-y", "todo-mcp-server-by-other"], "env": {"K": "v"}}`, `{"command": "npx", "args": ["-y", "@other/todo-mcp"]}`, `{"command": "npx", "args": ["todo-mcp@npm:other"]}`, `{"command": "npx", "args": ["github:other/todo-mcp"]}`,
		`{"command": "docker", "args": ["run", "-i", "--rm", "--name", "todo-mcp", "acme/server"]}`, `{"command": "docker", "args": ["run", "-i", "acme/todo-mcp-server"]}`,
		`{"command": "/opt/todo-mcp-fancy"}`, `{"command": "todo-mcp.sh"}`, `{"command": "todo-mcp_server.exe"}`,
		`{"url": "http://localhost:3000/acme/mcp", "headers": {"Authorization": "secret"}}`, `{"url": "http://localhost:3000/mcp", "headers": {"Authorization": "secret"}}`, `{"url": "http://localhost:3000/acme/mcp"}`,
		`{"url": "http://127.0.0.1:8765/mcp/"}`, `{"url": "http://127.0.0.1:8765/mcp?key=secret"}`, `{"url": "http://ann:secret@127.0.0.1:8765/mcp"}`, `{"url": "http://localhost.example.com:8765/mcp"}`,
	} {
		m, c := newMachine(t), find(t, "gemini")
		path := file(t, m, c)
		before := `{"mcpServers": {"todo": ` + entry + `}}`
		write(t, path, before)
		_, err := c.Install(m, install.Options{})
		if entry != "null" && (err == nil || !strings.Contains(err.Error(), "--name")) {
			t.Errorf("%s: %v", entry, err)
		}
		if change, err := c.Uninstall(m, install.Options{}); err == nil && !change.IsNone() {
			t.Errorf("%s: %s", entry, change.Diff())
		}
		if s, err := c.Look(m, install.Options{}); err != nil || s.Name != "" {
			t.Errorf("%s: %+v (%v)", entry, s, err)
		}
		if now := read(t, path); now != before {
			t.Errorf("%s becomes %s", before, now)
		}
	}
	// One that the user names by its address is this one.
	m, c := newMachine(t), find(t, "gemini")
	write(t, file(t, m, c), `{"mcpServers": {"todo": {"httpUrl": "https://todo.example.com/mcp?list=secret"}}}`)
	change, err := c.Uninstall(m, install.Options{URL: "https://todo.example.com/mcp?list=secret"})
	apply(t, change, err)
	if _, err := os.Stat(change.File); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file of this server alone is left (%v)", err)
	}
}

// The command is the name that PATH finds, and the whole path for what has another
// PATH. What is there only for a moment is refused.
func TestCommand(t *testing.T) {
	m := newMachine(t)
	link := filepath.Join(m.Home, "linked", "todo-mcp")
	write(t, filepath.Join(m.Home, "linked", "x"), "")
	write(t, filepath.Join(m.Home, "Cellar", "1.2.3", "todo-mcp"), "a program")
	if err := os.Symlink(filepath.Join(m.Home, "Cellar", "1.2.3", "todo-mcp"), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, executable, onPath string
		inTerminal, onDesktop    string // "" for an error
	}{
		{"on PATH", filepath.Join(m.Home, "bin", "todo-mcp"), filepath.Join(m.Home, "bin", "todo-mcp"), "todo-mcp", "/HOME/bin/todo-mcp"},
		{"not on PATH", filepath.Join(m.Home, "bin", "todo-mcp"), "", "/HOME/bin/todo-mcp", "/HOME/bin/todo-mcp"},
		{"another on PATH", filepath.Join(m.Home, "bin", "todo-mcp"), link, "/HOME/bin/todo-mcp", "/HOME/bin/todo-mcp"},
		{"by a link that upgrades move", filepath.Join(m.Home, "Cellar", "1.2.3", "todo-mcp"), link, "todo-mcp", "/HOME/linked/todo-mcp"},
		{"go run", "/tmp/go-build123/b001/exe/todo-mcp", "", "", ""},
	} {
		m := m
		m.Executable = c.executable
		m.LookPath = func(name string) (string, error) {
			if c.onPath == "" || name != "todo-mcp" {
				return "", os.ErrNotExist
			}
			return c.onPath, nil
		}
		for name, want := range map[string]string{"cursor": c.onDesktop, "gemini": c.inTerminal} {
			_, got, err := find(t, name).Snippet(m, install.Options{})
			want = strings.ReplaceAll(want, "/HOME", m.Home)
			if (err != nil) != (want == "") || err == nil && !strings.Contains(got, `"command": "`+want+`"`) {
				t.Errorf("%s, %s: %s (%v), want %s", c.name, name, got, err, want)
			}
		}
	}
}

// BAD-INPUT 99: a program in the cache of npx, which may empty it at any time, is called
// by npx, on Windows in the shell. What a user chose, as a version, stays, and so do the
// program's own arguments.
func TestCommandByNpx(t *testing.T) {
	const byHand = `{"mcpServers": {"todo": {"command": "npx", "args": ["--yes", "todo-mcp@1.2.3", "--panel"]}}}`
	for _, c := range []struct {
		client, system, before, want string
		args                         []string
	}{
		{"gemini", "linux", `{}`, `"command": "npx", "args": ["-y", "todo-mcp"]`, nil},
		{"cursor", "darwin", `{}`, `"command": "npx", "args": ["-y", "todo-mcp", "--panel"]`, []string{"--panel"}},
		{"cursor", "windows", `{}`, `"command": "cmd", "args": ["/c", "npx", "-y", "todo-mcp"]`, nil},
		{"opencode", "windows", `{}`, `"command": ["cmd", "/c", "npx", "-y", "todo-mcp", "--panel"]`, []string{"--panel"}},
		{"gemini", "linux", byHand, `"command": "npx", "args": ["--yes", "todo-mcp@1.2.3", "--panel"]`, nil},
		{"gemini", "linux", byHand, `"command": "npx", "args": ["--yes", "todo-mcp@1.2.3", "--list", "work"]`, []string{"--list", "work"}},
		{"gemini", "linux", `{"mcpServers": {"todo": {"command": "/gone/todo-mcp", "args": ["--panel"]}}}`, `"command": "npx", "args": ["-y", "todo-mcp", "--panel"]`, nil},
	} {
		m, client := newMachine(t), find(t, c.client)
		m.System = c.system
		m.Executable = filepath.Join(m.Home, ".npm", "_npx", "1a", "node_modules", "@todo-mcp", "linux-x64", "bin", "todo-mcp")
		path := file(t, m, client)
		write(t, path, c.before)
		change, err := client.Install(m, install.Options{Args: c.args})
		apply(t, change, err)
		if got := strings.NewReplacer("[ ", "[", " ]", "]").Replace(strings.Join(strings.Fields(read(t, path)), " ")); !strings.Contains(got, c.want) {
			t.Errorf("%s on %s: %s\nwant %s", c.client, c.system, got, c.want)
		}
		unchanged(t, m, client, install.Options{Args: c.args})
		if s, err := client.Look(m, install.Options{}); err != nil || s.Name != "todo" {
			t.Errorf("%s on %s: it is %+v (%v)", c.client, c.system, s, err)
		}
	}
}

// Hooks run with each todo, which npx is too slow for: a client gets the server alone,
// and its people read what to do.
func TestNoHooksByNpx(t *testing.T) {
	m, c := newMachine(t), find(t, "gemini")
	m.Executable = filepath.Join(m.Home, ".npm", "_npx", "1a", "todo-mcp")
	const cure = "npm install --global todo-mcp"
	change, err := c.Install(m, install.Options{Hooks: true})
	apply(t, change, err)
	if text := read(t, file(t, m, c)); !strings.Contains(text, `"npx"`) || strings.Contains(text, "hooks") || !strings.Contains(strings.Join(change.Notes, ""), cure) {
		t.Errorf("%q: %s", change.Notes, text)
	}
	if _, text, err := c.HooksSnippet(m, install.Options{}); err == nil || !strings.Contains(err.Error(), cure) || text != "" {
		t.Errorf("to write by hand is %q (%v)", text, err)
	}
}

// Another path of this very program stays.
func TestSameProgramByAnotherPath(t *testing.T) {
	m, c := newMachine(t), find(t, "gemini")
	other := filepath.Join(m.Home, "other")
	if err := os.Symlink(m.Executable, other); err != nil {
		t.Fatal(err)
	}
	write(t, file(t, m, c), `{"mcpServers": {"todo": {"command": "`+filepath.ToSlash(other)+`", "args": ["--panel"]}}}`)
	unchanged(t, m, c, install.Options{})
}

// The options are checked before anything is read.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		options install.Options
		text    string
	}{
		{install.Options{URL: "https://todo.example.com/mcp?list=work", Name: "todo-2_a"}, ""},
		{install.Options{URL: "127.0.0.1:8765"}, "--http"},
		{install.Options{URL: "ftp://x/mcp"}, "--http"},
		{install.Options{URL: "http://ann:secret@x/mcp"}, "--http"},
		{install.Options{URL: "http://"}, "--http"},
		{install.Options{URL: address, Args: []string{"--panel"}}, "contradict"},
		{install.Options{Name: "a.b"}, "--name"},
		{install.Options{Name: `"`}, "--name"},
	} {
		if err := c.options.Check(); (err == nil) != (c.text == "") || err != nil && (!strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%+v: %v", c.options, err)
		}
	}
}

// Of several files it is the one that has the server, else one that is there, else one
// whose folder is there.
func TestSeveralFiles(t *testing.T) {
	m, c := newMachine(t), find(t, "opencode")
	folder := filepath.Join(m.Home, ".config", "opencode")
	expect := func(name string) {
		t.Helper()
		if got := file(t, m, c); got != filepath.Join(folder, name) {
			t.Errorf("%s, want %s", got, name)
		}
	}
	expect("opencode.json")
	write(t, filepath.Join(folder, "opencode.jsonc"), "{}")
	expect("opencode.jsonc")
	write(t, filepath.Join(folder, "opencode.json"), "{}")
	expect("opencode.json")
	write(t, filepath.Join(folder, "opencode.jsonc"), `{"mcp": {"todo": {"type": "local", "command": ["todo-mcp"]}}}`)
	expect("opencode.jsonc")

	c, folder = find(t, "vscode"), filepath.Join(m.Home, ".config")
	expect(filepath.Join("Code", "User", "mcp.json"))
	write(t, filepath.Join(folder, "Code - Insiders", "User", "settings.json"), "{}")
	expect(filepath.Join("Code - Insiders", "User", "mcp.json"))
}

// A file in which the server is not is not hidden by one that is broken.
func TestBrokenBesideAnother(t *testing.T) {
	m, c := newMachine(t), find(t, "opencode")
	folder := filepath.Join(m.Home, ".config", "opencode")
	write(t, filepath.Join(folder, "opencode.json"), "{")
	if _, err := c.Install(m, install.Options{}); err == nil || !strings.Contains(err.Error(), "opencode.json:1:2") {
		t.Error(err)
	}
	write(t, filepath.Join(folder, "opencode.jsonc"), `{"mcp": {"todo": {"command": ["/gone/todo-mcp"]}}}`)
	change, err := c.Install(m, install.Options{})
	apply(t, change, err)
	if now := read(t, filepath.Join(folder, "opencode.jsonc")); !strings.Contains(now, `["todo-mcp"]`) {
		t.Error(now)
	}
}

// What is found on a machine, by the trace that each client leaves.
func TestFound(t *testing.T) {
	found := func(m install.Machine) (names []string) {
		for _, c := range install.Clients() {
			if s, err := c.Look(m, install.Options{}); err != nil || s.Found {
				names = append(names, c.Name)
			}
		}
		return names
	}
	m := newMachine(t)
	if got := found(m); got != nil {
		t.Errorf("on an empty machine there are %v", got)
	}
	for _, folder := range []string{".claude", ".cursor", ".codex", ".config/zed", ".kimi"} {
		write(t, filepath.Join(m.Home, filepath.FromSlash(folder), "x"), "")
	}
	for _, name := range []string{"gemini", "code", "goose"} {
		write(t, filepath.Join(m.Home, "bin", name), "a program")
	}
	want := []string{"claude-code", "cursor", "vscode", "codex", "gemini", "zed", "goose", "kimi"}
	if got := found(m); !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}

// The places on other systems, and those that variables name.
func TestPlaces(t *testing.T) {
	type place struct{ client, system, variables, want string }
	for _, p := range []place{
		{"claude-code", "linux", "", "~/.claude.json"},
		{"claude-code", "windows", "", "~/.claude.json"},
		{"claude-code", "linux", "CLAUDE_CONFIG_DIR=/c", "/c/.claude.json"},
		{"claude-desktop", "linux", "", "~/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", "darwin", "XDG_CONFIG_HOME=/c", "~/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", "APPDATA=/c", "/c/Claude/claude_desktop_config.json"},
		{"cursor", "darwin", "", "~/.cursor/mcp.json"},
		{"vscode", "linux", "XDG_CONFIG_HOME=/c", "/c/Code/User/mcp.json"},
		{"vscode", "darwin", "", "~/Library/Application Support/Code/User/mcp.json"},
		{"vscode", "windows", "", "~/AppData/Roaming/Code/User/mcp.json"},
		{"codex", "windows", "", "~/.codex/config.toml"},
		{"codex", "linux", "CODEX_HOME=/c", "/c/config.toml"},
		{"gemini", "linux", "GEMINI_CLI_HOME=/c", "/c/.gemini/settings.json"},
		{"vscode", "linux", "XDG_CONFIG_HOME=here", "~/.config/Code/User/mcp.json"},
		{"opencode", "windows", "", "~/.config/opencode/opencode.json"},
		{"opencode", "darwin", "XDG_CONFIG_HOME=./here", "~/.config/opencode/opencode.json"},
		{"zed", "linux", "FLATPAK_XDG_CONFIG_HOME=f XDG_CONFIG_HOME=/c", "/c/zed/settings.json"},
		{"opencode", "darwin", "XDG_CONFIG_HOME=/c", "/c/opencode/opencode.json"},
		{"windsurf", "windows", "", "~/.codeium/windsurf/mcp_config.json"},
		{"zed", "linux", "XDG_CONFIG_HOME=/c", "/c/zed/settings.json"},
		{"zed", "linux", "FLATPAK_XDG_CONFIG_HOME=/f XDG_CONFIG_HOME=/c", "/f/zed/settings.json"},
		{"zed", "darwin", "XDG_CONFIG_HOME=/c", "~/.config/zed/settings.json"},
		{"zed", "windows", "APPDATA=/c", "/c/Zed/settings.json"},
		{"goose", "darwin", "", "~/.config/goose/config.yaml"},
		{"goose", "windows", "APPDATA=/c", "/c/Block/goose/config/config.yaml"},
		{"goose", "linux", "GOOSE_PATH_ROOT=/c", "/c/config/config.yaml"},
		{"kimi", "linux", "KIMI_CODE_HOME=/c", "/c/mcp.json"},
		{"qwen", "linux", "QWEN_HOME=/c", "/c/settings.json"},
		{"crush", "windows", "", "~/.config/crush/crush.json"},
		{"crush", "linux", "CRUSH_GLOBAL_CONFIG=/c", "/c/crush.json"},
		{"cline", "linux", "", "~/.cline/data/settings/cline_mcp_settings.json"},
		{"cline", "linux", "CLINE_DIR=/c", "/c/data/settings/cline_mcp_settings.json"},
		{"cline", "linux", "CLINE_DATA_DIR=/c", "/c/settings/cline_mcp_settings.json"},
		{"cline", "linux", "CLINE_MCP_SETTINGS_PATH=/c/x.json", "/c/x.json"},
		{"copilot", "linux", "COPILOT_HOME=/c", "/c/mcp-config.json"},
	} {
		m := newMachine(t)
		m.System = p.system
		m.Getenv = func(name string) string {
			for _, v := range strings.Fields(p.variables) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		}
		got := filepath.ToSlash(strings.Replace(file(t, m, find(t, p.client)), m.Home, "~", 1))
		if got != p.want {
			t.Errorf("%s on %s with %q: %s, want %s", p.client, p.system, p.variables, got, p.want)
		}
	}
	m := newMachine(t)
	m.System = "windows"
	store := filepath.Join(m.Home, "AppData", "Local", "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude")
	write(t, filepath.Join(store, "config.json"), "{}")
	if got := file(t, m, find(t, "claude-desktop")); filepath.Dir(got) != store {
		t.Errorf("Claude Desktop of the Store: %s", got)
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
	for _, c := range []struct {
		server install.Server
		want   string
	}{
		{install.Server{Command: "todo-mcp"}, "todo-mcp"},
		{install.Server{Command: "todo-mcp", Args: []string{"stdio", "--panel", "--store=postgres://u:p@h/d", "--token", "t"}}, "todo-mcp … --panel --store --token …"},
		{install.Server{URL: "http://u:p@h:1/mcp?token=x"}, "http://h:1/mcp"},
		{install.Server{URL: "http://%zz"}, "an address"},
	} {
		if got := c.server.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// docs/clients.md has of each client what the table says.
func TestClientsAreDocumented(t *testing.T) {
	m := newMachine(t)
	var b strings.Builder
	for _, c := range install.Clients() {
		fmt.Fprintf(&b, "\n## %s (`%s`)\n\n%s\n\n%s", c.Title, c.Name, places(t, m, c), block(t, m, c, install.Options{}))
		if _, _, err := c.Snippet(m, install.Options{URL: address}); err != nil {
			fmt.Fprintf(&b, "\nNot over HTTP: %s.\n", strings.SplitN(err.Error(), ": ", 2)[1])
		} else {
			fmt.Fprintf(&b, "\nOver HTTP:\n\n%s", block(t, m, c, install.Options{URL: address}))
		}
	}
	path := filepath.Join("..", "..", "docs", "clients.md")
	const mark = "<!-- clients -->\n"
	head, _, found := strings.Cut(read(t, path), mark)
	want := head + mark + b.String()
	if *update {
		write(t, path, want)
	}
	if got := read(t, path); !found || got != want {
		t.Errorf("docs/clients.md differs from the table; run with -update (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// places returns where a client is configured on each system.
func places(t *testing.T, m install.Machine, c install.Client) string {
	var out []string
	for _, s := range []struct{ system, title string }{{"linux", "Linux"}, {"darwin", "macOS"}, {"windows", "Windows"}} {
		m.System = s.system
		out = append(out, fmt.Sprintf("`%s` (%s)", filepath.ToSlash(m.Short(file(t, m, c))), s.title))
	}
	if one, _, _ := strings.Cut(out[0], " ("); strings.HasPrefix(out[1], one) && strings.HasPrefix(out[2], one) {
		return one
	}
	return strings.Join(out, ", ")
}

// block returns a snippet as markdown.
func block(t *testing.T, m install.Machine, c install.Client, o install.Options) string {
	t.Helper()
	path, text, err := c.Snippet(m, o)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, m.Home, "/usr/local")
	return "```" + filepath.Ext(path)[1:] + "\n" + text + "```\n"
}
