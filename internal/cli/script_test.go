package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }

// TestScripts runs the scripts in testdata/script, which execute the commands as a shell does. Only the long form
// (TODO_LONG) runs them under the race detector, which makes a command take three times as long.
func TestScripts(t *testing.T) {
	folder := ""
	if os.Getenv("TODO_LONG") == "" {
		folder = built(t)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			if folder != "" {
				env.Setenv("PATH", folder+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("LocalAppData", filepath.Join(env.WorkDir, "state")) // this and USERPROFILE are for Windows
			env.Setenv("USERPROFILE", env.WorkDir)
			return nil
		},
	})
}

// A wrong command line gives exit status 2, any other failure 1. TodoWrite gives 1 for both.
func TestExitCode(t *testing.T) {
	dir := t.TempDir()
	call := programtest.Call{Env: map[string]string{"XDG_STATE_HOME": dir, "XDG_CONFIG_HOME": dir}}
	for line, want := range map[string]int{
		"lists": 0, "version": 0, "help show": 0, "show --help": 0,
		"nothing": 2, "help nothing": 2, "lists --nothing": 2, "show --width many": 2, "serve --max-streams 0": 2,
		"lists --state odd": 2, "show --format odd": 2, "check backup.db": 2, "serve now": 2,
		"show a b": 2, "history a b": 2, "watch a b": 2, "watch --server x": 2, "completion bash x": 2, "demo x": 2, "edit a b": 2, "import a b": 2, "archive": 2, "delete": 2,
		"rename a": 2, "rename a b c": 2, "restore a": 2, "restore a 0": 2, "delete a --undo --purge": 2, "TodoWrite": 1, "TodoWrite {": 1, "TodoWrite --nothing": 1, "TodoWrite [] --max-items many": 1, "show --width -5": 2, "demo --pace 0": 2, "demo --pace -1s": 2, "serve --addr 127.0.0.1:99999": 2,
		"token": 2, "token new --tokens x": 2,
		"serve --lan --addr 0.0.0.0:1": 2, "serve --addr 0.0.0.0:1": 2, "serve --tls-key none": 2,
		"show nothing": 1, "lists --store sqlite:" + filepath.Join(dir, "."): 1,
	} {
		_, err := call.Run(t.Context(), strings.Fields(line)...)
		if got := cli.ExitCode(err); got != want {
			t.Errorf("%s: %d, want %d: %v", line, got, want, err)
		}
	}
}
