package mcphttp

import (
	"crypto/rand"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/signed"
)

// sessions makes and checks MCP session ids. An id contains the claims of its
// session and is signed, so that it stays valid after a restart and on every
// replica with the same key, needs no memory and cannot be forged. It is signed for its
// owner, who is known by principal and subject.
type sessions struct {
	key signed.Key

	mu    sync.Mutex
	ended map[string]map[string]bool // ids that clients ended, by owner; kept in this process only
}

// sessionClaims is the content of a session id.
type sessionClaims struct {
	Nonce   []byte `json:"n"`
	Client  string `json:"c,omitempty"`
	Version string `json:"v,omitempty"`
	Apps    bool   `json:"a,omitempty"` // the client shows MCP Apps
}

// maxEnded is how many ended sessions of one owner are remembered. When it is
// reached, these are forgotten, and their ids are valid again.
const maxEnded = 10_000

// purpose is what a session id is signed for, with its owner behind it.
const purpose = "session of "

func newSessions(key func() []byte) *sessions {
	return &sessions{key: signed.NewKey(key), ended: make(map[string]map[string]bool)}
}

// begin returns the id of a new session.
func (s *sessions) begin(owner string, client mcp.Implementation, apps bool) string {
	claims := sessionClaims{Nonce: make([]byte, 16), Client: todo.Cut(client.Name, 64), Version: todo.Cut(client.Version, 32), Apps: apps}
	rand.Read(claims.Nonce) //nolint:errcheck // never fails
	return s.key.Sign(purpose+owner, claims)
}

// check returns the claims of a session's id. They are not valid if the id was not signed
// with this key, if somebody else began the session, or if its client ended it.
func (s *sessions) check(id, owner string) (claims sessionClaims, valid bool) {
	if !s.key.Open(purpose+owner, id, &claims) {
		return claims, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return claims, !s.ended[owner][id]
}

// end records that the client ended a session of an owner.
func (s *sessions) end(id, owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ended := s.ended[owner]; ended == nil || len(ended) >= maxEnded {
		s.ended[owner] = make(map[string]bool)
	}
	s.ended[owner][id] = true
}
