package web_test

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
	"todo-mcp/server/web"
)

// marker is in every text of the lists and of the requests.
const marker = "zzmarker"

// patterns returns the patterns of all routes, as the sources below server have them.
func patterns(t *testing.T) []string {
	t.Helper()
	route := regexp.MustCompile(`\.Handle(?:Unbounded|Public)?\("((?:GET|POST) [^"]+)",`)
	files, err := filepath.Glob(filepath.Join("..", "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range route.FindAllStringSubmatch(string(source), -1) {
			found[m[1]] = !strings.HasSuffix(file, "_test.go") || found[m[1]]
		}
	}
	maps.DeleteFunc(found, func(_ string, ours bool) bool { return !ours })
	if len(found) < 15 {
		t.Fatalf("%d routes: their form in the sources changed", len(found))
	}
	return slices.Sorted(maps.Keys(found))
}

// messages returns calls of every tool, and requests of every other kind, with the
// marker wherever a text may be.
func messages(s *server.Server, list string) (messages []string) {
	for name := range s.MCP().ListTools() {
		for _, args := range []string{servertest.Todos("pending", marker), servertest.Todos(marker, marker), `{"items":["` + marker + `"]}`, `{"todos":[{"title":"` + marker + `","status":"done"}]}`,
			`{"id":"1","status":"completed"}`, `{"id":"` + marker + `","status":"` + marker + `"}`, `{"list_id":"` + list + `"}`, `{"` + marker + `":1}`} {
			messages = append(messages, servertest.Call(1, name, args))
		}
	}
	for _, message := range []string{`"resources/read","params":{"uri":"todo://list"}`, `"resources/read","params":{"uri":"todo://lists/` + marker + `"}`, `"resources/read","params":{"uri":"todo://lists/` + list + `"}`,
		`"prompts/get","params":{"name":"resume"}`, `"prompts/get","params":{"name":"plan","arguments":{"goal":"` + marker + `"}}`, `"resources/subscribe","params":{"uri":"todo://list"}`,
		`"completion/complete","params":{"ref":{"type":"ref/prompt","name":"resume"},"argument":{"name":"list","value":"` + marker + `"}}`, `"` + marker + `"`} {
		messages = append(messages, `{"jsonrpc":"2.0","id":1,"method":`+message+`}`)
	}
	return append(messages, `{"`+marker+`":`)
}

// send sends a request and reads its answer, unless that is a stream: then it leaves
// as soon as it has begun.
func send(t *testing.T, method, url, body string, headers ...string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") || method == http.MethodPost {
		_, _ = io.Copy(io.Discard, res.Body)
	}
}

// askRoutes sends requests to every route, with the marker wherever a text may be.
func askRoutes(t *testing.T, base, list string) {
	t.Helper()
	for _, pattern := range patterns(t) {
		method, path, _ := strings.Cut(pattern, " ")
		bodies := []string{`{"do":"add","text":"` + marker + `"}`, `{"do":"` + marker + `"}`, `{"` + marker, ""}
		if method == http.MethodGet {
			bodies = []string{""}
		}
		for _, id := range []string{list, list + ".md", marker} {
			url := base + strings.NewReplacer("{id}", id, "{revision}", "1", "{$}", "").Replace(path) + "?q=" + marker + "&list=" + marker
			for _, body := range bodies {
				send(t, method, url, body)
			}
			send(t, method, url, "", "Origin", "https://"+marker, "Last-Event-ID", marker)
		}
	}
}

// askEverything sends requests to every route, and all messages over HTTP and on
// stdio.
func askEverything(t *testing.T, s *server.Server, base, list string) {
	t.Helper()
	askRoutes(t, base, list)
	session := servertest.Session(t, base+"/mcp", marker)
	pipe := servertest.NewPipe(t, s)
	go func() { _, _ = io.Copy(io.Discard, pipe.Out) }()
	for _, message := range messages(s, list) {
		send(t, http.MethodPost, base+"/mcp", message, "Mcp-Session-Id", session)
		pipe.Send(message)
	}
	pipe.In.Close()
	if err := <-pipe.Done; err != nil {
		t.Error(err)
	}
	send(t, http.MethodGet, base+"/mcp", "", "Mcp-Session-Id", session)
	send(t, http.MethodDelete, base+"/mcp", "", "Mcp-Session-Id", session)
}

// The log never has a text of a list or of a request, at its finest level, whether
// the store works or fails, on any route and by any tool (BAD-INPUT 91).
func TestLogHasNoTexts(t *testing.T) {
	log := &servertest.Log{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	st := &servertest.Failing{Store: memory.New()}
	s := servertest.New(t, st, func(c *server.Config) { c.Log = logger })
	site := servertest.Serve(t, s, func(c *web.Config) { c.Log = logger })
	out, err := s.Board.As("").Apply(t.Context(), todo.Write{
		Target: todo.Target{Conversation: todo.Conversation{Key: marker, Client: marker, Workspace: "/" + marker}},
		Change: func(d *todo.Draft) error { d.Append(marker); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	askEverything(t, s, site.URL, out.After.List.ID)
	worked := log.Take()
	st.Broken.Store(true)
	askEverything(t, s, site.URL, out.After.List.ID)
	failed := log.Take()
	if len(failed) < 20 {
		t.Errorf("%d lines of a store that fails", len(failed))
	}
	for _, line := range append(worked, failed...) {
		if strings.Contains(line, marker) {
			t.Error(line)
		}
	}
}
