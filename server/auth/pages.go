package auth

import (
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/palette"
)

//go:embed signin.css signin.js
var files embed.FS

// The routes for signing in to the panel.
const (
	signInPath   = "/signin"
	startPath    = "/signin/start"
	callbackPath = "/signin/callback"
	signOutPath  = "/signout"
)

const (
	// sessionLasts is how long a person stays signed in at most.
	sessionLasts = 12 * time.Hour
	// signInLasts is how long a person may take to sign in with the issuer.
	signInLasts = 10 * time.Minute
	// maxPath is the length of the longest path to go to after signing in, in bytes:
	// it is in a cookie meanwhile.
	maxPath = 1000
	// maxForm is the size of the largest form, in bytes. An access token is in it.
	maxForm = 32 << 10
	// policy is the Content-Security-Policy of the page.
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

// session is what the cookie of somebody who signed in says.
type session struct {
	// Token is the id of a token of [Tokens], which is looked up with each request:
	// a revoked one ends the session. Empty for who signed in with an issuer.
	Token    string    `json:"t,omitempty"`
	Issuer   string    `json:"i,omitempty"`
	Identity identity  `json:"w,omitzero"`
	Expires  time.Time `json:"e"`
}

// identity is a [todo.Identity] as a cookie has it.
type identity struct {
	Principal string `json:"p"`
	Subject   string `json:"s"`
	User      string `json:"u"`
	ReadOnly  bool   `json:"r,omitempty"`
}

// attempt is what the cookie of somebody who is signing in with an issuer says.
type attempt struct {
	State    string    `json:"s"`
	Verifier string    `json:"v"`
	To       string    `json:"t"`
	Expires  time.Time `json:"e"`
}

// The purposes of signed cookies, which are also their names.
const (
	sessionCookie = "todo-signed-in"
	attemptCookie = "todo-signing-in"
)

// routePages adds the page for signing in.
func (s *SignIn) routePages(e *edge.Edge) {
	e.Handle("GET "+signInPath, edge.Text, s.page, edge.Public, edge.Page)
	e.Handle("POST "+signInPath, edge.Text, s.paste, edge.Public)
	e.Handle("POST "+signOutPath, edge.Text, s.signOut, edge.Public)
	e.Handle("GET /signin.css", edge.Text, static("text/css; charset=utf-8", palette.CSS+text("signin.css")), edge.Public)
	e.Handle("GET /signin.js", edge.Text, static("text/javascript; charset=utf-8", text("signin.js")), edge.Public)
	if s.offersIssuer() {
		e.Handle("GET "+startPath, edge.Text, s.start, edge.Public, edge.Page)
		e.Handle("GET "+callbackPath, edge.Text, s.callback, edge.Public, edge.Page)
	}
}

func (s *SignIn) offersIssuer() bool {
	return s.config.Issuer != nil && s.config.Issuer.config.ClientID != ""
}

// text returns an embedded file.
func text(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(data)
}

func static(mediaType, content string) edge.Handler {
	return func(w http.ResponseWriter, _ *edge.Request) error {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write([]byte(content))
		return nil
	}
}

// page answers with the page for signing in.
func (s *SignIn) page(w http.ResponseWriter, r *edge.Request) error {
	return s.draw(w, http.StatusOK, r.URL.Query().Get("to"), "")
}

func (s *SignIn) draw(w http.ResponseWriter, status int, to, problem string) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	_ = s.signInPage(localPath(to), problem).Render(w)
	return nil
}

// signInPage returns the page for signing in, which leads on to a path of this server.
func (s *SignIn) signInPage(to, problem string) Node {
	button, issuer := "btn main", Group(nil)
	if s.offersIssuer() {
		button = "btn"
		issuer = Group{A(Class("btn main"), Href(startPath+"?"+url.Values{"to": {to}}.Encode()), Text("Sign in"+s.withIssuer())),
			P(Class("or"), Text("or"))}
	}
	return Doctype(HTML(Lang("en"),
		Head(Meta(Charset("utf-8")), Meta(Name("viewport"), Content("width=device-width, initial-scale=1")),
			TitleEl(Text("Sign in · todo-mcp")), Link(Rel("icon"), Href("data:,")),
			Link(Rel("stylesheet"), Href("/signin.css")), Script(Type("module"), Src("/signin.js"))),
		Body(Main(
			H1(Text("todo-mcp")),
			If(problem != "", P(Class("problem"), Role("alert"), Textf("Not signed in: %s.", problem))),
			issuer,
			Form(ID("form"), Method("post"), Action(signInPath), If(s.config.Direct, Attr("data-direct")),
				Input(Type("hidden"), Name("to"), Value(to)),
				Label(For("token"), Text("Token")),
				Input(ID("token"), Name("token"), Type("password"), AutoComplete("current-password"), Required()),
				P(Class("hint"), Text("Made by "), Code(Text("todo-mcp token new")),
					Text(". This browser stays signed in for 12 hours.")),
				Button(Class(button), Text("Sign in")))))))
}

// withIssuer says with whom a person signs in.
func (s *SignIn) withIssuer() string {
	if issuer, err := url.Parse(s.config.Issuer.config.URL); err == nil && issuer.Host != "" {
		return " with " + issuer.Host
	}
	return ""
}

// localPath returns a path of this server to go to, "/" instead of anything else:
// nobody may be led elsewhere by a link to this page.
func localPath(to string) string {
	if len(to) > maxPath || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsFunc(to, func(r rune) bool { return isControl(r) || r == '\\' }) {
		return "/"
	}
	return to
}

// paste signs in who sends a token.
func (s *SignIn) paste(w http.ResponseWriter, r *edge.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return edge.BadRequest("the form cannot be read, or is larger than %d bytes", maxForm)
	}
	return s.enter(w, r, strings.TrimSpace(r.PostForm.Get("token")), r.PostForm.Get("to"))
}

// enter sets the cookie of who has a token and leads on, or says on the page why
// not.
func (s *SignIn) enter(w http.ResponseWriter, r *edge.Request, token, to string) error {
	g, err := s.check(r.Request, token)
	if refusal := (*edge.Error)(nil); errors.As(err, &refusal) && refusal.Status < http.StatusInternalServerError {
		if err := r.CountRefusal(); err != nil {
			return err
		}
		return s.draw(w, refusal.Status, to, refusal.Text)
	} else if err != nil {
		return err
	}
	in := session{Token: g.token, Expires: s.config.Now().Add(sessionLasts)}
	if g.token == "" {
		in.Issuer, in.Identity = s.config.Issuer.config.URL, identity(g.identity)
	}
	if !g.expires.IsZero() && g.expires.Before(in.Expires) {
		in.Expires = g.expires
	}
	s.setCookie(w, r, sessionCookie, s.key.Sign(sessionCookie, in), in.Expires.Sub(s.config.Now()))
	http.Redirect(w, r.Request, localPath(to), http.StatusSeeOther)
	return nil
}

// setCookie sets a cookie that only this server reads, and no script; with an
// empty value it deletes one.
func (s *SignIn) setCookie(w http.ResponseWriter, r *edge.Request, name, value string, lasts time.Duration) {
	age := int((lasts + time.Second - 1) / time.Second)
	if value == "" {
		age = -1
	}
	secure := strings.HasPrefix(s.origin(r.Request), "https:")
	http.SetCookie(w, &http.Cookie{Name: cookieName(name, secure), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: secure,
		SameSite: http.SameSiteLaxMode}) // not Strict: the issuer's page leads back here
}

// cookieName returns the name under which a cookie is sent: a prefix makes browsers
// take it only from this host itself, by TLS.
func cookieName(name string, secure bool) string {
	if secure {
		return "__Host-" + name
	}
	return name
}

// cookie decodes a cookie of this server.
func (s *SignIn) cookie(r *http.Request, name string, value any) error {
	c, err := r.Cookie(cookieName(name, strings.HasPrefix(s.origin(r), "https:")))
	if err != nil {
		return errNobody
	}
	if s.key.Open(name, c.Value, value) != nil {
		return errNobody
	}
	return nil
}

// fromCookie returns who signed in as a request's cookie says.
func (s *SignIn) fromCookie(r *http.Request) (todo.Identity, error) {
	var in session
	if err := s.cookie(r, sessionCookie, &in); err != nil {
		return todo.Identity{}, err
	}
	now := s.config.Now()
	switch {
	case !now.Before(in.Expires):
		return todo.Identity{}, errNobody
	case in.Token != "" && s.config.Tokens != nil:
		token, err := s.config.Tokens.find(in.Token)
		if err != nil {
			return todo.Identity{}, s.outage(err)
		}
		g, err := token.grant(now)
		return g.identity, err
	case in.Token == "" && s.config.Issuer != nil && in.Issuer == s.config.Issuer.config.URL:
		return todo.Identity(in.Identity), nil
	}
	return todo.Identity{}, errNobody // the server signs in differently now
}

// signOut ends the session of a browser.
func (s *SignIn) signOut(w http.ResponseWriter, r *edge.Request) error {
	s.setCookie(w, r, sessionCookie, "", 0)
	http.Redirect(w, r.Request, signInPath, http.StatusSeeOther)
	return nil
}

// oauth returns the panel as a client of the issuer.
func (s *SignIn) oauth(r *edge.Request) (*oauth2.Config, error) {
	found, err := s.config.Issuer.discover(r.Context())
	if err != nil {
		return nil, s.outage(err)
	}
	c := s.config.Issuer.config
	return &oauth2.Config{ClientID: c.ClientID, ClientSecret: c.ClientSecret, Endpoint: found.endpoint,
		RedirectURL: s.origin(r.Request) + callbackPath, Scopes: []string{oidc.ScopeOpenID, ScopeRead, ScopeWrite}}, nil
}

// start leads to the issuer's page for signing in (authorization code with PKCE).
func (s *SignIn) start(w http.ResponseWriter, r *edge.Request) error {
	client, err := s.oauth(r)
	if err != nil {
		return err
	}
	a := attempt{State: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: localPath(r.URL.Query().Get("to")), Expires: s.config.Now().Add(signInLasts)}
	s.setCookie(w, r, attemptCookie, s.key.Sign(attemptCookie, a), signInLasts)
	address := client.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), s.resource())
	http.Redirect(w, r.Request, address, http.StatusSeeOther)
	return nil
}

// resource says for what the access token shall be (RFC 8707).
func (s *SignIn) resource() oauth2.AuthCodeOption {
	return oauth2.SetAuthURLParam("resource", s.config.Issuer.config.Audience)
}

// callback signs in who comes back from the issuer's page.
func (s *SignIn) callback(w http.ResponseWriter, r *edge.Request) error {
	var a attempt
	q := r.URL.Query()
	if s.cookie(r.Request, attemptCookie, &a) != nil || !s.config.Now().Before(a.Expires) || q.Get("state") != a.State {
		return s.draw(w, http.StatusBadRequest, "", "this sign-in began elsewhere or took too long: begin anew")
	}
	s.setCookie(w, r, attemptCookie, "", 0)
	if q.Get("code") == "" {
		return s.draw(w, http.StatusForbidden, a.To, "the sign-in was refused: "+todo.Cut(q.Get("error"), 100))
	}
	client, err := s.oauth(r)
	if err != nil {
		return err
	}
	ctx := oidc.ClientContext(r.Context(), s.config.Issuer.client)
	token, err := client.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(a.Verifier), s.resource())
	if failure := (*oauth2.RetrieveError)(nil); errors.As(err, &failure) && failure.ErrorCode != "" {
		return s.draw(w, http.StatusForbidden, a.To, "the sign-in was refused: "+todo.Cut(failure.ErrorCode, 100))
	} else if err != nil {
		return s.outage(fmt.Errorf("exchange the code: %w", err))
	}
	return s.enter(w, r, token.AccessToken, a.To)
}
