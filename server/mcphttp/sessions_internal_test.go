package mcphttp

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/todo"
)

// A session id carries its client's name through any bytes, fits into a header and
// its own bound; no other text is taken for one, nor one of another key.
func FuzzSession(f *testing.F) {
	f.Add("claude-code", "2.1", true, "", uint16(0))
	f.Add(strings.Repeat("\u2028", 70), "\x00\xff", false, "e30.x", uint16(7))
	f.Add("", "", false, "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8", uint16(99))
	f.Add("\u009b<\"", "é", true, strings.Repeat("A", 2000)+".", uint16(60000))
	f.Fuzz(func(t *testing.T, name, version string, apps bool, forged string, at uint16) {
		ours := newSessions(func() []byte { return bytes.Repeat([]byte("k"), 32) })
		theirs := newSessions(func() []byte { return bytes.Repeat([]byte("K"), 32) })
		id := ours.begin("", mcp.Implementation{Name: name, Version: version}, apps)
		claims, valid := ours.check(id, "")
		if !valid {
			t.Fatalf("its own id %q is not valid", id)
		}
		if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) || len(id) > 1024 {
			t.Fatalf("id %q", id)
		}
		if want := strings.ToValidUTF8(todo.Cut(name, 64), "\ufffd"); utf8.ValidString(name) && claims.Client != want || claims.Apps != apps {
			t.Fatalf("%q becomes %+v", name, claims)
		}
		changed := []byte(id)
		changed[int(at)%len(changed)] ^= byte(at>>8) | 1
		for _, other := range []string{forged, string(changed), id + ".", id[:int(at)%len(id)], forged + id} {
			if _, valid := ours.check(other, ""); valid && other != id {
				t.Fatalf("%q is taken for %q", other, id)
			}
		}
		if _, valid := theirs.check(id, ""); valid {
			t.Fatal("another key's id is taken")
		}
		ours.end(id, "")
		if _, valid := ours.check(id, ""); valid {
			t.Fatal("valid after its end")
		}
	})
}

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
