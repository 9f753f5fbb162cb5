// Package auth checks bearer tokens: those that the server's operator made ([Tokens]), and those that an OAuth 2.1
// authorization server issued ([Issuer]).
package auth

import (
	"net/http"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

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

// Refusal says why somebody is not signed in. Other errors of this package are no fault of who signs in.
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
