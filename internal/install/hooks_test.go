package install_test

import (
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

	"todo-mcp/internal/install"
)

// withHooks are the clients that run hooks.
func withHooks(t *testing.T) (clients []install.Client) {
	t.Helper()
	m := newMachine(t)
	for _, c := range install.Clients() {
		if path, _, err := c.HooksSnippet(m, install.Options{}); err != nil || path != "" {
			clients = append(clients, c)
		}
	}
	return clients
}

// hooksFile returns where a client has its hooks.
func hooksFile(t *testing.T, m install.Machine, c install.Client) string {
	t.Helper()
	path, _, err := c.HooksSnippet(m, install.Options{})
	if err != nil || path == "" {
		t.Fatalf("%s has no hooks (%v)", c.Name, err)
	}
	return path
}

// Each client's file of hooks as its users have it, with hooks of others: ours are
// added beside the server, a second time changes nothing, and without them the files
// are as they were. What is shown has none of the secrets (BAD-INPUT 96, 103).
func TestHooks(t *testing.T) {
	o := install.Options{Hooks: true}
	for _, c := range withHooks(t) {
		t.Run(c.Name, func(t *testing.T) {
			m := newMachine(t)
			before := make(map[string]string)
			path, text := sample(t, m, c)
			before[path] = text
			hooks, dir := hooksFile(t, m, c), filepath.Join("testdata", c.Name)
			given := filepath.Join(dir, "hooks.before.json")
			if _, err := os.Stat(given); err == nil {
				before[hooks] = read(t, given)
				write(t, hooks, before[hooks])
			}
			change, err := c.Install(m, o)
			shown := apply(t, change, err)
			if c.Name != "opencode" { // whose plugin is opencode.js
				golden(t, m, filepath.Join(dir, "hooks.after.json"), read(t, hooks))
			}
			unchanged(t, m, c, o)
			if s, err := c.Look(m, install.Options{}); err != nil || s.HooksErr != nil || s.Hooks != install.HooksThere || s.Name != "todo" {
				t.Errorf("it is %+v (%v)", s, err)
			}
			change, err = c.Uninstall(m, install.Options{})
			shown += apply(t, change, err)
			if c.Name != "opencode" {
				golden(t, m, filepath.Join(dir, "hooks.diff"), shown)
			}
			for path, text := range before {
				if diff := cmp.Diff(text, read(t, path)); diff != "" {
					t.Errorf("without the hooks %s is not as before (-want +got):\n%s", path, diff)
				}
			}
			if _, err := os.Stat(hooks); before[hooks] == "" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left (%v)", hooks, err)
			}
			if strings.Contains(shown, "secret") || strings.Contains(shown, "Bearer") {
				t.Errorf("a secret is shown:\n%s", shown)
			}
		})
	}
}

// On an empty machine the files are as they are written by hand, all of them is shown,
// and none is left afterwards.
func TestHooksInMissingFiles(t *testing.T) {
	for _, c := range withHooks(t) {
		m := newMachine(t)
		change, err := c.Install(m, install.Options{Hooks: true})
		diff := apply(t, change, err)
		path, snippet, err := c.HooksSnippet(m, install.Options{})
		now := read(t, path)
		if c.Name == "gemini" { // which has its servers in the same file
			_, now, _ = strings.Cut(now, "  },\n")
			_, snippet, _ = strings.Cut(snippet, "{\n")
		}
		if err != nil || now != snippet {
			t.Errorf("%s: %s has\n%s\nand to write by hand is (%v)\n%s", c.Name, path, now, err, snippet)
		}
		if strings.Contains(diff, "…") {
			t.Errorf("%s is shown as\n%s", c.Name, diff)
		}
		change, err = c.Uninstall(m, install.Options{})
		if diff := apply(t, change, err); strings.Contains(diff, "…") {
			t.Errorf("%s is shown as\n%s", c.Name, diff)
		}
		err = filepath.WalkDir(m.Home, func(path string, e os.DirEntry, err error) error {
			if !e.IsDir() && filepath.Base(path) != "todo-mcp" {
				t.Errorf("%s: %s is left", c.Name, path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// What stood there of ours is brought up to date, and nothing of others changes.
func TestHooksAreUpdated(t *testing.T) {
	ours := func(matcher, command string) string {
		return `{"matcher":"` + matcher + `","hooks":[{"type":"command","command":"` + command + `","timeout":5}]}`
	}
	const plan, other = "update_plan", `{"type":"command","command":"other"}`
	fresh := `{"matcher":"update_plan","hooks":[{"type":"command","command":"todo-mcp hook","timeout":3}]}`
	for _, c := range []struct{ name, before, after string }{
		{"a moved program", ours(plan, "/gone/todo-mcp hook"), ours(plan, "todo-mcp hook")},
		{"another program", ours(plan, "/usr/bin/todo-mcp-notify hook --slack"), ours(plan, "/usr/bin/todo-mcp-notify hook --slack") + "," + fresh},
		{"another package", ours(plan, "npx -y @other/todo-mcp hook"), ours(plan, "npx -y @other/todo-mcp hook") + "," + fresh},
		{"another source", ours(plan, "npx -y github:other/todo-mcp hook"), ours(plan, "npx -y github:other/todo-mcp hook") + "," + fresh},
		{"npx", ours(plan, "npx -y todo-mcp hook"), ours(plan, "todo-mcp hook")},
		{"npx with a version", ours(plan, "npx -y todo-mcp@1.2.3 hook"), ours(plan, "todo-mcp hook")},
		{"Windows", ours(plan, `& 'C:\\Program Files\\todo-mcp.exe' hook`), ours(plan, "todo-mcp hook")},
		{"arguments", ours(plan, "'/gone/a b/todo-mcp' hook --store sqlite:/x"), ours(plan, "todo-mcp hook --store sqlite:/x")},
		{"variables", ours(plan, "TODO_STORE='sqlite:/x y' /gone/todo-mcp hook"), ours(plan, "TODO_STORE='sqlite:/x y' todo-mcp hook")},
		{"another matcher", ours("*", "todo-mcp hook"), fresh},
		{"its own timeout", `{"matcher":"update_plan","hooks":[{"timeout":9,"command":"todo-mcp hook","type":"command"}]}`, `{"matcher":"update_plan","hooks":[{"timeout":9,"command":"todo-mcp hook","type":"command"}]}`},
		{"twice", ours(plan, "todo-mcp hook") + "," + other + "," + ours("x", "todo-mcp hook"), other + "," + fresh},
		{"twice in a group", `{"hooks":[{"command":"todo-mcp hook"},{"command":"/gone/todo-mcp hook"}]}`, fresh},
		{"beside another in a group of its matcher", `{"matcher":"update_plan","hooks":[` + other + `,{"command":"/gone/todo-mcp hook"}]}`, `{"matcher":"update_plan","hooks":[` + other + `,{"command":"todo-mcp hook"}]}`},
		{"beside another in a group of another matcher", `{"matcher":"x","hooks":[` + other + `,{"command":"todo-mcp hook"}]}`, `{"matcher":"x","hooks":[` + other + `]},` + fresh},
		{"in a command of several", ours(plan, "todo-mcp hook; say done"), ours(plan, "todo-mcp hook; say done") + "," + fresh},
		{"before another command", ours(plan, "todo-mcp hook && say done"), ours(plan, "todo-mcp hook && say done") + "," + fresh},
		{"as another's argument", ours(plan, "tee todo-mcp hook"), ours(plan, "tee todo-mcp hook") + "," + fresh},
		{"another command of ours", ours(plan, "todo-mcp show"), ours(plan, "todo-mcp show") + "," + fresh},
		{"what is no hook", `1,"todo-mcp hook",null,{"hooks":"todo-mcp hook"},{"hooks":[1,null,{"command":["todo-mcp hook"]}]}`, `1,"todo-mcp hook",null,{"hooks":"todo-mcp hook"},{"hooks":[1,null,{"command":["todo-mcp hook"]}]},` + fresh},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, client := newMachine(t), find(t, "codex")
			path := hooksFile(t, m, client)
			write(t, path, `{"hooks":{"PostToolUse":[`+c.before+`],"Stop":[`+ours("", "todo-mcp hook")+`,{"hooks":[`+other+`]}]}}`)
			change, err := client.Install(m, install.Options{Hooks: true})
			apply(t, change, err)
			want := `"PostToolUse":[` + c.after + `]`
			if got := strings.NewReplacer(": ", ":", ", ", ",").Replace(read(t, path)); !strings.Contains(got, want) || !strings.Contains(got, `"Stop":[{"hooks":[`+other+`]}],`) {
				t.Errorf("it becomes\n%s\nwant\n%s", got, want)
			}
			unchanged(t, m, client, install.Options{Hooks: true})
		})
	}
}

// Another path of this very program stays, as it does for a server.
func TestHooksBySameProgramAtAnotherPath(t *testing.T) {
	m, c := newMachine(t), find(t, "cursor")
	other := filepath.Join(m.Home, "my tools", "todo-mcp")
	write(t, filepath.Join(m.Home, "my tools", "x"), "")
	if err := os.Symlink(m.Executable, other); err != nil {
		t.Fatal(err)
	}
	hooks := fmt.Sprintf(`{"version":1,"hooks":{"postToolUse":[{"command":"'%[1]s' hook","matcher":"TodoWrite"}],"sessionEnd":[{"command":"'%[1]s' hook"}]}}`, other)
	write(t, hooksFile(t, m, c), hooks)
	change, err := c.Install(m, install.Options{Hooks: true})
	apply(t, change, err)
	if now := read(t, hooksFile(t, m, c)); now != hooks {
		t.Errorf("it becomes %s", now)
	}
}

// Hooks that are of another program's path, or that lack an event, are told as
// outdated; so is an older plugin.
func TestOutdatedHooks(t *testing.T) {
	for name, text := range map[string]string{
		"codex":    `{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"/gone/todo-mcp hook"}]}]}}`,
		"opencode": strings.NewReplacer("todo-mcp hook", "/gone/todo-mcp hook --store sqlite:/x", "(event)", "(e)").Replace(read(t, "opencode.js")),
	} {
		m, c := newMachine(t), find(t, name)
		path := hooksFile(t, m, c)
		if s, err := c.Look(m, install.Options{}); err != nil || s.Hooks != install.HooksMissing {
			t.Errorf("%s: %+v (%v)", name, s, err)
		}
		write(t, path, text)
		if s, err := c.Look(m, install.Options{}); err != nil || s.Hooks != install.HooksOutdated {
			t.Errorf("%s: %+v (%v)", name, s, err)
		}
		change, err := c.Install(m, install.Options{Hooks: true})
		apply(t, change, err)
		if now := read(t, path); strings.Contains(now, "/gone/") || strings.Contains(text, "sqlite:/x") != strings.Contains(now, "sqlite:/x") {
			t.Errorf("%s is\n%s", path, now)
		}
	}
}

// BAD-INPUT 103: a file of hooks that is broken, or is no file, is refused, and neither
// it nor the file of the servers is changed.
func TestBrokenHooks(t *testing.T) {
	for _, c := range []struct{ client, text, want string }{
		{"claude-code", `{"hooks": "secret"}`, "hooks is not an object"},
		{"claude-code", `{"hooks": ["secret"]}`, "hooks is not an object"},
		{"claude-code", `{"hooks": {"PostToolUse": {"matcher": "secret"}}}`, "hooks.PostToolUse is not an array"},
		{"claude-code", `{"hooks": {"PostToolUse": "secret"}}`, "hooks.PostToolUse is not an array"},
		{"claude-code", `{"hooks": {}, "hooks": {"a": "secret"}}`, "there twice"},
		{"claude-code", `{"statusLine": "secret"}`, "statusLine is not an object"},
		{"claude-code", `["secret"]`, "not a JSON object"},
		{"cursor", `{"version": 1, "hooks": {"postToolUse": {"command": "secret"}}}`, "hooks.postToolUse is not an array"},
		{"codex", `{"hooks": {"PostToolUse": [{"secret"`, "not JSON"},
		{"gemini", `{"hooks": 3, "key": "secret"}`, "hooks is not an object"},
		{"opencode", "export default () => secret", "another plugin"},
	} {
		m, client := newMachine(t), find(t, c.client)
		hooks := hooksFile(t, m, client)
		servers, before := sample(t, m, client)
		write(t, hooks, c.text)
		change, err := client.Install(m, install.Options{Hooks: true})
		if err == nil || !strings.HasPrefix(err.Error(), hooks) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || !change.IsNone() {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
		if now := read(t, hooks); now != c.text || servers != hooks && read(t, servers) != before {
			t.Errorf("%s becomes %s", c.text, now)
		}
	}
	m, c := newMachine(t), find(t, "codex")
	servers, before := sample(t, m, c)
	if err := os.Mkdir(hooksFile(t, m, c), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Install(m, install.Options{Hooks: true}); err == nil || !strings.Contains(err.Error(), "is a folder") || read(t, servers) != before {
		t.Error(err)
	}
	if s, err := c.Look(m, install.Options{}); err != nil || s.HooksErr == nil {
		t.Errorf("%+v (%v)", s, err)
	}
}

// BAD-INPUT 103: a file of hooks that is cut off anywhere is left as it is.
func TestCutHooksAreLeft(t *testing.T) {
	for _, name := range []string{"claude-code", "codex", "gemini", "cursor"} {
		m, c := newMachine(t), find(t, name)
		path, whole := hooksFile(t, m, c), read(t, filepath.Join("testdata", name, "hooks.before.json"))
		for n := 1; n < len(strings.TrimRight(whole, "}\n \t")); n += 5 {
			write(t, path, whole[:n])
			change, err := c.Install(m, install.Options{Hooks: true})
			if err == nil || !strings.HasPrefix(err.Error(), path) || strings.Contains(err.Error(), "secret") || !change.IsNone() || read(t, path) != whole[:n] {
				t.Fatalf("%s, cut after %d bytes: %v", name, n, err)
			}
		}
	}
}

// BAD-INPUT 104: a file of hooks that another program wrote since it was read is left to
// it.
func TestHooksChangedMeanwhile(t *testing.T) {
	m, c := newMachine(t), find(t, "claude-code")
	path := hooksFile(t, m, c)
	for _, name := range []string{"install", "uninstall", "uninstall what was there before"} {
		change := c.Install
		if name == "uninstall what was there before" {
			write(t, path, "{}")
		}
		if name != "install" {
			first, err := c.Install(m, install.Options{Hooks: true})
			apply(t, first, err)
			change = c.Uninstall
		}
		planned, err := change(m, install.Options{Hooks: true})
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, `{"other": 1}`)
		if _, err := planned.Write(); err == nil || !strings.Contains(err.Error(), path+" is left as it was: another program changed it") || read(t, path) != `{"other": 1}` {
			t.Errorf("%s: %v, and there is %s", name, err, read(t, path))
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// Claude Code gets a status line where it has none. Another one stays.
func TestStatusLine(t *testing.T) {
	const ours = `"statusLine":{"type":"command","command":"todo-mcp show --format statusline --claude-code"}`
	for _, c := range []struct {
		before, after string
		isNoted       bool
	}{
		{`{"a":1}`, ours, false},
		{`{"statusLine":null}`, ours, false},
		{`{"statusLine":{"type":"command","command":"/gone/todo-mcp show --format statusline --claude-code --width 40","padding":0}}`, `"statusLine":{"type":"command","command":"todo-mcp show --format statusline --claude-code --width 40","padding":0}`, false},
		{`{"statusLine":{"type":"command","command":"starship"}}`, `"statusLine":{"type":"command","command":"starship"}`, true},
		{`{"statusLine":{"type":"command","command":"starship && todo-mcp show"}}`, `"statusLine":{"type":"command","command":"starship && todo-mcp show"}`, true},
		{`{"statusLine":{"type":"command","command":"todo-mcp-starship show --big"}}`, `"statusLine":{"type":"command","command":"todo-mcp-starship show --big"}`, true},
		{`{"statusLine":{}}`, `"statusLine":{}`, true},
	} {
		m, client := newMachine(t), find(t, "claude-code")
		path := hooksFile(t, m, client)
		write(t, path, c.before)
		change, err := client.Install(m, install.Options{Hooks: true})
		apply(t, change, err)
		if got := strings.NewReplacer(": ", ":", ", ", ",").Replace(read(t, path)); !strings.Contains(got, c.after) {
			t.Errorf("%s becomes %s", c.before, got)
		}
		if isNoted := strings.Contains(fmt.Sprint(change.Notes), "status line is another one, which stays"); isNoted != c.isNoted {
			t.Errorf("%s: it is noted %q", c.before, change.Notes)
		}
		change, err = client.Uninstall(m, install.Options{})
		apply(t, change, err)
		if got := read(t, path); strings.Contains(got, "starship") != strings.Contains(c.before, "starship") || strings.Contains(got, "todo-mcp hook") {
			t.Errorf("%s is afterwards %s", c.before, got)
		}
	}
}

// The plugin brings server and hooks. They are not added a second time.
func TestPluginIsNoticed(t *testing.T) {
	for enabled, want := range map[string]install.HookState{"true": install.HooksByPlugin, "false": install.HooksMissing} {
		m, c := newMachine(t), find(t, "claude-code")
		path := hooksFile(t, m, c)
		write(t, path, `{"enabledPlugins": {"other@x": true, "todo-mcp@market": `+enabled+`}}`)
		if s, err := c.Look(m, install.Options{}); err != nil || s.Hooks != want {
			t.Errorf("%+v (%v), want %s", s, err, want)
		}
		change, err := c.Install(m, install.Options{Hooks: true})
		apply(t, change, err)
		isNoted := strings.Contains(fmt.Sprint(change.Notes), "plugin")
		if got := read(t, path); strings.Contains(got, "todo-mcp hook") == isNoted || isNoted != (enabled == "true") || !strings.Contains(got, "statusLine") {
			t.Errorf("with %q it becomes %s", change.Notes, got)
		}
	}
}

// The hooks write where the server does, and no password in that is shown that was not
// given.
func TestHooksOfAnotherStore(t *testing.T) {
	const store = "postgres://ann:secret@db/x"
	m, c := newMachine(t), find(t, "claude-code")
	path := hooksFile(t, m, c)
	change, err := c.Install(m, install.Options{Args: []string{"--panel", "--store=" + store, "--config", "/a b"}})
	apply(t, change, err)
	change, err = c.Install(m, install.Options{Hooks: true})
	if diff := apply(t, change, err); strings.Contains(diff, "secret") {
		t.Errorf("a secret is shown:\n%s", diff)
	}
	for _, want := range []string{"todo-mcp hook --store=" + store + " --config '/a b'", "todo-mcp show --format statusline --claude-code --store=" + store + " --config '/a b'"} {
		if now := read(t, path); !strings.Contains(now, `"`+want+`"`) {
			t.Errorf("there is no %s in\n%s", want, now)
		}
	}
	unchanged(t, m, c, install.Options{Hooks: true})
	o := install.Options{Hooks: true, Args: []string{"--store", "sqlite:/y"}}
	change, err = c.Install(m, o)
	if diff := apply(t, change, err); strings.Contains(diff, "secret") || !strings.Contains(diff, `"todo-mcp hook --store sqlite:/y"`) {
		t.Errorf("it is shown as\n%s", diff)
	}
	unchanged(t, m, c, o)
	change, err = c.Install(m, install.Options{Hooks: true, Args: []string{}})
	apply(t, change, err)
	if now := read(t, path); strings.Contains(now, "store") {
		t.Errorf("there is\n%s", now)
	}
}

// The hooks stay as long as the client has another server of this program.
func TestHooksGoWithTheLastServer(t *testing.T) {
	m, c := newMachine(t), find(t, "claude-code")
	path := hooksFile(t, m, c)
	for _, name := range []string{"todo", "work"} {
		change, err := c.Install(m, install.Options{Name: name, Hooks: true})
		apply(t, change, err)
	}
	for _, name := range []string{"work", "todo"} {
		if !strings.Contains(read(t, path), "todo-mcp hook") {
			t.Errorf("before %s goes, the hooks are gone", name)
		}
		change, err := c.Uninstall(m, install.Options{Name: name})
		apply(t, change, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the hooks are left (%v)", err)
	}
}

// The command of a hook is quoted as the shell needs it that runs it.
func TestHookCommands(t *testing.T) {
	for _, c := range []struct{ system, program, client, want string }{
		{"linux", "/opt/todo-mcp", "claude-code", "/opt/todo-mcp hook"},
		{"linux", "/opt/it's $HOME/todo-mcp", "codex", `'/opt/it'\''s $HOME/todo-mcp' hook`},
		{"darwin", "/Users/ann b/todo-mcp", "opencode", "'/Users/ann b/todo-mcp' hook"},
		{"windows", `C:\Tools\todo-mcp.exe`, "claude-code", "C:/Tools/todo-mcp.exe hook"},
		{"windows", `C:\Tools\todo-mcp.exe`, "gemini", "C:/Tools/todo-mcp.exe hook"},
		{"windows", `C:\Program Files\todo-mcp.exe`, "claude-code", "'C:/Program Files/todo-mcp.exe' hook"},
		{"windows", `C:\Ann's Files\todo-mcp.exe`, "codex", "& 'C:/Ann''s Files/todo-mcp.exe' hook"},
		{"windows", `C:\Program Files\todo-mcp.exe`, "cursor", "& 'C:/Program Files/todo-mcp.exe' hook"},
		{"windows", `C:\Program Files\todo-mcp.exe`, "opencode", `"C:/Program Files/todo-mcp.exe" hook`},
	} {
		m, client := newMachine(t), find(t, c.client)
		m.System, m.Executable = c.system, c.program
		m.LookPath = func(string) (string, error) { return "", os.ErrNotExist }
		_, text, err := client.HooksSnippet(m, install.Options{})
		want, _ := json.Marshal(c.want)
		if plain := strings.ReplaceAll(text, `\u0026`, "&"); err != nil || !strings.Contains(plain, strings.ReplaceAll(string(want), `\u0026`, "&")) {
			t.Errorf("%s on %s of %s: there is no %s (%v) in\n%s", c.client, c.system, c.program, want, err, text)
		}
		change, err := client.Install(m, install.Options{Hooks: true})
		if diff := apply(t, change, err); strings.Contains(diff, "…") {
			t.Errorf("%s on %s is shown as\n%s", c.client, c.system, diff)
		}
		unchanged(t, m, client, install.Options{Hooks: true})
	}
}

// docs/hooks.md has what is written for each client, and so has the plugin for Claude
// Code.
func TestHooksAreDocumented(t *testing.T) {
	m := newMachine(t)
	path := filepath.Join("..", "..", "docs", "hooks.md")
	document := read(t, path)
	for _, c := range withHooks(t) {
		file, text, err := c.HooksSnippet(m, install.Options{})
		if err != nil {
			t.Fatal(err)
		}
		section := regexp.MustCompile("(?s)\n### " + c.Title + "\n.*?\n##").FindString(document)
		if !strings.Contains(section, "`"+filepath.ToSlash(m.Short(file))+"`") {
			t.Errorf("docs/hooks.md does not name %s for %s", m.Short(file), c.Title)
		}
		if filepath.Ext(file) != ".json" {
			continue
		}
		text = "```json\n" + strings.ReplaceAll(text, m.Home+"/bin", "/usr/local/bin") + "```"
		if *update {
			changed := regexp.MustCompile("(?s)```json\n.*?```").ReplaceAllLiteralString(section, text)
			document = strings.Replace(document, section, changed, 1)
			write(t, path, document)
		} else if !strings.Contains(section, text) {
			t.Errorf("docs/hooks.md does not say of %s\n%s\nrun with -update", c.Title, text)
		}
		if c.Name == "claude-code" {
			checkPlugin(t, text)
		}
	}
}

// checkPlugin checks that the plugin for Claude Code has the hooks of its settings.
func checkPlugin(t *testing.T, settings string) {
	t.Helper()
	hooks := func(text string) (out struct{ Hooks any }) {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	plugin := read(t, filepath.Join("..", "..", "packaging", "claude-code", "hooks", "hooks.json"))
	if diff := cmp.Diff(hooks(strings.Trim(settings, "`json\n")), hooks(plugin)); diff != "" {
		t.Errorf("the plugin's hooks (-want +got)\n%s", diff)
	}
}

// A client of which no hooks are known gets the server, and is told so.
func TestClientsWithoutHooks(t *testing.T) {
	m, c := newMachine(t), find(t, "zed")
	change, err := c.Install(m, install.Options{Hooks: true})
	apply(t, change, err)
	if s, err := c.Look(m, install.Options{}); err != nil || s.Name == "" || s.Hooks != "" || !slices.ContainsFunc(change.Notes, func(n string) bool { return strings.Contains(n, "no hooks") }) {
		t.Errorf("%+v (%v), noted %q", s, err, change.Notes)
	}
}
