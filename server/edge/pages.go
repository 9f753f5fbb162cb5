package edge

import (
	"cmp"
	"crypto/rand"
	_ "embed"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/card"
)

// The assets of the page for signing in.
var (
	//go:embed signin.css
	signInStyle string
	//go:embed signin.js
	signInScript string
)

// The routes for signing in to the panel.
const (
	signInPath   = "/signin"
	startPath    = "/signin/start"
	callbackPath = "/signin/callback"
	signOutPath  = "/signout"
)

const (
	// sessionLasts is how long a person stays signed in at most, and signInLasts how long signing in with the issuer
	// may take.
	sessionLasts, signInLasts = 12 * time.Hour, 10 * time.Minute

	maxPath = 1000     // bytes of the path to go to after signing in, which a cookie has meanwhile
	maxForm = 32 << 10 // bytes of a form, which has an access token
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

// The names of signed cookies, which are also their purposes.
const (
	sessionCookie = "todo-signed-in"
	attemptCookie = "todo-signing-in"
)

// routeSignIn adds the pages for signing in, and the resource's metadata.
func (e *Edge) routeSignIn() {
	e.Handle("GET "+signInPath, Text, func(w http.ResponseWriter, r *Request) error {
		return e.draw(w, r, http.StatusOK, r.URL.Query().Get("to"), "")
	}, Public, Page)
	e.Handle("POST "+signInPath, Text, e.paste, Public)
	e.Handle("POST "+signOutPath, Text, e.signOut, Public)
	e.Handle("GET /signin.css", Text, static("text/css; charset=utf-8", card.Colours+signInStyle), Public)
	e.Handle("GET /signin.js", Text, static("text/javascript; charset=utf-8", signInScript), Public)
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

func static(mediaType, content string) Handler {
	return func(w http.ResponseWriter, _ *Request) error {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write([]byte(content))
		return nil
	}
}

func (e *Edge) draw(w http.ResponseWriter, r *Request, status int, to, problem string) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	_ = e.signInDocument(r.Root(), localPath(to), problem).Render(w)
	return nil
}

// signInDocument returns the page for signing in, which links below root and leads to the path to afterwards.
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

// localPath returns to if it is a path of this server, else "/", so that no link to the page leads elsewhere.
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

// enter sets the cookie of a grant and leads to the path to, or shows on the page why there is no grant.
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

// setCookie sets a cookie that scripts cannot read. A nil value deletes it.
func (e *Edge) setCookie(w http.ResponseWriter, r *Request, name string, value any, lasts time.Duration) {
	text, age := "", -1
	if value != nil {
		text, age = e.key.Sign(e.purpose(r.Request, name), value), int(lasts.Round(time.Second).Seconds())
	}
	secure := strings.HasPrefix(r.Site(), "https:")
	http.SetCookie(w, &http.Cookie{Name: e.cookieName(name, secure), Value: text, Path: cmp.Or(e.path, "/"), MaxAge: age, HttpOnly: true, Secure: secure,
		SameSite: http.SameSiteLaxMode}) // not Strict: the issuer's page leads back here
}

// cookieName returns a cookie's name with the prefix by which browsers accept it only over TLS, and, if it is for all
// paths, only from this host itself.
func (e *Edge) cookieName(name string, secure bool) string {
	switch {
	case secure && e.path != "":
		return "__Secure-" + name
	case secure:
		return "__Host-" + name
	}
	return name
}

// purpose returns the purpose that a cookie is signed for. Without TLS it binds the cookie to the browser's address
// and this server's: browsers send it to every port of this machine, whose listeners must not be able to use it.
func (e *Edge) purpose(r *http.Request, name string) string {
	if strings.HasPrefix(e.origin(r), "https:") {
		return name
	}
	return name + " of " + network(e.address(r)) + " at " + r.Host
}

// cookie verifies and decodes a cookie.
func (e *Edge) cookie(r *http.Request, name string, value any) error {
	c, err := r.Cookie(e.cookieName(name, strings.HasPrefix(e.origin(r), "https:")))
	if err != nil || !e.key.Open(e.purpose(r, name), c.Value, value) {
		return errNobody
	}
	return nil
}

// signInAddress returns the address of the page for signing in, which leads back to what a request asked for. A
// person who had signed in with the issuer is led to the issuer's page at once.
func (e *Edge) signInAddress(r *http.Request) string {
	page := signInPath
	var in session
	if e.offersIssuer() && e.cookie(r, sessionCookie, &in) == nil && in.Token == "" {
		page = startPath
	}
	return page + "?" + url.Values{"to": {r.URL.RequestURI()}}.Encode()
}

// fromCookie returns the identity in a request's cookie.
func (e *Edge) fromCookie(r *http.Request) (board.Identity, error) {
	var in session
	now := e.config.Now()
	switch err := e.cookie(r, sessionCookie, &in); {
	case err != nil:
		return board.Identity{}, err
	case !now.Before(in.Expires):
	case in.Token != "" && e.config.Tokens != nil:
		granted, err := e.config.Tokens.Granted(in.Token, now)
		return granted.Identity, err
	case in.Token == "" && e.config.Issuer != nil && in.Issuer == e.config.Issuer.URL && in.Identity.Principal != "":
		return in.Identity, nil
	}
	return board.Identity{}, errNobody // expired, or the server's way to sign in has changed
}

// signOut ends the session of a browser.
func (e *Edge) signOut(w http.ResponseWriter, r *Request) error {
	e.setCookie(w, r, sessionCookie, nil, 0)
	e.redirect(w, r.Request, signInPath)
	return nil
}

// start leads to the issuer's page.
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

// callback signs in a person who comes back from the issuer's page.
func (e *Edge) callback(w http.ResponseWriter, r *Request) error {
	var a attempt
	q := r.URL.Query()
	if e.cookie(r.Request, attemptCookie, &a) != nil || !e.config.Now().Before(a.Expires) || q.Get("state") != a.State {
		return e.draw(w, r, http.StatusBadRequest, "", "this sign-in began elsewhere or took too long: begin anew")
	}
	e.setCookie(w, r, attemptCookie, nil, 0)
	if q.Get("code") == "" {
		return e.enter(w, r, auth.Grant{}, auth.Refused(q.Get("error")), a.To)
	}
	granted, err := e.config.Issuer.Redeem(r.Context(), r.Site()+callbackPath, q.Get("code"), a.Verifier)
	return e.enter(w, r, granted, err, a.To)
}
