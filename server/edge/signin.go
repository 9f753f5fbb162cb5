package edge

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/card"
)

// signIn returns the identity that sent a request (BAD-INPUT 29). It refuses senders with too many requests or
// failures.
func (e *Edge) signIn(r *http.Request) (board.Identity, error) {
	id, err := e.authenticate(r)
	if err != nil {
		if r.Header.Get("Authorization")+r.Header.Get("Cookie") != "" { // else no sign-in was tried
			err = cmp.Or(e.countRefusal(r), err)
		}
		return board.Identity{}, err
	}
	if !e.rates.allow(id.Principal + "\x00" + id.Subject) {
		return board.Identity{}, newError(http.StatusTooManyRequests, "too many requests, %d a second is the most (see --max-rate)", e.config.MaxRate)
	}
	return id, nil
}

var errNobody = &auth.Refusal{Status: http.StatusUnauthorized, Text: "sign in: send a bearer token in the header Authorization"}

// authenticate returns the identity that sent a request. It does not read a token in the query (BAD-INPUT 31).
func (e *Edge) authenticate(r *http.Request) (board.Identity, error) {
	switch sent := r.Header.Values("Authorization"); len(sent) {
	case 0:
		id, err := e.fromCookie(r)
		return id, outage(err)
	case 1:
		scheme, token, _ := strings.Cut(sent[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return board.Identity{}, errNobody
		}
		granted, err := e.check(r, strings.TrimSpace(token))
		return granted.Identity, outage(err)
	}
	return board.Identity{}, auth.ErrUnknown // several tokens
}

func (e *Edge) check(r *http.Request, token string) (granted auth.Grant, err error) {
	err = auth.ErrUnknown
	if e.config.Tokens != nil {
		granted, err = e.config.Tokens.Check(token, e.config.Now())
	}
	if e.config.Issuer != nil && errors.Is(err, auth.ErrUnknown) {
		granted, err = e.config.Issuer.Check(r.Context(), token)
	}
	return granted, err
}

// outage returns nil and refusals unchanged, and other errors as failures of the sign-in itself.
func outage(err error) error {
	if _, ok := errors.AsType[*auth.Refusal](err); ok || err == nil {
		return err
	}
	return &Error{http.StatusServiceUnavailable, "sign-in does not work now; the server's log says why", err}
}

// countRefusal counts a failed sign-in, and returns an error after too many from its network.
func (e *Edge) countRefusal(r *http.Request) error {
	if e.refusals.allow(network(e.address(r))) {
		return nil
	}
	return newError(http.StatusTooManyRequests, "too many failed sign-ins from this address: wait a second")
}

// isStillSignedIn reports whether a request's sender is still signed in as the same identity: not if the token has
// expired, was revoked, or now grants something else.
func (r *Request) isStillSignedIn(ctx context.Context) bool {
	if !r.edge.signsIn {
		return true
	}
	id, err := r.edge.authenticate(r.WithContext(ctx))
	if err != nil {
		return describe(err).Status >= http.StatusInternalServerError // nobody is signed out by an outage
	}
	return id == r.Identity
}

// challenge sets the header WWW-Authenticate of an answer 401 or 403: how to sign in, or which scope is missing (RFC
// 6750 section 3, RFC 9728 section 5.1).
func (e *Edge) challenge(w http.ResponseWriter, r *http.Request, refusal *Error) {
	if !e.signsIn {
		return
	}
	challenge := fmt.Sprintf("Bearer scope=%q", auth.ScopeRead+" "+auth.ScopeWrite)
	switch {
	case refusal.Status == http.StatusForbidden:
		challenge += fmt.Sprintf(`, error="insufficient_scope", error_description=%q`, refusal.Text)
	case r.Header.Get("Authorization") != "":
		challenge += fmt.Sprintf(`, error="invalid_token", error_description=%q`, refusal.Text)
	}
	if e.config.Issuer != nil {
		challenge += fmt.Sprintf(", resource_metadata=%q", e.origin(r)+e.path+metadataPath+resourcePath)
	}
	w.Header().Set("WWW-Authenticate", challenge)
}

// Forbid sets the header that says which scope a writer lacks, and returns the error to answer.
func (r *Request) Forbid(w http.ResponseWriter) *Error {
	refusal := describe(board.ErrReadOnly)
	r.edge.challenge(w, r.Request, refusal)
	return refusal
}

// metadata answers with the metadata of the protected resource (RFC 9728).
func (e *Edge) metadata(w http.ResponseWriter, r *Request) error {
	return WriteJSON(w, http.StatusOK, map[string]any{
		"resource":                 r.Site() + resourcePath,
		"resource_name":            "todo-mcp",
		"authorization_servers":    []string{e.config.Issuer.URL},
		"scopes_supported":         []string{auth.ScopeRead, auth.ScopeWrite},
		"bearer_methods_supported": []string{"header"},
	})
}

// address returns the address of the client: the other end of the connection or, if that is a trusted proxy, the last
// address in X-Forwarded-For that is no trusted proxy.
func (e *Edge) address(r *http.Request) string {
	address := hostOf(r.RemoteAddr)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for len(hops) > 0 && e.isTrusted(address) {
		last := strings.TrimSpace(hops[len(hops)-1])
		if _, err := netip.ParseAddr(last); err != nil {
			break
		}
		address, hops = last, hops[:len(hops)-1]
	}
	return address
}

// network returns the network that may belong to one client: the first 64 bits of an IPv6 address, else the address.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Unmap().Is4() {
		return address
	}
	prefix, _ := ip.WithZone("").Prefix(64)
	return prefix.String()
}

func (e *Edge) isTrusted(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(e.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}

// The assets of the page for signing in.
var (
	//go:embed signin.css
	signInStyle string
	//go:embed signin.js
	signInScript string
)

const (
	signInPath   = "/signin"
	startPath    = "/signin/start"
	callbackPath = "/signin/callback"
	signOutPath  = "/signout"
	resourcePath = "/mcp" // of the resource that tokens are for
	metadataPath = "/.well-known/oauth-protected-resource"

	// The names of signed cookies. The argument purpose of [signed.Key.Sign] has the name, so the signature covers it.
	sessionCookie = "todo-signed-in"
	attemptCookie = "todo-signing-in"
	// sessionLasts is how long a person stays signed in at most, and signInLasts how long signing in with the issuer
	// may take.
	sessionLasts, signInLasts = 12 * time.Hour, 10 * time.Minute

	maxRefusals = 10       // failed sign-ins a second of one network
	maxPath     = 1000     // bytes of the path to go to after signing in, kept in a cookie
	maxForm     = 32 << 10 // bytes of the form with an access token
	// policy is the Content-Security-Policy of the page.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

// session is the content of the cookie of a person who signed in.
type session struct {
	// Token is the id of a token of [auth.Tokens], looked up with each request, so that revoking it ends the session;
	// empty for a sign-in with an issuer.
	Token    string         `json:"t,omitempty"`
	Issuer   string         `json:"i,omitempty"`
	Identity board.Identity `json:"w,omitzero"`
	Expires  time.Time      `json:"e"`
}

// attempt is the content of the cookie of a person who is signing in with an issuer.
type attempt struct {
	State    string    `json:"s"`
	Verifier string    `json:"v"`
	To       string    `json:"t"`
	Expires  time.Time `json:"e"`
}

func (e *Edge) routeSignIn() {
	e.Handle("GET "+signInPath, Text, func(w http.ResponseWriter, r *Request) error {
		return e.draw(w, r, http.StatusOK, r.URL.Query().Get("to"), "")
	}, Public, Page)
	e.Handle("POST "+signInPath, Text, e.paste, Public)
	e.Handle("POST "+signOutPath, Text, func(w http.ResponseWriter, r *Request) error {
		e.setCookie(w, r, sessionCookie, nil, 0)
		e.redirect(w, r.Request, signInPath)
		return nil
	}, Public)
	e.Handle("GET /signin.css", Text, Static("text/css; charset=utf-8", card.Colours+signInStyle), Public)
	e.Handle("GET /signin.js", Text, Static("text/javascript; charset=utf-8", signInScript), Public)
	if e.offersIssuer() {
		e.Handle("GET "+startPath, Text, e.start, Public, Page)
		e.Handle("GET "+callbackPath, Text, e.callback, Public, Page)
	}
	if e.config.Issuer != nil {
		e.Handle("GET "+metadataPath, JSON, e.metadata, Public)
		e.Handle("GET "+metadataPath+resourcePath, JSON, e.metadata, Public)
	}
}

func (e *Edge) offersIssuer() bool { return e.config.Issuer != nil && e.config.Issuer.ClientID != "" }

func (e *Edge) draw(w http.ResponseWriter, r *Request, status int, to, problem string) error {
	var page strings.Builder // writing to it cannot fail
	_ = e.signInDocument(r.Root(), localPath(to), problem).Render(&page)
	return WritePage(w, status, policy, page.String())
}

// signInDocument returns the page for signing in. Its links begin with root; signing in leads to the given path.
func (e *Edge) signInDocument(root, to, problem string) g.Node {
	button, issuer := "btn main", g.Group(nil)
	if e.offersIssuer() {
		button = "btn"
		start := root + startPath[1:] + "?" + url.Values{"to": {to}}.Encode()
		issuer = g.Group{h.A(h.Class("btn main"), h.Href(start), g.Text("Sign in with "+strings.TrimPrefix(e.config.Issuer.URL, "https://"))), h.P(h.Class("or"), g.Text("or"))}
	}
	return h.Doctype(h.HTML(h.Lang("en"),
		h.Head(h.Meta(h.Charset("utf-8")), h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.TitleEl(g.Text("Sign in · todo-mcp")), h.Link(h.Rel("icon"), h.Href("data:,")),
			h.Link(h.Rel("stylesheet"), h.Href(root+"signin.css")), h.Script(h.Type("module"), h.Src(root+"signin.js"))),
		h.Body(h.Main(
			h.H1(g.Text("todo-mcp")),
			g.If(problem != "", h.P(h.Class("problem"), h.Role("alert"), g.Textf("Not signed in: %s.", problem))),
			issuer,
			h.Form(h.ID("form"), h.Method("post"), h.Action(root+signInPath[1:]),
				h.Input(h.Type("hidden"), h.Name("to"), h.Value(to)),
				h.Label(h.For("token"), g.Text("Token")),
				h.Input(h.ID("token"), h.Name("token"), h.Type("password"), h.AutoComplete("current-password"), h.Required()),
				h.P(h.Class("hint"), g.Text("Made by "), h.Code(g.Text("todo-mcp token new")),
					g.Text(". This browser stays signed in for 12 hours.")),
				h.Button(h.Class(button), g.Text("Sign in")))))))
}

// localPath returns its argument if that is a path of this server, else "/": no sign-in leads to another server.
func localPath(to string) string {
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }
	if len(to) > maxPath || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsFunc(to, odd) {
		return "/"
	}
	return to
}

// paste signs in with a token that a person enters.
func (e *Edge) paste(w http.ResponseWriter, r *Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return BadRequest("the form cannot be read, or is larger than %d bytes", maxForm)
	}
	granted, err := e.check(r.Request, strings.TrimSpace(r.PostForm.Get("token")))
	return e.enter(w, r, granted, err, r.PostForm.Get("to"))
}

// enter sets the cookie of a grant and redirects to the given path. If err is a refusal, the sign-in page shows it.
func (e *Edge) enter(w http.ResponseWriter, r *Request, granted auth.Grant, err error, to string) error {
	if refusal, ok := errors.AsType[*auth.Refusal](err); ok {
		if err := e.countRefusal(r.Request); err != nil {
			return err
		}
		return e.draw(w, r, refusal.Status, to, refusal.Text)
	} else if err != nil {
		return outage(err)
	}
	in := session{Token: granted.Token, Expires: e.config.Now().Add(sessionLasts)}
	if granted.Token == "" {
		in.Issuer, in.Identity = e.config.Issuer.URL, granted.Identity
	}
	if !granted.Expires.IsZero() && granted.Expires.Before(in.Expires) {
		in.Expires = granted.Expires
	}
	e.setCookie(w, r, sessionCookie, in, in.Expires.Sub(e.config.Now()))
	e.redirect(w, r.Request, localPath(to))
	return nil
}

// newCookie returns a cookie that scripts cannot read, without a value yet, and the purpose that it is signed for.
//
// Over TLS its name begins with __Host- or, below a path, with __Secure-. Browsers accept both over TLS alone, and
// __Host- only from this host itself. Without TLS the purpose contains the addresses of browser and server: browsers
// send the cookie to every port of this machine, and a server on another port must not be able to use it.
func (e *Edge) newCookie(r *http.Request, name string) (c *http.Cookie, purpose string) {
	c = &http.Cookie{Name: "__Host-" + name, Path: cmp.Or(e.path, "/"), Secure: strings.HasPrefix(e.origin(r), "https:"),
		HttpOnly: true, SameSite: http.SameSiteLaxMode} // not Strict: the issuer's page leads back here
	switch {
	case !c.Secure:
		c.Name = name
		return c, name + " of " + network(e.address(r)) + " at " + r.Host
	case e.path != "":
		c.Name = "__Secure-" + name
	}
	return c, name
}

// setCookie sets a cookie to a value. A nil value deletes it.
func (e *Edge) setCookie(w http.ResponseWriter, r *Request, name string, value any, lasts time.Duration) {
	c, purpose := e.newCookie(r.Request, name)
	if c.MaxAge = -1; value != nil {
		c.Value, c.MaxAge = e.key.Sign(purpose, value), int(lasts.Round(time.Second).Seconds())
	}
	http.SetCookie(w, c)
}

// cookie reads the value of a cookie, and reports whether this server set it.
func (e *Edge) cookie(r *http.Request, name string, value any) bool {
	own, purpose := e.newCookie(r, name)
	c, err := r.Cookie(own.Name)
	return err == nil && e.key.Open(purpose, c.Value, value)
}

// fromCookie returns the identity in a request's cookie.
func (e *Edge) fromCookie(r *http.Request) (board.Identity, error) {
	var in session
	now := e.config.Now()
	switch {
	case !e.cookie(r, sessionCookie, &in) || !now.Before(in.Expires):
	case in.Token != "" && e.config.Tokens != nil:
		granted, err := e.config.Tokens.Granted(in.Token, now)
		return granted.Identity, err
	case in.Token == "" && e.config.Issuer != nil && in.Issuer == e.config.Issuer.URL && in.Identity.Principal != "":
		return in.Identity, nil
	}
	return board.Identity{}, errNobody // without a cookie, or with one that expired or is from another way to sign in
}

func (e *Edge) start(w http.ResponseWriter, r *Request) error {
	a := attempt{State: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		To: localPath(r.URL.Query().Get("to")), Expires: e.config.Now().Add(signInLasts)}
	address, err := e.config.Issuer.SignIn(r.Site()+callbackPath, a.State, a.Verifier)
	if err != nil {
		return outage(err)
	}
	e.setCookie(w, r, attemptCookie, a, signInLasts)
	http.Redirect(w, r.Request, address, http.StatusSeeOther)
	return nil
}

func (e *Edge) callback(w http.ResponseWriter, r *Request) error {
	var a attempt
	q := r.URL.Query()
	if !e.cookie(r.Request, attemptCookie, &a) || !e.config.Now().Before(a.Expires) || q.Get("state") != a.State {
		return e.draw(w, r, http.StatusBadRequest, "", "this sign-in began elsewhere or took too long: begin anew")
	}
	e.setCookie(w, r, attemptCookie, nil, 0)
	if q.Get("code") == "" {
		return e.enter(w, r, auth.Grant{}, auth.Refused(q.Get("error")), a.To)
	}
	granted, err := e.config.Issuer.Redeem(r.Context(), r.Site()+callbackPath, q.Get("code"), a.Verifier)
	return e.enter(w, r, granted, err, a.To)
}
