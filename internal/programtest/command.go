// Package programtest runs the program for tests: a command or a server in the test's process, a command on a terminal,
// or the built binary. It also prints a table of what tests of the binary found. Only tests import it.
package programtest

import (
	"bufio"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
)

// command runs a command of the program; [Main] sets it.
var command func(ctx context.Context, args []string, env app.Env) error

// Main runs the tests of a package. The parameter run must be cli.Run, which runs a command of the program: this
// package cannot import cli, because tests of packages that cli imports import this package. A process that a test
// starts by the name todo-mcp or TodoWrite also calls run, and exits with the code that exitCode returns.
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

// Call has the variables, the input and the log of a command. The zero value has no variables and no input, and
// discards the log.
type Call struct {
	Env map[string]string
	In  io.Reader
	Log io.Writer
}

// Run runs a command and returns what it prints.
func (c Call) Run(ctx context.Context, args ...string) (printed string, err error) {
	var out strings.Builder
	err = c.print(ctx, &out, args...)
	return out.String(), err
}

// getenv returns a variable. On Windows XDG_STATE_HOME and HOME of the call replace LocalAppData and USERPROFILE.
func (c Call) getenv(name string) string {
	switch name {
	case "LocalAppData":
		return cmp.Or(c.Env[name], c.Env["XDG_STATE_HOME"])
	case "USERPROFILE":
		return cmp.Or(c.Env[name], c.Env["HOME"])
	}
	return c.Env[name]
}

func (c Call) print(ctx context.Context, out io.Writer, args ...string) error {
	env := app.Env{Stdin: c.In, Stdout: out, Stderr: c.Log, Version: "v0", Getenv: c.getenv}
	if c.In == nil {
		env.Stdin = strings.NewReader("")
	}
	if c.Log == nil {
		env.Stderr = io.Discard
	}
	return command(ctx, append([]string{"todo-mcp"}, args...), env)
}

// Try runs a command without environment variables. Its second argument is the command's standard input.
func Try(t testing.TB, in string, args ...string) (printed string, err error) {
	return Call{In: strings.NewReader(in)}.Run(t.Context(), args...)
}

// Succeeds is [Try] without input, for a command that must succeed.
func Succeeds(t testing.TB, args ...string) string {
	t.Helper()
	printed, err := Try(t, "", args...)
	if err != nil {
		t.Fatal(args, err)
	}
	return printed
}

// Refuses checks that a command fails with an error that contains a text.
func Refuses(t testing.TB, want string, args ...string) {
	t.Helper()
	if _, err := Try(t, "", args...); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%q: %v, want %q", args, err, want)
	}
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
	return Call{}.Serve(t, args...)
}

// Serve is the function [Serve] with the variables and the log of a call.
func (c Call) Serve(t *testing.T, args ...string) *Server {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	s := &Server{Stop: stop, Done: make(chan error, 1)}
	go func() {
		s.Done <- c.print(ctx, w, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
		w.Close()
	}()
	t.Cleanup(stop)
	var err error
	if s.URL, err = addressIn(bufio.NewReader(r)); err != nil {
		t.Fatal("serve ended:", <-s.Done)
	}
	return s
}

// addressIn returns the first address in a server's output, and discards the output after it.
func addressIn(out *bufio.Reader) (url string, err error) {
	for url == "" {
		line, err := out.ReadString('\n')
		if err != nil {
			return "", err
		}
		url = regexp.MustCompile(`https?://[0-9.:]+`).FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return url, nil
}

// End stops the server, which must end without an error.
func (s *Server) End(t *testing.T) {
	t.Helper()
	s.Stop()
	if err := <-s.Done; err != nil {
		t.Error(err)
	}
}

// patience is the longest wait for output that comes within milliseconds on an idle machine.
const patience = time.Minute

// Lines is a writer that sends each text written to it to the channel.
type Lines chan string

func (l Lines) Write(p []byte) (int, error) { l <- string(p); return len(p), nil }

// Await returns everything written until it contains a text, or everything written within a minute.
func (l Lines) Await(text string) (all string) {
	late := time.After(patience)
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

// Get returns the status and the body of the answer at url. headers are names, each followed by its value.
func Get(t *testing.T, url string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.Host = req.Header.Get("Host")
	res, err := http.DefaultClient.Do(req)
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

// CheckPrintable fails the test unless an error is safe to print and has at most 4000 bytes.
func CheckPrintable(t *testing.T, err error) {
	t.Helper()
	for line := range strings.SplitSeq(err.Error(), "\n") { // each joined error has a line
		if render.Safe(line) != line {
			t.Fatalf("raw in %q", err)
		}
	}
	if len(err.Error()) > 4000 {
		t.Fatalf("an error of %d bytes: %.300q…", len(err.Error()), err)
	}
}

// Certify writes a private key, and a certificate for 127.0.0.1 with the given serial number.
func Certify(t *testing.T, certFile, keyFile string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "todo"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
