package run_test

import (
	"crypto/tls"
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/cli"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func TestMain(m *testing.M) { programtest.Main(m, cli.Run, cli.ExitCode) }

// BAD-INPUT 67: The session key in a SQLite file is damaged, or cannot be kept → A warning, and a
// key of this process alone
func TestServeWithoutASessionKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	first := programtest.Serve(t, "--store", "sqlite:"+path)
	servertest.NewSession(t, first.URL+"/mcp", "tester")
	first.End(t)
	db := checktest.Must(sql.Open("sqlite", path))(t)
	defer db.Close()
	checktest.Must(db.Exec(`UPDATE store SET session_key = x'00'`))(t)
	log := make(programtest.Lines, 100)
	s := programtest.Call{Log: log}.Serve(t, "--store", "sqlite:"+path)
	id := servertest.NewSession(t, s.URL+"/mcp", "tester")
	servertest.Is(t, "67", http.StatusOK, "#1 A")(servertest.Post(t, s.URL+"/mcp", servertest.Call(1, "create_todos", `{"items":["A"]}`), "Mcp-Session-Id", id))
	checktest.Has(t, "67: the warning does not name the key", log.Await("session key"), "1 bytes")
}

// BAD-INPUT 58: a server that is stopped closes its streams and ends without an error, also while a client built on
// another SDK has a subscription. After a restart the list continues.
func TestServeStopsAndResumes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	connect := func() (*programtest.Server, *mcp.ClientSession) {
		t.Helper()
		s := programtest.Serve(t, "--store", "sqlite:"+path)
		session := checktest.Must(mcp.NewClient(&mcp.Implementation{Name: "tester"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: s.URL + "/mcp?list=release"}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}))(t)
		return s, session
	}
	create := func(session *mcp.ClientSession, item string) string {
		t.Helper()
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "create_todos", Arguments: map[string]any{"items": []string{item}}})
		checktest.Check(t, err)
		return res.Content[0].(*mcp.TextContent).Text
	}
	first, session := connect()
	checktest.Check(t, session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "todo://list"}))
	create(session, "A")
	first.End(t)
	second, session := connect()
	checktest.Has(t, "the list does not continue after the restart", create(session, "B"), "#1 A\n  [ ] #2 B")
	second.End(t)
}

// A server's answers have its panel's address, for the card in the chat; its instructions, which a model reads, do not
// have it. Metrics are on the main address, or with --admin-addr on that address alone.
//
// BAD-INPUT 15: A 1 MB header; settings exposing the server without sign-in or TLS, trusting every
// proxy, or naming an http issuer → The header gets 431; `serve` does not start
func TestServeInMemory(t *testing.T) {
	plain := programtest.Serve(t, "--store", "memory")
	answers := func(url string, want int, headers ...string) (body string) {
		t.Helper()
		status, body := programtest.Get(t, url, headers...)
		checktest.Same(t, url, status, want)
		return body
	}
	answers(plain.URL+"/livez", http.StatusRequestHeaderFieldsTooLarge, "X-Big", strings.Repeat("x", 1<<20))
	_, header, hello := servertest.Post(t, plain.URL+"/mcp", servertest.Initialize(1, "tester"))
	if _, instructions, found := strings.Cut(hello, `"instructions":`); !found || strings.Contains(instructions, plain.URL) {
		t.Errorf("the model reads the address: %s", hello)
	}
	_, _, body := servertest.Post(t, plain.URL+"/mcp", servertest.Call(2, "TodoWrite", servertest.Todos("pending", "A")), "Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	checktest.Has(t, "the card", body, `"panel":"`+plain.URL+`/lists/`)
	checktest.Has(t, "metrics", answers(plain.URL+"/metrics", http.StatusOK), `todo_build_info{version="v0"} 1`)
	log := make(programtest.Lines, 100)
	s := programtest.Call{Log: log}.Serve(t, "--store", "memory", "--admin-addr", "127.0.0.1:0")
	admin := regexp.MustCompile(`http://[0-9.:]+`).FindString(log.Await("for operators"))
	answers(s.URL+"/metrics", http.StatusNotFound)
	servertest.Writer(t, s.URL, "tester")(servertest.Todos("pending", "A"))
	checktest.Has(t, "metrics", answers(admin+"/metrics", http.StatusOK), "todo_streams_open 0", "todo_watchers 0", `gen_ai_tool_name="TodoWrite"`, `operation="update",outcome="applied"`)
	answers(admin+"/readyz", http.StatusOK)
	s.End(t)
	if res, err := http.Get(admin + "/livez"); err == nil {
		res.Body.Close()
		t.Error("the address for operators outlives the server")
	}
}

func awaitStatus(t *testing.T, url string, want int) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; {
		status, body := programtest.Get(t, url)
		if status == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s answers %d %s, want %d", url, status, body, want)
		}
	}
}

// A server with a certificate speaks TLS and HTTP/2, signs people in with a Secure cookie, and loads a new certificate
// while it runs. If the new one cannot be read, the previous one stays in use.
func TestServeTLS(t *testing.T) {
	t.Parallel() // most of it waits
	folder := t.TempDir()
	cert, key, tokens := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), filepath.Join(folder, "tokens")
	programtest.Certify(t, cert, key, 1)
	token := checktest.Must(auth.NewToken(tokens, auth.Token{Name: "ann", Scopes: []string{auth.ScopeWrite}}))(t)
	s := programtest.Serve(t, "--store", "memory", "--tls-cert", cert, "--tls-key", key, "--tokens", tokens)
	if !strings.HasPrefix(s.URL, "https://") {
		t.Fatalf("it says %s", s.URL)
	}
	client := &http.Client{
		Transport:     &http.Transport{ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	post := func() http.Response {
		t.Helper()
		res, err := client.Post(s.URL+"/signin", "application/x-www-form-urlencoded", strings.NewReader("token="+token))
		checktest.Check(t, err)
		res.Body.Close()
		return *res
	}
	res := post()
	if cookie := res.Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-todo-signed-in=") || !strings.Contains(cookie, "Secure") {
		t.Errorf("cookie %q", cookie)
	}
	checktest.Same(t, "it speaks", res.Proto, "HTTP/2.0")
	until := func(want int64) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			serial := post().TLS.PeerCertificates[0].SerialNumber.Int64()
			if serial == want {
				return
			} else if time.Now().After(deadline) {
				t.Fatalf("certificate %d, want %d", serial, want)
			}
		}
	}
	until(1)
	programtest.Certify(t, cert, key, 2)
	until(2)
	checktest.Check(t, os.WriteFile(key, []byte("damaged"), 0o600))
	until(2)
	programtest.Certify(t, cert, key, 3)
	until(3)
}

// Behind a trusted proxy a server takes the client's address from what the proxy added to X-Forwarded-For, and does not
// believe addresses that the client itself put there.
func TestServeBehindProxy(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	token := checktest.Must(auth.NewToken(tokens, auth.Token{Name: "ann", Scopes: []string{auth.ScopeWrite}}))(t)
	s := programtest.Serve(t, "--store", "memory", "--trusted-proxies", "127.0.0.1", "--public-url", "https://Todo.Example.com", "--tokens", tokens)
	ask := func(forwarded, token string) int {
		status, _ := programtest.Get(t, s.URL+"/api/lists", "Host", "todo.example.com", "X-Forwarded-For", forwarded, "Authorization", "Bearer "+token)
		return status
	}
	if status := ask("192.0.2.1", token); status != 200 {
		t.Fatalf("a valid token: %d", status)
	}
	untilLimited := func(forwarded string) (tries int) {
		for ask(forwarded, "todo_wrong") != http.StatusTooManyRequests {
			if tries++; tries > 100 {
				t.Fatal("failed sign-ins behind a proxy are not limited")
			}
		}
		return tries
	}
	allowed := untilLimited("198.51.100.7, 192.0.2.2")
	checktest.Same(t, "another client", ask("192.0.2.1, 192.0.2.3", "todo_wrong"), http.StatusUnauthorized)
	// The limit allows one more try now and then.
	if tries := untilLimited("203.0.113.9, 192.0.2.2"); tries > allowed/2 {
		t.Errorf("a client that says it is another one has %d tries, and had %d", tries, allowed)
	}
}

// Standard output carries only messages of the protocol, one a line, even at log level debug, with a store that cannot
// be used, invalid messages, and texts with line breaks (docs/reliability.md).
func TestStdioWritesMessagesAlone(t *testing.T) {
	input := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a\nb","version":"1"}}}`,
		`no message`, `{"jsonrpc":"2.0","id":2,"method":"none"}`, `[]`,
		servertest.Call(3, "TodoWrite", servertest.Todos("pending", "a\nb\u2028c")),
		`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"todo://list"}}`, `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`,
	}, "\n")
	for _, store := range []string{"memory", "sqlite:" + filepath.Join(t.TempDir(), "folder.db", "x\x00y")} {
		out, err := programtest.Try(t, input, "stdio", "--store", store, "--log-level", "debug")
		if err != nil && out != "" {
			t.Errorf("%q: %v, after %s", store, err, out)
		}
		answers := 0
		for line := range strings.Lines(out) {
			var m struct {
				Version string `json:"jsonrpc"`
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" {
				t.Errorf("%q: no message: %q", store, line)
			}
			answers++
		}
		if err == nil && answers != 7 {
			t.Errorf("%q: %d answers", store, answers)
		}
	}
}

// A command whose output nobody reads any more, as after head has its lines, succeeds and prints no error.
func TestReaderGoesAway(t *testing.T) {
	read, write, err := os.Pipe()
	checktest.Check(t, err)
	read.Close()
	defer write.Close()
	for _, line := range []string{"version", "help", "lists --store memory", "install --print", "TodoWrite --help"} {
		said, cmd := new(strings.Builder), exec.CommandContext(t.Context(), "todo-mcp", strings.Fields(line)...)
		cmd.Stdout, cmd.Stderr = write, said
		if err := cmd.Run(); err != nil || said.Len() > 0 {
			t.Errorf("%s: %v, it says %q", line, err, said)
		}
	}
}
