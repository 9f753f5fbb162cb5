package setup_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// A hook passes what its host tells on to a server that asks who calls, and answers its host
// what the server says; a list of its own machine it does not touch. Without a good token, or
// without a server, it is as silent as ever, and the log has no token.
func TestHookPassesOn(t *testing.T) {
	r := newHookRig(t)
	tokens := filepath.Join(t.TempDir(), "tokens")
	made := programtest.Succeeds(t, "token", "new", "ann", "--tokens", tokens)
	at := strings.Index(made, "todo_")
	if at < 0 {
		t.Fatalf("no token in %q", made)
	}
	token, _, _ := strings.Cut(strings.Fields(made[at:])[0], "`")
	s := programtest.Serve(t, "--store", "memory", "--tokens", tokens)
	call := func(server, token, event string, more ...string) string {
		t.Helper()
		env := map[string]string{"XDG_STATE_HOME": filepath.Dir(r.state), "TODO_TOKEN": token}
		printed, err := programtest.Call{Env: env, In: strings.NewReader(event)}.Run(t.Context(), append([]string{"hook", "--server", server}, more...)...)
		if err != nil {
			t.Error(err)
		}
		return printed
	}
	event := `{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"update_plan","tool_input":{"plan":[{"step":"Write","status":"pending"}]}}`
	stop := `{"session_id":"s","cwd":"/w","hook_event_name":"Stop","stop_hook_active":false}`
	for _, silent := range []string{call(s.URL, "secret", event), call(s.URL, "", event), call("http://127.0.0.1:1", token, event), call(s.URL+"/nowhere", token, event), call(s.URL, token, event), call(s.URL, token, stop)} {
		if silent != "" {
			t.Errorf("it prints %q", silent)
		}
	}
	if log := r.log(); strings.Count(log, "\n") != 4 || strings.Contains(log, token) || strings.Contains(log, "secret") {
		t.Errorf("the log is %q", log)
	}
	if status, lists := programtest.Get(t, s.URL+"/api/lists", "Authorization", "Bearer "+token); status != http.StatusOK || !strings.Contains(lists, `"title":"Write"`) || strings.Count(lists, `"list":`) != 1 {
		t.Errorf("%d %s", status, lists)
	}
	if told := call(s.URL, token, stop, "--finish"); !strings.Contains(told, `"decision":"block"`) || !strings.Contains(told, "Write") {
		t.Errorf("the host reads %q", told)
	}
	large := strings.Replace(event, `"tool_input"`, `"tool_response":"`+strings.Repeat("x", 2<<20)+`","tool_input"`, 1)
	call(s.URL, token, strings.Replace(large, "pending", "completed", 1))
	if _, lists := programtest.Get(t, s.URL+"/api/lists", "Authorization", "Bearer "+token); !strings.Contains(lists, `"all_completed":true`) {
		t.Errorf("what was told with a large answer is lost: %s", lists)
	}
	if _, err := os.Stat(filepath.Join(r.state, "todo.db")); err == nil {
		t.Error("it made a store of its own")
	}
}
