package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// plug is one HTTP connection of a sessionless client.
type plug struct {
	*chat
	http *http.Client
}

// plug opens a connection of its own for a client that declares roots.
func (p *process) plug(client string) plug {
	c := p.chat(client)
	c.roots = true
	one := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	p.Cleanup(one.CloseIdleConnections)
	return plug{c, one}
}

// inputAnswer is a result with the members by which a server asks for input.
type inputAnswer struct {
	servertest.Answer
	ResultType    string
	InputRequests map[string]struct{ Method string }
}

// calls calls a tool; responses, if not empty, are the answers to what the
// server asked for before.
func (p plug) calls(tool, args, responses string) inputAnswer {
	p.Helper()
	params := fmt.Sprintf(`{"name":%q,"arguments":%s`, tool, args)
	if responses != "" {
		params += `,"inputResponses":` + responses
	}
	return p.asks("tools/call", params+"}")
}

func (p plug) asks(method, params string) inputAnswer {
	p.Helper()
	message := p.message(1, method, params)
	req, err := http.NewRequestWithContext(p.Context(), "POST", p.url, strings.NewReader(message))
	if err != nil {
		p.Fatal(err)
	}
	headers := append(p.headers(message), "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := p.http.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		p.Fatal(err)
	}
	var more struct{ Result inputAnswer }
	if err := json.Unmarshal(data, &more); err != nil {
		p.Fatalf("%v in %s", err, data)
	}
	more.Result.Answer = servertest.Parse(p.T, string(data))
	return more.Result
}

// asked reports whether an answer asks for the client's roots.
func (a inputAnswer) asked() bool {
	return a.ResultType == "input_required" && len(a.InputRequests) == 1 && a.InputRequests["roots"].Method == "roots/list"
}

func rootsAt(uris ...string) string {
	var roots []string
	for _, uri := range uris {
		roots = append(roots, fmt.Sprintf(`{"uri":%q,"name":"x"}`, uri))
	}
	return `{"roots":{"roots":[` + strings.Join(roots, ",") + `]}}`
}

// workspaces returns the workspaces of all lists, sorted.
func (r *rig) workspaces() (out []string) {
	r.Helper()
	lists, err := r.store.Find(r.Context(), todo.Query{})
	if err != nil {
		r.Fatal(err)
	}
	for _, l := range lists {
		out = append(out, l.List.Workspace)
	}
	slices.Sort(out)
	return out
}

// In the sessionless era over HTTP nothing tells the folder. A client that
// declares roots and is known to answer is asked for them by each call, which
// changes nothing; the call repeated with the answer is applied once. Programs
// with other roots are kept apart, although client, texts and perhaps connection
// are the same.
func TestSessionlessClientsAreAskedForRoots(t *testing.T) {
	over(t, func(r *rig) {
		p := r.start(nil)
		one := p.plug("claude-code")
		two := one // behind a proxy that shares its connection
		for _, c := range []struct {
			plug
			root, want string
		}{{one, "file:///work/one", "/work/one"}, {two, "file:///work/two", "/work/two"}} {
			args := plan("p:Write p:Test")
			before := len(r.lists())
			if a := c.calls("TodoWrite", args, ""); !a.asked() || a.Error != nil || len(r.lists()) != before {
				t.Fatalf("the first call: %s", a.Raw)
			}
			if a := c.calls("TodoWrite", args, rootsAt(c.root)); a.ResultType != "complete" || a.Text() != "Todo list updated: 0 completed, 0 in_progress, 2 pending" || len(r.lists()) != before+1 {
				t.Fatalf("the repeated call: %s", a.Raw)
			}
			if a := c.calls("create_todos", `{"items":["Ship"]}`, ""); !a.asked() {
				t.Fatalf("a later call: %s", a.Raw)
			}
			if a := c.calls("create_todos", `{"items":["Ship"]}`, rootsAt(c.root)); !strings.Contains(a.Text(), "1 created") {
				t.Fatalf("a later call, repeated: %s", a.Raw)
			}
		}
		if got := r.workspaces(); fmt.Sprint(got) != "[/work/one /work/two]" {
			t.Errorf("workspaces %q", got)
		}
		// Each goes on with its own list, and a new plan begins another one.
		one.calls("TodoWrite", plan("c:Write p:Test p:Ship"), rootsAt("file:///work/one"))
		two.calls("TodoWrite", plan("p:Write c:Test p:Ship"), rootsAt("file:///work/two"))
		two.calls("TodoWrite", plan("p:Another"), rootsAt("file:///work/two"))
		r.expect("p:Another", "p:Write c:Test p:Ship", "c:Write p:Test p:Ship")
	}, sessionless)
}

// A read is asked as well, and so are resume and the resources that mean the
// caller's lists.
func TestReadsOfAKnownFolder(t *testing.T) {
	over(t, func(r *rig) {
		p := r.start(nil)
		one := p.plug("claude-code")
		if a := one.calls("SetTodoList", `{}`, ""); !a.asked() {
			t.Fatalf("a read: %s", a.Raw)
		}
		if a := one.calls("SetTodoList", `{}`, rootsAt("file:///work/one")); a.Text() != "The todo list is empty." {
			t.Fatalf("a read, repeated: %s", a.Raw)
		}
		one.calls("TodoWrite", plan("p:A p:B"), rootsAt("file:///work/one"))
		for _, c := range []struct{ method, params, want string }{
			{"resources/read", `{"uri":"todo://list"`, `- [ ] A`},
			{"resources/read", `{"uri":"todo://lists"`, `/work/one`},
			{"prompts/get", `{"name":"resume"`, "- #2 B"},
		} {
			if a := one.asks(c.method, c.params+"}"); !a.asked() {
				t.Errorf("%s %s: %s", c.method, c.params, a.Raw)
			}
			if a := one.asks(c.method, c.params+`,"inputResponses":`+rootsAt("file:///work/one")+"}"); !strings.Contains(a.Raw, c.want) {
				t.Errorf("%s %s, repeated: %s", c.method, c.params, a.Raw)
			}
		}
	}, sessionless)
}

// Whatever a client answers, its call is applied. The
// first root that is a folder of this machine counts.
func TestAnswersToTheQuestionForRoots(t *testing.T) {
	for name, c := range map[string]struct{ responses, want string }{
		"several":       {rootsAt("https://example.com", "file:///work/a%20b/", "file:///work/two"), "/work/a b"},
		"Windows":       {rootsAt("file:///C:/work"), "C:/work"},
		"none":          {rootsAt(), ""},
		"no folder":     {rootsAt("https://example.com"), ""},
		"not a URI":     {rootsAt("::"), ""},
		"null":          {`{"roots":null}`, ""},
		"null roots":    {`{"roots":{"roots":null}}`, ""},
		"wrong shape":   {`{"roots":[1,2]}`, ""},
		"a refusal":     {`{"roots":{"action":"decline"}}`, ""},
		"others beside": {`{"x":{"y":1},` + strings.TrimPrefix(rootsAt("file:///w"), "{"), "/w"},
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				one := r.start(nil).plug("claude-code")
				one.calls("TodoWrite", plan("p:A"), "")
				if a := one.calls("TodoWrite", plan("p:A"), c.responses); a.Error != nil || a.asked() || !strings.Contains(a.Text(), "1 pending") {
					t.Fatalf("answered with %s: %s", c.responses, a.Raw)
				}
				r.expect("p:A")
				if got := r.workspaces(); got[0] != c.want {
					t.Errorf("workspace %q, want %q", got[0], c.want)
				}
			}, sessionless)
		})
	}
}

// Nobody else is asked: another client, since it may fail on the question; one
// that declares no roots; one whose conversation is known; a session's.
func TestWhoIsNotAskedForRoots(t *testing.T) {
	for name, edit := range map[string]func(r *rig, p *plug){
		"another client": func(_ *rig, p *plug) { p.client = "tester" },
		"no roots":       func(_ *rig, p *plug) { p.roots = false },
		"a conversation": func(_ *rig, p *plug) { p.chat = p.conversation("c") },
		"a hook's word": func(r *rig, p *plug) {
			r.hookSays("toolu_1", "s", "", "/w")
			p.chat = p.with(`"claudecode/toolUseId":"toolu_1"`)
		},
		"Todo-List by query": func(_ *rig, p *plug) { p.url += "?list=release" },
	} {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				one := r.start(nil).plug("claude-code")
				edit(r, &one)
				if a := one.calls("TodoWrite", plan("p:A"), ""); a.asked() || !strings.Contains(a.Text(), "1 pending") {
					t.Errorf("asked: %s", a.Raw)
				}
				r.expect("p:A")
			}, sessionless)
		})
	}
	t.Run("but a call that no hook spoke of is", func(t *testing.T) {
		over(t, func(r *rig) {
			one := r.start(nil).plug("claude-code")
			one.chat = one.with(`"claudecode/toolUseId":"toolu_9"`)
			if a := one.calls("TodoWrite", plan("p:A"), ""); !a.asked() {
				t.Errorf("not asked: %s", a.Raw)
			}
		}, sessionless)
	})
	t.Run("in a session", func(t *testing.T) {
		over(t, func(r *rig) {
			r.start(nil).chat("claude-code").writes("p:A")
			r.expect("p:A")
		}, inSessions, onStdio, onStdioNew)
	})
}

// What a sessionless client resumes, it holds afterwards, also if the list is of
// another folder.
func TestResumeBeforeRoots(t *testing.T) {
	over(t, func(r *rig) {
		p := r.start(nil)
		old := p.plug("claude-code")
		old.calls("TodoWrite", plan("p:A p:B"), rootsAt("file:///work/one"))
		fresh := p.plug("claude-code")
		for _, root := range []string{"file:///work/one", "file:///work/two"} {
			if a := fresh.asks("prompts/get", `{"name":"resume","inputResponses":`+rootsAt(root)+`}`); !strings.Contains(a.Raw, "- #2 B") {
				t.Fatal(a.Raw)
			}
			fresh.calls("create_todos", `{"items":["In`+root[len("file:///work/"):]+`"]}`, rootsAt(root))
		}
		r.expect("p:A p:B p:Inone p:Intwo")
	}, sessionless)
}
