//go:build unix

package storage_test

import (
	"testing"

	"todo-mcp/internal/cli/clitest"
)

// import in a terminal says what it waits for, and ends on Ctrl-C as on the end of
// what is pasted.
func TestImportOnATerminal(t *testing.T) {
	env := []string{"XDG_STATE_HOME=" + t.TempDir()}
	s := clitest.StartSession(t, env, "import")
	s.Expect("Paste what `todo-mcp export` wrote")
	s.Expect("Ctrl-C stops")
	s.Types(clitest.CtrlC)
	s.Expect("stopped; nothing was imported")
	if status := s.Ends(); status != 1 {
		t.Errorf("it ends with status %d", status)
	}
	s = clitest.StartSession(t, env, "import", "--format", "markdown", "--list", "pasted")
	s.Expect("lines such as `- [ ] Write tests`")
	s.Types("- [ ] Buy milk\n" + clitest.CtrlD)
	s.Expect("Buy milk")
	if status := s.Ends(); status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, s.Seen)
	}
}
