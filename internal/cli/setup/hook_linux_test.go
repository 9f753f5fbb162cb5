package setup_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// BAD-INPUT 98: a log of hooks that is a pipe keeps neither a hook nor doctor.
func TestPipeAsHookLog(t *testing.T) {
	r := newHookRig(t)
	if err := os.Mkdir(r.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(r.state, "hook.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.call(strings.NewReader("{"))
	call := programtest.Call{Env: map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state)}}
	if _, err := call.Run(t.Context(), "doctor", "--addr", "127.0.0.1:0"); err != nil {
		t.Error(err)
	}
}
