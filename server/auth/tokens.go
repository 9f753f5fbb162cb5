// Package auth checks bearer tokens: those that the server's operator made ([Tokens]), and those that an OAuth 2.1
// authorization server issued ([Issuer]).
package auth

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/todo-mcp/todo-mcp/internal/atomicfile"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Token is one line of the tokens' file. The text of the token, todo_ID_SECRET, is not stored.
type Token struct {
	ID   string `json:"id"`
	Name string `json:"name"` // what it is for
	// Principal owns the lists that the token opens. Empty means the principal of commands on the server's machine.
	Principal string `json:"principal"`
	// User is the person who uses the token, as in the issuer's claim sub, so that one person's hooks and agents are
	// one user. Empty means the user in Principal ("user:…"), else Name.
	User   string   `json:"user,omitempty"`
	Scopes []string `json:"scopes"` // [ScopeRead] or [ScopeWrite] or both
	// Hash is the SHA-256 of the text, which is random: a slow hash would not make it safer.
	Hash    []byte    `json:"sha256"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
}

// tokenPrefix begins every token, so that people and secret scanners recognise it.
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

// Tokens returns the bearer tokens that are valid now. It is called for each check, so that a new token is valid and a
// revoked one refused at once; after an error no token is valid. It must be safe for concurrent use.
type Tokens func() ([]Token, error)

// NewTokens returns the tokens of a file, which need not exist yet, and which other processes may change at any time.
func NewTokens(path string) Tokens { return func() ([]Token, error) { return ReadTokens(path) } }

// OneToken makes a token that is valid until the process ends, and returns its text.
func OneToken(token Token) (t Tokens, text string) {
	text = token.generate()
	return func() ([]Token, error) { return []Token{token}, nil }, text
}

// generate sets the id, the hash and the time of a token and returns its text.
func (t *Token) generate() string {
	t.ID = strings.ToLower(rand.Text()[:8])
	text := tokenPrefix + t.ID + "_" + strings.ToLower(rand.Text())
	sum := sha256.Sum256([]byte(text))
	t.Hash, t.Created = sum[:], time.Now().UTC().Truncate(time.Second)
	return text
}

// Check returns what a token's text grants; the error may be a [*Refusal]. Its duration does not depend on the
// secret.
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

// Granted returns what the token with an id grants, with the errors of Check.
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

// ReadTokens reads a tokens' file; a missing one has no tokens. An error names the invalid line.
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

// change edits a tokens' file under its lock. A reader sees the old file or the new one.
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
		path = target // replace its target, not the link
	}
	var b bytes.Buffer
	for _, token := range tokens {
		if err := json.NewEncoder(&b).Encode(token); err != nil {
			return fmt.Errorf("encode token: %w", err)
		}
	}
	if err := atomicfile.Write(path, b.Bytes(), nil); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	return nil
}

// The scopes of a token. Who may write may also read.
const (
	ScopeRead  = "todos:read"
	ScopeWrite = "todos:write"
)

// Grant is what a token entitles to.
type Grant struct {
	Identity board.Identity
	Expires  time.Time // zero means never
	Token    string    // the id of a token of [Tokens]; empty for an issuer's
}

// Refusal says why a sign-in is refused. Other errors of this package are not the fault of the one who signs in.
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
