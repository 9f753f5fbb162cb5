//go:build e2e

package auth_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func newRealSite(t *testing.T) *site {
	t.Helper()
	l := checktest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	c := &auth.Issuer{URL: fmt.Sprintf("http://127.0.0.1:%d", port), ClientID: "panel", ClientSecret: "a secret of the panel"}
	own := checktest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	c.Audience = "http://" + own.Addr().String() + "/mcp"
	s := newSiteOn(t, own, c, nil)
	folder := filepath.Dir(servertest.NodeModules(t))
	provider := exec.Command("node", filepath.Join(folder, "oidc.mjs"), fmt.Sprint(port), s.URL+"/signin/callback")
	out := checktest.Must(provider.StdoutPipe())(t)
	checktest.Check(t, provider.Start())
	t.Cleanup(func() { _ = provider.Process.Kill(); _ = provider.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the provider says %q, %v", line, err)
	}
	return s
}

func checkAccessible(t *testing.T, ctx context.Context) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		servertest.Emulate(t, ctx, scheme)
		for _, v := range servertest.Violations(t, ctx) {
			t.Errorf("%s: %s", scheme, v)
		}
	}
}

// In a browser, a person signs in to the panel with a real issuer, comes back to the requested page, and signs out. The
// sign-in page is accessible.
func TestSignInWithARealIssuer(t *testing.T) {
	s := newRealSite(t)
	s.list(t, "user:ann", "Ann's text")
	s.list(t, "user:bob", "Bob's text")
	ctx := servertest.Tab(t)
	servertest.Do(t, ctx, chromedp.Navigate(s.URL+"/?q=text"), chromedp.WaitVisible(`a.main`))
	checkAccessible(t, ctx)
	servertest.Do(t, ctx, chromedp.Focus(`a.main`), servertest.Press(kb.Enter), chromedp.WaitVisible(`[name=login]`))
	servertest.Do(t, ctx, chromedp.SendKeys(`[name=login]`, "ann"), chromedp.SendKeys(`[name=password]`, "x"+kb.Enter))
	servertest.Do(t, ctx, chromedp.WaitReady(`[value=consent]`), chromedp.Focus(`[type=submit]`), servertest.Press(kb.Enter))
	servertest.Do(t, ctx, chromedp.WaitVisible(`#who`))
	if at := servertest.Eval[string](t, ctx, `location.pathname + location.search`); at != "/?q=text" {
		t.Errorf("came back to %s", at)
	}
	page := servertest.Eval[string](t, ctx, `document.body.innerText`)
	if !strings.Contains(page, "Ann's") || strings.Contains(page, "Bob's") || !strings.Contains(page, "ann") {
		t.Errorf("the page: %s", page)
	}
	if cookie := servertest.Eval[string](t, ctx, `document.cookie`); strings.Contains(cookie, "todo-") {
		t.Errorf("script sees the cookie %q", cookie)
	}
	servertest.Until(t, ctx, servertest.IsLive)
	servertest.Do(t, ctx, chromedp.Focus(`#who button`), servertest.Press(kb.Enter), chromedp.WaitVisible(`#token`))
}

// A viewer sees no control that edits, and keys and clicks that edit do nothing. Changes by others arrive. When the
// token is revoked, the open page leads to the sign-in page.
func TestViewerInABrowser(t *testing.T) {
	s := newSite(t, nil, nil)
	viewer := s.token(t, auth.Token{Name: "vic", Principal: "team", Scopes: []string{auth.ScopeRead}})
	id := s.list(t, "team", "First")
	ctx := servertest.Tab(t)
	// The token does not stay in the address of the page.
	servertest.Do(t, ctx, chromedp.Navigate(s.URL+"/signin#"+viewer), chromedp.WaitVisible(`#token`))
	servertest.Until(t, ctx, `document.getElementById('token').value !== '' && location.hash === ''`)
	servertest.Do(t, ctx, chromedp.Focus(`#form button`), servertest.Press(kb.Enter), chromedp.WaitVisible(`#who`))
	servertest.Do(t, ctx, chromedp.Navigate(s.URL+"/lists/"+id), chromedp.WaitVisible(`#items`))
	servertest.Until(t, ctx, servertest.IsLive)
	visible := servertest.Eval[[]string](t, ctx, `[...document.querySelectorAll('main :is(button, input, [data-menu], [data-do=rename]), .grip')].filter((e) => e.checkVisibility() && !e.matches('.tick, .add *')).map((e) => e.outerHTML)`)
	if len(visible) > 0 {
		t.Errorf("it shows %s", visible)
	}
	for _, key := range []string{"j", "x", "e", "b", "a", "r", "u", "\b"} {
		servertest.Do(t, ctx, servertest.Press(key))
	}
	servertest.Do(t, ctx, chromedp.Click(`#title`), chromedp.Click(`#items li[data-item] .t bdi`))
	servertest.Eval[any](t, ctx, `document.querySelector('#items li[data-item] .tick').click()`)
	if n := servertest.Eval[int](t, ctx, `document.querySelectorAll('.field, .ask').length + !document.getElementById('toast').hidden`); n != 0 {
		t.Errorf("%d fields, questions or messages", n)
	}
	checkAccessible(t, ctx)
	s.add(t, "team", id, "Third")
	servertest.Until(t, ctx, `document.getElementById('items').innerText.includes('Third')`)
	if l, err := s.board.As("team").Load(t.Context(), id, 0); err != nil || l.Revision != 2 {
		t.Errorf("revision %d, %v", l.Revision, err)
	}
	checktest.Check(t, auth.RevokeToken(s.path, "vic"))
	s.CloseClientConnections()
	servertest.Do(t, ctx, chromedp.WaitVisible(`#token`))
}

// A real MCP client that knows only the server's address finds the issuer, registers there, and signs in with PKCE for
// this server. Its tool calls then write lists of the person who signed in.
func TestRealClientSignsIn(t *testing.T) {
	s := newRealSite(t)
	const redirect = "http://127.0.0.1:9/callback"
	handler, err := sdkauth.NewAuthorizationCodeHandler(&sdkauth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect,
		DynamicClientRegistrationConfig: &sdkauth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "test", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code"}, ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none"}},
		AuthorizationCodeFetcher: func(_ context.Context, args *sdkauth.AuthorizationArgs) (*sdkauth.AuthorizationResult, error) {
			if !strings.Contains(args.URL, "code_challenge_method=S256") || !strings.Contains(args.URL, "resource="+url.QueryEscape(s.URL+"/mcp")) {
				return nil, fmt.Errorf("asked for %s", args.URL)
			}
			return signInAs("ann", args.URL, redirect)
		},
	})
	checktest.Check(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "real", Version: "1"}, nil)
	session := checktest.Must(client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp", OAuthHandler: handler}, nil))(t)
	defer session.Close()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "TodoWrite", Arguments: map[string]any{"todos": []any{map[string]any{"content": "Signed in", "activeForm": "Signing in", "status": "pending"}}}})
	if err != nil || result.IsError {
		t.Fatalf("%+v, %v", result, err)
	}
	lists, err := s.board.As("user:ann").Find(t.Context(), allLists)
	if err != nil || len(lists) != 1 || lists[0].Writer.User != "ann" {
		t.Errorf("%+v, %v", lists, err)
	}
}

func signInAs(login, address, redirect string) (*sdkauth.AuthorizationResult, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	var result *sdkauth.AuthorizationResult
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), redirect) {
			return nil
		}
		q := r.URL.Query()
		result = &sdkauth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}
		return http.ErrUseLastResponse
	}}
	res, err := browser.Get(address)
	for range 3 {
		if err != nil {
			return nil, err
		}
		page, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || result != nil {
			return result, err
		}
		action := regexp.MustCompile(`action="([^"]+)"`).FindSubmatch(page)
		prompt := regexp.MustCompile(`name="prompt" value="([^"]+)"`).FindSubmatch(page)
		if action == nil || prompt == nil {
			return nil, fmt.Errorf("the issuer's page: %s", page)
		}
		if res, err = browser.PostForm(string(action[1]), url.Values{"prompt": {string(prompt[1])}, "login": {login}, "password": {"x"}}); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the issuer asks without end")
}
