//go:build e2e

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// Two builds of the same source in different folders, of files with different times, in
// and outside of a repository, have the same bytes: the binary, and all that is made of
// it. Only with TODO_LONG=1 the binary is one, and each build compiles all by itself: that
// takes minutes. Else it is a stand-in.
func TestSameBytes(t *testing.T) {
	first, second := buildCopy(t, "a", true), buildCopy(t, "another/folder", false)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the builds differ (-first +second):\n%s", diff)
	}
	if len(first) < 20 {
		t.Errorf("there are %d files only", len(first))
	}
}

// buildCopy copies the source to a folder, makes a release there and returns the sums of its files.
func buildCopy(t *testing.T, name string, inRepository bool) map[string]string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), filepath.FromSlash(name))
	copySource(t, filepath.Join("..", "..", ".."), folder)
	if inRepository {
		run(t, folder, "git", "init", "--quiet")
	} else {
		touch(t, folder)
	}
	r := newRelease(t)
	r.root = folder
	if programtest.Long() {
		binary := filepath.Join(r.dist, "todo-mcp_linux_amd64_v1", "todo-mcp")
		if err := os.Remove(binary); err != nil { // the stand-in
			t.Fatal(err)
		}
		run(t, folder, append(append([]string{"go", "build"}, buildFlags(t, r.version)...), "-o", binary, ".")...)
	}
	return sums(t, r.runCommand(t).dist)
}

// runCommand makes the release by the command itself, which packs faster than a test
// under the race detector.
func (r release) runCommand(t *testing.T) release {
	t.Helper()
	run(t, ".", "go", "run", "-trimpath", "github.com/todo-mcp/todo-mcp/internal/cmd/release", "-root", r.root, "-version", r.version, "-owner", r.owner, "-image", r.image, r.dist)
	return r
}

// buildFlags returns the flags by which GoReleaser builds a version.
func buildFlags(t *testing.T, version string) (flags []string) {
	t.Helper()
	var config struct {
		Builds []struct{ Flags, Ldflags []string }
	}
	servertest.Check(t, yaml.Unmarshal(readFile(t, filepath.Join("..", "..", "..", ".goreleaser.yaml")), &config))
	build := config.Builds[0]
	return append(build.Flags, "-ldflags", strings.ReplaceAll(build.Ldflags[0], "{{ .Version }}", version))
}

// touch gives files another time.
func touch(t *testing.T, folder string) {
	t.Helper()
	past := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for path := range sums(t, folder) {
		servertest.Check(t, os.Chtimes(filepath.Join(folder, path), past, past))
	}
}

// run runs a program in a folder. It compiles by itself what others have compiled only
// if that may take long.
func run(t *testing.T, folder string, command ...string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if programtest.Long() {
		cmd.Env = append(cmd.Env, "GOCACHE="+filepath.Join(t.TempDir(), "cache"))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
}

// copySource copies what the program and its packages are made of.
func copySource(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "testdata", "bin", "dist", "tmp"}, e.Name()) && name != filepath.Join("packaging", "npm", "bin") {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		if !e.Type().IsRegular() || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
	servertest.Check(t, err)
}
