package install_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"

	"todo-mcp/internal/install"
)

// entries returns the names of all in a folder.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// BAD-INPUT 95: a file that is a link, as with dotfiles in a repository, is changed
// where it is kept; the link stays, and what was there before is kept beside the link.
func TestLinkedFile(t *testing.T) {
	m, c := newMachine(t), find(t, "gemini")
	path := file(t, m, c)
	target := filepath.Join(m.Home, "dotfiles", "gemini.json")
	write(t, target, "{}\n")
	write(t, filepath.Join(filepath.Dir(path), "other"), "")
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	change, err := c.Install(m, install.Options{})
	apply(t, change, err)
	if to, err := os.Readlink(path); err != nil || to != target {
		t.Errorf("the link leads to %q (%v)", to, err)
	}
	if info, err := os.Stat(target); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o640 || !strings.Contains(read(t, target), "todo-mcp") {
		t.Errorf("%v (%v): %s", info.Mode(), err, read(t, target))
	}
	if names := entries(t, filepath.Dir(target)); len(names) != 1 {
		t.Errorf("beside the target there are %q", names)
	}
	if read(t, path+".todo-mcp.bak") != "{}\n" {
		t.Error("the copy is not what was there before")
	}
}

// The copy is one, for its owner alone, of the last content that had nothing of this
// program, or else of the first one that was changed.
func TestBackup(t *testing.T) {
	m, c := newMachine(t), find(t, "claude-code")
	path, before := sample(t, m, c)
	hooks, hooksBefore := hooksFile(t, m, c), read(t, filepath.Join("testdata", "claude-code", "hooks.before.json"))
	write(t, hooks, hooksBefore)
	step := func(plan func(install.Machine, install.Options) (install.Change, error), o install.Options, isCopied bool) {
		t.Helper()
		change, err := plan(m, o)
		if err != nil {
			t.Fatal(err)
		}
		backups, err := change.Write()
		if err != nil || (len(backups) > 0) != isCopied {
			t.Errorf("copies are %q (%v)", backups, err)
		}
		for of, want := range map[string]string{path: before, hooks: hooksBefore} {
			info, err := os.Stat(of + ".todo-mcp.bak")
			if err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
				t.Fatalf("%v (%v)", info, err)
			}
			if got := read(t, of+".todo-mcp.bak"); got != want {
				t.Errorf("the copy of %s has %s", of, got)
			}
		}
		if names := entries(t, filepath.Dir(hooks)); len(names) != 2 {
			t.Errorf("there are %q", names)
		}
	}
	step(c.Install, install.Options{Hooks: true}, true)
	if err := os.Chmod(path+".todo-mcp.bak", 0o644); err != nil {
		t.Fatal(err)
	}
	step(c.Install, install.Options{Hooks: true, Args: []string{"--store", "sqlite:/x"}}, false)
	step(c.Install, install.Options{URL: address}, false)
	step(c.Install, install.Options{Name: "work"}, false)
	step(c.Uninstall, install.Options{}, false)
	step(c.Uninstall, install.Options{Name: "work"}, false)
	before = `{"mcpServers": {"b": {"command": "b"}}}`
	write(t, path, before)
	step(c.Install, install.Options{}, true)
}

// The copy is for its owner alone also in the place of one that others could read, or
// of a link to such a file, which it leaves.
func TestBackupIsPrivate(t *testing.T) {
	m, c := newMachine(t), find(t, "gemini")
	path, before := sample(t, m, c)
	backup, other := path+".todo-mcp.bak", filepath.Join(m.Home, "other")
	for name, place := range map[string]func() error{
		"a file": func() error { return os.WriteFile(backup, []byte("old"), 0o600) },
		"a link": func() error { return errors.Join(os.WriteFile(other, []byte("old"), 0o600), os.Symlink(other, backup)) },
	} {
		write(t, path, before)
		if err := errors.Join(place(), os.Chmod(backup, 0o644)); err != nil {
			t.Fatal(err)
		}
		change, err := c.Install(m, install.Options{})
		apply(t, change, err)
		info, err := os.Lstat(backup)
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode() != 0o600 || read(t, backup) != before {
			t.Errorf("in the place of %s: %v (%v)", name, info.Mode(), err)
		}
		if name == "a link" && read(t, other) != "old" {
			t.Errorf("%s was written", other)
		}
		if err := os.Remove(backup); err != nil {
			t.Fatal(err)
		}
	}
}

// BAD-INPUT 95: what is no file that can be read, or too large, is refused.
func TestNotAFile(t *testing.T) {
	for name, place := range map[string]func(path string) error{
		"is a folder":    func(path string) error { return os.Mkdir(path, 0o700) },
		"is a link to a": func(path string) error { return os.Symlink(path+"-gone", path) },
		"to a file that": func(path string) error { return os.Symlink(path, path) },
		"more than 10 MB": func(path string) error {
			return os.WriteFile(path, []byte("{}"+strings.Repeat("\n", 10_000_000)), 0o600)
		},
		"no regular file": makePipe,
	} {
		m, c := newMachine(t), find(t, "gemini")
		path := file(t, m, c)
		write(t, filepath.Join(filepath.Dir(path), "other"), "")
		if err := place(path); err != nil {
			t.Fatal(err)
		}
		_, err := c.Install(m, install.Options{})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, want %s", err, name)
		}
		if names := entries(t, filepath.Dir(path)); len(names) != 2 {
			t.Errorf("%s: there are %q", name, names)
		}
	}
	// One of some megabytes is changed all the same, and little of it is shown.
	m, c := newMachine(t), find(t, "claude-code")
	large := `{"history": [` + strings.Repeat(`{"display": "`+strings.Repeat("a line ", 100)+`", "n": 1},`+"\n", 3_000) + "{}]\n}\n"
	write(t, file(t, m, c), large)
	change, err := c.Install(m, install.Options{})
	if diff := apply(t, change, err); len(diff) > 1000 {
		t.Errorf("%d bytes of diff", len(diff))
	}
	change, err = c.Uninstall(m, install.Options{})
	apply(t, change, err)
	if read(t, change.File) != large {
		t.Error("it is not as before")
	}
}

// BAD-INPUT 95: a file that another program wrote, made or removed since it was read is
// left to it.
func TestChangedMeanwhile(t *testing.T) {
	for name, meanwhile := range map[string]func(t *testing.T, path string){
		"written": func(t *testing.T, path string) { write(t, path, `{"other": 1}`) },
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"broken": func(t *testing.T, path string) { write(t, path, `{`) },
	} {
		m, c := newMachine(t), find(t, "gemini")
		path, _ := sample(t, m, c)
		change, err := c.Install(m, install.Options{})
		if err != nil {
			t.Fatal(err)
		}
		meanwhile(t, path)
		after, _ := os.ReadFile(path)
		if _, err := change.Write(); err == nil || !strings.Contains(err.Error(), path+" is left as it was: another program changed it") {
			t.Errorf("%s: %v", name, err)
		}
		if now, _ := os.ReadFile(path); string(now) != string(after) {
			t.Errorf("%s: it has %s", name, now)
		}
		if _, err := os.Stat(path + ".todo-mcp.bak"); err == nil {
			t.Errorf("%s: there is a copy", name)
		}
	}
	m, c := newMachine(t), find(t, "gemini")
	change, err := c.Install(m, install.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, change.File, "{}")
	if _, err := change.Write(); err == nil || read(t, change.File) != "{}" {
		t.Errorf("made meanwhile: %v", err)
	}
}

// BAD-INPUT 95: of several changes that were planned at once one is made, and the others
// say that the file is another one now. None is lost in silence.
func TestChangesAtOnce(t *testing.T) {
	for round := range 20 {
		m, c := newMachine(t), find(t, "gemini")
		path := file(t, m, c)
		if round%2 == 0 {
			sample(t, m, c)
		}
		var planned []install.Change
		for i := range 8 {
			change, err := c.Install(m, install.Options{Name: fmt.Sprintf("server-%d", i)})
			if err != nil {
				t.Fatal(err)
			}
			planned = append(planned, change)
		}
		errs := make([]error, len(planned))
		var all sync.WaitGroup
		for i, change := range planned {
			all.Go(func() { _, errs[i] = change.Write() })
		}
		all.Wait()
		made, text := 0, read(t, path)
		for i, err := range errs {
			if err == nil {
				made++
			} else if !strings.Contains(err.Error(), "another program changed it") {
				t.Error(err)
			}
			if is := strings.Contains(text, fmt.Sprintf(`"server-%d"`, i)); is != (err == nil) {
				t.Errorf("server %d: %v, but there is %s", i, err, text)
			}
		}
		if made != 1 {
			t.Errorf("%d changes say they were made", made)
		}
		if names := entries(t, filepath.Dir(path)); len(names) != 2-round%2 {
			t.Errorf("there are %q", names)
		}
	}
}

// A change waits for another process of this program that has the file.
func TestLockIsWaitedFor(t *testing.T) {
	m, c := newMachine(t), find(t, "gemini")
	path, _ := sample(t, m, c)
	lock := flock.New(path + ".todo-mcp.lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	change, err := c.Install(m, install.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := change.Write()
		done <- err
	}()
	write(t, path, `{"by": "the other"}`)
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || read(t, path) != `{"by": "the other"}` {
		t.Errorf("%v, and there is %s", err, read(t, path))
	}
}
