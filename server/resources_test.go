package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// hostKeys are the _meta fields by which hosts name a conversation, with %s for
// its id.
var hostKeys = map[string]string{
	"todo-mcp/conversation":     `"todo-mcp/conversation":"%s"`,
	"vscode.conversationId":     `"vscode.conversationId":"%s"`,
	"Codex threadId":            `"threadId":"%[1]s","sessionId":"%[1]s"`,
	"ai.opencode/sessionID":     `"ai.opencode/sessionID":"%s"`,
	"sessionID":                 `"sessionID":"%s"`,
	"antigravity.google":        `"antigravity.google/conversation_id":"%s"`,
	"com.zcode/request-context": `"com.zcode/request-context":{"session_id":"%s"}`,
}

// Two conversations on one connection read todo://list as their own list, by
// whatever field their host names them, and one that wrote nothing reads none.
func TestResourcesHonourTheConversation(t *testing.T) {
	for name, key := range hostKeys {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				c := r.start(nil).chat("tester")
				a, b := c.with(key, "a"), c.with(key, "b")
				a.writes("i:A1 p:A2")
				b.writes("p:B1")
				a.shows("i:A1 p:A2")
				b.shows("p:B1")
				c.with(key, "c").shows("")
				c.shows("")
				b.adds("B2")
				if got := b.calls("SetTodoList", `{}`); !strings.Contains(got, "B2") || strings.Contains(got, "A1") {
					t.Errorf("b reads by a tool: %s", got)
				}
			})
		})
	}
}

// todo://lists lists the unfinished lists of main agents with what a model needs
// to choose one: id, title, progress without cancelled items, workspace, client
// and when. Those of the caller's workspace come first.
func TestListsResource(t *testing.T) {
	over(t, func(r *rig) {
		now := time.Date(2026, 11, 24, 9, 30, 0, 0, time.UTC)
		b := todo.NewBoard(r.store, todo.WithClock(func() time.Time { return now.Add(123 * time.Millisecond) }))
		defer b.Close()
		elsewhere, err := b.As("").Apply(t.Context(), todo.Write{
			Target: todo.Target{Conversation: todo.Conversation{Key: "x", Client: "other", Workspace: "/elsewhere"}, Append: true},
			Change: func(d *todo.Draft) error {
				d.Append("E1", "E2", "E3")
				d.SetStatus("1", todo.Completed)
				d.SetStatus("3", todo.Cancelled)
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		foreignList(t, r.store)
		c := r.connect()
		c.conversation("a").writes("c:A1 p:A2")
		c.conversation("a").and(`"todo-mcp/agent":"x"`).writes("p:S")
		c.conversation("done").writes("c:D")
		c.conversation("empty").writes("p:E")
		c.conversation("empty").writes("")
		var got struct {
			Lists []struct {
				List, Title, Workspace, Client string
				Completed, Total               int
				Updated                        time.Time
			}
		}
		if err := json.Unmarshal([]byte(c.resource("todo://lists")), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Lists) != 2 {
			t.Fatalf("lists: %+v", got.Lists)
		}
		byTitle := map[string]int{}
		for i, l := range got.Lists {
			byTitle[l.Title] = i
		}
		workspace := ""
		if r.by.pipes() {
			workspace = "/work/project"
			if byTitle["A2"] != 0 {
				t.Errorf("the caller's workspace comes first: %+v", got.Lists)
			}
		}
		if a := got.Lists[byTitle["A2"]]; a.List != c.conversation("a").held() || a.Completed != 1 || a.Total != 2 || a.Workspace != workspace || a.Client != "tester" || time.Since(a.Updated) > time.Minute {
			t.Errorf("a's: %+v", a)
		}
		if e := got.Lists[byTitle["E2"]]; e.List != elsewhere.After.List.ID || e.Completed != 1 || e.Total != 2 || e.Workspace != "/elsewhere" || e.Client != "other" || !e.Updated.Equal(now) {
			t.Errorf("another client's: %+v", e)
		}
	})
}

// With nothing unfinished todo://lists is an empty list, not null.
func TestNoUnfinishedLists(t *testing.T) {
	over(t, func(r *rig) {
		if got := r.connect().resource("todo://lists"); got != `{"lists":[]}` {
			t.Error(got)
		}
	})
}

// notes are the notifications that a subscriber receives.
type notes struct {
	*chat
	next func() string // returns the next one's URI
}

// subscribes subscribes to resources as the transport's era does it.
func (c *chat) subscribes(uris ...string) *notes {
	c.Helper()
	n := &notes{chat: c}
	message := c.listen("L", uris)
	switch c.by {
	case inSessions:
		c.stream("GET", "", "Mcp-Session-Id", c.session)
	case sessionless:
		c.stream("POST", message, c.headers(message)...)
	case onStdioNew:
		go func() { _, _ = io.WriteString(c.pipe.In, message+"\n") }()
	}
	if c.by.era() {
		if got := <-c.notes; !strings.Contains(got, "notifications/subscriptions/acknowledged") {
			c.Fatalf("listen: %s", got)
		}
	}
	if !c.by.era() {
		for _, uri := range uris {
			c.subscribe(uri)
		}
	}
	n.next = func() string {
		c.Helper()
		var m struct{ Params struct{ URI string } }
		if err := json.Unmarshal([]byte(<-c.notes), &m); err != nil {
			c.Fatal(err)
		}
		return m.Params.URI
	}
	return n
}

// stream opens an event stream and passes on the notifications in it.
func (c *chat) stream(method, body string, headers ...string) {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, c.url, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != 200 {
		c.Fatalf("open stream: %v, %v", res, err)
	}
	c.Cleanup(func() { res.Body.Close() })
	go func() {
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.Contains(data, `"method"`) {
				c.notes <- data
			}
		}
	}()
}

// subscribe sends resources/subscribe.
func (c *chat) subscribe(uri string) {
	c.Helper()
	if a := c.asks("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri)); a.Error != nil {
		c.Fatal(a.Raw)
	}
}

// listen returns a subscriptions/listen request.
func (c *chat) listen(id string, uris []string) string {
	raw, err := json.Marshal(uris)
	if err != nil {
		c.Fatal(err)
	}
	return c.message(id, "subscriptions/listen", `{"notifications":{"resourceSubscriptions":`+string(raw)+`}}`)
}

// until returns the URIs up to the second notification about a beacon. Between
// the two, touch changes the beacon again: then all that was written before the
// first call has been notified.
func (n *notes) until(beacon string, touch func()) (uris []string) {
	n.Helper()
	for range 2 {
		touch()
		for {
			uri := n.next()
			uris = append(uris, uri)
			if uri == beacon {
				break
			}
		}
	}
	return slices.DeleteFunc(uris, func(uri string) bool { return uri == beacon })
}

// A subscriber is told of changes to its own conversation's list, and of no
// other conversation's, on one connection.
func TestSubscribersAreToldOfTheirOwnList(t *testing.T) {
	for name, key := range hostKeys {
		t.Run(name, func(t *testing.T) {
			over(t, func(r *rig) {
				c := r.start(nil).chat("tester")
				a, b, beacon := c.with(key, "a"), c.with(key, "b"), c.with(key, "beacon")
				beacon.writes("p:X")
				uri, n := "todo://lists/"+beacon.held(), 0
				touch := func() { n++; beacon.adds(fmt.Sprint("Touch", n)) }
				notes := a.subscribes("todo://list", uri)
				b.writes("p:B1")
				b.writes("c:B1")
				if got := notes.until(uri, touch); len(got) != 0 {
					t.Errorf("told of another conversation's list: %v", got)
				}
				a.writes("p:A1")
				if got := notes.until(uri, touch); !slices.Contains(got, "todo://list") {
					t.Error("not told of the first revision of its own list")
				}
				a.writes("c:A1")
				a.writes("p:A2") // the next plan is another list
				if got := notes.until(uri, touch); !slices.Contains(got, "todo://list") {
					t.Error("not told of its own list's changes")
				}
				r.personEdits(a.held(), sets("2", todo.Completed)) // numbers go on (rule 6)
				if got := notes.until(uri, touch); !slices.Contains(got, "todo://list") {
					t.Error("not told of a person's edit")
				}
			})
		})
	}
}

// After a conversation resumed a list, its subscriber is told, then of each
// change to the resumed list by whomever.
func TestSubscribersFollowAResume(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		a, b, beacon := c.conversation("a"), c.conversation("b"), c.conversation("beacon")
		beacon.writes("p:X")
		uri, n := "todo://lists/"+beacon.held(), 0
		touch := func() { n++; beacon.adds(fmt.Sprint("Touch", n)) }
		b.writes("p:B1 p:B2")
		a.writes("p:A1 p:A2")
		notes := a.subscribes("todo://list", uri)
		a.resumes(b.held())
		if got := notes.until(uri, touch); !slices.Contains(got, "todo://list") {
			t.Error("not told that the conversation holds another list")
		}
		b.writes("c:B1 p:B2")
		if got := notes.until(uri, touch); !slices.Contains(got, "todo://list") {
			t.Error("not told of the resumed list")
		}
		r.personEdits(b.held(), sets("2", todo.Completed))
		if got := notes.until(uri, touch); !slices.Contains(got, "todo://list") {
			t.Error("not told of a person's edit of the resumed list")
		}
	})
}

// Two streams of subscriptions/listen on one pipe, of two conversations: each is
// told of its own conversation's list, under its own id.
func TestTwoListenStreams(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		a, b := c.conversation("a"), c.conversation("b")
		a.writes("p:A")
		b.writes("p:B")
		for id, who := range map[string]*chat{"LA": a, "LB": b} {
			message := who.listen(id, []string{"todo://list"})
			if r.by.pipes() {
				go func() { _, _ = io.WriteString(c.pipe.In, message+"\n") }()
			} else {
				who.stream("POST", message, who.headers(message)...)
			}
			if got := <-c.notes; !strings.Contains(got, "acknowledged") {
				t.Fatal(got)
			}
		}
		early := make(map[string]bool) // a change as a stream begins may be told twice
		for n := range 5 {
			for id, who := range map[string]*chat{"LA": a, "LB": b} {
				who.adds(fmt.Sprint("Step", n))
				told := func() string {
					var m struct {
						Params struct {
							Meta struct {
								Stream string `json:"io.modelcontextprotocol/subscriptionId"`
							} `json:"_meta"`
						}
					}
					if err := json.Unmarshal([]byte(<-c.notes), &m); err != nil {
						t.Fatal(err)
					}
					return m.Params.Meta.Stream
				}
				got := told()
				for got != id && !early[got] {
					early[got] = true
					got = told()
				}
				if got != id {
					t.Errorf("%s's write is told as %s", id, got)
				}
			}
		}
	}, onStdioNew, sessionless)
}

// A subscriber on a named connection is told of the named list, also of one that
// another conversation of that name begins.
func TestSubscriberOfANamedList(t *testing.T) {
	over(t, func(r *rig) {
		p := r.start(func(cfg *server.Config) { cfg.List = "release" })
		conn := p.chat("tester")
		a, b := conn.conversation("a"), conn.conversation("b")
		notes := a.subscribes("todo://list")
		b.writes("p:X")
		select {
		case <-notes.notes:
		case <-time.After(3 * time.Second):
			t.Error("not told")
		}
	})
}

// Two conversations on one connection that both subscribe to todo://list are
// each told of changes to their lists.
func TestTwoSubscribersOnOneConnection(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		a, b, beacon := c.conversation("a"), c.conversation("b"), c.conversation("beacon")
		beacon.writes("p:X")
		uri, n := "todo://lists/"+beacon.held(), 0
		touch := func() { n++; beacon.adds(fmt.Sprint("Touch", n)) }
		notes := a.subscribes("todo://list", uri)
		b.subscribe("todo://list")
		b.writes("p:B1")
		if got := notes.until(uri, touch); !slices.Contains(got, "todo://list") {
			t.Error("the second subscriber is not told")
		}
		a.writes("p:A1")
		if got := notes.until(uri, touch); !slices.Contains(got, "todo://list") {
			t.Error("the first subscriber is not told")
		}
	}, onStdio, inSessions)
}

// After a conversation resumed a list, its subscriber is not told any more of
// the list that it held before, which it began.
func TestSubscribersForgetTheEarlierList(t *testing.T) {
	over(t, func(r *rig) {
		c := r.connect()
		a, b, beacon := c.conversation("a"), c.conversation("b"), c.conversation("beacon")
		beacon.writes("p:X")
		uri, n := "todo://lists/"+beacon.held(), 0
		touch := func() { n++; beacon.adds(fmt.Sprint("Touch", n)) }
		b.writes("p:B1 p:B2")
		a.writes("p:A1 p:A2")
		before := a.held()
		notes := a.subscribes("todo://list", uri)
		a.resumes(b.held())
		notes.until(uri, touch)
		r.personEdits(before, sets("1", todo.Completed))
		if got := notes.until(uri, touch); len(got) != 0 {
			t.Error("told of the list that it does not hold any more")
		}
	})
}
