package install_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/install"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// outcome is a client after an install.
type outcome struct {
	*rig
	o     install.Options
	was   install.HookState // before
	shown string
	brief string // of what is shown
	err   error
}

// installed installs to a client whose file had a text. The words say the client and more:
// "in hooks" that it is the file of hooks, "windows" that the file is of an editor there, and
// what install is told of the machine and by flags.
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
			programtest.Check(t, err)
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
		change, _ := out.Install(out.m, out.o)
		out.brief = change.Diff(false)
		out.shown = out.install(out.o)
	}
	return out
}

// part returns what came of it.
func (out *outcome) part(name string) string {
	path := out.file()
	switch name {
	case "notes":
		return out.notes
	case "brief":
		return out.brief
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

// What becomes of many files, with a word on each; testdata/cases has them. A part whose name
// has a | is a file before, or one in each line, and those behind it are what comes of it.
//
// BAD-INPUT 97: Another server by our name, or a program, package or address whose name contains
// ours → It stays; this one is called todo-mcp
//
// BAD-INPUT 99: `install` by a program in npx's cache → The entry calls npx; a user's version and
// arguments stay
//
// BAD-INPUT 94
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
			programtest.Check(t, os.WriteFile(path, txtar.Format(cases), 0o600))
		}
	}
}
