package auth

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// IssuerConfig configures an [Issuer]. URL and Audience are required.
type IssuerConfig struct {
	// URL is the issuer of access tokens, as its metadata says it.
	URL string
	// Audience is what access tokens must be for.
	Audience string
	// TenantClaim names a claim, a text, whose value is the team that a token's
	// user shares lists with; empty gives each user lists of his own.
	TenantClaim string
	// ClientID and ClientSecret name the panel to the issuer, with which its users
	// sign in; without an id they cannot, and the secret may be empty.
	ClientID, ClientSecret string
}

// Issuer checks access tokens in the form of RFC 9068 of one OAuth 2.1
// authorization server with OpenID Connect discovery. What it says of itself is read
// when it is needed first. It is safe for concurrent use.
type Issuer struct {
	IssuerConfig // must not be changed

	mu       sync.Mutex
	found    *oidc.Provider // what the issuer says of itself; nil before it answered
	lastTry  time.Time
	tryError error
}

const (
	// issuerTimeout bounds each request to the issuer.
	issuerTimeout = 10 * time.Second
	// retryInterval is how long after a failure the issuer is asked again.
	retryInterval = 2 * time.Second
	// keysInterval is how often the issuer may be asked for its keys, after the first
	// few times: who sends a token with an unknown key causes it.
	keysInterval = 10 * time.Second
	// firstRequests are the first few: what the issuer says of itself, and its keys.
	firstRequests = 1 + 5
	// maxIssuerAnswer is the size of the largest answer of the issuer, in bytes.
	maxIssuerAnswer = 1 << 20
	// maxSubject is how many bytes the names of a user and a team may have, of which a
	// cookie has both. OpenID Connect allows a subject as many.
	maxSubject = 255
	// maxQuoted is how many bytes of an error that may quote such an answer are logged.
	maxQuoted = 300
)

// NewIssuer returns an issuer.
func NewIssuer(c IssuerConfig) *Issuer { return &Issuer{IssuerConfig: c} }

func newClient(l *rate.Limiter) *http.Client {
	return &http.Client{Timeout: issuerTimeout, Transport: transport{l}, CheckRedirect: sameOrigin}
}

// sameOrigin refuses a redirect to another host or scheme: only what the operator named,
// and the addresses in its metadata, say whose keys are believed (BAD-INPUT 31).
func sameOrigin(to *http.Request, via []*http.Request) error {
	if first := via[0].URL; to.URL.Host != first.Host || to.URL.Scheme != first.Scheme || len(via) > 5 {
		return fmt.Errorf("%s leads elsewhere, to %s", first, to.URL)
	}
	return nil
}

// failed returns an error of asking the issuer. Of its text, which may quote an answer,
// the beginning is told.
func failed(what string, cause error) error {
	return fmt.Errorf("%s: %s", what, todo.Cut(strings.Map(visible, cause.Error()), maxQuoted))
}

// transport is the default one with a bound for answers, which have at most
// maxIssuerAnswer bytes. It refuses with errTooOften what comes too often.
type transport struct{ limiter *rate.Limiter }

var errTooOften = errors.New("the issuer was asked too often")

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.limiter.Allow() {
		return nil, errTooOften
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxIssuerAnswer)
	}
	return res, err
}

// discover returns what the issuer says of itself. After a failure it does not ask
// again for retryInterval.
func (i *Issuer) discover() (*oidc.Provider, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.found == nil && time.Since(i.lastTry) >= retryInterval {
		// Others wait for it, too, so it does not end with a request.
		seldom := newClient(rate.NewLimiter(rate.Every(keysInterval), firstRequests))
		i.found, i.tryError = oidc.NewProvider(oidc.ClientContext(context.Background(), seldom), i.URL)
		i.lastTry = time.Now()
	}
	if i.tryError != nil {
		return nil, failed("discover the issuer", i.tryError)
	}
	return i.found, nil
}

// Check returns what an access token entitles to; the error may be a [*Refusal].
func (i *Issuer) Check(ctx context.Context, text string) (Grant, error) {
	if !isAccessToken(text) {
		return Grant{}, ErrUnknown // nobody needs to be asked
	}
	found, err := i.discover()
	if err != nil {
		return Grant{}, err
	}
	// With "none" or a shared key anybody could sign (BAD-INPUT 31).
	config := &oidc.Config{ClientID: i.Audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.RS384, oidc.RS512,
		oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}}
	token, err := found.Verifier(config).Verify(ctx, text)
	_, isExpired := errors.AsType[*oidc.TokenExpiredError](err)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // the caller is gone
		return Grant{}, ctx.Err()
	case isExpired:
		return Grant{}, errExpired
	case isOutage(err):
		return Grant{}, failed("read the issuer's keys", err)
	case err != nil:
		return Grant{}, ErrUnknown
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return Grant{}, ErrUnknown
	}
	id, err := i.identity(token.Subject, claims)
	return Grant{Identity: id, Expires: token.Expiry}, err
}

// isOutage reports whether a token is not verified because the keys could not be read,
// which the verifier says in its text alone. No text of the token stands before that.
func isOutage(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "failed to verify signature: fetching keys") &&
		!strings.Contains(err.Error(), errTooOften.Error())
}

// isAccessToken reports whether a text is a JWT whose header does not say that it is for
// something else, such as "logout+jwt". RFC 9068 asks for "at+jwt", but some issuers send
// "JWT" with access tokens or say nothing; an ID token, which may say the same, has no
// scope of ours.
func isAccessToken(text string) bool {
	parts := strings.Split(text, ".")
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	var says struct {
		Type string `json:"typ"`
	}
	if len(parts) != 3 || err != nil || json.Unmarshal(header, &says) != nil {
		return false
	}
	kind := strings.TrimPrefix(strings.ToLower(says.Type), "application/")
	return slices.Contains([]string{"", "jwt", "at+jwt"}, kind)
}

// panel returns the panel as a client of the issuer, to which a person comes back at
// an address, and for what its access tokens shall be (RFC 8707).
func (i *Issuer) panel(back string) (*oauth2.Config, oauth2.AuthCodeOption, error) {
	found, err := i.discover()
	if err != nil {
		return nil, nil, err
	}
	return &oauth2.Config{ClientID: i.ClientID, ClientSecret: i.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: back, Scopes: []string{oidc.ScopeOpenID, ScopeRead, ScopeWrite},
	}, oauth2.SetAuthURLParam("resource", i.Audience), nil
}

// SignIn returns the address of the issuer's page for signing in, from where a person
// comes back with a code (authorization code with PKCE).
func (i *Issuer) SignIn(back, state, verifier string) (string, error) {
	panel, resource, err := i.panel(back)
	if err != nil {
		return "", err
	}
	return panel.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), resource), nil
}

// Redeem returns what a person may do who came back with a code; the error may be a
// [*Refusal].
func (i *Issuer) Redeem(ctx context.Context, back, code, verifier string) (Grant, error) {
	panel, resource, err := i.panel(back)
	if err != nil {
		return Grant{}, err
	}
	client := newClient(rate.NewLimiter(rate.Inf, 0)) // each code is asked for by a person
	token, err := panel.Exchange(oidc.ClientContext(ctx, client), code, oauth2.VerifierOption(verifier), resource)
	if failure, ok := errors.AsType[*oauth2.RetrieveError](err); ok && failure.ErrorCode != "" {
		return Grant{}, Refused(failure.ErrorCode)
	} else if err != nil {
		return Grant{}, failed("exchange the code", err)
	}
	return i.Check(ctx, token.AccessToken)
}

// Refused returns the refusal of a person whom the issuer refuses, in its word for why.
func Refused(why string) *Refusal {
	return &Refusal{http.StatusForbidden, "the sign-in was refused: " + todo.Cut(why, 100)}
}

// identity returns who an access token is for.
func (i *Issuer) identity(subject string, claims map[string]any) (board.Identity, error) {
	// A text with spaces, or as some issuers have it a list.
	scopes := strings.Fields(strings.Join(append(texts(claims["scope"]), texts(claims["scp"])...), " "))
	if !slices.Contains(scopes, ScopeRead) && !slices.Contains(scopes, ScopeWrite) {
		return board.Identity{}, errNoScope
	}
	name, _ := claims["preferred_username"].(string)
	email, _ := claims["email"].(string)
	user := todo.Cut(strings.Map(visible, cmp.Or(name, email, subject)), MaxTokenName)
	id := board.Identity{Principal: userKind + subject, Subject: subject, User: user, ReadOnly: !slices.Contains(scopes, ScopeWrite)}
	if name := i.TenantClaim; name != "" {
		teams := texts(claims[name])
		if len(teams) != 1 || teams[0] == "" {
			return board.Identity{}, &Refusal{http.StatusForbidden, "the token does not say one team in its claim " + name}
		}
		id.Principal = "team:" + teams[0]
	}
	if subject == "" || strings.ContainsFunc(subject+id.Principal, isControl) {
		return board.Identity{}, ErrUnknown
	}
	if len(subject) > maxSubject || len(id.Principal) > len(userKind)+maxSubject {
		return board.Identity{}, &Refusal{http.StatusForbidden, fmt.Sprintf("the token's user or team is longer than %d bytes", maxSubject)}
	}
	return id, nil
}

// texts returns a claim that is a text or a list of them; "" stands for anything else.
func texts(claim any) (out []string) {
	list, ok := claim.([]any)
	if !ok {
		list = []any{claim}
	}
	for _, v := range list {
		text, _ := v.(string)
		out = append(out, text)
	}
	return out
}

// visible replaces a control character, for [strings.Map].
func visible(r rune) rune {
	if isControl(r) {
		return '?'
	}
	return r
}
