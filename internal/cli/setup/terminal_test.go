//go:build unix

package setup_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"todo-mcp/internal/cli/clitest"
)

// install on a terminal asks for each client found; "all" is for those that follow, and
// what is not a yes changes nothing.
func TestInstallOnATerminal(t *testing.T) {
	home := t.TempDir()
	env := []string{"HOME=" + home}
	for _, client := range []string{".cursor", ".codex", ".gemini", ".qwen"} {
		if err := os.Mkdir(filepath.Join(home, client), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	changed := func(want ...string) {
		t.Helper()
		var got []string
		for _, name := range []string{".cursor/mcp.json", ".codex/config.toml", ".gemini/settings.json", ".qwen/settings.json"} {
			if _, err := os.Stat(filepath.Join(home, name)); err == nil {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("changed are %q, want %q", got, want)
		}
	}
	for _, no := range []string{clitest.CtrlC, "\n", "n\n", clitest.CtrlD, "yess\n"} {
		s := clitest.StartSession(t, env, "install", "cursor")
		s.Expect("Change ~/.cursor/mcp.json? [y]es, [n]o, [a]ll ")
		s.Types(no)
		s.Expect("nothing was changed")
		if status := s.Ends(); status != 1 {
			t.Errorf("after %q it ends with status %d", no, status)
		}
		changed()
	}
	s := clitest.StartSession(t, env, "install")
	s.Expect("Change ~/.cursor/mcp.json?")
	s.Types(clitest.CtrlC)
	s.Expect("nothing was changed")
	if status := s.Ends(); status != 1 || strings.Contains(s.Seen, "config.toml?") {
		t.Errorf("it ends with status %d:\n%s", status, s.Seen)
	}
	changed()
	s = clitest.StartSession(t, env, "install")
	s.Expect("Found Cursor, Codex, Gemini CLI, Qwen Code.")
	s.Expect("Change ~/.cursor/mcp.json?")
	s.Types("n\n")
	s.Expect("Change ~/.codex/config.toml?")
	s.Types("Y\n")
	s.Expect("Codex: changed.")
	s.Expect("Change ~/.gemini/settings.json?")
	s.Types("all\n")
	s.Expect("Qwen Code: changed.")
	if status := s.Ends(); status != 0 || strings.Contains(s.Seen, "Change ~/.qwen") {
		t.Errorf("it ends with status %d:\n%s", status, s.Seen)
	}
	changed(".codex/config.toml", ".gemini/settings.json", ".qwen/settings.json")
	s = clitest.StartSession(t, env, "uninstall", "qwen")
	s.Expect("Change ~/.qwen/settings.json?")
	s.Types("y\n")
	s.Expect("Qwen Code: changed.")
	if status := s.Ends(); status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, s.Seen)
	}
}
