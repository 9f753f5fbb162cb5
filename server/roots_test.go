package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
)

// rooted begins a sessionless chat of a client that declares roots, on a connection of
// its own.
func rooted(s *chattest.Server, client string) *chattest.Chat {
	c := s.Chat(client)
	c.Roots, c.HTTP = true, &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	s.Cleanup(c.HTTP.CloseIdleConnections)
	return c
}

// answering sends a request with the answers to what the server asked for before.
func answering(c *chattest.Chat, method, params, responses string) chattest.Answer {
	c.Helper()
	return c.Asks(method, strings.TrimSuffix(params, "}")+`,"inputResponses":`+responses+"}")
}

// asked checks that an answer asks for the client's roots.
func asked(c *chattest.Chat, a chattest.Answer) {
	c.Helper()
	r := a.Result
	if a.Error != nil || r.ResultType != "input_required" || len(r.InputRequests) != 1 || r.InputRequests["roots"].Method != "roots/list" {
		c.Fatalf("not asked for roots: %s", a.Raw)
	}
}

// call returns the parameters of a call of a tool.
func call(tool, args string) string { return fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args) }

// write returns the parameters of a write of a plan in short.
func write(plan string) string { return call("TodoWrite", chattest.Arguments("TodoWrite", plan)) }

func rootsAt(uris ...string) string {
	var roots []string
	for _, uri := range uris {
		roots = append(roots, fmt.Sprintf(`{"uri":%q,"name":"x"}`, uri))
	}
	return `{"roots":{"roots":[` + strings.Join(roots, ",") + `]}}`
}

// workspaces returns the workspaces of all lists, sorted.
func workspaces(r *chattest.Rig) (out []string) {
	r.Helper()
	for _, l := range r.Found() {
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
	chattest.Over(t, func(r *chattest.Rig) {
		one := rooted(r.Start(nil), "claude-code")
		two := one.With("") // behind a proxy that shares its connection
		ship := call("create_todos", chattest.Steps("Ship"))
		for n, c := range []*chattest.Chat{one, two} {
			root := rootsAt([]string{"file:///work/one", "file:///work/two"}[n])
			asked(c, c.Asks("tools/call", write("p:Write p:Test")))
			if got := len(r.Found()); got != n {
				t.Fatalf("the first call makes a list of %d", got)
			}
			a := answering(c, "tools/call", write("p:Write p:Test"), root).Is("Todo list updated: 0 completed, 0 in_progress, 2 pending")
			if a.Result.ResultType != "complete" || len(r.Found()) != n+1 {
				t.Fatalf("the repeated call: %s", a.Raw)
			}
			asked(c, c.Asks("tools/call", ship))
			answering(c, "tools/call", ship, root).Says("1 created")
		}
		if got := workspaces(r); fmt.Sprint(got) != "[/work/one /work/two]" {
			t.Errorf("workspaces %q", got)
		}
		// Each goes on with its own list, and a new plan begins another one.
		answering(one, "tools/call", write("c:Write p:Test p:Ship"), rootsAt("file:///work/one"))
		answering(two, "tools/call", write("p:Write c:Test p:Ship"), rootsAt("file:///work/two"))
		answering(two, "tools/call", write("p:Another"), rootsAt("file:///work/two"))
		r.Expect("p:Another", "p:Write c:Test p:Ship", "c:Write p:Test p:Ship")
	}, chattest.Sessionless)
}

// A read is asked as well, and so are resume and the resources that mean the
// caller's lists.
func TestReadsOfAKnownFolder(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c, root := rooted(r.Start(nil), "claude-code"), rootsAt("file:///work/one")
		asked(c, c.Asks("tools/call", call("SetTodoList", `{}`)))
		answering(c, "tools/call", call("SetTodoList", `{}`), root).Is("The todo list is empty.")
		answering(c, "tools/call", write("p:A p:B"), root)
		for _, read := range []struct{ method, params, want string }{
			{"resources/read", `{"uri":"todo://list"}`, `- [ ] A`},
			{"resources/read", `{"uri":"todo://lists"}`, `/work/one`},
			{"prompts/get", `{"name":"resume"}`, "- #2 B"},
		} {
			asked(c, c.Asks(read.method, read.params))
			if a := answering(c, read.method, read.params, root); !strings.Contains(a.Raw, read.want) {
				t.Errorf("%s %s, repeated: %s", read.method, read.params, a.Raw)
			}
		}
	}, chattest.Sessionless)
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
			chattest.Over(t, func(r *chattest.Rig) {
				one := rooted(r.Start(nil), "claude-code")
				asked(one, one.Asks("tools/call", write("p:A")))
				answering(one, "tools/call", write("p:A"), c.responses).Says("1 pending")
				r.Expect("p:A")
				if got := workspaces(r); got[0] != c.want {
					t.Errorf("workspace %q, want %q", got[0], c.want)
				}
			}, chattest.Sessionless)
		})
	}
}

// Nobody else is asked: another client, since it may fail on the question; one
// that declares no roots; one whose conversation is known, in a session too. A call that
// no hook spoke of is.
func TestWhoIsNotAskedForRoots(t *testing.T) {
	for name, edit := range map[string]func(c *chattest.Chat) *chattest.Chat{
		"another client":     func(c *chattest.Chat) *chattest.Chat { c.Client = "tester"; return c },
		"no roots":           func(c *chattest.Chat) *chattest.Chat { c.Roots = false; return c },
		"a conversation":     func(c *chattest.Chat) *chattest.Chat { return c.Conversation("c") },
		"a hook's word":      func(c *chattest.Chat) *chattest.Chat { return c.With(`"claudecode/toolUseId":"toolu_1"`) },
		"Todo-List by query": func(c *chattest.Chat) *chattest.Chat { return c.At(c.URL + "?list=release") },
	} {
		t.Run(name, func(t *testing.T) {
			chattest.Over(t, func(r *chattest.Rig) {
				hookSays(r, "", todo.HostCall{ID: "toolu_1", Session: "s", Folder: "/w"}, time.Now())
				edit(rooted(r.Start(nil), "claude-code")).Writes("p:A").Says("1 pending")
				r.Expect("p:A")
			}, chattest.Sessionless)
		})
	}
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Start(nil).Chat("claude-code")
		if c.Roots = true; r.By != chattest.Sessionless {
			c.Writes("p:A")
			r.Expect("p:A")
			return
		}
		asked(c, c.With(`"claudecode/toolUseId":"toolu_9"`).Asks("tools/call", write("p:A")))
	})
}

// What a sessionless client resumes is its list afterwards, also if the list is of
// another folder.
func TestResumeBeforeRoots(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		s := r.Start(nil)
		answering(rooted(s, "claude-code"), "tools/call", write("p:A p:B"), rootsAt("file:///work/one"))
		fresh := rooted(s, "claude-code")
		for _, folder := range []string{"one", "two"} {
			root := rootsAt("file:///work/" + folder)
			answering(fresh, "prompts/get", `{"name":"resume"}`, root).Says("- #2 B")
			answering(fresh, "tools/call", call("create_todos", chattest.Steps("In"+folder)), root)
		}
		r.Expect("p:A p:B p:Inone p:Intwo")
	}, chattest.Sessionless)
}
