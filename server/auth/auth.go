// Package auth checks bearer tokens: those that the server's operator made ([Tokens]), and those that an OAuth 2.1
// authorization server issued ([Issuer]).
package auth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/gofrs/flock"
	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Token is one line of the tokens' file, which does not have the token's text, todo_ID_SECRET.
type Token struct {
	ID   string `json:"id"`
	Name string `json:"name"` // what the token is for
	// Principal owns the lists that the token opens. Empty means the principal of commands on the server's machine.
	Principal string `json:"principal"`
	// User is the person who uses the token, as in the issuer's claim sub, so that one person's hooks and agents are
	// one user. Empty means the user in Principal ("user:…"), else Name.
	User   string   `json:"user,omitempty"`
	Scopes []string `json:"scopes"` // [ScopeRead] or [ScopeWrite] or both
	// Hash is the SHA-256 of the text. As the text is random, a slow hash would not be safer.
	Hash    []byte    `json:"sha256"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
}

// tokenPrefix begins the text of every token, so that people and secret scanners recognise the text.
const tokenPrefix = "todo_"

// MaxTokenName is the length of the longest name in bytes.
const MaxTokenName = 64

func (t Token) validate() error {
	switch {
	case t.ID == "" || len(t.Hash) != sha256.Size:
		return errors.New("it has no id or no sha256")
	case t.Name == "" || len(t.Name) > MaxTokenName || strings.ContainsFunc(t.Name, isControl):
		return fmt.Errorf("its name must have 1 to %d bytes on one line", MaxTokenName)
	case len(t.Principal) > todo.MaxLabel, len(t.User) > todo.MaxLabel:
		return fmt.Errorf("its principal or user is longer than %d bytes", todo.MaxLabel)
	case strings.ContainsFunc(t.Principal+t.User, isControl):
		return errors.New("its principal or user has a control character")
	case len(t.Scopes) == 0 || slices.ContainsFunc(t.Scopes, func(s string) bool { return s != ScopeRead && s != ScopeWrite }):
		return fmt.Errorf("its scopes must be %s or %s or both", ScopeRead, ScopeWrite)
	}
	return nil
}

// userKind begins the principal of one person, not of a team.
const userKind = "user:"

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// grant returns what the token grants, or errExpired.
func (t Token) grant(now time.Time) (Grant, error) {
	if !t.Expires.IsZero() && !now.Before(t.Expires) {
		return Grant{}, errExpired
	}
	person, _ := strings.CutPrefix(t.Principal, userKind)
	if person == t.Principal {
		person = t.Name
	}
	id := board.Identity{Principal: t.Principal, Subject: cmp.Or(t.User, person), User: t.Name, ReadOnly: !slices.Contains(t.Scopes, ScopeWrite)}
	return Grant{Identity: id, Expires: t.Expires, Token: t.ID}, nil
}

// Tokens returns the bearer tokens that exist now. Each check calls it, so that a new token is valid and a revoked one
// refused at once; if it fails, no token is valid. It must be safe for concurrent use.
type Tokens func() ([]Token, error)

// NewTokens returns the tokens of a file. The file need not exist yet, and other processes may change it at any time.
func NewTokens(path string) Tokens { return func() ([]Token, error) { return ReadTokens(path) } }

// OneToken returns Tokens with one new token, valid until the process ends, and the token's text.
func OneToken(token Token) (t Tokens, text string) {
	text = token.generate()
	return func() ([]Token, error) { return []Token{token}, nil }, text
}

// generate sets a token's id, hash and time of creation, and returns its text.
func (t *Token) generate() string {
	t.ID = strings.ToLower(rand.Text()[:8])
	text := tokenPrefix + t.ID + "_" + strings.ToLower(rand.Text())
	sum := sha256.Sum256([]byte(text))
	t.Hash, t.Created = sum[:], time.Now().UTC().Truncate(time.Second)
	return text
}

// Check returns what a token's text grants; the error may be a [*Refusal]. The time that a check takes does not depend
// on the secret.
func (t Tokens) Check(text string, now time.Time) (Grant, error) {
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok {
		return Grant{}, ErrUnknown
	}
	id, _, _ := strings.Cut(rest, "_")
	sum := sha256.Sum256([]byte(text))
	token, err := t.find(id)
	if err == nil && subtle.ConstantTimeCompare(sum[:], token.Hash) != 1 {
		err = ErrUnknown
	}
	if err != nil {
		return Grant{}, err
	}
	return token.grant(now)
}

// Granted returns the grant of the token with an id; its errors are those of Check.
func (t Tokens) Granted(id string, now time.Time) (Grant, error) {
	token, err := t.find(id)
	if err != nil {
		return Grant{}, err
	}
	return token.grant(now)
}

func (t Tokens) find(id string) (Token, error) {
	tokens, err := t()
	if err != nil {
		return Token{}, err
	}
	if n := slices.IndexFunc(tokens, func(token Token) bool { return token.ID == id }); n >= 0 {
		return tokens[n], nil
	}
	return Token{}, ErrUnknown
}

// ReadTokens reads a tokens' file; a missing file has no tokens. An error names the invalid line.
func ReadTokens(path string) (tokens []Token, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var token Token
		if err = json.Unmarshal(line, &token); err == nil {
			err = token.validate()
		}
		if err != nil {
			return nil, fmt.Errorf("read tokens: %s line %d: %w", path, n+1, err)
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

// NewToken adds a token to a tokens' file, creates the file if necessary, and returns the token's text. Servers
// accept it at once. It returns an error for an invalid name, principal or scope, and for a name that is taken.
func NewToken(path string, token Token) (text string, err error) {
	text = token.generate()
	if err := token.validate(); err != nil {
		return "", fmt.Errorf("the token is not valid: %w", err)
	}
	return text, change(path, func(tokens []Token) ([]Token, error) {
		if slices.ContainsFunc(tokens, func(t Token) bool { return t.Name == token.Name }) {
			return nil, fmt.Errorf("there is a token named %q already", token.Name)
		}
		return append(tokens, token), nil
	})
}

// RevokeToken removes the token with a name or id from a tokens' file. Servers refuse it at once.
func RevokeToken(path, name string) error {
	return change(path, func(tokens []Token) ([]Token, error) {
		left := slices.DeleteFunc(slices.Clone(tokens), func(t Token) bool { return t.Name == name || t.ID == name })
		if len(left) == len(tokens) {
			return nil, fmt.Errorf("there is no token %q", name)
		}
		return left, nil
	})
}

// change edits a tokens' file under a lock. A reader sees the old content or the new, never a part.
func change(path string, edit func([]Token) ([]Token, error)) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make folder for tokens: %w", err)
	}
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock tokens: %w", err)
	}
	defer lock.Close()
	tokens, err := ReadTokens(path)
	if err != nil {
		return err
	}
	if tokens, err = edit(tokens); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // replace the link's target, not the link
	}
	var b bytes.Buffer
	for _, token := range tokens {
		_ = json.NewEncoder(&b).Encode(token) // cannot fail: no token is valid beyond the year 9999
	}
	if err := atomicfile.Write(path, b.Bytes(), nil); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	return nil
}

// The scopes of a token. [ScopeWrite] includes reading.
const (
	ScopeRead  = "todos:read"
	ScopeWrite = "todos:write"
)

// Grant is the access that a token gives.
type Grant struct {
	Identity board.Identity
	Expires  time.Time // zero means never
	Token    string    // the id of a token of [Tokens]; empty for an issuer's
}

// Refusal says why a token or a sign-in is refused. Other errors of this package are not the sender's fault.
type Refusal struct {
	Status int // 401, or 403 for a known user without access
	Text   string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Text }

// ErrUnknown refuses a text that is no token of this server.
var ErrUnknown = &Refusal{http.StatusUnauthorized, "the token is not valid here"}

var (
	errExpired = &Refusal{http.StatusUnauthorized, "the token has expired"}
	errNoScope = &Refusal{http.StatusForbidden, "the token has none of the scopes " + ScopeRead + " and " + ScopeWrite}
)

// Issuer checks access tokens (RFC 9068) of one OAuth 2.1 authorization server with OpenID Connect discovery, whose
// metadata is read on first use. It is safe for concurrent use; its exported fields must not be changed. URL and
// Audience are required.
type Issuer struct {
	URL      string // of the issuer, as in its metadata
	Audience string // the audience that access tokens must have
	// TenantClaim names a claim with the team that the token's user shares lists with; empty gives each user lists of
	// their own.
	TenantClaim string
	// ClientID and ClientSecret identify the panel to the issuer. Without an id nobody can sign in to the panel with
	// the issuer; the secret may be empty.
	ClientID, ClientSecret string

	mu       sync.Mutex
	found    *oidc.Provider // the issuer's metadata; nil until the issuer answered
	lastTry  time.Time
	tryError error
}

const (
	issuerTimeout = 10 * time.Second // of each request to the issuer
	retryInterval = 2 * time.Second  // between failed requests for the metadata
	// Anybody can cause a request for keys, with a token that names an unknown key. So the issuer gets at most
	// firstRequests requests for metadata and keys at once, and then one each keysInterval.
	keysInterval    = 10 * time.Second
	firstRequests   = 1 + 5
	maxIssuerAnswer = 1 << 20 // bytes
	maxSubject      = 255     // bytes of a user or team, kept in a cookie: OpenID Connect's limit of a subject
	maxQuoted       = 300     // bytes of a logged error, which may quote the issuer's answer
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

// failed returns an error with the text of cause cut short, since cause may quote the issuer's answer.
func failed(what string, cause error) error {
	return fmt.Errorf("%s: %s", what, todo.Cut(cause.Error(), maxQuoted))
}

// transport is the default transport with two limits: reading an answer fails past maxIssuerAnswer bytes, and a request
// that the limiter does not allow fails with errTooOften.
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
		// Other callers wait for this answer too, so no caller's context may cancel the request.
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

// keysUnread begins the text of go-oidc's error for a token that it could not verify because it could not read the
// issuer's keys. The rest of the text may quote the token, or contain errTooOften, which is no outage.
const keysUnread = "failed to verify signature: fetching keys"

// isAccessToken reports whether a text is a JWT whose header typ does not name another kind, such as "logout+jwt". RFC
// 9068 requires "at+jwt", but some issuers send "JWT" or nothing. ID tokens may have these types too, and are refused
// later: they have none of our scopes.
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

// panel returns the panel's OAuth client, with back as the address to which the issuer sends people, and the parameter
// that names the resource of access tokens (RFC 8707).
func (i *Issuer) panel(back string) (*oauth2.Config, oauth2.AuthCodeOption, error) {
	found, err := i.discover()
	if err != nil {
		return nil, nil, err
	}
	return &oauth2.Config{ClientID: i.ClientID, ClientSecret: i.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: back, Scopes: []string{oidc.ScopeOpenID, ScopeRead, ScopeWrite},
	}, oauth2.SetAuthURLParam("resource", i.Audience), nil
}

// SignIn returns the address of the issuer's page for signing in. That page sends the person, with a code, to the
// address in back (authorization code with PKCE).
func (i *Issuer) SignIn(back, state, verifier string) (string, error) {
	panel, resource, err := i.panel(back)
	if err != nil {
		return "", err
	}
	return panel.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), resource), nil
}

// Redeem returns the grant of a person whom the issuer sent back with a code; the error may be a [*Refusal].
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

// Refused returns the refusal of a person whom the issuer refused with the error code in why.
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

// texts returns the texts of a claim, which may be one text or a list. A value of another type becomes "".
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
