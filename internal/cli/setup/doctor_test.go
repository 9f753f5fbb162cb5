package setup_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// diagnosis is what `doctor` prints.
type diagnosis string

// doctor runs `doctor` in a home of its own, in which Cursor calls a server at an address.
func doctor(t *testing.T, cursorCalls string, args ...string) diagnosis {
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
	t.Setenv("USERPROFILE", home)
	call := programtest.Call{Env: map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "TODO_AUDIT_LOG": os.Getenv("TODO_AUDIT_LOG")}}
	printed, err := call.Run(t.Context(), append([]string{"doctor"}, args...)...)
	if (err == nil) != strings.Contains(printed, "\nProblems: 0,") {
		t.Errorf("the error is %v after\n%s", err, printed)
	}
	return diagnosis(printed)
}

// expect fails the test unless a line begins with a mark and has a text.
func (d diagnosis) expect(t *testing.T, mark, text string) {
	t.Helper()
	for line := range strings.Lines(string(d)) {
		if strings.HasPrefix(line, mark+" ") && strings.Contains(line, text) {
			return
		}
	}
	t.Errorf("no %s with %q in\n%s", mark, text, d)
}

// doctor asks the server that a client calls, and knows its own panel.
func TestDoctorOfServers(t *testing.T) {
	s := programtest.Serve(t, "--store", "memory")
	d := doctor(t, s.URL+"/mcp", "--addr", strings.TrimPrefix(s.URL, "http://"))
	d.expect(t, "✓", "a todo-mcp answers there")
	d.expect(t, "✓", "served at "+s.URL)

	tokens := filepath.Join(t.TempDir(), "tokens")
	programtest.Succeeds(t, "token", "new", "ann", "--tokens", tokens)
	signed := programtest.Serve(t, "--store", "memory", "--tokens", tokens)
	doctor(t, signed.URL+"/mcp", "--addr", "127.0.0.1:0").expect(t, "✓", "a todo-mcp answers there")

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	d = doctor(t, other.URL+"/mcp", "--addr", strings.TrimPrefix(other.URL, "http://"))
	d.expect(t, "✗", "Cursor: "+other.URL)
	// PATH does not find the program that runs this test.
	if all := string(d); !strings.Contains(all, " serve`, and let it run") || strings.Contains(all, "`todo-mcp serve`") {
		t.Errorf("what to do is not said as it works here: %s", all)
	}
	d.expect(t, "!", "by another program")
	d.expect(t, "Problems:", "1, warnings: 1.")
}

// doctor writes to no list, and what it starts is in no audit log.
func TestDoctorLeavesNothing(t *testing.T) {
	store, log := "sqlite:"+filepath.Join(t.TempDir(), "todo.db"), filepath.Join(t.TempDir(), "audit")
	s := programtest.Serve(t, "--store", store, "--audit-log", log)
	t.Setenv("TODO_AUDIT_LOG", log)
	doctor(t, s.URL+"/mcp", "--store", store, "--addr", "127.0.0.1:0")
	if written, err := os.ReadFile(log); err != nil || len(written) > 0 {
		t.Errorf("the audit log has %q, %v", written, err)
	}
	if _, body := programtest.Get(t, s.URL+"/api/lists"); strings.Contains(body, `"id"`) {
		t.Errorf("there is a list: %s", body)
	}
}

// From 70 % of --max-size on doctor, /readyz and the metrics say how full the store is.
func TestStoreFills(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "todo.db")
	var items []string
	for range 40 {
		items = append(items, `{"content":"`+strings.Repeat("x", 190)+`","activeForm":"x","status":"pending"}`)
	}
	limits := []string{"--store", store, "--max-size", "1"}
	s := programtest.Serve(t, limits...)
	quiet := doctor(t, s.URL+"/mcp", append(limits, "--addr", "127.0.0.1:0")...)
	if strings.Contains(string(quiet), "% full") {
		t.Errorf("an empty store is full: %s", quiet)
	}
	for n := range 42 {
		programtest.Succeeds(t, append([]string{"TodoWrite", "--list", fmt.Sprint(n), `{"todos":[` + strings.Join(items, ",") + `]}`}, limits...)...)
	}
	doctor(t, s.URL+"/mcp", append(limits, "--addr", "127.0.0.1:0")...).expect(t, "!", "% full")
	if _, body := programtest.Get(t, s.URL+"/readyz"); !strings.HasPrefix(body, "ok\nthe store is ") {
		t.Errorf("/readyz: %q", body)
	}
	_, metrics := programtest.Get(t, s.URL+"/metrics")
	for _, name := range []string{"\ntodo_store_bytes ", "\ntodo_store_max_bytes 1e+06", "\ntodo_store_damaged_rows 0"} {
		if !strings.Contains(metrics, name) {
			t.Errorf("no %q in\n%s", name, metrics)
		}
	}
}
