// Package auth says who sends a request: the holder of a bearer token, which the
// server's operator made ([Tokens]) or an OAuth 2.1 authorization server issued
// ([Issuer]), or a person who signed in to the panel with one of these and has a
// session cookie.
//
// It follows the authorization pages of MCP 2025-11-25 and 2026-07-28: the server
// is an OAuth resource server with metadata by RFC 9728, and refuses as RFC 6750
// says.
package auth

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
	"todo-mcp/server/signed"
)

// The scopes of a token. Who may write may also read.
const (
	ScopeRead  = "todos:read"
	ScopeWrite = "todos:write"
)

// Config configures a [SignIn]. Tokens or Issuer is required, and Key.
type Config struct {
	Tokens *Tokens
	Issuer *Issuer
	// PublicURL is where clients reach the server, as https://host without a path;
	// empty is what each request says.
	PublicURL string
	// Key returns the secret that signs cookies; see [signed.NewKey].
	Key func() []byte
	// Direct makes the page sign in by itself with the token in its address, which
	// is behind "#". Anybody could lead a person there with a token of their own, so
	// that it is only for a server whose users are one.
	Direct bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log receives the failures of the issuer and the tokens' file; nil discards
	// them.
	Log *slog.Logger
}

// SignIn implements [edge.Authenticator].
type SignIn struct {
	config Config
	key    signed.Key
}

var _ edge.Authenticator = (*SignIn)(nil)

// New returns a SignIn.
func New(c Config) *SignIn {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &SignIn{config: c, key: signed.NewKey(c.Key)}
}

// The reasons why a request is refused.
var (
	errNobody  = &edge.Error{Status: http.StatusUnauthorized, Text: "sign in: send a bearer token in the header Authorization"}
	errUnknown = &edge.Error{Status: http.StatusUnauthorized, Text: "the token is not valid here"}
	errExpired = &edge.Error{Status: http.StatusUnauthorized, Text: "the token has expired"}
	errNoScope = &edge.Error{Status: http.StatusForbidden, Text: "the token has none of the scopes " + ScopeRead + " and " + ScopeWrite}
)

// Authenticate implements [edge.Authenticator]. A token in the query of the
// address is not read (BAD-INPUT 32).
func (s *SignIn) Authenticate(r *http.Request) (todo.Identity, error) {
	switch sent := r.Header.Values("Authorization"); len(sent) {
	case 0:
		return s.fromCookie(r)
	case 1:
		scheme, token, _ := strings.Cut(sent[0], " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return todo.Identity{}, errNobody
		}
		g, err := s.check(r, strings.TrimSpace(token))
		return g.identity, err
	}
	return todo.Identity{}, errUnknown // which of them?
}

// grant is what a token entitles to.
type grant struct {
	identity todo.Identity
	expires  time.Time // zero is never
	token    string    // the id of a token of [Tokens]; empty for an issuer's
}

// check returns what a token entitles to.
func (s *SignIn) check(r *http.Request, token string) (grant, error) {
	var g grant
	err := error(errUnknown)
	switch {
	case s.config.Tokens != nil && strings.HasPrefix(token, tokenPrefix):
		g, err = s.config.Tokens.check(token, s.config.Now())
	case s.config.Issuer != nil:
		g, err = s.config.Issuer.check(r.Context(), token)
	}
	if err != nil {
		err = s.outage(err)
	}
	return g, err
}

// outage returns a refusal as it is, and logs any other error, for which nobody
// who signs in is at fault.
func (s *SignIn) outage(err error) error {
	if refusal := (*edge.Error)(nil); errors.As(err, &refusal) {
		return refusal
	}
	s.config.Log.Error("sign-in failed", "error", err)
	return &edge.Error{Status: http.StatusServiceUnavailable, Text: "sign-in does not work now; the server's log says why"}
}

// Challenge implements [edge.Authenticator] (RFC 6750 section 3, RFC 9728 section
// 5.1).
func (s *SignIn) Challenge(r *http.Request, refusal *edge.Error) string {
	var fields []string
	add := func(name, value string) { fields = append(fields, name+"="+strconv.Quote(value)) }
	switch {
	case refusal.Status == http.StatusForbidden:
		add("error", "insufficient_scope")
		add("error_description", refusal.Text)
	case r.Header.Get("Authorization") != "":
		add("error", "invalid_token")
		add("error_description", refusal.Text)
	}
	add("scope", ScopeRead+" "+ScopeWrite)
	if s.config.Issuer != nil {
		add("resource_metadata", s.origin(r)+metadataPath+resourcePath)
	}
	return "Bearer " + strings.Join(fields, ", ")
}

func (s *SignIn) origin(r *http.Request) string { return edge.OriginOf(s.config.PublicURL, r) }

// Page implements [edge.Authenticator]. Who was signed in with the issuer is led to
// its page at once, which may still know them.
func (s *SignIn) Page(r *http.Request) string {
	page := signInPath
	var in session
	if s.offersIssuer() && s.cookie(r, sessionCookie, &in) == nil && in.Token == "" {
		page = startPath
	}
	return page + "?" + url.Values{"to": {r.URL.RequestURI()}}.Encode()
}

// Route adds to an edge the page for signing in and the metadata of the resource.
func (s *SignIn) Route(e *edge.Edge) {
	s.routePages(e)
	if s.config.Issuer != nil {
		e.Handle("GET "+metadataPath, edge.JSON, s.metadata, edge.Public)
		e.Handle("GET "+metadataPath+resourcePath, edge.JSON, s.metadata, edge.Public)
	}
}

const (
	// resourcePath is the path of the resource that tokens are for.
	resourcePath = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// metadata answers with the metadata of the protected resource (RFC 9728).
func (s *SignIn) metadata(w http.ResponseWriter, r *edge.Request) error {
	return edge.WriteJSON(w, http.StatusOK, map[string]any{
		"resource":                 s.origin(r.Request) + resourcePath,
		"resource_name":            "todo-mcp",
		"authorization_servers":    []string{s.config.Issuer.config.URL},
		"scopes_supported":         []string{ScopeRead, ScopeWrite},
		"bearer_methods_supported": []string{"header"},
	})
}
