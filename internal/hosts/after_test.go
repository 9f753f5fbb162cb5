//go:build hosts && linux

package hosts

import (
	"bufio"
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// What a person adds for the end of a turn is in no request of the turn. As it ends the agent is
// told of it, once, and goes on with it.
func TestAfterThis(t *testing.T) {
	type host struct {
		name string
		rig  func(t *testing.T) *rig
		runs func(string) plan
	}
	claude := toldClients()[0]
	all := []host{
		{"kimi", func(t *testing.T) *rig {
			return newRig(t, client{name: "kimi", command: kimi, files: func(r *rig) {
				r.install("kimi", "KIMI_CODE_HOME="+filepath.Join(r.home, "kimi"))
			}})
		}, claude.runs},
		{"copilot", func(t *testing.T) *rig { return newRig(t, copilotInstalled) }, bash},
		{"opencode", func(t *testing.T) *rig { return newRig(t, client{name: "opencode", files: opencodeFiles}) }, bash},
	}
	for _, c := range toldClients() {
		all = append(all, host{c.name, func(t *testing.T) *rig { return c.rig(t) }, c.runs})
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			r := c.rig(t)
			r.model.answered = func(n int) {
				if n == 1 { // then a plugin that nothing waits for has told of the list, too
					r.edit("[+] Buy salt")
				}
			}
			script := []plan{newPlan("Bake bread", 2, 0), c.runs("true"), c.runs("true"), newPlan("Bake bread", 2, 1)}
			if c.name == "opencode" { // whose run ends with the turn
				asked := r.asked()
				r.model.begin(script...)
				r.serveOpencode()("go")
				await(t, "request with which it goes on", asked, tells("Buy salt"))
			} else {
				r.run(anew, script...)
			}
			turns, _ := r.model.turns()
			for n, q := range turns {
				r.saw("request", q, map[string]int{"Buy salt": max(0, n-len(script))})
				t.Logf("REQUEST %d ends with the result %q; %q", n+1, q.Results[max(0, len(q.Results)-1):], regexp.MustCompile(`.{0,80}Buy salt.{0,40}`).FindString(q.Raw))
			}
			if l := r.lists()[0]; len(turns) != len(script)+2 || len(l.Later) > 0 || l.Items[2].Text != "Buy salt" {
				t.Errorf("after %d requests the list has %+v, and later %+v", len(turns), l.Items, l.Later)
			}
		})
	}
}

// An agent at rest goes on as a person gives it something to do, of which it is told once.
func TestWake(t *testing.T) {
	claude := toldClients()[0]
	for name, start := range map[string]func(t *testing.T) (*rig, func()){
		"claude-code": func(t *testing.T) (*rig, func()) {
			r := claude.rig(t, "--hooks=all,wake")
			return r, func() { r.open(claude.talk(r)) }
		},
		"opencode": func(t *testing.T) (*rig, func()) {
			r := newRig(t, client{name: "opencode", files: func(r *rig) { opencodeFiles(r); r.installWith([]string{"--hooks=all,wake", "opencode"}) }})
			return r, func() { r.serveOpencode()("go") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, run := start(t)
			asked := r.asked()
			r.model.begin(newPlan("Bake bread", 2, 0))
			run()
			rests := func(l todo.Snapshot) bool { return r.statesNow()[l.List.ID].State == todo.Idle }
			for n, item := range []string{"Buy salt", "Buy flour"} {
				r.awaitList("list whose agent rests", rests)
				r.add(item)
				q := await(t, "request with which it goes on", asked, tells(item))
				r.saw("as it wakes", q, map[string]int{"Buy salt": 1, "Buy flour": n})
				t.Logf("WAKES with %q", regexp.MustCompile(`.{0,120}`+item+`.{0,60}`).FindString(q.Raw))
			}
			r.awaitList("list whose agent rests", rests)
			if turns, _ := r.model.turns(); len(turns) != 4 {
				t.Errorf("the model was asked %d times, want 2, and once for each item", len(turns))
			}
		})
	}
}

// bash returns the call that runs a command in Copilot CLI and opencode.
func bash(command string) plan {
	return call("bash", object{"command": command, "description": "Nothing"})
}

// asked returns the requests of the model from now on.
func (r *rig) asked() <-chan modelRequest {
	asked := make(chan modelRequest, 64)
	r.model.asked = func(q modelRequest) { asked <- q }
	return asked
}

// tells returns what reports whether a request has a text.
func tells(text string) func(modelRequest) bool {
	return func(q modelRequest) bool { return strings.Contains(q.Raw, text) }
}

// serveOpencode runs opencode without a terminal until the test ends, and returns what gives the
// agent of a new chat a prompt.
func (r *rig) serveOpencode() func(prompt string) {
	r.t.Helper()
	cmd := command(r.t.Context(), r.t, r.home, r.dir, []string{program(r.t, "opencode-linux-x64/bin/opencode"), "serve", "--port", "0"},
		[]string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"})
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); _ = cmd.Wait() })
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address = regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text())
	}
	post := func(path string, body object) (answer struct{ ID string }) {
		resp, err := http.Post(address+path, "application/json", strings.NewReader(asJSON(body)))
		if err != nil {
			r.t.Fatal(err)
		}
		defer resp.Body.Close()
		if _ = json.NewDecoder(resp.Body).Decode(&answer); resp.StatusCode >= 300 {
			r.t.Fatalf("%s: %s", path, resp.Status)
		}
		return answer
	}
	return func(prompt string) {
		post("/session/"+post("/session", object{}).ID+"/prompt_async", object{"parts": []object{{"type": "text", "text": prompt}}})
	}
}
