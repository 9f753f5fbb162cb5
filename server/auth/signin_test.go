package auth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/server/signed"
)

type site struct {
	*httptest.Server
	board *board.Board
	path  string // of the tokens' file
	log   *servertest.Log
	later atomic.Int64 // how far the clock is ahead
}

func newSite(t *testing.T, issuer *auth.Issuer, edit func(*edge.Config)) *site {
	t.Helper()
	l := checktest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	return newSiteOn(t, l, issuer, edit)
}

func newSiteOn(t *testing.T, l net.Listener, issuer *auth.Issuer, edit func(*edge.Config)) *site {
	t.Helper()
	s := &site{path: filepath.Join(t.TempDir(), "tokens"), log: &servertest.Log{}}
	server := servertest.New(t, storetest.NewMemory(), func(c *server.Config) { c.Log = s.log.Logger() })
	s.board = server.Board
	s.Server = servertest.ServeOn(t, l, server, func(c *edge.Config) {
		c.Now, c.Log = s.now, s.log.Logger()
		c.Tokens, c.Issuer, c.Key = auth.NewTokens(s.path), issuer, servertest.Key
		if edit != nil {
			edit(c)
		}
	})
	return s
}

func (s *site) now() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }

func (s *site) wait(d time.Duration) { s.later.Add(int64(d)) }

func (s *site) token(t *testing.T, token auth.Token) string {
	t.Helper()
	if token.Scopes == nil {
		token.Scopes = []string{auth.ScopeRead, auth.ScopeWrite}
	}
	if token.Principal == "" {
		token.Principal = token.Name
	}
	return checktest.Must(auth.NewToken(s.path, token))(t)
}

func (s *site) list(t *testing.T, principal, text string) string {
	t.Helper()
	return servertest.Apply(t, s.board.As(principal), servertest.In(board.NewID()), func(d *todo.Draft) { d.Append(text, "second") }).List.ID
}

func (s *site) add(t *testing.T, principal, list, text string) {
	t.Helper()
	servertest.Apply(t, s.board.As(principal), servertest.On(list), func(d *todo.Draft) { d.Append(text) })
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) is(t *testing.T, what string, status int, texts ...string) answer {
	t.Helper()
	servertest.Is(t, what, status, texts...)(a.status, a.header, a.body)
	return a
}

func (s *site) logged(t *testing.T, want string) {
	t.Helper()
	checktest.Has(t, "the log", strings.Join(s.log.Take(), "\n"), want)
}

// ask sends a request and follows no redirect. The parameter what is "METHOD /path"; headers alternates names and
// values.
func (s *site) ask(t *testing.T, what, body string, headers ...string) answer {
	t.Helper()
	method, path, _ := strings.Cut(what, " ")
	if body != "" {
		headers = append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, headers...)
	}
	status, header, text := servertest.Ask(t, method, s.URL+path, body, headers...)
	return answer{status, header, text}
}

var allLists = board.Query{}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func (s *site) begin(t *testing.T, token string) []string {
	t.Helper()
	a := s.ask(t, "POST /mcp", servertest.Initialize(1, "c"), bearer(token)...).is(t, "initialize", 200)
	return append(bearer(token), "Mcp-Session-Id", a.header.Get("Mcp-Session-Id"))
}

// routes returns the routes that show or change something, and their bodies, if any. LIST stands for a list's id.
func routes() map[string]string {
	return map[string]string{
		"GET /": "", "GET /?show=past": "", "GET /today": "", "GET /today.md": "", "GET /lists/LIST": "", "GET /lists/LIST?revision=1": "", "GET /lists/LIST.md": "",
		"POST /lists/LIST/edit": `{"do":"add","text":"A","op":"1"}`,
		"GET /panel/events":     "", "GET /api/lists": "", "GET /api/lists/LIST": "", "GET /api/lists/LIST/history": "", "GET /api/states": "", "GET /api/today": "", "GET /api/workspace?list=LIST": "", "GET /api/events": "", "GET /api/stream": "",
		"POST /hook": events("LIST")[0],
		"POST /mcp":  servertest.Initialize(1, "c"), "GET /mcp": "", "DELETE /mcp": "", "OPTIONS /mcp": "",
	}
}

// BAD-INPUT 29: No token, or one that is expired, revoked, garbage or not valid yet → 401 on every route; a browser is
// led to sign in. Over 10 failures a second of one address: 429. A stream ends 30 s after its token
//
// BAD-INPUT 31
func TestNobodyWithoutAToken(t *testing.T) {
	s := newSite(t, nil, nil)
	list := s.list(t, "ann", "a secret text")
	good := s.token(t, auth.Token{Name: "ann"})
	gone := s.token(t, auth.Token{Name: "gone"})
	checktest.Check(t, auth.RevokeToken(s.path, "gone"))
	expired := s.token(t, auth.Token{Name: "old", Principal: "ann", Expires: s.now().Add(time.Hour)})
	s.wait(time.Hour)
	for name, headers := range map[string][]string{
		"none":      nil,
		"garbage":   bearer("\u00ff'; drop"),
		"cut":       bearer(good[:len(good)-1]),
		"other end": bearer(good[:len(good)-1] + "!"),
		"revoked":   bearer(gone),
		"expired":   bearer(expired),
		"basic":     {"Authorization", "Basic " + good},
		"two":       append(bearer(good), bearer(good)...),
		"JWT":       bearer("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ."),
		"cookie":    {"Cookie", "todo-signed-in=e30.AAAA; todo-signed-in=x"},
	} {
		for what, body := range routes() {
			s.wait(time.Second) // see TestWhatFailedSignInsAreLimited
			a := s.ask(t, strings.ReplaceAll(what, "LIST", list), strings.ReplaceAll(body, "LIST", list), headers...)
			if a.status != http.StatusUnauthorized || strings.Contains(a.body, "secret") {
				t.Errorf("29: %s, token %s: %d %s", what, name, a.status, a.body)
			}
			if challenge := a.header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Bearer ") || !strings.Contains(challenge, `scope="todos:read todos:write"`) ||
				(len(headers) > 0 && headers[0] == "Authorization") != strings.Contains(challenge, `error="invalid_token"`) {
				t.Errorf("29: %s, token %s: WWW-Authenticate: %q", what, name, challenge)
			}
		}
	}
	s.wait(time.Second)
	for _, query := range []string{"access_token", "token", "bearer_token"} {
		s.ask(t, "GET /api/lists?"+query+"="+good, "").is(t, fmt.Sprintf("31: ?%s", query), http.StatusUnauthorized)
	}
	s.ask(t, "GET /api/lists", "", bearer(good)...).is(t, "a valid token", 200, list)
	for _, line := range s.log.Take() {
		if strings.Contains(line, good[len("todo_"):]) {
			t.Errorf("31: a token is logged: %s", line)
		}
	}
	for _, probe := range []string{"GET /livez", "GET /readyz"} {
		s.ask(t, probe, "").is(t, probe, 200)
	}
}

// A user's requests over --max-rate get status 429; another user's requests are answered.
func TestRequestsOfAnIdentityAreLimited(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) { c.MaxRate = 2 })
	ann, bob := s.token(t, auth.Token{Name: "ann"}), s.token(t, auth.Token{Name: "bob"})
	statuses := make(map[int]int)
	for range 20 {
		a := s.ask(t, "GET /api/lists", "", bearer(ann)...)
		if statuses[a.status]++; a.status != 200 && (!strings.Contains(a.body, "--max-rate") || a.header.Get("Retry-After") == "") {
			t.Errorf("refused with %v %s", a.header, a.body)
		}
	}
	if statuses[200] < 4 || statuses[429] < 10 || statuses[200]+statuses[429] != 20 {
		t.Errorf("statuses %v", statuses)
	}
	s.ask(t, "GET /api/lists", "", bearer(bob)...).is(t, "another one", 200)
}

// BAD-INPUT 34, 35: every route answers for a foreign list as for an unknown list, whatever tenant a request names.
func TestIdentitiesAreWalledOff(t *testing.T) {
	s := newSite(t, nil, nil)
	ann, bob := s.token(t, auth.Token{Name: "ann"}), s.token(t, auth.Token{Name: "bob"})
	foreign := s.list(t, "ann", "a secret text")
	claims := []string{"X-Tenant", "ann", "X-User", "ann", "X-Forwarded-User", "ann", "Todo-Principal", "ann"}
	for what, body := range routes() {
		if !strings.Contains(what+body, "LIST") {
			continue
		}
		get := func(list string) string {
			path := strings.ReplaceAll(what, "LIST", list)
			if !strings.Contains(path, "?") {
				path += "?tenant=ann&principal=ann"
			}
			a := s.ask(t, path, strings.ReplaceAll(body, "LIST", list), append(bearer(bob), claims...)...)
			return strings.ReplaceAll(fmt.Sprint(a.status, a.body), list, "LIST")
		}
		if got, want := get(foreign), get("zzzzzzzzzzzzzzzzzzzzzzzzzz"); got != want {
			t.Errorf("34: %s: %s\nunknown: %s", what, got, want)
		}
	}
	if a := s.ask(t, "GET /api/lists", "", bearer(bob)...); strings.TrimSpace(a.body) != "[]" {
		t.Errorf("34: listed: %s", a.body)
	}
	if l, err := s.board.As("ann").Load(t.Context(), foreign, 0); err != nil || l.Revision != 1 {
		t.Errorf("34: revision %d, %v", l.Revision, err)
	}
	for _, path := range []string{"/api/events?after=0", "/api/stream", "/panel/events?after=0"} {
		stream := servertest.OpenStream(t, "GET", s.URL+path, "", bearer(bob)...)
		s.write(t, ann, "another secret text for "+path)
		s.write(t, bob, "ours for "+path)
		if data := stream.Until("ours for " + path); strings.Contains(data, "secret") {
			t.Errorf("34: %s sent %s", path, data)
		}
	}
}

func (s *site) write(t *testing.T, token, text string) answer {
	t.Helper()
	headers := append(servertest.ModernHeaders("tools/call", "TodoWrite"), bearer(token)...)
	return s.ask(t, "POST /mcp", servertest.ModernCall(1, "TodoWrite", servertest.Todos("pending", text)), headers...).is(t, "TodoWrite", 200)
}

// A session of the older protocol belongs to the user who began it. For another user it does not exist: a call in it, a
// stream of it and its end get status 404.
func TestSessionsAreOfTheirIdentity(t *testing.T) {
	s := newSite(t, nil, nil)
	ann, bob := s.token(t, auth.Token{Name: "ann"}), s.token(t, auth.Token{Name: "bob"})
	session := s.begin(t, ann)
	in := func(token string) []string { return append(bearer(token), session[2:]...) }
	call := servertest.Call(1, "TodoWrite", servertest.Todos("pending", "A"))
	for what, body := range map[string]string{"POST /mcp": call, "GET /mcp": "", "DELETE /mcp": ""} {
		headers := in(bob)
		if what == "GET /mcp" {
			headers = append(headers, "Accept", "text/event-stream")
		}
		s.ask(t, what, body, headers...).is(t, fmt.Sprintf("%s in another one's session", what), http.StatusNotFound)
	}
	s.ask(t, "POST /mcp", call, in(ann)...).is(t, "in one's own session", 200, "updated")
}

// BAD-INPUT 33: a reader's write is refused with the name of the missing scope; reading works.
func TestReadersCannotWrite(t *testing.T) {
	s := newSite(t, nil, nil)
	viewer := s.token(t, auth.Token{Name: "vic", Principal: "team", Scopes: []string{auth.ScopeRead}})
	writer := s.token(t, auth.Token{Name: "wim", Principal: "team"})
	list := s.list(t, "team", "A")
	in := s.begin(t, viewer)
	refused := map[string]answer{}
	for what, body := range routes() {
		if strings.HasPrefix(what, "POST /lists") || strings.HasPrefix(what, "POST /panel") {
			refused[what] = s.ask(t, strings.ReplaceAll(what, "LIST", list), strings.ReplaceAll(body, "LIST", list), bearer(viewer)...)
		}
	}
	for tool, args := range map[string]string{
		"TodoWrite": servertest.Todos("pending", "B"), "write_todos": servertest.Todos("pending", "B"), "SetTodoList": `{"todos":[{"title":"B","status":"pending"}]}`,
		"create_todos": `{"items":["B"]}`, "update_todo": `{"list_id":"` + list + `","id":"1","status":"completed"}`, "todo_list_tick": `{"list_id":"` + list + `","item_id":"1","status":"completed","revision":1}`,
	} {
		refused[tool] = s.ask(t, "POST /mcp", servertest.Call(7, tool, args), in...)
		refused[tool+" modern"] = s.ask(t, "POST /mcp", servertest.ModernCall(7, tool, args), append(servertest.ModernHeaders("tools/call", tool), bearer(viewer)...)...)
	}
	for _, event := range events(list) {
		refused["hook: "+event] = s.ask(t, "POST /hook?finish", event, bearer(viewer)...)
	}
	for what, a := range refused {
		challenge := a.header.Get("WWW-Authenticate")
		if a.status != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, "todos:write") || !strings.Contains(a.body, "todos:write") {
			t.Errorf("33: %s: %d %q %s", what, a.status, challenge, a.body)
		}
		if strings.Contains(what, " modern") && !strings.Contains(a.body, `"id":7`) {
			t.Errorf("33: %s: %s", what, a.body)
		}
	}
	if lines := s.log.Take(); len(lines) != 1 || !strings.Contains(lines[0], "level=INFO") || !strings.Contains(lines[0], "call refused") {
		t.Errorf("33: logged %q", lines) // one line a minute, and no error
	}
	for what, message := range map[string]string{
		"SetTodoList":    servertest.Call(1, "SetTodoList", `{"list_id":"`+list+`"}`),
		"todo_list_view": servertest.Call(1, "todo_list_view", `{"list_id":"`+list+`"}`),
		"resource":       `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"todo://lists/` + list + `"}}`,
	} {
		s.ask(t, "POST /mcp", message, in...).is(t, fmt.Sprintf("33: reading by %s", what), 200, "second")
	}
	resume := `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"resume"}}`
	s.ask(t, "POST /mcp", resume, in...).is(t, "33: resume", 200, "may see todo lists and not change them")
	if l, err := s.board.As("team").Load(t.Context(), list, 0); err != nil || l.Revision != 1 {
		t.Errorf("33: revision %d, %v", l.Revision, err)
	}
	s.ask(t, "GET /lists/"+list, "", bearer(viewer)...).is(t, "33: the viewer's page", 200, "viewer.css", "vic")
	s.ask(t, "POST /lists/"+list+"/edit", `{"do":"add","text":"B","op":"2"}`, bearer(writer)...).is(t, "a writer", 200)
	if l, err := s.board.As("team").Load(t.Context(), list, 0); err != nil || l.Writer.User != "wim" || !l.Writer.Person {
		t.Errorf("written by %+v, %v", l.Writer, err)
	}
	s.ask(t, "GET /lists/"+list, "", bearer(viewer)...).is(t, "the history says who", 200, "<span>wim</span>")
	s.ask(t, "GET /api/lists/"+list+"/history", "", bearer(viewer)...).is(t, "the API says who", 200, `"user":"wim"`)
}

// A person pastes a token and gets a session in the browser. The session ends when the token is revoked, or after 12
// hours. Signing out deletes the cookie. No redirect leads to another server.
func TestPersonsSignIn(t *testing.T) {
	s := newSite(t, nil, nil)
	token := s.token(t, auth.Token{Name: "ann"})
	s.list(t, "ann", "A")
	visit := s.ask(t, "GET /?show=past", "", "Accept", "text/html")
	if at := visit.header.Get("Location"); visit.status != http.StatusSeeOther || at != "./signin?to=%2F%3Fshow%3Dpast" {
		t.Fatalf("a visit: %d to %q", visit.status, at)
	}
	s.ask(t, "GET /"+strings.TrimPrefix(visit.header.Get("Location"), "./"), "").is(t, "the page", 200, `value="/?show=past"`)
	if a := s.post(t, "todo_wrong", "/").is(t, "a wrong token", http.StatusUnauthorized, "not valid here"); a.cookie() != "" {
		t.Error("a wrong token sets a cookie")
	}
	for _, to := range []string{"//evil.example", "https://evil.example", `/\evil.example`, "/\tx", "javascript:1", ""} {
		if a := s.post(t, token, to); a.header.Get("Location") != "./" {
			t.Errorf("to %q leads to %q", to, a.header.Get("Location"))
		}
	}
	in := s.post(t, " "+token+"\n", "/?show=past")
	set := in.header.Get("Set-Cookie")
	if in.status != http.StatusSeeOther || in.header.Get("Location") != "./?show=past" || !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Lax") || !strings.Contains(set, "Max-Age=43200") {
		t.Fatalf("signed in: %d %v", in.status, in.header)
	}
	if strings.Contains(set, token) {
		t.Error("the cookie holds the token")
	}
	cookie, _, _ := strings.Cut(set, ";")
	s.ask(t, "GET /", "", "Cookie", cookie).is(t, "with the cookie", 200, "Sign out")
	s.ask(t, "POST /signout", "", "Cookie", cookie, "Origin", "https://evil.example").is(t, "signed out by another site", http.StatusForbidden)
	if a := s.ask(t, "POST /signout", "", "Cookie", cookie); a.status != http.StatusSeeOther || !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out: %d %v", a.status, a.header)
	}
	s.wait(12 * time.Hour)
	s.ask(t, "GET /", "", "Cookie", cookie).is(t, "after 12 hours", http.StatusUnauthorized)
	s.wait(-12 * time.Hour)
	checktest.Check(t, auth.RevokeToken(s.path, "ann"))
	s.ask(t, "GET /", "", "Cookie", cookie).is(t, "after the token was revoked", http.StatusUnauthorized)
}

// Without TLS browsers send a cookie to every port of the machine. A server on another port cannot use the cookie: it
// is signed for one address of the browser and one of the server.
func TestCookiesAreForOneAddress(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	token, key := s.token(t, auth.Token{Name: "ann"}), signed.Key(servertest.Key)
	phone, laptop := []string{"X-Forwarded-For", "192.168.1.7"}, []string{"X-Forwarded-For", "192.168.1.2"}
	in := s.ask(t, "POST /signin", url.Values{"token": {token}}.Encode(), append(phone, "Content-Type", "application/x-www-form-urlencoded")...)
	cookie := in.cookie()
	s.ask(t, "GET /", "", append(phone, "Cookie", cookie)...).is(t, "from the phone", 200)
	s.ask(t, "GET /", "", append(laptop, "Cookie", cookie)...).is(t, "from another address", http.StatusUnauthorized)
	var session map[string]any
	_, text, _ := strings.Cut(cookie, "=")
	for host, want := range map[string]bool{strings.TrimPrefix(s.URL, "http://"): true, "127.0.0.1:1": false} {
		if is := key.Open("todo-signed-in of 192.168.1.7 at "+host, text, &session); is != want {
			t.Errorf("at %s: %v", host, is)
		}
	}
}

// A stream ends soon after its token is revoked or expires; streams of other tokens continue.
func TestStreamsEndWithTheirToken(t *testing.T) {
	s := newSite(t, nil, func(c *edge.Config) { c.KeepAlive = 10 * time.Millisecond })
	ann, bob, old := s.token(t, auth.Token{Name: "ann"}), s.token(t, auth.Token{Name: "bob"}), s.token(t, auth.Token{Name: "old", Expires: time.Now().Add(time.Hour)})
	streams := map[string]*servertest.Events{}
	for name, token := range map[string]string{"ann": ann, "bob": bob, "old": old} {
		streams[name] = servertest.OpenStream(t, "GET", s.URL+"/api/events", "", bearer(token)...)
	}
	checktest.Check(t, auth.RevokeToken(s.path, "ann"))
	streams["ann"].End()
	s.wait(2 * time.Hour)
	streams["old"].End()
	s.write(t, bob, "still here")
	streams["bob"].Until("still here")
}

// While the tokens' file cannot be read, nobody can sign in, and the log names the bad line. When the file is mended,
// sign-in works again.
func TestDamagedTokens(t *testing.T) {
	s := newSite(t, nil, nil)
	token := s.token(t, auth.Token{Name: "ann"})
	whole := checktest.Must(os.ReadFile(s.path))(t)
	for _, damaged := range []string{"x", `{"id":"a"}`, string(whole) + "{", strings.Replace(string(whole), "todos:write", "todos:admin", 1)} {
		checktest.Check(t, os.WriteFile(s.path, []byte(damaged), 0o600))
		s.ask(t, "GET /api/lists", "", bearer(token)...).is(t, fmt.Sprintf("%q", damaged), http.StatusServiceUnavailable)
		s.logged(t, "line ")
	}
	checktest.Check(t, os.WriteFile(s.path, whole, 0o600))
	s.ask(t, "GET /api/lists", "", bearer(token)...).is(t, "mended", 200)
}

// The tokens' file contains no token's secret, only the file's owner can read it, and invalid tokens are not added. The
// path may be a link, and a change keeps the file's mode.
func TestTokensFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "tokens")
	token := auth.Token{Name: "ann", Principal: "ann", Scopes: []string{auth.ScopeRead}}
	text := checktest.Must(auth.NewToken(path, token))(t)
	data := checktest.Must(os.ReadFile(path))(t)
	_, secret, _ := strings.Cut(strings.TrimPrefix(text, "todo_"), "_")
	if len(secret) != 26 || strings.Contains(string(data), secret) {
		t.Errorf("token %s in file %s", text, data)
	}
	mode := func(want os.FileMode) {
		t.Helper()
		if info := checktest.Must(os.Stat(path))(t); info.Mode().Perm() != want {
			t.Errorf("its mode is %v", info)
		}
	}
	mode(0o600)
	for problem, bad := range map[string]auth.Token{
		"named":  token,
		"bytes":  {Name: strings.Repeat("x", 65), Scopes: token.Scopes},
		"line":   {Name: "a\nb", Scopes: token.Scopes},
		"scopes": {Name: "b", Scopes: []string{"admin"}},
	} {
		if _, err := auth.NewToken(path, bad); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", problem, err)
		}
	}
	if err := auth.RevokeToken(path, "bob"); err == nil {
		t.Error("revoked a token that there is not")
	}
	if after := checktest.Must(os.ReadFile(path))(t); string(after) != string(data) {
		t.Errorf("bad input changed the file: %s", after)
	}
	var decoded auth.Token
	if err := json.Unmarshal(data, &decoded); err != nil || decoded.Name != "ann" || decoded.Created.IsZero() {
		t.Errorf("%+v, %v", decoded, err)
	}
	link := path + ".link"
	checktest.Check(t, errors.Join(os.Chmod(path, 0o640), os.Symlink(path, link), auth.RevokeToken(link, "ann")))
	if tokens, err := auth.ReadTokens(path); err != nil || len(tokens) != 0 {
		t.Errorf("revoked by its link: %v, %v", tokens, err)
	}
	if info := checktest.Must(os.Lstat(link))(t); info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v", info)
	}
	mode(0o640)
}
