//go:build e2e

package servertest

import (
	"os"
	"path/filepath"
	"testing"
)

// NodeModules returns the folder of the npm packages that tests use. `make deps`
// installs them in the versions that testdata/npm/package.json pins.
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
