package install_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// expectCopy checks that the copy of a file has a text, for its owner alone.
func (r *rig) expectCopy(path, want string) {
	r.Helper()
	info, err := os.Lstat(path + ".todo-mcp.bak")
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		r.Fatalf("%v (%v)", info, err)
	}
	checktest.Same(r.T, fmt.Sprintf("the copy of %s has", path), r.read(path+".todo-mcp.bak"), want)
}

// BAD-INPUT 95: a file that is a link, as with dotfiles in a repository, is changed
// where it is kept; the link stays, and what was there before is kept beside the link.
func TestLinkedFile(t *testing.T) {
	r := newRig(t, "gemini")
	path, target := r.file(), filepath.Join(r.m.Home, "dotfiles", "gemini.json")
	r.write(target, "{}\n")
	r.write(filepath.Join(filepath.Dir(path), "other"), "")
	programtest.Check(t, errors.Join(os.Chmod(target, 0o640), os.Symlink(target, path)))
	r.install(install.Options{})
	if to, err := os.Readlink(path); err != nil || to != target {
		t.Errorf("the link leads to %q (%v)", to, err)
	}
	if info, err := os.Stat(target); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o640 || !strings.Contains(r.read(target), "todo-mcp") {
		t.Errorf("%v (%v): %s", info.Mode(), err, r.read(target))
	}
	if files := r.files(); len(files) != 2 {
		t.Errorf("there are %q", files)
	}
	r.expectCopy(path, "{}\n")
}

// The copy is one, for its owner alone, of the last content that had nothing of this
// program, or else of the first one that was changed.
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

// BAD-INPUT 95: what is no file that can be read, or too large, is refused.
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
		programtest.Check(t, place(path))
		r.refused(install.Options{}, name, path)
	}
	// One of a megabyte, in the long form of the tests (TODO_LONG) of 15, and of many parts,
	// is changed all the same, and little of it is shown.
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

// BAD-INPUT 95: a file that another program wrote, made or removed since it was read is
// left to it, a file of hooks as well as one of servers.
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
			checktest.Fails(t, name, checktest.Err(change.Write()), path+" is left as it was: another program changed it")
			if now, _ := os.ReadFile(path); string(now) != c.after {
				t.Errorf("%s: it has %s", name, now)
			}
		}
	}
}

// BAD-INPUT 167: `uninstall` of a file with a mark, without a last line end, or changed since → As
// it was, to the byte, without copy or empty folder. A copy that differs stays, and is named
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
	if _, wrong := change.Write(); err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	if copies := change.Copies(); len(copies) != 1 || copies[0] != r.file()+".todo-mcp.bak" {
		t.Errorf("copies: %v", copies)
	}
}
