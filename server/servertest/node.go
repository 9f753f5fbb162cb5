//go:build e2e

package servertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// NodeModules returns the folder of the npm packages that `make deps` installs.
func NodeModules(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm", "node_modules"))
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, ".bin", "esbuild"))
	}
	if err != nil {
		t.Fatalf("the npm packages are not installed (%v): run `make deps`", err)
	}
	return dir
}

// Bundle bundles a script with the npm packages that it imports, and returns what
// esbuild writes to its standard output.
func Bundle(t *testing.T, entry string, options ...string) []byte {
	t.Helper()
	modules := NodeModules(t)
	build := exec.Command(filepath.Join(modules, ".bin", "esbuild"), append([]string{entry, "--bundle", "--log-level=error"}, options...)...)
	build.Env, build.Stderr = append(os.Environ(), "NODE_PATH="+modules), os.Stderr
	script, err := build.Output()
	if err != nil {
		t.Fatal("esbuild:", err)
	}
	return script
}
