package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
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
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Issuer checks access tokens in the form of RFC 9068 of one OAuth 2.1
// authorization server with OpenID Connect discovery. What it needs to know of it
// is read when it is needed first. It is safe for concurrent use.
type Issuer struct {
	config IssuerConfig
	client *http.Client

	mu       sync.Mutex
	found    *discovered
	lastTry  time.Time
	tryError error
}

// discovered is what an issuer says of itself.
type discovered struct {
	verifier *oidc.IDTokenVerifier
	endpoint oauth2.Endpoint
}

const (
	// issuerTimeout bounds each request to the issuer.
	issuerTimeout = 10 * time.Second
	// retryInterval is how long after a failure the issuer is asked again.
	retryInterval = 2 * time.Second
	// askInterval is how often the issuer is asked what it says of itself.
	askInterval = time.Hour
	// keysInterval is how often the issuer may be asked for its keys, after the
	// first few times: who sends a token with an unknown key causes it.
	keysInterval = 10 * time.Second
	// maxIssuerAnswer is the size of the largest answer of the issuer, in bytes.
	maxIssuerAnswer = 1 << 20
)

// NewIssuer returns an issuer.
func NewIssuer(c IssuerConfig) *Issuer {
	unlimited := transport{rate.NewLimiter(rate.Inf, 0)}
	return &Issuer{config: c, client: &http.Client{Timeout: issuerTimeout, Transport: unlimited}}
}

// transport is the default one with a bound for answers, which have at most
// maxIssuerAnswer bytes. It refuses with errTooOften what comes too often.
type transport struct{ limiter *rate.Limiter }

var errTooOften = errors.New("asked too often")

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !t.limiter.Allow() {
		return nil, errTooOften
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxIssuerAnswer), res.Body}
	}
	return res, err
}

// discover returns what the issuer says of itself. After a failure it does not ask
// again for retryInterval.
func (i *Issuer) discover(ctx context.Context) (*discovered, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	age := time.Since(i.lastTry)
	if age < retryInterval || i.tryError == nil && age < askInterval {
		return i.found, i.tryError
	}
	found, err := i.ask(context.WithoutCancel(ctx)) // others wait for it, too
	i.lastTry = time.Now()
	if err == nil || i.found == nil {
		i.found, i.tryError = found, err
	}
	return i.found, i.tryError
}

func (i *Issuer) ask(ctx context.Context) (*discovered, error) {
	ctx = oidc.ClientContext(ctx, i.client)
	provider, err := oidc.NewProvider(ctx, i.config.URL)
	if err != nil {
		return nil, fmt.Errorf("discover the issuer: %w", err)
	}
	var metadata struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&metadata); err != nil {
		return nil, fmt.Errorf("discover the issuer: %w", err)
	}
	return &discovered{
		verifier: oidc.NewVerifier(i.config.URL, newKeySet(ctx, metadata.Keys), &oidc.Config{
			ClientID: i.config.Audience, SupportedSigningAlgs: algorithms(), Now: i.config.Now}),
		endpoint: provider.Endpoint(),
	}, nil
}

// algorithms are those by which tokens may be signed: with "none" or a shared key
// anybody could sign (BAD-INPUT 31).
func algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}
}

// keySet is the issuer's keys. It tells whether they could be asked for.
type keySet struct{ remote *oidc.RemoteKeySet }

func newKeySet(ctx context.Context, address string) keySet {
	seldom := &http.Client{Timeout: issuerTimeout, Transport: transport{rate.NewLimiter(rate.Every(keysInterval), 5)}}
	return keySet{oidc.NewRemoteKeySet(oidc.ClientContext(ctx, seldom), address)}
}

// outage is where [keySet.VerifySignature] tells that the keys could not be read:
// the verifier does not pass the error on.
type outage struct{ err error }

type outageKey struct{}

// VerifySignature implements [oidc.KeySet].
func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.remote.VerifySignature(ctx, jwt)
	// Only a failure to read the keys has a cause.
	if err != nil && errors.Unwrap(err) != nil && !errors.Is(err, errTooOften) {
		if o, ok := ctx.Value(outageKey{}).(*outage); ok {
			o.err = err
		}
	}
	return payload, err //nolint:wrapcheck // it passes a library's error to that library
}

// check returns what an access token entitles to.
func (i *Issuer) check(ctx context.Context, text string) (grant, error) {
	found, err := i.discover(ctx)
	if err != nil {
		return grant{}, err
	}
	var failed outage
	token, err := found.verifier.Verify(context.WithValue(ctx, outageKey{}, &failed), text)
	expired := (*oidc.TokenExpiredError)(nil)
	switch {
	case failed.err != nil:
		return grant{}, fmt.Errorf("read the issuer's keys: %w", failed.err)
	case errors.As(err, &expired):
		return grant{}, errExpired
	case err != nil:
		return grant{}, errUnknown
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return grant{}, errUnknown
	}
	id, err := i.identity(token.Subject, claims)
	return grant{identity: id, expires: token.Expiry}, err
}

// identity returns who an access token is for.
func (i *Issuer) identity(subject string, claims map[string]any) (todo.Identity, error) {
	scopes := scopesOf(claims)
	if !slices.Contains(scopes, ScopeRead) && !slices.Contains(scopes, ScopeWrite) {
		return todo.Identity{}, errNoScope
	}
	id := todo.Identity{Principal: "user:" + subject, Subject: subject, User: subject, ReadOnly: !slices.Contains(scopes, ScopeWrite)}
	for _, claim := range []string{"preferred_username", "email"} {
		if name, _ := claims[claim].(string); name != "" {
			id.User = name
			break
		}
	}
	id.User = todo.Cut(strings.Map(visible, id.User), MaxTokenName)
	if name := i.config.TenantClaim; name != "" {
		teams := texts(claims[name])
		if len(teams) != 1 || teams[0] == "" {
			return todo.Identity{}, &edge.Error{Status: http.StatusForbidden, Text: "the token does not say one team in its claim " + name}
		}
		id.Principal = "team:" + teams[0]
	}
	if subject == "" || len(subject) > todo.MaxLabel || len(id.Principal) > todo.MaxLabel {
		return todo.Identity{}, errUnknown
	}
	return id, nil
}

// scopesOf returns the scopes in a token's claims: a text with spaces, or as some
// issuers have it a list.
func scopesOf(claims map[string]any) (scopes []string) {
	for _, claim := range []string{"scope", "scp"} {
		if text, ok := claims[claim].(string); ok {
			scopes = append(scopes, strings.Fields(text)...)
		} else {
			scopes = append(scopes, texts(claims[claim])...)
		}
	}
	return scopes
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
