package setup_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/cli/clitest"
)

// diagnosis is what `doctor --json` prints.
type diagnosis struct {
	Problems, Warnings int
	Findings           []struct{ Topic, Verdict, Text, Cure string }
}

// doctor runs `doctor --json` in a home of its own, in which Cursor calls a server at
// an address.
func doctor(t *testing.T, cursorCalls string, args ...string) (d diagnosis) {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, ".cursor", "mcp.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"todo":{"url":"`+cursorCalls+`"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home) // which a process that doctor starts has, too
	call := clitest.Call{Env: map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "TODO_AUDIT_LOG": os.Getenv("TODO_AUDIT_LOG")}}
	printed, err := call.Run(t.Context(), append([]string{"doctor", "--json"}, args...)...)
	if decoding := json.Unmarshal([]byte(printed), &d); decoding != nil {
		t.Fatalf("%v: %s", decoding, printed)
	}
	if (err != nil) != (d.Problems > 0) {
		t.Errorf("problems: %d, but the error is %v", d.Problems, err)
	}
	return d
}

// expect fails the test unless there is a finding with a verdict whose text contains
// another.
func (d diagnosis) expect(t *testing.T, topic, verdict, text string) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Topic == topic && f.Verdict == verdict && strings.Contains(f.Text, text) {
			return
		}
	}
	t.Errorf("no %s about %s with %q in %+v", verdict, topic, text, d.Findings)
}

// doctor asks the server that a client calls, and knows its own panel.
func TestDoctorOfServers(t *testing.T) {
	s := clitest.Serve(t, "--store", "memory")
	d := doctor(t, s.URL+"/mcp", "--addr", strings.TrimPrefix(s.URL, "http://"))
	d.expect(t, "clients", "ok", "a todo-mcp answers there")
	d.expect(t, "panel", "ok", "served at "+s.URL)

	tokens := filepath.Join(t.TempDir(), "tokens")
	clitest.Run(t, "token", "new", "ann", "--tokens", tokens)
	signed := clitest.Serve(t, "--store", "memory", "--tokens", tokens)
	doctor(t, signed.URL+"/mcp", "--addr", "127.0.0.1:0").expect(t, "clients", "ok", "a todo-mcp answers there")

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	d = doctor(t, other.URL+"/mcp", "--addr", strings.TrimPrefix(other.URL, "http://"))
	d.expect(t, "clients", "problem", "Cursor: "+other.URL)
	// PATH does not find the program that runs this test.
	if all := fmt.Sprint(d); !strings.Contains(all, " serve`, and let it run") || strings.Contains(all, "`todo-mcp serve`") {
		t.Errorf("what to do is not said as it works here: %s", all)
	}
	d.expect(t, "panel", "warning", "by another program")
	if d.Problems != 1 || d.Warnings != 1 {
		t.Errorf("problems: %d, warnings: %d: %+v", d.Problems, d.Warnings, d.Findings)
	}
}

// doctor writes to no list, and what it starts is in no audit log.
func TestDoctorLeavesNothing(t *testing.T) {
	store, log := "sqlite:"+filepath.Join(t.TempDir(), "todo.db"), filepath.Join(t.TempDir(), "audit")
	s := clitest.Serve(t, "--store", store, "--audit-log", log)
	t.Setenv("TODO_AUDIT_LOG", log)
	doctor(t, s.URL+"/mcp", "--store", store, "--addr", "127.0.0.1:0")
	if written, err := os.ReadFile(log); err != nil || len(written) > 0 {
		t.Errorf("the audit log has %q, %v", written, err)
	}
	if _, body := clitest.Get(t, s.URL+"/api/lists"); strings.Contains(body, `"id"`) {
		t.Errorf("there is a list: %s", body)
	}
}
