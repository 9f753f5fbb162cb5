package run_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/auth"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// desk is the address at which a person who is away is told, with a secret in it.
type desk struct {
	*testing.T
	url  string
	told chan string // the bodies
}

const topic = "t0p-s3cret"

func newDesk(t *testing.T) *desk {
	d := &desk{t, "", make(chan string, 20)}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d.told <- string(body)
	}))
	t.Cleanup(s.Close)
	d.url = "ntfy+" + s.URL + "/" + topic
	return d
}

// expect checks what is told next, within the time that a list must stand so.
func (d *desk) expect(title, message string) {
	d.Helper()
	select {
	case body := <-d.told:
		var m struct{ Topic, Title, Message, Click string }
		if err := json.Unmarshal([]byte(body), &m); err != nil || m.Topic != topic || m.Title != title || m.Message != message || !strings.HasPrefix(m.Click, "https://todo.example.com/lists/") {
			d.Errorf("told %s, want %s, %s, %v", body, title, message, err)
		}
	case <-time.After(2 * time.Minute):
		d.Errorf("not told that %s", title)
	}
}

// Two servers on one store tell once that an agent waits, whose hook says so, and that its list is
// finished; not what a person ticks on the panel, nor what a list says. As they end, they tell
// what is finished just then. Nothing that they log, print or serve has the address.
func TestNotify(t *testing.T) {
	t.Parallel() // a list must wait for 15 seconds
	d, store := newDesk(t), "sqlite:"+filepath.Join(t.TempDir(), "todo.db")
	log := make(programtest.Lines, 1000)
	args := []string{"--store", store, "--public-url", "https://todo.example.com", "--log-level", "debug"}
	call := programtest.Call{Log: log, Env: map[string]string{"TODO_NOTIFY": d.url}}
	first, second := call.Serve(t, args...), call.Serve(t, args...)
	var lists []struct{ List string }
	hook := func(event string) {
		t.Helper()
		call := programtest.Call{In: strings.NewReader(event), Env: map[string]string{"TODO_STORE": store, "HOME": t.TempDir()}}
		checktest.Check(t, checktest.Err(call.Run(t.Context(), "hook")))
	}
	event := checktest.Must(os.ReadFile("../../hook/testdata/claude-code-todowrite.json"))(t)
	hook(string(event))
	hook(`{"session_id":"11111111-2222-4333-8444-555555555555","cwd":"/home/ada/parser","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"npm publish"}}`)
	d.expect("An agent waits for you", "Claude Code: 1 of 3 done")

	other := servertest.Writer(t, second.URL, "evil <!channel>")
	other(servertest.Todos("in_progress", "Ticked by a person"))
	servertest.GetJSON(t, first.URL+"/api/lists", &lists)
	tick := `{"do":"status","id":"1","status":"completed"}`
	if status, _, body := servertest.Post(t, second.URL+"/lists/"+lists[0].List+"/edit", tick); status != http.StatusOK {
		t.Fatal(status, body)
	}
	third := servertest.Writer(t, second.URL, "evil <!channel>")
	third(servertest.Todos("completed", "At the end"))
	_, metrics := programtest.Get(t, first.URL+"/metrics")
	_, page := programtest.Get(t, first.URL+"/")
	first.End(t)
	second.End(t)
	d.expect("A list is finished", "An agent: 1 of 1 done")
	select {
	case body := <-d.told:
		t.Errorf("told too much: %s", body)
	default:
	}
	doctor, err := call.Run(t.Context(), append([]string{"doctor", "--addr", "127.0.0.1:0"}, args...)...)
	if !strings.Contains(doctor, "notices go to ntfy at 127.0.0.1:") {
		t.Error(err, doctor)
	}
	for len(log) > 0 {
		page += <-log
	}
	if strings.Contains(metrics+page+doctor, topic) {
		t.Error("the address is shown")
	}
}

// Where people sign in, the operator is told of the lists of all of them, and of no text.
func TestNotifyOfOthers(t *testing.T) {
	d, tokens := newDesk(t), filepath.Join(t.TempDir(), "tokens")
	token := checktest.Must(auth.NewToken(tokens, auth.Token{Name: "ann", Principal: "ann", Scopes: []string{auth.ScopeWrite}}))(t)
	s := programtest.Serve(t, "--store", "memory", "--tokens", tokens, "--notify", d.url, "--public-url", "https://todo.example.com")
	call := servertest.ModernCall(1, "TodoWrite", servertest.Todos("completed", "Ann's own"))
	headers := append(servertest.ModernHeaders("tools/call", "TodoWrite"), "Authorization", "Bearer "+token)
	if status, _, answer := servertest.Post(t, s.URL+"/mcp", call, headers...); status != http.StatusOK || !strings.Contains(answer, "updated") {
		t.Fatal(status, answer)
	}
	s.End(t)
	d.expect("A list is finished", "An agent: 1 of 1 done")
}

// `notify` sends a test to each address and says what became of it. Settings that would
// tell strangers stop the start.
func TestNotifyRefusals(t *testing.T) {
	d := newDesk(t)
	if out := programtest.Succeeds(t, "notify", "--notify", d.url, "--notify", strings.Replace(d.url, topic, topic+"2", 1)); strings.Count(out, "sent to ntfy at 127.0.0.1:") != 2 || strings.Contains(out, topic) {
		t.Error(out)
	}
	if a, b := <-d.told, <-d.told; !strings.Contains(a, topic+`"`) || !strings.Contains(b, topic+`2"`) {
		t.Error(a, b)
	}
	programtest.Refuses(t, "no address", "notify")
	for _, command := range []string{"serve", "stdio"} {
		call := programtest.Call{Env: map[string]string{"TODO_TOKENS": "tokens"}}
		if _, err := call.Run(t.Context(), command, "--addr", "127.0.0.1:0", "--store", "memory", "--notify-texts", "--notify", "ntfy://ntfy.sh/x"); err == nil || !strings.Contains(err.Error(), "leave it out") {
			t.Errorf("%s: %v", command, err)
		}
	}
}
