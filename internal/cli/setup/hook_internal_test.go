package setup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/cli/app"
)

// BAD-INPUT 98: A hook's event that is cut, over 8 MB, no JSON, with a key twice, of an
// unknown host or tool, without a chat, or that the tool would refuse; a bad setting → Nothing is
// changed or printed, exit status 0 within three seconds, a line in `hook.log` without a list's
// text; `/hook` answers why. Texts that the host's tool accepted are mended (U+FFFD for half characters)
// and cut
func TestSilentCommandsDoNotPanic(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	env := app.Env{Stdout: &out, Stderr: &out, Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": dir, "LocalAppData": dir}[name] }}
	failed := RunSilently(env, false, func(env app.Env) error {
		fmt.Fprintln(env.Stdout, "shown")
		fmt.Fprintln(env.Stderr, "shown")
		panic("at the disco")
	})
	log, err := os.ReadFile(filepath.Join(dir, "todo-mcp", "hook.log"))
	if failed != nil || err != nil || !strings.Contains(string(log), "panic: at the disco") || out.Len() > 0 {
		t.Errorf("printed %q, logged %q, %v", &out, log, err)
	}
}
