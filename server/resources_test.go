package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
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
			chattest.Over(t, func(r *chattest.Rig) {
				c := r.Start(nil).Chat("tester")
				a, b := c.With(key, "a"), c.With(key, "b")
				a.Writes("i:A1 p:A2")
				b.Writes("p:B1")
				a.Shows("i:A1 p:A2")
				b.Shows("p:B1")
				c.With(key, "c").Shows("")
				c.Shows("")
				b.Adds("B2")
				b.Calls("SetTodoList", `{}`).Says("B2").Lacks("A1")
			})
		})
	}
}

// todo://lists lists the unfinished lists of main agents with what a model needs
// to choose one: id, title, progress without cancelled items, workspace, client
// and when. Those of the caller's workspace come first.
func TestListsResource(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		now := time.Date(2026, 11, 24, 9, 30, 0, 0, time.UTC)
		b := todo.NewBoard(r.Store, todo.WithClock(func() time.Time { return now.Add(123 * time.Millisecond) }))
		defer b.Close()
		other := todo.Conversation{Key: "x", Client: "other", Workspace: "/elsewhere"}
		elsewhere, err := b.As("").Apply(t.Context(), todo.Write{
			Target: todo.Target{Conversation: other, Append: true},
			Change: func(d *todo.Draft) error {
				d.Append("E1", "E2", "E3")
				d.SetStatus("1", todo.Completed)
				d.SetStatus("3", todo.Cancelled)
				return nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		chattest.Foreign(t, r.Store)
		c := r.Connect()
		c.Conversation("a").Writes("c:A1 p:A2")
		c.Conversation("a").Agent("x").Writes("p:S")
		c.Conversation("done").Writes("c:D")
		c.Conversation("empty").Writes("p:E")
		c.Conversation("empty").Writes("")
		var got struct {
			Lists []struct {
				List, Title, Workspace, Client string
				Completed, Total               int
				Updated                        time.Time
			}
		}
		if err := json.Unmarshal([]byte(c.Resource("todo://lists")), &got); err != nil {
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
		if r.By.Piped() {
			workspace = "/work/project"
			if byTitle["A2"] != 0 {
				t.Errorf("the caller's workspace comes first: %+v", got.Lists)
			}
		}
		if a := got.Lists[byTitle["A2"]]; a.List != c.Conversation("a").Current() || a.Completed != 1 || a.Total != 2 || a.Workspace != workspace || a.Client != "tester" || time.Since(a.Updated) > time.Minute {
			t.Errorf("a's: %+v", a)
		}
		if e := got.Lists[byTitle["E2"]]; e.List != elsewhere.After.List.ID || e.Completed != 1 || e.Total != 2 || e.Workspace != "/elsewhere" || e.Client != "other" || !e.Updated.Equal(now) {
			t.Errorf("another client's: %+v", e)
		}
	})
}

// With nothing unfinished todo://lists is an empty list, not null.
func TestNoUnfinishedLists(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		if got := r.Connect().Resource("todo://lists"); got != `{"lists":[]}` {
			t.Error(got)
		}
	})
}

// told checks whether a subscriber was notified of todo://list before a beacon changed,
// or of nothing at all.
func told(c *chattest.Chat, beacon *chattest.Beacon, want bool, what string) {
	c.Helper()
	if got := beacon.Before(c); slices.Contains(got, "todo://list") != want || !want && len(got) > 0 {
		c.Errorf("told of %s: %q, want %t", what, got, want)
	}
}

// A subscriber is told of changes to its own conversation's list, and of no
// other conversation's, on one connection.
func TestSubscribersAreToldOfTheirOwnList(t *testing.T) {
	for name, key := range hostKeys {
		t.Run(name, func(t *testing.T) {
			chattest.Over(t, func(r *chattest.Rig) {
				c := r.Connect()
				a, b, beacon := c.With(key, "a"), c.With(key, "b"), c.With(key, "beacon").Beacon()
				a.Subscribes("todo://list", beacon.URI)
				b.Writes("p:B1")
				b.Writes("c:B1")
				told(a, beacon, false, "another conversation's list")
				a.Writes("p:A1")
				told(a, beacon, true, "the first revision of its own list")
				a.Writes("c:A1")
				a.Writes("p:A2") // the next plan is another list
				told(a, beacon, true, "its own list's changes")
				r.Edits(a.Current(), chattest.Sets("2", todo.Completed)) // numbers go on (rule 6)
				told(a, beacon, true, "a person's edit")
			})
		})
	}
}

// After a conversation resumed a list, its subscriber is told, then of each
// change to the resumed list by whomever, and not any more of the list that it had
// before, which it began.
func TestSubscribersFollowAResume(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		a, b, beacon := c.Conversation("a"), c.Conversation("b"), c.Conversation("beacon").Beacon()
		b.Writes("p:B1 p:B2")
		a.Writes("p:A1 p:A2")
		before := a.Current()
		a.Subscribes("todo://list", beacon.URI)
		a.Resumes(b.Current())
		told(a, beacon, true, "another list that is now its own")
		r.Edits(before, chattest.Sets("1", todo.Completed))
		told(a, beacon, false, "the list that it had before")
		b.Writes("c:B1 p:B2")
		told(a, beacon, true, "the resumed list")
		r.Edits(b.Current(), chattest.Sets("2", todo.Completed))
		told(a, beacon, true, "a person's edit of the resumed list")
	})
}

// Two streams of subscriptions/listen on one connection, of two conversations: each is
// told of its own conversation's list, under its own id.
func TestTwoListenStreams(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		chats := map[string]*chattest.Chat{"LA": c.Conversation("a"), "LB": c.Conversation("b")}
		for id, who := range chats {
			who.Writes("p:" + id)
			who.Listens(id, "todo://list")
		}
		early := make(map[string]bool) // a change as a stream begins may be told twice
		for n := range 5 {
			for id, who := range chats {
				who.Adds(fmt.Sprint("Step", n))
				_, got := c.Updated()
				for got != id && !early[got] {
					early[got] = true
					_, got = c.Updated()
				}
				if got != id {
					t.Errorf("%s's write is told as %s", id, got)
				}
			}
		}
	}, chattest.StdioModern, chattest.Sessionless)
}

// A subscriber on a named connection is told of the named list, also of one that
// another conversation of that name begins.
func TestSubscriberOfANamedList(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		conn := r.Named("release")
		conn.Conversation("a").Subscribes("todo://list")
		conn.Conversation("b").Writes("p:X")
		conn.Updated()
	})
}

// Two conversations on one connection that both subscribe to todo://list are
// each told of changes to their lists.
func TestTwoSubscribersOnOneConnection(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		a, b, beacon := c.Conversation("a"), c.Conversation("b"), c.Conversation("beacon").Beacon()
		a.Subscribes("todo://list", beacon.URI)
		b.Subscribe("todo://list")
		b.Writes("p:B1")
		told(a, beacon, true, "the second subscriber's list")
		a.Writes("p:A1")
		told(a, beacon, true, "the first subscriber's list")
	}, chattest.Stdio, chattest.Session)
}
