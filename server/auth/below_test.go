package auth_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// Below a path of a proxy, which takes it out of requests or leaves it there, a person is led
// to the page for signing in, back to what they asked for, and out again. The cookie is for
// that path: another server on the host has its own. No redirect leads to another host.
func TestSignInBelowAPath(t *testing.T) {
	for name, c := range map[string]struct {
		strips             bool
		public, cookiePath string
	}{
		"stripped": {strips: true, cookiePath: "/"},
		"kept":     {public: "http://127.0.0.1/todo", cookiePath: "/todo"},
		"known":    {strips: true, public: "http://127.0.0.1/todo", cookiePath: "/todo"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil, func(e *edge.Config) { e.PublicURL = c.public })
			token, base := s.token(t, auth.Token{Name: "ann"}), servertest.Below(t, s.URL, "/todo", c.strips)
			list := "/lists/" + s.list(t, "ann", "A")
			jar, _ := cookiejar.New(nil)
			client := &http.Client{Jar: jar}
			visit := func(method, path string, form url.Values, wantPath, wantText string) {
				t.Helper()
				req, _ := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode()))
				req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				req.Header.Set("Accept", "text/html")
				res := servertest.Must(client.Do(req))(t)
				defer res.Body.Close()
				body, _ := io.ReadAll(res.Body)
				if res.StatusCode != 200 || res.Request.URL.Path != "/todo"+wantPath || !strings.Contains(string(body), wantText) {
					t.Errorf("%s leads to %d %s: %s", path, res.StatusCode, res.Request.URL, body)
				}
			}
			visit("GET", list, nil, "/signin", `value="`+list+`"`)
			visit("POST", "/signin", url.Values{"token": {token}, "to": {list}}, list, "Sign out")
			in := s.post(t, token, "/")
			servertest.Has(t, "the cookie", in.header.Get("Set-Cookie"), "; Path="+c.cookiePath+";")
			visit("POST", "/signout", nil, "/signin", "Token")
		})
	}
	s := newSite(t, nil, func(e *edge.Config) { e.PublicURL = "https://todo.example/todo" })
	in := s.post(t, s.token(t, auth.Token{Name: "ann"}), "/..//evil.example")
	if set := in.header.Get("Set-Cookie"); !strings.HasPrefix(set, "__Secure-") || in.header.Get("Location") != "/todo/..//evil.example" {
		t.Errorf("%s, led to %s", set, in.header.Get("Location"))
	}
}
