package run_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }

// BAD-INPUT 15: A header of 1 MB; settings that expose the server without sign-in or TLS, trust
// every proxy, or name an issuer over http → 431; `serve` does not start
func TestServeHeaderLimit(t *testing.T) {
	s := programtest.Serve(t, "--store", "memory")
	if status, _ := programtest.Get(t, s.URL+"/livez", "X-Big", strings.Repeat("x", 1<<20)); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("15: %d", status)
	}
}

// BAD-INPUT 67: The file of the session key is a folder, a dangling link, damaged or unreadable →
// A warning, and a key of this process alone; only a missing file is made
func TestServeWithoutASessionKeyFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "session.key"), 0o700); err != nil {
		t.Fatal(err)
	}
	log := make(programtest.Lines, 100)
	s := programtest.Call{Log: log}.Serve(t, "--store", "sqlite:"+filepath.Join(dir, "todo.db"))
	defer time.AfterFunc(10*time.Second, s.Stop).Stop() // an initialize that hangs fails then
	id := servertest.Session(t, s.URL+"/mcp", "tester")
	if status, _, answer := servertest.Post(t, s.URL+"/mcp", servertest.Call(1, "create_todos", `{"items":["A"]}`), "Mcp-Session-Id", id); status != http.StatusOK || !strings.Contains(answer, "#1 A") {
		t.Errorf("67: %d %s", status, answer)
	}
	if warning := log.Await("session.key"); !strings.Contains(warning, "session.key") {
		t.Errorf("67: the warning does not name the file: %s", warning)
	}
}

// BAD-INPUT 58: a server that is stopped closes its streams and ends without an
// error, also while a client built on another SDK has a subscription. It leaves
// a session key file, and the next start continues the list.
func TestServeStopsAndResumes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	connect := func() (*programtest.Server, *mcp.ClientSession) {
		t.Helper()
		s := programtest.Serve(t, "--store", "sqlite:"+path)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp?list=release"}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		return s, session
	}
	create := func(session *mcp.ClientSession, item string) string {
		t.Helper()
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "create_todos", Arguments: map[string]any{"items": []string{item}}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	first, session := connect()
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "todo://list"}); err != nil {
		t.Fatal(err)
	}
	create(session, "A")
	began := time.Now()
	first.End(t)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("58: stopped after %s", took)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "session.key")); err != nil {
		t.Error(err)
	}
	second, session := connect()
	if text := create(session, "B"); !strings.Contains(text, "#1 A\n  [ ] #2 B") {
		t.Errorf("the list does not continue after the restart: %s", text)
	}
	second.End(t)
}

// The answers of a server have the address of its own panel, for the card in the
// chat; its instructions, which a model reads, do not.
func TestServeTellsCardsItsPanel(t *testing.T) {
	s := programtest.Serve(t, "--store", "memory")
	_, header, hello := servertest.Post(t, s.URL+"/mcp", servertest.Initialize(1, "tester"))
	if _, instructions, found := strings.Cut(hello, `"instructions":`); !found || strings.Contains(instructions, s.URL) {
		t.Errorf("the model reads the address: %s", hello)
	}
	_, _, body := servertest.Post(t, s.URL+"/mcp", servertest.Call(2, "TodoWrite", servertest.Todos("pending", "A")), "Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	if !strings.Contains(body, `"panel":"`+s.URL+`/lists/`) {
		t.Errorf("no panel in %s", body)
	}
}

// Without --admin-addr metrics are on the main address, with it on that one alone.
func TestServeMetrics(t *testing.T) {
	plain := programtest.Serve(t, "--store", "memory")
	if status, body := programtest.Get(t, plain.URL+"/metrics"); status != http.StatusOK || !strings.Contains(body, `todo_build_info{version="v0"} 1`) {
		t.Errorf("%d %s", status, body)
	}
	log := make(programtest.Lines, 100)
	s := programtest.Call{Log: log}.Serve(t, "--store", "memory", "--admin-addr", "127.0.0.1:0")
	admin := regexp.MustCompile(`http://[0-9.:]+`).FindString(log.Await("for operators"))
	if status, _ := programtest.Get(t, s.URL+"/metrics"); status != http.StatusNotFound {
		t.Errorf("metrics on the main address: %d", status)
	}
	servertest.Writer(t, s.URL, "tester")(servertest.Todos("pending", "A"))
	status, body := programtest.Get(t, admin+"/metrics")
	for _, want := range []string{"todo_streams_open 0", "todo_watchers 0", `gen_ai_tool_name="TodoWrite"`, `operation="update",outcome="applied"`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d without %s:\n%s", status, want, body)
		}
	}
	if status, body := programtest.Get(t, admin+"/readyz"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	s.End(t)
	if res, err := http.Get(admin + "/livez"); err == nil {
		res.Body.Close()
		t.Error("the address for operators outlives the server")
	}
}

func awaitStatus(t *testing.T, url string, want int) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); ; {
		status, body := programtest.Get(t, url)
		if status == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s answers %d %s, want %d", url, status, body, want)
		}
	}
}
