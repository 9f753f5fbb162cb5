package mcphttp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/server/card"
)

// sessions makes and checks MCP session ids. An id contains the claims of its
// session and is signed, so that it stays valid after a restart and on every
// replica with the same key, needs no memory and cannot be forged.
type sessions struct {
	key func() []byte

	mu    sync.Mutex
	ended map[string]bool // ids that the client ended; kept in this process only
}

// sessionClaims is the content of a session id.
type sessionClaims struct {
	Nonce   []byte `json:"n"`
	Client  string `json:"c,omitempty"`
	Version string `json:"v,omitempty"`
	Apps    bool   `json:"a,omitempty"` // the client shows MCP Apps
}

// maxEnded is how many ended sessions are remembered. When it is reached, all
// are forgotten, and their ids are valid again.
const maxEnded = 10_000

var errForged = errors.New("unknown session")

func newSessions(key func() []byte) *sessions {
	return &sessions{key: sync.OnceValue(key), ended: make(map[string]bool)}
}

// begin returns the id of a new session.
func (s *sessions) begin(client mcp.Implementation, apps bool) string {
	claims := sessionClaims{Nonce: make([]byte, 16), Client: todo.Cut(client.Name, 64), Version: todo.Cut(client.Version, 32), Apps: apps}
	rand.Read(claims.Nonce) //nolint:errcheck // never fails
	data, err := json.Marshal(claims)
	if err != nil {
		panic(err) // strings and bytes always marshal
	}
	payload := base64.RawURLEncoding.EncodeToString(data)
	return payload + "." + s.sign(payload)
}

// check reports whether the client ended a session. It returns errForged for an
// id that was not signed with this key.
func (s *sessions) check(id string) (ended bool, err error) {
	payload, mac, ok := strings.Cut(id, ".")
	if !ok || len(id) > 1024 || !hmac.Equal([]byte(mac), []byte(s.sign(payload))) {
		return false, errForged
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[id], nil
}

// end records that the client ended a session.
func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ended) >= maxEnded {
		clear(s.ended)
	}
	s.ended[id] = true
}

func (s *sessions) sign(payload string) string {
	mac := hmac.New(sha256.New, s.key())
	mac.Write([]byte("todo-mcp session\x00" + payload))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:24])
}

// claimsOf returns the claims of a session id without checking the signature;
// the zero claims when the id has another form.
func claimsOf(id string) (claims sessionClaims) {
	payload, _, _ := strings.Cut(id, ".")
	data, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || json.Unmarshal(data, &claims) != nil {
		return sessionClaims{}
	}
	return claims
}

// sessionIDs implements mcpserver.SessionIdManager for one request. Terminate
// does nothing, because [Handler] ends sessions itself.
type sessionIDs struct {
	*sessions
	client mcp.Implementation
	apps   bool
}

func (s sessionIDs) Generate() string                 { return s.begin(s.client, s.apps) }
func (s sessionIDs) Validate(id string) (bool, error) { return s.check(id) }
func (s sessionIDs) Terminate(string) (bool, error)   { return false, nil }

// ResolveSessionIdManager implements mcpserver.SessionIdManagerResolver. r is
// nil when there is no request.
//
//nolint:staticcheck // ST1003: the interface has this name
func (s *sessions) ResolveSessionIdManager(r *http.Request) mcpserver.SessionIdManager {
	ids := sessionIDs{sessions: s}
	if r != nil {
		if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
			ids.client, ids.apps = x.message.Client, card.ShownBy(x.message.Extensions)
		}
	}
	return ids
}
