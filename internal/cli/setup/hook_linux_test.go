package setup_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"todo-mcp/internal/cli"
)

// BAD-INPUT 98: a log of hooks that is a pipe keeps neither a hook nor doctor.
func TestPipeAsHookLog(t *testing.T) {
	state := t.TempDir()
	if err := os.Mkdir(filepath.Join(state, "todo-mcp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(state, "todo-mcp", "hook.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	for _, args := range [][]string{{"hook"}, {"doctor", "--addr", "127.0.0.1:0"}} {
		if err := cli.Run(t.Context(), append([]string{"todo-mcp"}, args...), cli.Env{Stdin: strings.NewReader("{"), Stdout: io.Discard, Stderr: io.Discard, Getenv: getenv}); err != nil {
			t.Errorf("%s: %v", args[0], err)
		}
	}
}
