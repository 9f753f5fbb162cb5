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

// Issuer checks access tokens (RFC 9068) of one OAuth 2.1 authorization server with OpenID Connect discovery, whose
// metadata is read on first use. It is safe for concurrent use; its exported fields must not be changed. URL and
// Audience are required.
type Issuer struct {
	URL      string // of the issuer, as in its metadata
	Audience string // what access tokens must be for
	// TenantClaim names a claim with the team that the token's user shares lists with; empty gives each user lists of
	// their own.
	TenantClaim string
	// ClientID and ClientSecret are the panel's at the issuer. Without an id nobody can sign in to the panel with the
	// issuer; the secret may be empty.
	ClientID, ClientSecret string

	mu       sync.Mutex
	found    *oidc.Provider // the issuer's metadata; nil until it answered
	lastTry  time.Time
	tryError error
}

const (
	issuerTimeout = 10 * time.Second // of each request to the issuer
	retryInterval = 2 * time.Second  // between failed requests for the metadata
	// Anybody can cause a request for keys, by a token with an unknown key. So the issuer gets at most firstRequests
	// requests for metadata and keys at once, and then one each keysInterval.
	keysInterval    = 10 * time.Second
	firstRequests   = 1 + 5
	maxIssuerAnswer = 1 << 20 // bytes
	maxSubject      = 255     // bytes of a user or team, which a cookie has; OpenID Connect's limit of a subject
	maxQuoted       = 300     // bytes that are logged of an error, which may quote an answer
)

func newClient(l *rate.Limiter) *http.Client {
	return &http.Client{Timeout: issuerTimeout, Transport: transport{l}, CheckRedirect: sameOrigin}
}

// sameOrigin refuses redirects to another host or scheme: trusted keys come only from addresses that the operator or
// the issuer's metadata names (BAD-INPUT 31).
func sameOrigin(to *http.Request, via []*http.Request) error {
	if first := via[0].URL; to.URL.Host != first.Host || to.URL.Scheme != first.Scheme || len(via) > 5 {
		return fmt.Errorf("%s leads elsewhere, to %s", first, to.URL)
	}
	return nil
}

// failed returns an error with the text of cause, cut: it may quote the issuer's answer.
func failed(what string, cause error) error {
	return fmt.Errorf("%s: %s", what, todo.Cut(cause.Error(), maxQuoted))
}

// transport is the default transport with two limits: an answer has at most maxIssuerAnswer bytes, and a request that
// the limiter does not allow fails with errTooOften.
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

// discover returns the issuer's metadata. After a failure it does not ask again for retryInterval.
func (i *Issuer) discover() (*oidc.Provider, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.found == nil && time.Since(i.lastTry) >= retryInterval {
		// Other callers wait for this request, so it must not be cancelled with the request of its caller.
		seldom := newClient(rate.NewLimiter(rate.Every(keysInterval), firstRequests))
		i.found, i.tryError = oidc.NewProvider(oidc.ClientContext(context.Background(), seldom), i.URL)
		i.lastTry = time.Now()
	}
	if i.tryError != nil {
		return nil, failed("discover the issuer", i.tryError)
	}
	return i.found, nil
}

// Check returns what an access token grants; the error may be a [*Refusal].
func (i *Issuer) Check(ctx context.Context, text string) (Grant, error) {
	if !isAccessToken(text) {
		return Grant{}, ErrUnknown
	}
	found, err := i.discover()
	if err != nil {
		return Grant{}, err
	}
	// The algorithm "none" or a shared key would let anybody sign (BAD-INPUT 31).
	config := &oidc.Config{ClientID: i.Audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.RS384, oidc.RS512,
		oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}}
	token, err := found.Verifier(config).Verify(ctx, text)
	_, isExpired := errors.AsType[*oidc.TokenExpiredError](err)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // the caller has disconnected
		return Grant{}, ctx.Err()
	case isExpired:
		return Grant{}, errExpired
	case err != nil && strings.HasPrefix(err.Error(), keysUnread) && !strings.Contains(err.Error(), errTooOften.Error()):
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

// keysUnread begins the text of an error of go-oidc if a token was not verified because the issuer's keys could not be
// read. The rest may quote the token, or have errTooOften, which is no outage.
const keysUnread = "failed to verify signature: fetching keys"

// isAccessToken reports whether a text is a JWT whose header does not say that it is something else, such as
// "logout+jwt". RFC 9068 requires "at+jwt", but some issuers send "JWT" or nothing. ID tokens may have these types too,
// and are refused later: they have none of our scopes.
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

// panel returns the panel's OAuth client, which has the issuer send people to the address in back, and the parameter
// that names the resource of its access tokens (RFC 8707).
func (i *Issuer) panel(back string) (*oauth2.Config, oauth2.AuthCodeOption, error) {
	found, err := i.discover()
	if err != nil {
		return nil, nil, err
	}
	return &oauth2.Config{ClientID: i.ClientID, ClientSecret: i.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: back, Scopes: []string{oidc.ScopeOpenID, ScopeRead, ScopeWrite},
	}, oauth2.SetAuthURLParam("resource", i.Audience), nil
}

// SignIn returns the address of the issuer's page for signing in. That page sends the person with a code to the
// address in back (authorization code with PKCE).
func (i *Issuer) SignIn(back, state, verifier string) (string, error) {
	panel, resource, err := i.panel(back)
	if err != nil {
		return "", err
	}
	return panel.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), resource), nil
}

// Redeem returns what a person who returned with a code is granted; the error may be a [*Refusal].
func (i *Issuer) Redeem(ctx context.Context, back, code, verifier string) (Grant, error) {
	panel, resource, err := i.panel(back)
	if err != nil {
		return Grant{}, err
	}
	client := newClient(rate.NewLimiter(rate.Inf, 0)) // no limit, since each code comes from a person
	token, err := panel.Exchange(oidc.ClientContext(ctx, client), code, oauth2.VerifierOption(verifier), resource)
	if failure, ok := errors.AsType[*oauth2.RetrieveError](err); ok && failure.ErrorCode != "" {
		return Grant{}, Refused(failure.ErrorCode)
	} else if err != nil {
		return Grant{}, failed("exchange the code", err)
	}
	return i.Check(ctx, token.AccessToken)
}

// Refused returns the refusal of a person whom the issuer refused; why is the issuer's error code.
func Refused(why string) *Refusal {
	return &Refusal{http.StatusForbidden, "the sign-in was refused: " + todo.Cut(why, 100)}
}

func (i *Issuer) identity(subject string, claims map[string]any) (board.Identity, error) {
	// Scopes are separated by spaces; some issuers send a list.
	scopes := strings.Fields(strings.Join(append(texts(claims["scope"]), texts(claims["scp"])...), " "))
	if !slices.Contains(scopes, ScopeRead) && !slices.Contains(scopes, ScopeWrite) {
		return board.Identity{}, errNoScope
	}
	name, _ := claims["preferred_username"].(string)
	email, _ := claims["email"].(string)
	visible := func(text string) string { return strings.Join(strings.FieldsFunc(text, isControl), "?") }
	user := todo.Cut(cmp.Or(visible(name), visible(email), subject), MaxTokenName)
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

// texts returns the texts of a claim that is one or a list; "" stands for values of other types.
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
