package install_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/install"
)

// compact returns JSON without the spaces that an edit adds.
func compact(text string) string { return strings.NewReplacer(": ", ":", ", ", ",").Replace(text) }

// withHooks returns a rig whose client has a file of hooks.
func withHooks(t *testing.T, client, text string) *rig {
	t.Helper()
	r := newRig(t, client)
	r.write(r.hooksFile(), text)
	return r
}

// What stood there of ours is brought up to date, and nothing of others changes.
func TestHooksAreUpdated(t *testing.T) {
	hook := func(matcher, command string) string {
		return `{"matcher":"` + matcher + `","hooks":[{"type":"command","command":"` + command + `","timeout":5}]}`
	}
	ours := func(command string) string { return hook("update_plan", command) }
	const other, own = `{"type":"command","command":"other"}`, `{"matcher":"update_plan","hooks":[{"timeout":9,"command":"todo-mcp hook","type":"command"}]}`
	const none = `1,"todo-mcp hook",null,{"hooks":"todo-mcp hook"},{"hooks":[1,null,{"command":["todo-mcp hook"]}]}`
	fresh := `{"matcher":"update_plan","hooks":[{"type":"command","command":"todo-mcp hook","timeout":3}]}`
	for _, c := range []struct{ name, before, after string }{
		{"a moved program", ours("/gone/todo-mcp hook"), fresh},
		{"another program", ours("/usr/bin/todo-mcp-notify hook --slack"), "+"},
		{"another package", ours("npx -y @other/todo-mcp hook"), "+"},
		{"another source", ours("npx -y github:other/todo-mcp hook"), "+"},
		{"npx", ours("npx -y todo-mcp hook"), fresh},
		{"npx with a version", ours("npx -y todo-mcp@1.2.3 hook"), fresh},
		{"Windows", ours(`& 'C:\\Program Files\\todo-mcp.exe' hook`), fresh},
		{"arguments", ours("'/gone/a b/todo-mcp' hook --store sqlite:/x"), fresh},
		{"variables", ours("TODO_STORE='sqlite:/x y' /gone/todo-mcp hook"), fresh},
		{"another matcher", hook("*", "todo-mcp hook"), fresh},
		{"its own timeout", own, own},
		{"twice", ours("todo-mcp hook") + "," + other + "," + hook("x", "todo-mcp hook"), ours("todo-mcp hook") + "," + other},
		{"twice in a group", `{"matcher":"x","hooks":[{"command":"todo-mcp hook"},{"command":"/gone/todo-mcp hook"}]}`, fresh},
		{"up to date beside another", `{"matcher":"update_plan","hooks":[` + other + `,{"command":"todo-mcp hook"}]}`, `{"matcher":"update_plan","hooks":[` + other + `,{"command":"todo-mcp hook"}]}`},
		{"a moved program beside another", `{"matcher":"update_plan","hooks":[{"command":"/gone/todo-mcp hook"},` + other + `]}`, `{"matcher":"update_plan","hooks":[` + other + `]},` + fresh},
		{"in a command of several", ours("todo-mcp hook; say done"), "+"},
		{"before another command", ours("todo-mcp hook && say done"), "+"},
		{"as another's argument", ours("tee todo-mcp hook"), "+"},
		{"another command of ours", ours("todo-mcp show"), "+"},
		{"what is no hook", none, "+"},
	} {
		if c.after == "+" { // a hook more
			c.after = c.before + "," + fresh
		}
		r := withHooks(t, "codex", `{"hooks":{"PostToolUse":[`+c.before+`],"Stop":[`+hook("", "todo-mcp hook")+`,{"hooks":[`+other+`]}]}}`)
		r.install(install.Options{Hooks: []install.Kind{install.Mirror}})
		want := `"PostToolUse":[` + c.after + `]`
		if got := compact(r.read(r.hooksFile())); !strings.Contains(got, want) || !strings.Contains(got, `"Stop":[{"hooks":[`+other+`]}],`) {
			t.Errorf("%s becomes\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

// A person chooses kinds of hooks: each choice of them is what stands there then, whatever
// stood there before, it is known again, and none takes all of them away.
func TestHookKinds(t *testing.T) {
	all := append(install.Kinds(), install.Finish)
	for _, name := range install.Names() {
		known, text := newRig(t, name), map[string]string{}
		if known.hooksFile() == "" {
			continue
		}
		changed := withHooks(t, name, "")
		for _, n := range []int{63, 1, 2, 4, 8, 16, 32, 3, 5, 12, 20, 33, 31} { // each bit is a kind
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
			runs := install.JoinKinds(s.Kinds, ",")
			if name == "claude-code" && !slices.Equal(s.Kinds, kinds) && !(slices.Contains(kinds, install.Waiting) && slices.Contains(s.Kinds, install.Edits)) {
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

// BAD-INPUT 117: Foreign hooks that post to our address; an unknown kind of hooks → They stay,
// also after `uninstall`; an error that has the kinds
func TestHooksOfAServer(t *testing.T) {
	const others = `{"type":"http","url":"http://127.0.0.1:8765/hook","headers":{"Authorization":"Bearer secret"}},{"type":"http","url":"todo-mcp hook"}`
	const before = `{"hooks":{"PostToolBatch":[{"hooks":[` + others + `]}]}}`
	for _, address := range []string{"http://127.0.0.1:8765/mcp?list=work", "https://todo.example.com/team/mcp"} {
		base, _, _ := strings.Cut(address, "/mcp")
		r := withHooks(t, "claude-code", before)
		for kinds, want := range map[string]int{"all,finish": 9, "remind": 3} {
			chosen, err := install.ParseKinds(kinds)
			if err != nil {
				t.Fatal(err)
			}
			r.install(install.Options{URL: address, Hooks: chosen})
			now := compact(r.read(r.hooksFile()))
			finishes := strings.Count(now, `"todo-mcp hook --finish --server `+base+`"`)
			if n := strings.Count(now, `"todo-mcp hook --server `+base+`"`); n != want || (finishes == 1) != (want == 9) || !strings.Contains(now, others) {
				t.Errorf("%s: %d hooks, %d that finish:\n%s", kinds, n, finishes, now)
			}
		}
		r.uninstall(install.Options{URL: address})
		if now := compact(r.read(r.hooksFile())); now != compact(before) {
			t.Errorf("afterwards there is %s", now)
		}
	}
	for _, name := range []string{"mirrors", "all mirror", "mirror,\x1b[2J", "", "none,mirror"} {
		if kinds, err := install.ParseKinds(name); err == nil || !strings.Contains(err.Error(), "mirror, calls") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q are the kinds %v, %v", name, kinds, err)
		}
	}
}

// Hooks that are of another program's path, or that lack an event, are told as
// outdated; so is an older plugin.
func TestOutdatedHooks(t *testing.T) {
	plugin, err := os.ReadFile("opencode.js")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"codex":    `{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"/gone/todo-mcp hook"}]}]}}`,
		"opencode": strings.Replace(string(plugin), "(event)", "(e) /gone/", 1),
	} {
		r := newRig(t, name)
		if s := r.look(); s.Hooks != install.HooksMissing {
			t.Errorf("%s: %+v", name, s)
		}
		r.write(r.hooksFile(), text)
		if s := r.look(); s.Hooks != install.HooksOutdated {
			t.Errorf("%s: %+v", name, s)
		}
		r.install(install.Options{Hooks: install.Kinds()})
		if now := r.read(r.hooksFile()); strings.Contains(now, "/gone/") {
			t.Errorf("%s has\n%s", name, now)
		}
	}
}

// BAD-INPUT 94: a file of hooks that is broken, or is no file, is refused, and neither
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
		r := newRig(t, c.client).sample()
		r.write(r.hooksFile(), c.text)
		r.refused(install.Options{Hooks: install.Kinds()}, r.hooksFile(), c.want)
	}
	r := newRig(t, "codex")
	r.write(r.hooksFile()+"/x", "")
	r.refused(install.Options{Hooks: install.Kinds()}, r.hooksFile(), "is a folder")
	if s, err := r.Look(r.m, install.Options{}); err == nil {
		t.Errorf("%+v", s)
	}
}

// Claude Code gets a status line where it has none. Another one stays.
func TestStatusLine(t *testing.T) {
	const ours = `{"type":"command","command":"todo-mcp show --format statusline --claude-code"}`
	for before, after := range map[string]string{
		``: ours,
		`{"type":"command","command":"/gone/todo-mcp show --format statusline --claude-code --width 40","padding":0}`: `{"type":"command","command":"todo-mcp show --format statusline --claude-code --width 40","padding":0}`,
		`{"type":"command","command":"starship"}`:                     "",
		`{"type":"command","command":"starship && todo-mcp show"}`:    "",
		`{"type":"command","command":"todo-mcp-starship show --big"}`: "",
		`{}`: "",
	} {
		text := `{"a":1}`
		if before != "" {
			text = `{"statusLine":` + before + `}`
		}
		r := withHooks(t, "claude-code", text)
		r.install(install.Options{Hooks: install.Kinds()})
		isNoted := strings.Contains(r.notes, "status line is another one, which stays")
		if isNoted != (after == "") {
			t.Errorf("%s: it is noted %q", before, r.notes)
		}
		if isNoted {
			after = before
		}
		if got := compact(r.read(r.hooksFile())); !strings.Contains(got, `"statusLine":`+after) {
			t.Errorf("%s becomes %s", before, got)
		}
		r.uninstall(install.Options{})
		if got := r.read(r.hooksFile()); strings.Contains(got, "starship") != strings.Contains(before, "starship") || strings.Contains(got, "todo-mcp hook") {
			t.Errorf("%s is afterwards %s", before, got)
		}
	}
}

// The hooks write where the server does, and no password in that is shown that was not
// given.
func TestHooksOfAnotherStore(t *testing.T) {
	const store = "postgres://ann:secret@db/x"
	r := newRig(t, "claude-code")
	change, err := r.Install(r.m, install.Options{Args: []string{"--panel", "--store=" + store, "--config", "/a b"}})
	if _, wrong := change.Write(); err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	r.install(install.Options{Hooks: install.Kinds()})
	for _, want := range []string{"hook", "show --format statusline --claude-code"} {
		if now := r.read(r.hooksFile()); !strings.Contains(now, `"todo-mcp `+want+" --store="+store+` --config '/a b'"`) {
			t.Errorf("there is no %s in\n%s", want, now)
		}
	}
	r.install(install.Options{Hooks: install.Kinds(), Args: []string{"--store", "sqlite:/y"}})
	if now := r.read(r.hooksFile()); strings.Count(now, ` --store sqlite:/y"`) != 6 {
		t.Errorf("there is\n%s", now)
	}
	r.install(install.Options{Hooks: install.Kinds(), Args: []string{}})
	if now := r.read(r.hooksFile()); strings.Contains(now, "store") {
		t.Errorf("there is\n%s", now)
	}
}

// Each server of this program goes, and the hooks with them.
func TestAllServersGo(t *testing.T) {
	r := withFile(t, "claude-code", `{"mcpServers": {"todo": {"command": "todo-mcp"}, "work": {"command": "todo-mcp", "args": ["--list", "work"]}}}`)
	r.install(install.Options{Hooks: install.Kinds()})
	r.uninstall(install.Options{})
	if _, err := os.Stat(r.hooksFile()); !errors.Is(err, os.ErrNotExist) || r.look().Name != "" {
		t.Errorf("%+v (%v)", r.look(), err)
	}
}

// The command of a hook is quoted as the shell needs it that runs it.
func TestHookCommands(t *testing.T) {
	for _, c := range []struct{ system, program, client, want string }{
		{"linux", "/opt/todo-mcp", "claude-code", "/opt/todo-mcp hook"},
		{"linux", "/opt/it's $HOME/todo-mcp", "codex", `'/opt/it'\''s $HOME/todo-mcp' hook`},
		{"darwin", "/Users/ann b/todo-mcp", "opencode", "'/Users/ann b/todo-mcp' hook"},
		{"linux", `/opt/a "b"\c/todo-mcp`, "opencode", `'/opt/a "b"\c/todo-mcp' hook`},
		{"windows", `C:\Tools\todo-mcp.exe`, "claude-code", "C:/Tools/todo-mcp.exe hook"},
		{"windows", `C:\Tools\todo-mcp.exe`, "gemini", "C:/Tools/todo-mcp.exe hook"},
		{"windows", `C:\Program Files\todo-mcp.exe`, "claude-code", "'C:/Program Files/todo-mcp.exe' hook"},
		{"windows", `C:\Ann's Files\todo-mcp.exe`, "codex", "& 'C:/Ann''s Files/todo-mcp.exe' hook"},
		{"windows", `C:\Program Files\todo-mcp.exe`, "cursor", "& 'C:/Program Files/todo-mcp.exe' hook"},
		{"windows", `C:\Program Files\todo-mcp.exe`, "opencode", `"C:/Program Files/todo-mcp.exe" hook`},
	} {
		r := newRig(t, c.client)
		r.m.System, r.m.Executable = c.system, c.program
		r.m.LookPath = func(string) (string, error) { return "", os.ErrNotExist }
		_, texts := r.byHand(install.Options{Hooks: install.Kinds()})
		want, _ := json.Marshal(c.want)
		if plain := strings.ReplaceAll(texts[min(1, len(texts)-1)], `\u0026`, "&"); !strings.Contains(plain, strings.ReplaceAll(string(want), `\u0026`, "&")) {
			t.Errorf("%s on %s of %s: there is no %s in\n%s", c.client, c.system, c.program, want, plain)
		}
		if shown := r.install(install.Options{Hooks: install.Kinds()}); strings.Contains(shown, "…") {
			t.Errorf("%s on %s is shown as\n%s", c.client, c.system, shown)
		}
	}
}
