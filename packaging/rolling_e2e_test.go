//go:build e2e && linux

package packaging

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// program is the path of the real binary, and report what the tests found; both
// are of one run of the tests.
var (
	program string
	report  programtest.Table
)

func TestMain(m *testing.M) { os.Exit(programtest.Run(m, &program, &report)) }

// freePort returns a port that nobody uses on any address.
func freePort(t *testing.T) string {
	t.Helper()
	l := servertest.Must(net.Listen("tcp", ":0"))(t)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	servertest.Check(t, err)
	return port
}

// site is what compose.yaml describes, as processes of this machine: the replicas
// have an address each in place of a name.
type site struct {
	dir, tokens        string
	database           *postgrestest.Server
	store              string
	http, admin, proxy string // ports
	address, token     string
	client             *http.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	db := servertest.Must(postgrestest.New())(t)
	t.Cleanup(db.Close)
	s := &site{dir: t.TempDir(), database: db, http: freePort(t), admin: freePort(t), proxy: freePort(t),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}} // the proxy makes its own certificate
	s.store = servertest.Must(db.NewDatabase())(t)
	s.address, s.tokens = "https://localhost:"+s.proxy, filepath.Join(s.dir, "tokens")
	return s
}

// newToken returns a new token of a principal.
func (s *site) newToken(t *testing.T, principal string) string {
	t.Helper()
	return strings.Fields(string(s.run(t, nil, "token", "new", principal, "--tokens", s.tokens)))[0]
}

// run runs a command of the program and returns what it prints.
func (s *site) run(t *testing.T, in []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, []string{"HOME=" + s.dir, "TODO_KEEP_REVISIONS=0"}, bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return out
}

// replica starts the replica at an address, with the settings of compose.yaml and others,
// and returns when it is ready.
func (s *site) replica(t *testing.T, ip string, others ...string) *programtest.Process {
	t.Helper()
	p, err := programtest.Start(t, program, s.dir, nil, append([]string{"serve", "--store", s.store, "--tokens", s.tokens, "--addr", ip + ":" + s.http, "--admin-addr", ip + ":" + s.admin,
		"--public-url", s.address, "--trusted-proxies", "127.0.0.0/8", "--drain", "3"}, others...)...)
	if err == nil {
		_, err = p.URL()
	}
	servertest.Check(t, err)
	s.await(t, "http://"+ip+":"+s.admin+"/readyz", "ok")
	return p
}

// await asks an address until it answers with 200 and a text.
func (s *site) await(t *testing.T, address, text string) {
	t.Helper()
	late, again := time.After(20*time.Second), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for {
		res, err := s.client.Get(address)
		if err == nil {
			body, _ := io.ReadAll(res.Body)
			if res.Body.Close(); res.StatusCode == http.StatusOK && strings.Contains(string(body), text) {
				return
			}
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("%s: %v %v", address, res, err)
		}
	}
}

// caddyfile returns the Caddyfile of the package with another text in place of some.
func (s *site) caddyfile(t *testing.T, replace ...string) string {
	t.Helper()
	text := servertest.Must(os.ReadFile(filepath.Join("compose", "Caddyfile")))(t)
	// no port for its own control, no certificate in this machine's store
	return "{\n admin unix/" + s.dir + "/control\n skip_install_trust\n auto_https disable_redirects\n}\n" + strings.NewReplacer(replace...).Replace(string(text))
}

// proxies has the proxy run with a configuration: "run" starts it, "reload" replaces the
// configuration of the one that runs.
func (s *site) proxies(t *testing.T, command, config string, args ...string) {
	t.Helper()
	file := filepath.Join(s.dir, "Caddyfile")
	servertest.Check(t, os.WriteFile(file, []byte(config), 0o600))
	cmd := exec.Command("caddy", append([]string{command, "--adapter", "caddyfile", "--config", file}, args...)...)
	cmd.Env = []string{"HOME=" + s.dir, "XDG_DATA_HOME=" + s.dir, "XDG_CONFIG_HOME=" + s.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if command == "reload" {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("the proxy is not installed (make deps installs it): %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// call makes one call through the proxy.
func (s *site) call(ctx context.Context) error {
	body := servertest.ModernCall(1, "TodoWrite", servertest.Todos("pending", fmt.Sprint("A ", time.Now().UnixNano())))
	req, err := http.NewRequestWithContext(ctx, "POST", s.address+"/mcp", strings.NewReader(body))
	if err != nil {
		return err
	}
	headers := append(servertest.ModernHeaders("tools/call", "TodoWrite"), "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Authorization", "Bearer "+s.token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(answer), "updated") {
		return fmt.Errorf("%s %s: %w", res.Status, answer, err)
	}
	return nil
}

// BAD-INPUT 58: behind the proxy of the Compose file no call fails in a rolling restart.
func TestRollingRestartBehindTheProxy(t *testing.T) {
	s := newSite(t)
	s.token = s.newToken(t, "ann")
	replicas := map[string]*programtest.Process{"127.0.0.2": nil, "127.0.0.3": nil}
	for ip := range replicas {
		replicas[ip] = s.replica(t, ip)
	}
	s.proxies(t, "run", s.caddyfile(t, "{$TODO_HOST:localhost}", s.address, "todo-1:8765", "127.0.0.2:"+s.http, "todo-2:8765", "127.0.0.3:"+s.http))
	s.await(t, s.address+"/livez", "ok")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var agents sync.WaitGroup
	var calls programtest.Journal
	for range 4 {
		agents.Go(func() {
			for ctx.Err() == nil {
				if err := s.call(context.WithoutCancel(ctx)); err != nil {
					t.Errorf("55: a call fails in a rolling restart: %v", err)
				}
				calls.Add(programtest.Acknowledged{})
			}
		})
	}
	for ip, p := range replicas {
		servertest.Check(t, p.Terminate())
		if err := p.Wait(20 * time.Second); err != nil {
			t.Errorf("55: %s ended with %v: %s", ip, err, p.Log)
		}
		s.replica(t, ip)
		s.await(t, "http://"+ip+":"+s.admin+"/metrics", `http_route="/mcp"`) // the proxy has found it
	}
	stop()
	agents.Wait()
	report.Add(t, programtest.Row{Fault: "rolling restart behind Caddy", Tried: "2 replicas, TLS, 4 agents", Times: "each once", Acknowledged: calls.Len(), Notes: "no call failed"})
}
