//go:build e2e && linux

package packaging

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/store/postgrestest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

var (
	program string
	report  programtest.Table
)

func TestMain(m *testing.M) { os.Exit(programtest.Run(m, &program, &report)) }

func freePort(t *testing.T) string {
	t.Helper()
	l := checktest.Must(net.Listen("tcp", ":0"))(t)
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// site is the setup of compose.yaml as processes of this machine: each replica has
// an address in place of a name.
type site struct {
	dir, tokens        string
	database           *postgrestest.Server
	store              string
	http, admin, proxy string // ports
	address            string
	client             *http.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	db := checktest.Must(postgrestest.New())(t)
	t.Cleanup(db.Close)
	s := &site{dir: t.TempDir(), database: db, http: freePort(t), admin: freePort(t), proxy: freePort(t),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}} // the proxy makes its own certificate
	s.store = checktest.Must(db.NewDatabase())(t)
	s.address, s.tokens = "https://localhost:"+s.proxy, filepath.Join(s.dir, "tokens")
	return s
}

func (s *site) newToken(t *testing.T, principal string) string {
	t.Helper()
	return strings.Fields(string(s.run(t, nil, "token", "new", principal, "--tokens", s.tokens)))[0]
}

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

func (s *site) replica(t *testing.T, ip string, others ...string) *programtest.Process {
	t.Helper()
	p := checktest.Must(programtest.Start(t, program, s.dir, nil, append([]string{"serve", "--store", s.store, "--tokens", s.tokens, "--addr", ip + ":" + s.http, "--admin-addr", ip + ":" + s.admin,
		"--public-url", s.address, "--trusted-proxies", "127.0.0.0/8", "--drain", "3"}, others...)...))(t)
	checktest.Must(p.URL())(t)
	s.await(t, "http://"+ip+":"+s.admin+"/readyz", "ok")
	return p
}

func (s *site) await(t *testing.T, address, text string) {
	t.Helper()
	programtest.Await(t, address+" answers "+text, func() bool {
		res, err := s.client.Get(address)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return res.StatusCode == http.StatusOK && strings.Contains(string(body), text)
	})
}

func (s *site) caddyfile(t *testing.T, replace ...string) string {
	t.Helper()
	text := checktest.Must(os.ReadFile(filepath.Join("compose", "Caddyfile")))(t)
	// the proxy is controlled by a socket instead of a port, and adds no certificate to this machine's store
	return "{\n admin unix/" + s.dir + "/control\n skip_install_trust\n auto_https disable_redirects\n}\n" + strings.NewReplacer(replace...).Replace(string(text))
}

// proxies runs the proxy with a configuration: the command "run" starts the proxy, "reload"
// replaces the configuration of the running proxy.
func (s *site) proxies(t *testing.T, command, config string, args ...string) {
	t.Helper()
	file := filepath.Join(s.dir, "Caddyfile")
	checktest.Check(t, os.WriteFile(file, []byte(config), 0o600))
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

// BAD-INPUT 58: behind the proxy of the Compose file no call fails in a rolling restart.
func TestRollingRestartBehindTheProxy(t *testing.T) {
	s := newSite(t)
	ann := s.newTenant(t, "ann")
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
			chat := servertest.OverHTTP(t, servertest.Sessionless, "tester", s.address+"/mcp")
			chat.HTTP = &http.Client{Transport: ann}
			for ctx.Err() == nil {
				a, err := chat.Try("TodoWrite", servertest.Todos("pending", fmt.Sprint("A ", time.Now().UnixNano())))
				if err := errors.Join(err, a.Refused()); err != nil {
					t.Errorf("58: a call fails in a rolling restart: %v", err)
				}
				calls.Add(programtest.Acknowledged{})
			}
		})
	}
	for ip, p := range replicas {
		checktest.Check(t, p.Terminate())
		if err := p.Wait(20 * time.Second); err != nil {
			t.Errorf("58: %s ended with %v: %s", ip, err, p.Log)
		}
		s.replica(t, ip)
		s.await(t, "http://"+ip+":"+s.admin+"/metrics", `http_route="/mcp"`) // the proxy has found the new replica
	}
	stop()
	agents.Wait()
	report.Add(t, programtest.Row{Fault: "rolling restart behind Caddy", Tried: "2 replicas, TLS, 4 agents", Times: "each once", Acknowledged: calls.Len(), Notes: "no call failed"})
}

type tenant struct {
	site        *site
	name, token string
	acks        programtest.Journal
	refused     chan string // receives the agent's name at each answer 503
}

func (s *site) newTenant(t *testing.T, name string) *tenant {
	return &tenant{site: s, name: name, token: s.newToken(t, name), refused: make(chan string, 10_000)}
}

func (n *tenant) address() string {
	return "https://" + n.name + ".localhost:" + n.site.proxy
}

func (n *tenant) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+n.token)
	return n.site.client.Transport.RoundTrip(r)
}

// writes makes an agent write until ctx ends. It repeats a write that is not acknowledged,
// with the same operation id.
func (n *tenant) writes(ctx context.Context, t *testing.T, agent int) {
	w := programtest.Writer{Name: fmt.Sprint(n.name, agent)}
	chat := servertest.OverHTTP(t, servertest.Sessionless, "tester", n.address()+"/mcp?list="+w.Name)
	chat.HTTP = &http.Client{Transport: n, Timeout: 20 * time.Second}
	for ctx.Err() == nil {
		tool, args, id := w.Next()
		for pause := time.Duration(0); ; pause = 20 * time.Millisecond {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			got, err := chat.InOperation(id).Try(tool, args)
			if errors.Join(err, got.Refused()) == nil {
				n.acks.Add(programtest.Acknowledged{List: got.List(), Revision: got.Revision(), Write: id})
				break
			}
			if strings.Contains(fmt.Sprint(err), "answered 503") {
				n.refused <- w.Name
			}
		}
	}
}

func (n *tenant) lists(t *testing.T, address string) string {
	t.Helper()
	res, err := (&http.Client{Transport: n}).Get(address + "/api/lists")
	checktest.Check(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s %v", res.Status, body, err)
	}
	return string(body)
}

// Two tenants have a database each. While both write, one tenant moves to the other's
// database, by the commands and configurations of docs/several-databases.md: no acknowledged
// write is lost, and neither tenant is shown a list of the other tenant.
func TestTenantMoves(t *testing.T) {
	s := newSite(t)
	second := checktest.Must(s.database.NewDatabase())(t)
	settings := []string{"--tools", "all", "--keep-revisions", "0", "--allowed-hosts", "ann.localhost,bob.localhost"}
	s.replica(t, "127.0.0.2", settings...)
	s.replica(t, "127.0.0.3", append(settings, "--store", second)...)
	s.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+s.proxy)
	}
	ann, bob := s.newTenant(t, "ann"), s.newTenant(t, "bob")

	page := checktest.Must(os.ReadFile(filepath.Join("..", "docs", "several-databases.md")))(t)
	blocks := regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of code: the page's form changed", len(blocks))
	}
	// configuration returns the Compose Caddyfile with sites from docs/several-databases.md in place of its own.
	configuration := func(sites string) string {
		snippet, _, _ := strings.Cut(s.caddyfile(t), "# With TLS.")
		return snippet + strings.NewReplacer("ann.todo.example.com", ann.address(), "bob.todo.example.com", bob.address(),
			"one-1:8765 one-2:8765", "127.0.0.2:"+s.http, "two-1:8765 two-2:8765", "127.0.0.3:"+s.http).Replace(sites)
	}
	sites, moving, commands := blocks[0][2], blocks[1][2], blocks[2][2]
	annIn, bobIn, _ := strings.Cut(sites, "\nbob")
	bobIn = "\nbob" + bobIn
	move := func() {
		for line := range strings.SplitSeq(strings.TrimSpace(commands), "\n") {
			from, to, _ := strings.Cut(line, " | ")
			words := strings.NewReplacer("todo-mcp ", "", `"$ONE"`, s.store, `"$TWO"`, second)
			s.run(t, s.run(t, nil, strings.Fields(words.Replace(from))...), strings.Fields(words.Replace(to))...)
		}
	}

	s.proxies(t, "run", configuration(sites))
	s.await(t, ann.address()+"/livez", "ok")
	s.await(t, bob.address()+"/livez", "ok")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var agents sync.WaitGroup
	for _, n := range []*tenant{ann, bob} {
		for i := range 2 {
			agents.Go(func() { n.writes(ctx, t, i) })
		}
	}
	written := func(n *tenant, more int) {
		t.Helper()
		enough := n.acks.Len() + more
		programtest.Await(t, fmt.Sprint(n.name, " has ", enough, " writes"), func() bool { return n.acks.Len() >= enough })
	}
	written(ann, 20)
	move() // moves most of the lists while agents write
	written(ann, 20)
	control := []string{"--address", "unix/" + s.dir + "/control"}
	s.proxies(t, "reload", configuration(moving+bobIn), control...)
	for refused := make(map[string]bool); len(refused) < 2; { // once both agents are refused, no call of ann is under way
		refused[<-ann.refused] = true
	}
	before := ann.acks.Len()
	move()
	if ann.acks.Len() != before {
		t.Error("a write was acknowledged while the tenant moved")
	}
	s.proxies(t, "reload", configuration(strings.Replace(annIn, "one-1:8765 one-2:8765", "two-1:8765 two-2:8765", 1)+bobIn), control...)
	written(ann, 20)
	written(bob, 20)
	stop()
	agents.Wait()

	history := checktest.Must(programtest.Export(program, s.dir, nil, second))(t)
	lost := append(history.Lost(ann.acks.Acks), history.Lost(bob.acks.Acks)...)
	if torn := history.Torn(); len(lost)+len(torn) > 0 {
		t.Errorf("lost: %v, in part: %v", lost, torn)
	}
	for _, n := range []struct{ who, other *tenant }{{ann, bob}, {bob, ann}} {
		shown := n.who.lists(t, n.who.address()) + n.who.lists(t, n.other.address())
		if !strings.Contains(shown, n.who.name+"0-") || strings.Contains(shown, n.other.name+"0-") {
			t.Errorf("%s is shown %s", n.who.name, shown)
		}
	}
	report.Add(t, programtest.Row{Fault: "a tenant moves to another database", Tried: "2 databases, 2 tenants, 4 agents, Caddy", Times: "once", Acknowledged: ann.acks.Len() + bob.acks.Len(), Lost: len(lost), Notes: "neither saw the other"})
}
