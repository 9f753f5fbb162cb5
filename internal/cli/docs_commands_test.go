//go:build linux

package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// built builds the program and returns a folder that has it as todo-mcp and as TodoWrite.
func built(t *testing.T) string {
	program := programtest.Build(t)
	checktest.Check(t, os.Symlink(program, filepath.Join(filepath.Dir(program), "TodoWrite")))
	return filepath.Dir(program)
}

// TestDocsCommandsRun runs every command in the guides' blocks of sh with the real program. A shell runs each block in
// a home folder of its own, whose store has two lists. Placeholders in the guides are words in capitals, or addresses;
// standIns replaces them. A command without a rule in [reader.run] fails the test.
func TestDocsCommandsRun(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(programtest.Build(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	home, served := seededHome(t), t.TempDir()
	checktest.Check(t, os.CopyFS(served, os.DirFS(home)))
	server := programtest.Serve(t, "--store", "sqlite:"+filepath.Join(served, "todo.db")).URL
	ran := 0
	for _, p := range guides(t) {
		for n, b := range p.blocks() {
			if b.language != "sh" {
				continue
			}
			ran += strings.Count(strings.TrimSpace(b.code), "\n") + 1
			t.Run(fmt.Sprintf("%s/%d", p.path, n), func(t *testing.T) {
				t.Parallel()
				r := reader{t: t, home: t.TempDir(), server: server}
				checktest.Check(t, os.CopyFS(r.home, os.DirFS(home)))
				checktest.Check(t, r.follow(b.code))
			})
		}
	}
	if ran < 60 {
		t.Errorf("only %d lines were found", ran)
	}
}

// seededHome returns a home folder with a store of two lists, folders of two clients, and a certificate. One list has
// more than three revisions.
func seededHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	code := ""
	steps := []string{"Fix the parser", "Ship it", "Tell Ann"}
	for n := range steps {
		code += "todo-mcp TodoWrite --list parser '" + servertest.Todos("pending", steps[:n+1]...) + "'\n"
	}
	code += "todo-mcp rename parser 'Fix the parser'\n"
	code += "todo-mcp TodoWrite --list release '" + servertest.Todos("pending", "Release 2.0") + "'\n"
	checktest.Check(t, (reader{t: t, home: home}).follow(code))
	for _, folder := range []string{".codex", ".cursor"} {
		checktest.Check(t, os.Mkdir(filepath.Join(home, folder), 0o755))
	}
	programtest.Certify(t, filepath.Join(home, "cert.pem"), filepath.Join(home, "key.pem"), 1)
	return home
}

// standIns replaces the placeholders of a page by values for the test.
func (r reader) standIns() *strings.Replacer {
	return strings.NewReplacer(
		"LIST", "parser",
		"TOKEN", "no-token-is-asked-for-here",
		"http://127.0.0.1:8765", r.server,
		"https://todo.example.com --token", r.server+" --token",
		"0.0.0.0:443", "127.0.0.1:0",
		"127.0.0.1:8766", "127.0.0.1:0",
	)
}

// reader runs the commands of one block of a page, in a home folder of its own.
type reader struct {
	t      *testing.T
	home   string
	server string // the address of a server that runs already
}

// follow runs the commands of a block, one after the other, as one shell does.
func (r reader) follow(code string) error {
	script, err := syntax.NewParser().Parse(strings.NewReader(r.standIns().Replace(code)), "")
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, code)
	}
	var out bytes.Buffer
	shell, err := interp.New(interp.Env(expand.ListEnviron(r.environ()...)), interp.Dir(r.home), interp.StdIO(nil, &out, &out),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return r.run }))
	if err != nil {
		return err
	}
	var failed []error
	for _, line := range script.Stmts {
		out.Reset()
		if err := shell.Run(r.t.Context(), line); err != nil {
			var text strings.Builder
			_ = syntax.NewPrinter().Print(&text, line)
			failed = append(failed, fmt.Errorf("%s: %w\n%s", text.String(), err, out.String()))
		}
	}
	return errors.Join(failed...)
}

// environ returns the variables of the reader's shell. With these, servers listen on any free port.
func (r reader) environ() []string {
	return []string{
		"HOME=" + r.home, "XDG_STATE_HOME=" + filepath.Join(r.home, "state"), "PATH=" + os.Getenv("PATH"),
		"TERM=xterm", "EDITOR=true", "TODO_ADDR=127.0.0.1:0", "TODO_STORE=sqlite:" + filepath.Join(r.home, "todo.db"),
	}
}

// run runs a command of a block, or only checks it, see [checkedAlone].
func (r reader) run(ctx context.Context, args []string) error {
	io := interp.HandlerCtx(ctx)
	switch name := args[0]; {
	case name == "todo-mcp":
		return r.runProgram(ctx, args[1:])
	case name == "go" && len(args) > 3 && args[1] == "run" && args[2] == ".", name == "npx" && args[1] == "-y" && args[2] == "todo-mcp":
		return r.runProgram(ctx, args[3:])
	case name == "sudo":
		return r.run(ctx, args[1:])
	case name == "sqlite3":
		return execute(filepath.Join(io.Dir, args[1]), args[2])
	case name == "grep", name == "mkdir":
		return interp.DefaultExecHandler(time.Second)(ctx, args)
	case slices.Contains(checkedAlone(), name):
		return check(args)
	}
	return fmt.Errorf("there is no rule for %q: see run and checkedAlone", args[0])
}

// checkedAlone returns the programs that are not run: they may be missing, change the machine or take minutes. For
// these, [check] only checks the names of this repository's files and targets in the arguments.
func checkedAlone() []string {
	return []string{
		"make", "go", "git", // the tests themselves, and releases
		"claude", "gemini", "codex", "code", // clients
		"docker", "helm", "kubectl", "systemctl", "systemd-sysusers", "install", // ways to run a server
		"brew", "apt", "dnf", "npm", // ways to install a release
		"pg_dump", "pg_restore", "psql", // PostgreSQL; internal/faults runs these commands
	}
}

// runProgram runs todo-mcp until it ends. A command that asks questions, or does not end by itself, runs in a terminal:
// the test answers yes to each question, or presses Ctrl-C once the output shows that the command works.
func (r reader) runProgram(ctx context.Context, args []string) error {
	if err := checkArguments(args); err != nil {
		return err
	}
	asks := true
	for _, arg := range args {
		if arg == "--lan" || strings.HasPrefix(arg, "postgres:") {
			return nil // needs a network or a database; only its flags are checked
		}
		asks = asks && !slices.Contains([]string{"--yes", "--print"}, arg)
	}
	at := map[string][]string{
		"serve": {"Ctrl-C", programtest.CtrlC}, "demo": {"Ctrl-C", programtest.CtrlC}, "watch": {"parser", programtest.CtrlC},
		"install": {"", "y\nall\n"}, "uninstall": {"", "all\n"},
	}
	steps := at[strings.Join(args[:min(1, len(args))], "")]
	if steps == nil || steps[0] == "" && !asks {
		return interp.DefaultExecHandler(10*time.Second)(ctx, append([]string{"todo-mcp"}, args...))
	}
	shell := interp.HandlerCtx(ctx)
	status, seen := programtest.Terminal{Env: r.environ(), Dir: shell.Dir}.Run(r.t, args, steps...)
	if fmt.Fprint(shell.Stdout, seen); status != 0 {
		return fmt.Errorf("exit status %d", status)
	}
	return nil
}

// execute runs a statement on a database, as sqlite3 does.
func execute(file, statement string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return errors.Join(err, db.Close())
}

// follow returns an error for a command that has no rule, that fails, or that names a missing target, flag or file.
func TestDocsCommandsAreHeld(t *testing.T) {
	for _, line := range []string{"curl x", "todo-mcp shwo", "todo-mcp show --nothing", "todo-mcp show 'no such list'", "make nothing", "docker run todo-mcp serve --nothing", "helm install todo packaging/nothing"} {
		if (reader{t: t, home: t.TempDir()}).follow(line) == nil {
			t.Errorf("%s passes", line)
		}
	}
}
