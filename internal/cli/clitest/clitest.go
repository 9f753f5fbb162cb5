// Package clitest runs the commands of todo-mcp for tests: in the test's process, as a
// server, or on a terminal. Only tests import it.
package clitest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
)

// command runs a command, see [Main].
var command func(ctx context.Context, args []string, env app.Env) error

// Main runs the tests of a package with a program, which is cli.Run: a test of a room
// cannot name it in each file. Processes that tests start by the name todo-mcp or
// TodoWrite run it too, and end with the code that exitCode returns.
func Main(m *testing.M, run func(context.Context, []string, app.Env) error, exitCode func(error) int) {
	command = run
	program := func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		signal.Ignore(syscall.SIGPIPE)
		env := app.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Version: "v0"}
		if err := run(ctx, os.Args, env); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitCode(err))
		}
	}
	testscript.Main(m, map[string]func(){"todo-mcp": program, "TodoWrite": program})
}

// Run runs a command without any variable and returns what it prints.
func Run(t *testing.T, args ...string) string {
	t.Helper()
	printed, err := Try(t, "", args...)
	if err != nil {
		t.Fatal(args, err)
	}
	return printed
}

// Try is [Run] of a command that reads a text on standard input and may fail.
func Try(t *testing.T, in string, args ...string) (printed string, err error) {
	t.Helper()
	var out strings.Builder
	env := app.Env{Stdin: strings.NewReader(in), Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }, Version: "v0"}
	err = command(t.Context(), append([]string{"todo-mcp"}, args...), env)
	return out.String(), err
}

// Server is a `todo-mcp serve` that runs in the test's process.
type Server struct {
	URL  string
	Stop context.CancelFunc
	Done chan error
}

// Serve starts a server on a free port and returns when it listens.
func Serve(t *testing.T, args ...string) *Server {
	t.Helper()
	return ServeLogging(t, io.Discard, args...)
}

// ServeLogging is [Serve] with the server's log.
func ServeLogging(t *testing.T, log io.Writer, args ...string) *Server {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	s := &Server{Stop: stop, Done: make(chan error, 1)}
	go func() {
		s.Done <- command(ctx, append([]string{"todo-mcp", "serve", "--addr", "127.0.0.1:0"}, args...),
			app.Env{Stdout: w, Stderr: log, Getenv: func(string) string { return "" }, Version: "v0"})
		w.Close()
	}()
	t.Cleanup(stop)
	out := bufio.NewReader(r)
	for s.URL == "" {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatal("serve ended:", <-s.Done)
		}
		s.URL = regexp.MustCompile(`https?://[0-9.:]+`).FindString(line)
	}
	go io.Copy(io.Discard, out)
	return s
}

// Lines is a writer that hands on what is written.
type Lines chan string

func (l Lines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

// Await returns the lines up to the first with a text, or those of 20 seconds.
func (l Lines) Await(text string) (all string) {
	late := time.After(20 * time.Second)
	for !strings.Contains(all, text) {
		select {
		case line := <-l:
			all += line
		case <-late:
			return all
		}
	}
	return all
}

// Get returns the status and the body of an address.
func Get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// CheckPrintable fails unless an error is safe to print, and no longer than what a
// terminal can show.
func CheckPrintable(t *testing.T, err error) {
	t.Helper()
	for line := range strings.SplitSeq(err.Error(), "\n") { // joined errors have one each
		if render.Safe(line) != line {
			t.Fatalf("raw in %q", err)
		}
	}
	if len(err.Error()) > 4000 {
		t.Fatalf("an error of %d bytes: %.300q…", len(err.Error()), err)
	}
}
