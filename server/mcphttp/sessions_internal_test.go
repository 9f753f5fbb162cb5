package mcphttp

import (
	"bytes"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// Sessions that somebody ended stay ended, however many others end.
func TestEndedSessionsStayEnded(t *testing.T) {
	s := newSessions(func() []byte { return bytes.Repeat([]byte("k"), 32) })
	ann, bob := "ann", "bob"
	ended := s.begin(ann, mcp.Implementation{}, false)
	s.end(ended, ann)
	for range maxEnded + 1 {
		s.end(s.begin(bob, mcp.Implementation{}, false), bob)
	}
	if _, valid := s.check(ended, ann); valid {
		t.Error("a session that was ended is valid")
	}
}
