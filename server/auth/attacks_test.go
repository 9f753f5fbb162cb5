package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"todo-mcp/server/auth"
	"todo-mcp/server/edge"
	"todo-mcp/server/servertest"
)

// post sends the form for signing in.
func (s *site) post(t *testing.T, token, to string) answer {
	t.Helper()
	return s.ask(t, "POST /signin", url.Values{"token": {token}, "to": {to}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// cookie returns the cookie that an answer sets.
func (a answer) cookie() string {
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	return cookie
}

// A session of the browser ends with the access token that it began with; then the
// browser is led to the issuer, which may still know the person.
func TestSessionsEndWithTheirToken(t *testing.T) {
	i := newIssuer(t)
	s := newIssuerSite(t, i, func(c *auth.IssuerConfig) { c.ClientID = "panel" })
	in := s.post(t, i.sign(t, map[string]any{"exp": time.Now().Add(time.Minute).Unix()}), "/")
	if in.status != http.StatusSeeOther {
		t.Fatalf("signing in: %d %s", in.status, in.body)
	}
	if a := s.ask(t, "GET /api/lists", "", "Cookie", in.cookie()); a.status != 200 {
		t.Errorf("at once: %d", a.status)
	}
	s.wait(2 * time.Minute)
	if a := s.ask(t, "GET /api/lists", "", "Cookie", in.cookie()); a.status != http.StatusUnauthorized {
		t.Errorf("after the token's end: %d", a.status)
	}
	if a := s.ask(t, "GET /lists/x", "", "Cookie", in.cookie(), "Accept", "text/html"); a.header.Get("Location") != "/signin/start?to=%2Flists%2Fx" {
		t.Errorf("led to %q", a.header.Get("Location"))
	}
}

// Two users of a team with the same name are two: each has sessions, conversations
// and a rate of their own.
func TestUsersWithTheSameName(t *testing.T) {
	i := newIssuer(t)
	s := newSite(t, auth.NewIssuer(auth.IssuerConfig{URL: i.URL, Audience: audience, TenantClaim: "org"}), func(c *edge.Config) { c.MaxRate = 5 })
	one := i.sign(t, map[string]any{"sub": "1", "org": "o", "preferred_username": "ann"})
	other := i.sign(t, map[string]any{"sub": "2", "org": "o", "preferred_username": "ann"})
	call := servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))
	session := s.begin(t, one)
	if a := s.ask(t, "POST /mcp", call, append(bearer(other), session[2:]...)...); a.status != http.StatusNotFound {
		t.Errorf("in another one's session: %d", a.status)
	}
	s.wait(time.Minute)
	s.write(t, one, "One's plan")
	s.write(t, other, "The other's plan")
	if lists, err := s.board.As("team:o").Find(t.Context(), allLists); err != nil || len(lists) != 2 {
		t.Errorf("%d lists, %v", len(lists), err)
	}
	for range 60 {
		s.ask(t, "GET /api/lists", "", bearer(other)...)
	}
	if a := s.ask(t, "GET /api/lists", "", bearer(one)...); a.status != 200 {
		t.Errorf("after the other one spent the rate: %d", a.status)
	}
}

// BAD-INPUT 62: a link on another site leads to a page, by way of signing in;
// nothing else of another site is answered.
func TestLinksFromOtherSites(t *testing.T) {
	s := newSite(t, nil, nil)
	visit := []string{"Accept", "text/html", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	a := s.ask(t, "GET /lists/abc", "", visit...)
	if a.status != http.StatusSeeOther {
		t.Fatalf("a link: %d %s", a.status, a.body)
	}
	if a := s.ask(t, "GET "+a.header.Get("Location"), "", visit...); a.status != 200 || strings.Contains(a.body, "data-direct") {
		t.Errorf("the page for signing in: %d %s", a.status, a.body)
	}
	for _, path := range []string{"/signin.js", "/api/lists", "/panel/events", "/livez"} {
		if a := s.ask(t, "GET "+path, "", visit...); a.status != http.StatusForbidden {
			t.Errorf("62: %s: %d", path, a.status)
		}
	}
}

// Failed sign-ins are counted by network, on the page too, and not where nothing
// was tried: agents behind one address must be told how to sign in.
func TestWhatFailedSignInsAreLimited(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	statuses := func(ask func(i int) answer) map[int]int {
		n := make(map[int]int)
		for i := range 100 {
			n[ask(i).status]++
		}
		return n
	}
	if n := statuses(func(int) answer { return s.ask(t, "POST /mcp", servertest.Initialize(1, "c")) }); n[401] != 100 {
		t.Errorf("without a token: %v", n)
	}
	if n := statuses(func(int) answer { return s.post(t, "todo_wrong", "/") }); n[429] < 70 {
		t.Errorf("on the page: %v", n)
	}
	if n := statuses(func(i int) answer {
		return s.ask(t, "GET /api/lists", "", append(bearer("todo_wrong"), "X-Forwarded-For", fmt.Sprintf("2001:db8::%x", i+1))...)
	}); n[429] < 70 {
		t.Errorf("of one IPv6 network: %v", n)
	}
}

// BAD-INPUT 63: who may only look cannot take the streams of others.
func TestStreamsAreCountedByUser(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) {
		c.TrustedProxies, c.MaxStreamsPerClient = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, 2
	})
	ann := s.token(t, auth.Token{Name: "ann", Principal: "team"})
	viewer := s.token(t, auth.Token{Name: "vic", Principal: "team", Scopes: []string{auth.ScopeRead}})
	for range 2 {
		servertest.OpenStream(t, "GET", s.URL+"/api/events", "", append(bearer(viewer), "X-Forwarded-For", "192.0.2.1")...)
	}
	if a := s.ask(t, "GET /api/events", "", append(bearer(viewer), "X-Forwarded-For", "192.0.2.3")...); a.status != http.StatusTooManyRequests {
		t.Errorf("63: a third one: %d", a.status)
	}
	servertest.OpenStream(t, "GET", s.URL+"/api/events", "", append(bearer(ann), "X-Forwarded-For", "192.0.2.2")...)
}

// Streams that have ended keep nothing of their requests.
func TestEndedStreamsKeepNothing(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) { c.MaxRate = 0 })
	ann := s.token(t, auth.Token{Name: "ann"})
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"pad":"` + strings.Repeat("x", 1<<20-1000) + `",` + servertest.Meta + `}}`
	before := servertest.Heap()
	for range 50 {
		if a := s.ask(t, "POST /mcp", listen, append(servertest.ModernHeaders("subscriptions/listen", ""), bearer(ann)...)...); a.status != 200 {
			t.Fatalf("%d %.300s", a.status, a.body)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if grown := int64(servertest.Heap()) - int64(before); grown > 10<<20 {
		t.Errorf("%d MiB are held after 50 streams of 1 MiB", grown>>20)
	}
	runtime.KeepAlive(s)
}

// Sessions that somebody ended stay ended, however many others end.
func TestEndedSessionsStayEnded(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) { c.MaxRate = 0 })
	ann, bob := s.token(t, auth.Token{Name: "ann"}), s.token(t, auth.Token{Name: "bob"})
	ended := s.begin(t, ann)
	s.ask(t, "DELETE /mcp", "", ended...)
	for range 10_001 {
		s.ask(t, "DELETE /mcp", "", s.begin(t, bob)...)
	}
	if a := s.ask(t, "POST /mcp", rpc(1, "ping", "{}"), ended...); a.status != http.StatusNotFound {
		t.Errorf("an ended session: %d", a.status)
	}
}

// Past the proxy, where others can read along, only the probes are answered.
func TestPastTheProxy(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	token := s.token(t, auth.Token{Name: "ann"})
	for path, want := range map[string]int{"/api/lists": 403, "/signin": 403, "/livez": 200, "/readyz": 200} {
		for from, want := range map[string]int{"192.0.2.9:1234": want, "10.1.2.3:1234": 200, "127.0.0.1:1234": 200} {
			r := httptest.NewRequest("GET", "http://localhost"+path, nil)
			r.RemoteAddr = from
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			s.Config.Handler.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s from %s: %d, want %d", path, from, w.Code, want)
			}
		}
	}
}

// A failure of the issuer is not told as a refusal, and a long way to go on does
// not break the sign-in.
func TestCallback(t *testing.T) {
	i := newIssuer(t)
	s := newIssuerSite(t, i, func(c *auth.IssuerConfig) { c.ClientID = "panel" })
	begin := func(to string) (state, cookie string) {
		a := s.ask(t, "GET /signin/start?to="+to, "")
		at, err := url.Parse(a.header.Get("Location"))
		if err != nil || a.status != http.StatusSeeOther {
			t.Fatalf("start: %d %v", a.status, a.header)
		}
		return at.Query().Get("state"), a.cookie()
	}
	state, cookie := begin("/" + strings.Repeat("x", 3200))
	if a := s.ask(t, "GET /signin/callback?state="+state+"&error=%3Cscript%3E", "", "Cookie", cookie); a.status != http.StatusForbidden || !strings.Contains(a.body, "refused: &lt;script&gt;") {
		t.Errorf("refused: %d %s", a.status, a.body)
	}
	state, cookie = begin("/")
	for what, query := range map[string]string{"other state": "code=x&state=y", "no state": "code=x"} {
		if a := s.ask(t, "GET /signin/callback?"+query, "", "Cookie", cookie); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d", what, a.status)
		}
	}
	if a := s.ask(t, "GET /signin/callback?code=x&state="+state, ""); a.status != http.StatusBadRequest {
		t.Errorf("without the cookie: %d", a.status)
	}
	i.down.Store(true)
	if a := s.ask(t, "GET /signin/callback?code=x&state="+state, "", "Cookie", cookie); a.status != http.StatusServiceUnavailable {
		t.Errorf("the issuer fails: %d %s", a.status, a.body)
	}
	if lines := strings.Join(s.log.Take(), "\n"); !strings.Contains(lines, "exchange the code") {
		t.Errorf("logged: %s", lines)
	}
}

// A tokens' file may be a link, and who may read it may do so after a change.
func TestTokensFileStaysWhatItWas(t *testing.T) {
	folder := t.TempDir()
	path, link := filepath.Join(folder, "tokens"), filepath.Join(folder, "link")
	if _, err := auth.NewToken(path, auth.Token{Name: "ann", Scopes: []string{auth.ScopeRead}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := auth.RevokeToken(link, "ann"); err != nil {
		t.Fatal(err)
	}
	if tokens, err := auth.ReadTokens(path); err != nil || len(tokens) != 0 {
		t.Errorf("revoked by its link: %v, %v", tokens, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info, err)
	}
}
