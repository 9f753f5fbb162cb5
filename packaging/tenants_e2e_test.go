//go:build e2e && linux

package packaging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// tenant is a client of a principal, at its address of the proxy.
type tenant struct {
	site        *site
	name, token string
	acks        programtest.Journal
	refused     chan string // agents that were told to come again
}

func (s *site) newTenant(t *testing.T, name string) *tenant {
	return &tenant{site: s, name: name, token: s.newToken(t, name), refused: make(chan string, 10_000)}
}

func (n *tenant) address() string {
	return "https://" + n.name + ".localhost:" + n.site.proxy
}

// RoundTrip sends a request to the proxy, with the token.
func (n *tenant) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+n.token)
	return n.site.client.Transport.RoundTrip(r)
}

// writes has an agent write until ctx ends. What is not acknowledged is sent again, with
// the same operation.
func (n *tenant) writes(ctx context.Context, t *testing.T, agent int) {
	w := programtest.Writer{Name: fmt.Sprint(n.name, agent)}
	chat := chattest.OverHTTP(t, chattest.Sessionless, "tester", n.address()+"/mcp?list="+w.Name)
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

// lists returns what the tenant is shown of all lists at an address.
func (n *tenant) lists(t *testing.T, address string) string {
	t.Helper()
	res := servertest.Must((&http.Client{Transport: n}).Get(address + "/api/lists"))(t)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s %v", res.Status, body, err)
	}
	return string(body)
}

// Two tenants have a database each. One moves to the database of the other while both
// write, by the commands and the configuration of docs/several-databases.md: no
// acknowledged write is lost, and neither tenant is shown a list of the other.
func TestTenantMoves(t *testing.T) {
	s := newSite(t)
	second := servertest.Must(s.database.NewDatabase())(t)
	settings := []string{"--tools", "all", "--keep-revisions", "0", "--allowed-hosts", "ann.localhost,bob.localhost"}
	s.replica(t, "127.0.0.2", settings...)
	s.replica(t, "127.0.0.3", append(settings, "--store", second)...)
	s.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+s.proxy)
	}
	ann, bob := s.newTenant(t, "ann"), s.newTenant(t, "bob")

	page := servertest.Must(os.ReadFile(filepath.Join("..", "docs", "several-databases.md")))(t)
	blocks := regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of code: the page's form changed", len(blocks))
	}
	// configuration is the one of the package, with sites of the page in place of its own.
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
		late, look := time.After(30*time.Second), time.NewTicker(5*time.Millisecond)
		defer look.Stop()
		for enough := n.acks.Len() + more; n.acks.Len() < enough; {
			select {
			case <-look.C:
			case <-late:
				t.Fatalf("%s has %d writes of %d", n.name, n.acks.Len(), enough)
			}
		}
	}
	written(ann, 20)
	move() // most of it, while agents write
	written(ann, 20)
	control := []string{"--address", "unix/" + s.dir + "/control"}
	s.proxies(t, "reload", configuration(moving+bobIn), control...)
	for refused := make(map[string]bool); len(refused) < 2; { // then no call of theirs is under way
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

	history := servertest.Must(programtest.Export(program, s.dir, nil, second))(t)
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
