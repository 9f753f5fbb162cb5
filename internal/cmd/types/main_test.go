package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// check finds an error in code and one in a test that only one system compiles, and a constant too large for 32 bits.
func TestCheck(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module x\n\ngo 1.26\n",
		"all.go":            "package x\n\nimport \"strings\"\n\nvar Big = len(strings.Repeat(\"a\", 2)) + 1<<40\n",
		"one_darwin.go":     "package x\n\nvar _ = missing\n",
		"x_windows_test.go": "package x\n\nimport \"os\"\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]string{
		"linux/amd64": "", "darwin/arm64": "undefined: missing", "windows/amd64": "imported and not used", "linux/arm": "overflows", "linux": "SYSTEM/PROCESSOR",
	} {
		_, err := check(folder, target)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
	}
}
