package install_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
)

var update = flag.Bool("update", false, "rewrite the goldens in testdata and what docs have of the tables")

const address = "http://127.0.0.1:8765/mcp"

// rig is a client on a machine of its own, with this program on its PATH.
type rig struct {
	*testing.T
	install.Client
	m        install.Machine
	testdata *txtar.Archive // see section
	notes    string         // the notes of the last change
}

func newRig(t *testing.T, client string) *rig {
	t.Helper()
	c, ok := install.Find(client)
	if !ok {
		t.Fatalf("no client %s", client)
	}
	home := t.TempDir()
	r := &rig{T: t, Client: c, m: install.Machine{
		System: "linux", Home: home, Executable: filepath.Join(home, "bin", "todo-mcp"),
		Getenv: func(string) string { return "" },
		LookPath: func(name string) (string, error) {
			path := filepath.Join(home, "bin", name)
			_, err := os.Stat(path)
			return path, err
		},
	}}
	r.write(r.m.Executable, "a program")
	return r
}

// withFile returns a rig whose client has a file of servers.
func withFile(t *testing.T, client, text string) *rig {
	t.Helper()
	r := newRig(t, client)
	r.write(r.file(), text)
	return r
}

func (r *rig) write(path, text string) {
	r.Helper()
	checktest.Check(r.T, os.MkdirAll(filepath.Dir(path), 0o700))
	checktest.Check(r.T, os.WriteFile(path, []byte(text), 0o600))
}

func (r *rig) read(path string) string {
	r.Helper()
	return string(checktest.Must(os.ReadFile(path))(r.T))
}

// look returns the client's state.
func (r *rig) look() install.State {
	r.Helper()
	return checktest.Must(r.Look(r.m, install.Options{}))(r.T)
}

// file returns the path of the client's file of servers, and hooksFile that of its hooks; empty for none.
func (r *rig) file() string {
	s, _ := r.Look(r.m, install.Options{})
	return s.File
}

func (r *rig) hooksFile() string {
	s, _ := r.Look(r.m, install.Options{})
	if s.Hooks == "" {
		return ""
	}
	paths, _ := r.byHand(install.Options{Hooks: install.Kinds()})
	return paths[min(1, len(paths)-1)] // after the file of servers, unless one file has both
}

// byHand returns the paths of the files, and the texts to write into them by hand.
func (r *rig) byHand(o install.Options) (paths, texts []string) {
	r.Helper()
	o.Blank = true
	return checktest.Must(r.Install(r.m, o))(r.T).Files()
}

// sample writes the sample of the client's file of servers to that file's path.
func (r *rig) sample() *rig {
	r.Helper()
	path := r.file()
	r.write(path, string(r.section("before"+filepath.Ext(path)).Data))
	return r
}

// section returns a part of the client's testdata by its name; nil for none.
func (r *rig) section(name string) *txtar.File {
	r.Helper()
	if r.testdata == nil {
		var err error
		if r.testdata, err = txtar.ParseFile(filepath.Join("testdata", r.Client.Name+".txtar")); err != nil {
			r.Fatal(err)
		}
	}
	i := slices.IndexFunc(r.testdata.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &r.testdata.Files[i]
}

// sampleHooks writes the sample of the client's file of hooks, if there is a sample, to that file's path. Some clients
// have servers and hooks in one file.
func (r *rig) sampleHooks() *rig {
	if path := r.hooksFile(); path != "" {
		if hooks := r.section("hooks.before" + filepath.Ext(path)); hooks != nil {
			r.write(path, string(hooks.Data))
		}
	}
	return r
}

// files returns the texts of all files in the user's folder, except this program and copies.
func (r *rig) files() map[string]string {
	r.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(r.m.Home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || path == r.m.Executable || filepath.Ext(path) == ".bak" {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Size() > install.MaxFile { // reading it takes gigabytes under the race detector
			all[path] = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
		} else if err == nil {
			all[path] = r.read(path)
		}
		return err
	})
	checktest.Check(r.T, err)
	return all
}

// expectFiles compares all files with want.
func (r *rig) expectFiles(want map[string]string) {
	r.Helper()
	checktest.Same(r.T, fmt.Sprintf("the files of %s are (-want +got)", r.Client.Name), cmp.Diff(want, r.files()), "")
}

// install installs to the client, and checks that a second install changes nothing. It returns the diff, after a check
// that the diff has no secret.
func (r *rig) install(o install.Options) (shown string) { r.Helper(); return r.change(r.Install, o) }

func (r *rig) uninstall(o install.Options) (shown string) {
	r.Helper()
	return r.change(r.Uninstall, o)
}

func (r *rig) change(plan func(install.Machine, install.Options) (install.Change, error), o install.Options) string {
	r.Helper()
	change := checktest.Must(plan(r.m, o))(r.T)
	r.notes = strings.Join(change.Notes, "\n")
	checktest.Check(r.T, change.Write())
	if again, err := plan(r.m, o); err != nil || !again.IsNone() {
		r.Errorf("a second time (%v):\n%s", err, again.Diff())
	}
	shown := change.Diff()
	if strings.Contains(shown, "secret") || strings.Contains(shown, "Bearer") {
		r.Errorf("a secret is shown:\n%s", shown)
	}
	return shown
}

// refused checks that nothing is installed, and that the error has no secret and contains the texts given as why.
func (r *rig) refused(o install.Options, why ...string) {
	r.Helper()
	before := r.files()
	change, err := r.Install(r.m, o)
	if err == nil {
		err = change.Write()
	}
	for _, text := range why {
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "secret") {
			r.Errorf("%v, want %s", err, text)
		}
	}
	r.expectFiles(before)
}

// golden compares a text with a part of the client's testdata.
func (r *rig) golden(name, got string) {
	r.Helper()
	want := r.section(name)
	if want == nil {
		r.testdata.Files = append(r.testdata.Files, txtar.File{Name: name})
		want = r.section(name)
	}
	got = strings.TrimSuffix(strings.ReplaceAll(got, r.m.Home, "/HOME"), "\n") + "\n"
	if *update {
		want.Data = []byte(got)
		r.write(filepath.Join("testdata", r.Client.Name+".txtar"), string(txtar.Format(r.testdata)))
	}
	checktest.Same(r.T, fmt.Sprintf("%s of %s (-want +got)", name, r.Client.Name), cmp.Diff(string(want.Data), got), "")
}

// edited returns the names of the clients whose file install edits.
func edited() (names []string) {
	for _, c := range install.Clients() {
		if !c.ByHand() {
			names = append(names, c.Name)
		}
	}
	return names
}
