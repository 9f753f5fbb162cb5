package install_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/install"
)

// withHooks returns a rig whose client has a file of hooks.
func withHooks(t *testing.T, client, text string) *rig {
	t.Helper()
	r := newRig(t, client)
	r.write(r.hooksFile(), text)
	return r
}

// A person chooses kinds of hooks: each choice of them is what stands there then, whatever
// stood there before, it is known again, and none takes all of them away.
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

// BAD-INPUT 117: Foreign hooks that post to our address; an unknown kind of hooks → They stay,
// also after `uninstall`; an error that has the kinds
func TestNoKinds(t *testing.T) {
	for _, name := range []string{"mirrors", "all mirror", "mirror,\x1b[2J", "", "none,mirror"} {
		if kinds, err := install.ParseKinds(name); err == nil || !strings.Contains(err.Error(), "mirror, calls") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q are the kinds %v, %v", name, kinds, err)
		}
	}
}

// BAD-INPUT 94: where the server's entry stays, since it cannot be edited, its hooks go all the
// same.
func TestHooksGoWithoutTheServer(t *testing.T) {
	const text = "mcp_servers.todo.command = \"/gone/todo-mcp\"\n"
	r := newRig(t, "codex")
	r.install(install.Options{Hooks: install.Kinds()})
	r.write(r.file(), text)
	if shown := r.uninstall(install.Options{}); !strings.Contains(shown, "- hooks.") || r.read(r.file()) != text {
		t.Errorf("%s\n%s", shown, r.read(r.file()))
	}
}
