package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
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
	i, s := newIssuerSite(t, withClient)
	in := s.post(t, i.sign(t, map[string]any{"exp": time.Now().Add(time.Minute).Unix()}), "/").is(t, "signing in", http.StatusSeeOther)
	s.ask(t, "GET /api/lists", "", "Cookie", in.cookie()).is(t, "at once", 200)
	s.wait(2 * time.Minute)
	s.ask(t, "GET /api/lists", "", "Cookie", in.cookie()).is(t, "after the token's end", http.StatusUnauthorized)
	if a := s.ask(t, "GET /lists/x", "", "Cookie", in.cookie(), "Accept", "text/html"); a.header.Get("Location") != "../signin/start?to=%2Flists%2Fx" {
		t.Errorf("led to %q", a.header.Get("Location"))
	}
}

// A subject of any characters that can be seen, of as many as OpenID Connect allows, signs in.
func TestLongSubjectsSignIn(t *testing.T) {
	i, s := newIssuerSite(t, withClient)
	for subject, want := range map[string]int{
		strings.Repeat("<", 255): http.StatusSeeOther, strings.Repeat(`"`, 255): http.StatusSeeOther, strings.Repeat("\u2028", 85): http.StatusSeeOther,
		strings.Repeat("\x01", 9): http.StatusUnauthorized, strings.Repeat("x", 256): http.StatusForbidden,
	} {
		in := s.post(t, i.sign(t, map[string]any{"sub": subject}), "/").is(t, "signing in", want)
		if want == http.StatusSeeOther {
			s.ask(t, "GET /api/lists", "", "Cookie", in.cookie()).is(t, fmt.Sprintf("%.9q", subject), 200)
		}
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
	s.ask(t, "POST /mcp", call, append(bearer(other), session[2:]...)...).is(t, "in another one's session", http.StatusNotFound)
	s.wait(time.Minute)
	s.write(t, one, "One's plan")
	s.write(t, other, "The other's plan")
	s.write(t, one, "One's plan")
	if lists, err := s.board.As("team:o").Find(t.Context(), allLists); err != nil || len(lists) != 2 {
		t.Errorf("%d lists, %v", len(lists), err)
	}
	s.ask(t, "GET /api/lists", "", bearer(other)...).is(t, "the team's lists", 200, "One's plan")
	for range 60 {
		s.ask(t, "GET /api/lists", "", bearer(other)...)
	}
	s.ask(t, "GET /api/lists", "", bearer(one)...).is(t, "after the other one spent the rate", 200)
}

// BAD-INPUT 62: A read by a page of another site, unless it visits a page of the panel; HEAD on a
// stream → 403; the header alone
func TestLinksFromOtherSites(t *testing.T) {
	s := newSite(t, nil, nil)
	visit := []string{"Accept", "text/html", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	a := s.ask(t, "GET /lists/abc", "", visit...).is(t, "a link", http.StatusSeeOther)
	s.ask(t, "GET "+strings.TrimPrefix(a.header.Get("Location"), ".."), "", visit...).is(t, "the page for signing in", 200)
	for _, path := range []string{"/signin.js", "/api/lists", "/panel/events", "/livez"} {
		s.ask(t, "GET "+path, "", visit...).is(t, fmt.Sprintf("62: %s", path), http.StatusForbidden)
	}
}

// Failed sign-ins are counted by network, on the page too, and not where nothing was tried: agents
// behind one address must be told how to sign in. Who has a token is not held up.
func TestWhatFailedSignInsAreLimited(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	counted := func(what string, status, least int, ask func(i int) answer) {
		t.Helper()
		n := make(map[int]int)
		for i := range 100 {
			n[ask(i).status]++
		}
		if n[status] < least {
			t.Errorf("%s: %v", what, n)
		}
	}
	counted("without a token", 401, 100, func(int) answer { return s.ask(t, "POST /mcp", servertest.Initialize(1, "c")) })
	counted("on the page", 429, 70, func(int) answer { return s.post(t, "todo_wrong", "/") })
	counted("of one IPv6 network", 429, 70, func(i int) answer {
		return s.ask(t, "GET /api/lists", "", append(bearer("todo_wrong"), "X-Forwarded-For", fmt.Sprintf("2001:db8::%x", i+1))...)
	})
	guess := func(int) answer { return s.ask(t, "GET /api/lists", "", bearer("todo_guess")...) }
	counted("of one address", 429, 70, guess)
	if guess(0).header.Get("Retry-After") == "" {
		t.Error("who guesses is not told when to come again")
	}
	s.ask(t, "GET /api/lists", "", bearer(s.token(t, auth.Token{Name: "ann"}))...).is(t, "a valid token meanwhile", 200)
}

// BAD-INPUT 63: who may only look cannot take the streams of others.
func TestStreamsAreCountedByUser(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) {
		c.TrustedProxies, c.MaxStreams = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, 4
	})
	ann := s.token(t, auth.Token{Name: "ann", Principal: "team"})
	viewer := s.token(t, auth.Token{Name: "vic", Principal: "team", Scopes: []string{auth.ScopeRead}})
	for range 2 {
		servertest.OpenStream(t, "GET", s.URL+"/api/events", "", append(bearer(viewer), "X-Forwarded-For", "192.0.2.1")...)
	}
	s.ask(t, "GET /api/events", "", append(bearer(viewer), "X-Forwarded-For", "192.0.2.3")...).is(t, "63: a third one", http.StatusTooManyRequests)
	servertest.OpenStream(t, "GET", s.URL+"/api/events", "", append(bearer(ann), "X-Forwarded-For", "192.0.2.2")...)
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
	i, s := newIssuerSite(t, withClient)
	begin := func(to string) (state, cookie string) {
		a := s.ask(t, "GET /signin/start?to="+to, "")
		at, err := url.Parse(a.header.Get("Location"))
		if err != nil || a.status != http.StatusSeeOther {
			t.Fatalf("start: %d %v", a.status, a.header)
		}
		return at.Query().Get("state"), a.cookie()
	}
	state, cookie := begin("/" + strings.Repeat("x", 3200))
	s.ask(t, "GET /signin/callback?state="+state+"&error=%3Cscript%3E", "", "Cookie", cookie).is(t, "refused", http.StatusForbidden, "refused: &lt;script&gt;")
	state, cookie = begin("/")
	for what, query := range map[string]string{"other state": "code=x&state=y", "no state": "code=x"} {
		s.ask(t, "GET /signin/callback?"+query, "", "Cookie", cookie).is(t, what, http.StatusBadRequest)
	}
	s.ask(t, "GET /signin/callback?code=x&state="+state, "").is(t, "without the cookie", http.StatusBadRequest)
	i.down.Store(true)
	s.ask(t, "GET /signin/callback?code=x&state="+state, "", "Cookie", cookie).is(t, "the issuer fails", http.StatusServiceUnavailable)
	s.logged(t, "exchange the code")
}

// BAD-INPUT 34: Another principal's list, by `list_id`, resource, `resume`, history, stream, page,
// conversation key or name → As a list that does not exist
func TestSubscriptionsAreOfTheirIdentity(t *testing.T) {
	s := newSite(t, nil, nil)
	ann, bob := s.token(t, auth.Token{Name: "ann"}), s.token(t, auth.Token{Name: "bob"})
	mine, servers := s.list(t, "ann", "mine"), s.list(t, "", "the server's own")
	of := s.begin(t, ann)
	stream := servertest.OpenStream(t, "GET", s.URL+"/mcp", "", append(of, "Accept", "text/event-stream")...)
	for _, params := range []string{`{"uri":"todo://lists/` + mine + `"}`, `{"uri":"todo://lists/` + servers + `"}`, `{"uri":"todo://list","_meta":{"todo-mcp/conversation":"1"}}`} {
		s.ask(t, "POST /mcp", rpc(10, "resources/subscribe", params), of...).is(t, params, 200, `"result"`)
	}
	s.add(t, "", servers, "x")
	inConversation := servertest.WithMeta(servertest.Call(3, "TodoWrite", servertest.Todos("pending", "bob's")), `"todo-mcp/conversation":"1"`)
	s.ask(t, "POST /mcp", inConversation, s.begin(t, bob)...).is(t, "bob's call", 200)
	s.add(t, "ann", mine, "x")
	if _, _, data := stream.Event(); !strings.Contains(data, mine) {
		t.Errorf("34: told of %s", data)
	}
	s.ask(t, "POST /mcp", strings.Replace(inConversation, "bob's", "ann's", 2), of...).is(t, "ann's call", 200)
	if _, _, data := stream.Event(); !strings.Contains(data, `"todo://list"`) {
		t.Errorf("34: told of %s", data)
	}
}
