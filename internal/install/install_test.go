package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/install"
)

// What people added to the server's entry stays when it changes, and what belongs to
// the other way to a server goes.
func TestOwnSettingsStay(t *testing.T) {
	list, none, http := install.Options{Args: []string{"--list", "work"}}, install.Options{Args: []string{}}, install.Options{URL: address}
	byDefault := install.Options{}
	for _, c := range []struct {
		options       install.Options
		before, after string // what Gemini CLI has in mcpServers, or all of another's file
		client        string
	}{
		{byDefault, `"todo": {"command": "/gone/todo-mcp", "args": ["--panel", "--store", "postgres://secret@db/x"], "trust": true, "env": {"TODO_LANG": "vi"}}`,
			`"todo": {"command": "todo-mcp", "args": ["--panel", "--store", "postgres://secret@db/x"], "trust": true, "env": {"TODO_LANG": "vi"}}`, ""},
		{http, `"todo": {"command": "todo-mcp", "args": ["--panel"], "trust": true, "env": {"TODO_LANG": "vi"}}`,
			`"todo": { "trust": true, "httpUrl": "` + address + `"}`, ""},
		{byDefault, `"todo": {"url": "http://localhost:8765/mcp", "headers": {"A": "secret"}, "trust": true}`,
			`"todo": { "trust": true, "command": "todo-mcp"}`, ""},
		{http, `"todo": {"url": "http://localhost:8765/mcp", "headers": {"A": "secret"}}`,
			`"todo": { "headers": {"A": "secret"}, "httpUrl": "` + address + `"}`, ""},
		{list, `"todo": {"command": "todo-mcp", "args": ["--panel"]}`, `"todo": {"command": "todo-mcp", "args": ["--list", "work"]}`, ""},
		{none, `"todo": {"command": "todo-mcp", "args": ["--panel"]}`, `"todo": {"command": "todo-mcp"}`, ""},
		// It is turned off, and stays so.
		{byDefault, `{"mcp": {"todo": {"type": "local", "command": ["/gone/todo-mcp", "--panel"], "enabled": false}}}`,
			`{"mcp": {"todo": {"type": "local", "command": ["todo-mcp", "--panel"], "enabled": false}}}`, "opencode"},
		// Another kind of server than ours has.
		{http, `{"servers": {"todo": {"type": "sse", "url": "` + address + `"}}}`, `{"servers": {"todo": {"type": "http", "url": "` + address + `"}}}`, "vscode"},
		// npx runs this program, too.
		{byDefault, `"todo": {"command": "npx", "args": ["-y", "todo-mcp@1.2.3", "--panel"]}`, `"todo": {"command": "todo-mcp", "args": ["--panel"]}`, ""},
		{byDefault, `{"mcp": {"todo": {"type": "local", "command": ["cmd.exe", "/c", "npx.cmd", "-y", "todo-mcp"]}}}`,
			`{"mcp": {"todo": {"type": "local", "command": ["todo-mcp"]}}}`, "opencode"},
		{byDefault, `"todo": {"command": "C:\\Tools\\todo-mcp.exe", "args": ["--panel"]}`, `"todo": {"command": "todo-mcp", "args": ["--panel"]}`, ""},
		// A folder of this program's source is not this program, nor is one whose name begins so.
		{byDefault, `"files": {"command": "npx", "args": ["-y", "server-filesystem", "/src/todo-mcp"]}, "mounted": {"command": "docker", "args": ["run", "-v", "/src/todo-mcp:/x", "files"]}`,
			`"files": {"command": "npx", "args": ["-y", "server-filesystem", "/src/todo-mcp"]}, "mounted": {"command": "docker", "args": ["run", "-v", "/src/todo-mcp:/x", "files"]}, "todo": {"command": "todo-mcp"}`, ""},
		{byDefault, `"tasks": {"command": "npx", "args": ["-y", "todo-mcp-server-by-other"], "env": {"K": "secret"}}`,
			`"tasks": {"command": "npx", "args": ["-y", "todo-mcp-server-by-other"], "env": {"K": "secret"}}, "todo": {"command": "todo-mcp"}`, ""},
		// An address of todo-mcp serve.
		{byDefault, `"todo": {"httpUrl": "http://[::1]:9000/mcp?list=work"}`, `"todo": { "command": "todo-mcp"}`, ""},
		{byDefault, `"todo": {"httpUrl": "http://127.0.0.1:8765/mcp/?list=work"}`, `"todo": { "command": "todo-mcp"}`, ""},
		{install.Options{URL: "https://todo.example.com/mcp"}, `"mine": {"httpUrl": "https://todo.example.com/mcp/"}`, `"mine": {"httpUrl": "https://todo.example.com/mcp"}`, ""},
		{install.Options{URL: "https://todo.example.com/mcp"}, `"mine": {"httpUrl": "https://todo.example.com/mcp"}`, `"mine": {"httpUrl": "https://todo.example.com/mcp"}`, ""},
		// Names.
		{byDefault, `"a": {"command": "a"}, "tasks": {"command": "/gone/todo-mcp"}`, `"a": {"command": "a"}, "tasks": {"command": "todo-mcp"}`, ""},
		{byDefault, `"tasks": {"command": "/gone/todo-mcp"}, "todo": {"command": "/gone/todo-mcp"}`, `"tasks": {"command": "/gone/todo-mcp"}, "todo": {"command": "todo-mcp"}`, ""},
	} {
		if c.client == "" {
			c.client, c.before, c.after = "gemini", `{"mcpServers": {`+c.before+`}}`, `{"mcpServers": {`+c.after+`}}`
		}
		r := withFile(t, c.client, c.before)
		if shown := r.install(c.options); strings.Contains(shown, "vi\"") {
			t.Errorf("a variable is shown:\n%s", shown)
		}
		if diff := cmp.Diff(c.after, r.read(r.file())); diff != "" {
			t.Errorf("%s becomes (-want +got):\n%s", c.before, diff)
		}
	}
}

// BAD-INPUT 97: another server of the same name is left alone.
//
// BAD-INPUT 97: Another server by our name, or a program, package or address whose name contains
// ours → It stays; this one is called todo-mcp
func TestAnothersServer(t *testing.T) {
	for _, entry := range []string{
		`{"command": "npx", "args": ["todoist"]}`, `{"command": "cmd", "args": ["/c", "npx", "todoist", "todo-mcp"]}`, `{"httpUrl": "https://ai.todoist.net/mcp"}`, `{"tcp": "x"}`, `"text"`, `null`,
		`{"command": "npx", "args": ["-y", "todo-mcp-server-by-other"], "env": {"K": "v"}}`, `{"command": "npx", "args": ["-y", "@other/todo-mcp"]}`, `{"command": "npx", "args": ["todo-mcp@npm:other"]}`, `{"command": "npx", "args": ["github:other/todo-mcp"]}`,
		`{"command": "docker", "args": ["run", "-i", "--rm", "--name", "todo-mcp", "acme/server"]}`, `{"command": "docker", "args": ["run", "-i", "acme/todo-mcp-server"]}`,
		`{"command": "/opt/todo-mcp-fancy"}`, `{"command": "todo-mcp.sh"}`, `{"command": "todo-mcp_server.exe"}`,
		`{"url": "http://localhost:3000/acme/mcp", "headers": {"Authorization": "secret"}}`, `{"url": "http://localhost:3000/mcp", "headers": {"Authorization": "secret"}}`, `{"url": "http://localhost:3000/acme/mcp"}`,
		`{"url": "http://127.0.0.1:8765/mcp?key=secret"}`, `{"url": "http://ann:secret@127.0.0.1:8765/mcp"}`, `{"url": "http://localhost.example.com:8765/mcp"}`,
	} {
		r := withFile(t, "gemini", `{"mcpServers": {"todo": `+entry+`}}`)
		if change, err := r.Uninstall(r.m, install.Options{}); err != nil || !change.IsNone() {
			t.Errorf("%s: %s (%v)", entry, change.Diff(), err)
		}
		r.install(install.Options{})
		want := `{"mcpServers": {"todo": ` + entry + `, "todo-mcp": {"command": "todo-mcp"}}}`
		if got := r.read(r.file()); got != want && entry != "null" {
			t.Errorf("it becomes %s, want %s", got, want)
		}
	}
	withFile(t, "gemini", `{"mcpServers": {"todo": {}, "todo-mcp": {}}}`).install(install.Options{})
	// One that the user names by its address is this one, and a file of it alone goes.
	r := withFile(t, "gemini", `{"mcpServers": {"todo": {"httpUrl": "https://todo.example.com/mcp?list=secret"}}}`)
	change, err := r.Uninstall(r.m, install.Options{URL: "https://todo.example.com/mcp?list=secret"})
	if _, wrong := change.Write(); err != nil || wrong != nil {
		t.Error(err, wrong)
	}
	r.expectFiles(map[string]string{})
}

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

// BAD-INPUT 99: a program in the cache of npx, which may empty it at any time, is called
// by npx, on Windows in the shell. What a user chose, as a version, stays, and so do the
// program's own arguments. Hooks run with each todo, which npx is too slow for: a client
// gets the server alone, and its people read what to do.
//
// BAD-INPUT 99: `install` by a program in npx's cache → The entry calls npx; a user's version and
// arguments stay
func TestCommandByNpx(t *testing.T) {
	const byHand = `{"mcpServers": {"todo": {"command": "npx", "args": ["--yes", "todo-mcp@1.2.3", "--panel"]}}}`
	const gone = `{"mcpServers": {"todo": {"command": "/gone/todo-mcp", "args": ["--panel"]}}}`
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
		{"gemini", "linux", gone, `"command": "npx", "args": ["-y", "todo-mcp", "--panel"]`, nil},
	} {
		r := newRig(t, c.client)
		r.m.System = c.system
		r.m.Executable = filepath.Join(r.m.Home, ".npm", "_npx", "1a", "node_modules", "@todo-mcp", "linux-x64", "bin", "todo-mcp")
		r.write(r.file(), c.before)
		r.install(install.Options{Args: c.args, Hooks: install.Kinds()})
		got := strings.NewReplacer("[ ", "[", " ]", "]").Replace(strings.Join(strings.Fields(r.read(r.file())), " "))
		if !strings.Contains(got, c.want) || strings.Contains(got, "hooks") {
			t.Errorf("%s on %s: %s\nwant %s", c.client, c.system, got, c.want)
		}
		if s := r.look(); s.Name != "todo" || !strings.Contains(r.notes, "npm install --global todo-mcp") {
			t.Errorf("%s on %s: it is %+v, noted %s", c.client, c.system, s, r.notes)
		}
		if _, texts := r.byHand(install.Options{Hooks: install.Kinds()}); len(texts) != 1 {
			t.Errorf("by hand is written %q", texts)
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
	for want, o := range map[string]install.Options{"cmd: todo-mcp": {}, "uri: " + address: {URL: address}, "- --panel": {Args: []string{"--panel"}}} {
		change, err := r.Install(r.m, o)
		if _, texts := change.Files(); err != nil || !strings.Contains(texts[0], want) || len(change.Notes) != 1 {
			t.Errorf("%q is to be added, noted %q (%v), want %s", texts, change.Notes, err, want)
		}
	}
	change, err := r.Uninstall(r.m, install.Options{})
	if err != nil || !change.IsNone() || len(change.Notes) != 1 || !strings.Contains(change.Notes[0], "~/.config/goose/config.yaml") {
		t.Errorf("%q (%v)", change.Notes, err)
	}
	r.expectFiles(before)
}

// Clients that can name their folder to a server over HTTP, wherever that is, do so by a
// header, beside what a person added; it is no sign that the server is another one.
func TestFolderHeader(t *testing.T) {
	for client, want := range map[string]string{"codex": "Todo-Folder = 'PWD'", "copilot": `"headers": {"Todo-Folder": "${PWD}"}`, "claude-code": ""} {
		r := newRig(t, client)
		r.install(install.Options{})
		r.install(install.Options{URL: "http://127.0.0.1:9000/mcp"})
		text := strings.Join(strings.Fields(r.read(r.file())), " ")
		text = strings.NewReplacer("{ ", "{", " }", "}").Replace(text)
		if !strings.Contains(text, want) || want == "" && strings.Contains(text, "Folder") {
			t.Errorf("%s has %s", client, text)
		}
		if s := r.look(); s.Name != "todo" {
			t.Errorf("%s: the server is not known again: %+v", client, s)
		}
		r.install(install.Options{})
		if text := r.read(r.file()); strings.Contains(text, "Folder") {
			t.Errorf("%s has a header without an address: %s", client, text)
		}
	}
	own := `{"mcpServers": {"todo": {"type": "http", "url": "http://127.0.0.1:8765/mcp", "headers": {"Authorization": "Bearer ${TODO_TOKEN}"}}}}`
	r := withFile(t, "copilot", own)
	r.install(install.Options{URL: "http://127.0.0.1:8765/mcp"})
	if now := r.read(r.file()); !strings.Contains(now, "Bearer ${TODO_TOKEN}") || strings.Contains(now, "Folder") {
		t.Errorf("it becomes %s", now)
	}
}
