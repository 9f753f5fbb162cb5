package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/server/signed"
)

const audience = "https://todo.example.com/mcp"

type issuer struct {
	*httptest.Server
	key     *ecdsa.PrivateKey
	kid     atomic.Value // the id of key
	down    atomic.Bool
	leads   atomic.Value // the address to which /keys redirects; nil for none
	fetches atomic.Int64 // requests for keys
	visits  atomic.Int64 // requests for other paths, such as tokens name: must be 0
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key := checktest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	i := &issuer{key: key}
	i.kid.Store("first")
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch {
	case i.down.Load():
		http.Error(w, strings.Repeat("down\n", 200_000), http.StatusInternalServerError)
		return
	case r.URL.Path == "/.well-known/openid-configuration":
		answer = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"}}
	case r.URL.Path == "/keys" && i.leads.Load() != nil:
		http.Redirect(w, r, i.leads.Load().(string), http.StatusFound)
		return
	case r.URL.Path == "/keys":
		i.fetches.Add(1)
		answer = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.kid.Load().(string), Algorithm: "ES256", Use: "sig"}}}
	default:
		i.visits.Add(1)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// claims returns a valid token's claims with changes; a nil value removes a claim.
func (i *issuer) claims(changes map[string]any) map[string]any {
	all := map[string]any{"iss": i.URL, "aud": audience, "sub": "u-1", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "scope": "openid todos:read todos:write", "email": "ann@example.com"}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

func (i *issuer) sign(t *testing.T, changes map[string]any) string {
	t.Helper()
	return sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, map[jose.HeaderKey]any{"kid": i.kid.Load(), "typ": "at+jwt"}, i.claims(changes))
}

func sign(t *testing.T, key jose.SigningKey, header map[jose.HeaderKey]any, claims map[string]any) string {
	t.Helper()
	signer := checktest.Must(jose.NewSigner(key, &jose.SignerOptions{ExtraHeaders: header}))(t)
	return checktest.Must(jwt.Signed(signer).Claims(claims).Serialize())(t)
}

func unsigned(t *testing.T, header string, claims map[string]any) string {
	t.Helper()
	payload := checktest.Must(json.Marshal(claims))(t)
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(payload) + "."
}

func newIssuerSite(t *testing.T, edit func(*auth.Issuer)) (*issuer, *site) {
	t.Helper()
	i := newIssuer(t)
	c := &auth.Issuer{URL: i.URL, Audience: audience}
	if edit != nil {
		edit(c)
	}
	return i, newSite(t, c, nil)
}

func withClient(c *auth.Issuer) { c.ClientID = "panel" }

// BAD-INPUT 31: A token in the query string, for another audience or purpose, with `alg=none`,
// confused keys, a hostile `kid`, `jku`, `x5u` or `jwk` → 401; no log has it. An unknown key costs
// the issuer five requests, then one in 10 s
func TestTokensOfOthers(t *testing.T) {
	i, s := newIssuerSite(t, nil)
	stranger := checktest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	public := checktest.Must(x509.MarshalPKIXPublicKey(i.key.Public()))(t)
	theirs := jose.SigningKey{Algorithm: jose.ES256, Key: stranger}
	s.ask(t, "GET /api/lists", "", bearer(i.sign(t, nil))...).is(t, "a valid token", 200)
	for name, token := range map[string]string{
		"29 expired":          i.sign(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}),
		"29 without expiry":   i.sign(t, map[string]any{"exp": nil}),
		"29 not yet":          i.sign(t, map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}),
		"29 another issuer":   i.sign(t, map[string]any{"iss": "https://evil.example"}),
		"29 no subject":       i.sign(t, map[string]any{"sub": nil}),
		"30 another audience": i.sign(t, map[string]any{"aud": "https://other.example/mcp"}),
		"30 no audience":      i.sign(t, map[string]any{"aud": nil}),
		"30 audience's start": i.sign(t, map[string]any{"aud": audience + "/more"}),
		"31 none":             unsigned(t, `{"alg":"none"}`, i.claims(nil)),
		"31 None":             unsigned(t, `{"alg":"None","kid":"first"}`, i.claims(nil)),
		"31 no signature":     unsigned(t, `{"alg":"ES256","kid":"first"}`, i.claims(nil)),
		"31 key confusion":    sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: public}, map[jose.HeaderKey]any{"kid": "first"}, i.claims(nil)),
		"31 stranger's key":   sign(t, theirs, map[jose.HeaderKey]any{"kid": "first"}, i.claims(nil)),
		"31 hostile kid":      sign(t, theirs, map[jose.HeaderKey]any{"kid": "../../etc/passwd"}, i.claims(nil)),
		"31 hostile jku":      sign(t, theirs, map[jose.HeaderKey]any{"jku": i.URL + "/evil", "x5u": i.URL + "/evil"}, i.claims(nil)),
		"31 own jwk":          sign(t, theirs, map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: stranger.Public()}}, i.claims(nil)),
	} {
		s.wait(time.Second / 5)
		a := s.ask(t, "GET /api/lists", "", bearer(token)...)
		challenge := a.header.Get("WWW-Authenticate")
		if a.status != http.StatusUnauthorized || !strings.Contains(challenge, `error="invalid_token"`) || !strings.Contains(challenge, `resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`) {
			t.Errorf("%s: %d %q %s", name, a.status, challenge, a.body)
		}
	}
	// RFC 9728: a refusal leads a client to the name of the authorization server.
	s.ask(t, "GET /.well-known/oauth-protected-resource/mcp", "").is(t, "where it leads", 200,
		`"resource":"`+s.URL+`/mcp"`, `"authorization_servers":["`+i.URL+`"]`, `"scopes_supported":["todos:read","todos:write"]`)
	// A token's header typ says its kind. Issuers that do not follow RFC 9068 write "JWT", or no typ.
	for kind, want := range map[string]int{"at+jwt": 200, "application/at+JWT": 200, "JWT": 200, "": 200, "logout+jwt": 401, "secevent+jwt": 401, "dpop+jwt": 401} {
		header := map[jose.HeaderKey]any{"kid": "first", "typ": kind}
		if kind == "" {
			delete(header, "typ")
		}
		token := sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, header, i.claims(nil))
		s.ask(t, "GET /api/lists", "", bearer(token)...).is(t, "31: typ "+kind, want)
	}
	if n := i.visits.Load(); n != 0 {
		t.Errorf("31: the server went %d times where a token led it", n)
	}
	for range 50 {
		s.wait(time.Second)
		s.ask(t, "GET /api/lists", "", bearer(sign(t, theirs, map[jose.HeaderKey]any{"kid": "unknown"}, i.claims(nil)))...)
	}
	if n := i.fetches.Load(); n > 10 {
		t.Errorf("31: unknown keys made the server ask the issuer %d times", n)
	}
}

// BAD-INPUT 35: A tenant in an argument, header or query; a token without exactly one, if needed → Ignored; token: 403
func TestScopesAndTeams(t *testing.T) {
	i, s := newIssuerSite(t, func(c *auth.Issuer) { c.TenantClaim = "org" })
	s.list(t, "team:red", "Red's text")
	s.list(t, "team:blue", "Blue's text")
	for name, test := range map[string]struct {
		claims map[string]any
		status int
		sees   string
	}{
		"red":          {map[string]any{"org": "red"}, 200, "Red's"},
		"blue of list": {map[string]any{"org": []string{"blue"}, "scope": nil, "scp": []string{"todos:read"}}, 200, "Blue's"},
		"scp text":     {map[string]any{"org": "red", "scope": nil, "scp": "todos:write"}, 200, "Red's"},
		"no team":      {nil, 403, "org"},
		"two teams":    {map[string]any{"org": []string{"red", "blue"}}, 403, "org"},
		"odd team":     {map[string]any{"org": map[string]any{"id": "red"}}, 403, "org"},
		"no scope":     {map[string]any{"org": "red", "scope": "openid todos:reader"}, 403, "todos:read"},
		"scopes odd":   {map[string]any{"org": "red", "scope": 7}, 403, "todos:read"},
		"long team":    {map[string]any{"org": strings.Repeat("x", 2000)}, 403, "longer than 255 bytes"},
		"NUL in team":  {map[string]any{"org": "re\x00d"}, 401, ""},
		"NUL in user":  {map[string]any{"org": "red", "sub": "u\x00"}, 401, ""},
	} {
		a := s.ask(t, "GET /api/lists?org=blue", "", append(bearer(i.sign(t, test.claims)), "X-Org", "blue")...)
		if a.status != test.status || !strings.Contains(a.body, test.sees) || test.status == 200 && strings.Count(a.body, "'s text") != strings.Count(a.body, test.sees+" text") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	reader := i.sign(t, map[string]any{"org": "red", "scope": "todos:read"})
	a := s.ask(t, "POST /mcp", servertest.ModernCall(1, "TodoWrite", servertest.Todos("pending", "A")), append(servertest.ModernHeaders("tools/call", "TodoWrite"), bearer(reader)...)...)
	if challenge := a.header.Get("WWW-Authenticate"); a.status != 403 || !strings.Contains(challenge, "insufficient_scope") || !strings.Contains(challenge, "resource_metadata") {
		t.Errorf("35: a reader writes: %d %q", a.status, challenge)
	}
}

// A list's history names the user by the token's preferred_username, else its email, else its subject.
func TestWhoWrote(t *testing.T) {
	i, s := newIssuerSite(t, nil)
	for claims, want := range map[string]string{`{"preferred_username":"ann"}`: "ann", `{}`: "ann@example.com", `{"email":null}`: "u-1", `{"email":"a\u001b[2Jb"}`: "a?[2Jb"} {
		var changes map[string]any
		checktest.Check(t, json.Unmarshal([]byte(claims), &changes))
		s.write(t, i.sign(t, changes), "text for "+want)
		lists, err := s.board.As("user:u-1").Find(t.Context(), allLists)
		if err != nil || len(lists) == 0 || lists[0].Writer.User != want {
			t.Errorf("%s: %+v, %v", claims, lists, err)
		}
	}
}

// The cookie of a person who signed in with the issuer stays valid in another version of the program. A cookie without
// a principal is refused: it would open the lists of the server itself.
func TestCookiesOfAnotherVersion(t *testing.T) {
	i, s := newIssuerSite(t, nil)
	key := signed.Key(servertest.Key)
	s.list(t, "user:u-1", "hers alone")
	s.list(t, "", "of the machine")
	in := map[string]any{"i": i.URL, "e": s.now().Add(time.Hour), "w": map[string]any{"Principal": "user:u-1", "Subject": "u-1", "User": "ann", "ReadOnly": true}}
	sign := func() string {
		return "todo-signed-in=" + key.Sign("todo-signed-in of 127.0.0.1 at "+strings.TrimPrefix(s.URL, "http://"), in)
	}
	cookie := sign()
	if a := s.ask(t, "GET /", "", "Cookie", cookie).is(t, "signed in before", 200, "hers alone"); strings.Contains(a.body, "of the machine") {
		t.Error("a person is shown the lists of the server itself")
	}
	delete(in, "w")
	s.ask(t, "GET /", "", "Cookie", sign()).is(t, "nobody", http.StatusUnauthorized)
}

// While the issuer fails, a token with an unknown key gets 503, since the token is not at fault. Keys that the server
// read before stay valid. When the issuer is back, new keys are found.
func TestIssuerDown(t *testing.T) {
	i, s := newIssuerSite(t, nil)
	i.down.Store(true)
	s.ask(t, "GET /api/lists", "", bearer(i.sign(t, nil))...).is(t, "not discovered", http.StatusServiceUnavailable)
	s.logged(t, "discover the issuer")
	i.down.Store(false)
	other := newSite(t, &auth.Issuer{URL: i.URL, Audience: audience}, nil)
	other.ask(t, "GET /api/lists", "", bearer(i.sign(t, nil))...).is(t, "up", 200)
	i.kid.Store("second")
	rotated := i.sign(t, nil)
	askedAgain(t, other, rotated).is(t, "a new key", 200)
	i.down.Store(true)
	other.ask(t, "GET /api/lists", "", bearer(rotated)...).is(t, "down, with a known key", 200)
	i.kid.Store("third")
	askedAgain(t, other, i.sign(t, nil)).is(t, "down, with a new key", http.StatusServiceUnavailable)
	for _, line := range append(s.log.Take(), other.log.Take()...) {
		if len(line) > 1000 {
			t.Errorf("an answer of the issuer is logged, %d bytes: %.300s", len(line), line)
		}
	}
}

// askedAgain asks with a token whose key is new, and asks again if the token is refused: go-oidc may check a token once
// with the keys that it read just before.
func askedAgain(t *testing.T, s *site, token string) answer {
	a := s.ask(t, "GET /api/lists", "", bearer(token)...)
	if a.status == http.StatusUnauthorized {
		a = s.ask(t, "GET /api/lists", "", bearer(token)...)
	}
	return a
}

// BAD-INPUT 31: if the issuer's address for keys redirects to another host, the server does not read keys there.
func TestKeysElsewhere(t *testing.T) {
	i, s := newIssuerSite(t, nil)
	elsewhere := newIssuer(t)
	i.leads.Store(elsewhere.URL + "/keys")
	token := sign(t, jose.SigningKey{Algorithm: jose.ES256, Key: elsewhere.key}, map[jose.HeaderKey]any{"kid": "first"}, i.claims(nil))
	s.ask(t, "GET /api/lists", "", bearer(token)...).is(t, "31: another host's key", http.StatusServiceUnavailable)
	if n := elsewhere.fetches.Load(); n > 0 {
		t.Errorf("31: another host was asked for keys %d times", n)
	}
}

// A token is refused if its principal or user has a control character, which a database may not store.
func TestTokenOfOddOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	for _, token := range []auth.Token{{Principal: "\x00"}, {User: "u\x00"}} {
		token.Name, token.Scopes = "x", []string{auth.ScopeRead}
		if _, err := auth.NewToken(path, token); err == nil || !strings.Contains(err.Error(), "control character") {
			t.Errorf("%+v: %v", token, err)
		}
	}
}
