package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// limited serves a server over HTTP and returns what begins a session.
func limited(t *testing.T, edit func(*server.Config)) (begin func() *chattest.Chat) {
	t.Helper()
	s := (&chattest.Rig{T: t, By: chattest.Session, Store: chattest.Memory()}).Start(edit)
	return func() *chattest.Chat { return s.Chat("tester") }
}

// subscription checks what a subscription, or the end of one, is refused with; nothing
// when it is not.
func subscription(c *chattest.Chat, method, uri, refusal string) {
	c.Helper()
	a := c.Asks("resources/"+method, fmt.Sprintf(`{"uri":%q}`, uri))
	if err := a.Refused(); (err != nil) != (refusal != "") || err != nil && !strings.Contains(err.Error(), refusal) {
		c.Errorf("64: %s %.30s is answered %.200s, want %q", method, uri, a.Raw, refusal)
	}
}

// BAD-INPUT 64: only resources of this server can be subscribed to, and what is
// refused uses no memory.
func TestOnlyOwnResourcesAreSubscribed(t *testing.T) {
	c := limited(t, nil)()
	before := servertest.Heap()
	long := strings.Repeat("x", 900<<10)
	for n := range 12 {
		for _, uri := range []string{"todo://lists/", "file:///" + long, fmt.Sprint("todo://lists/", n, long)} {
			subscription(c, "subscribe", uri, "no such resource")
		}
	}
	if grown := int64(servertest.Heap()) - int64(before); grown > 8<<20 {
		t.Errorf("64: %d bytes grown", grown)
	}
}

// BAD-INPUT 64: the subscriptions of a session without a stream end after a
// while, and of one that has unsubscribed from all at once.
func TestSubscriptionsWithoutAStreamEnd(t *testing.T) {
	begin := limited(t, func(c *server.Config) { c.MaxAllSubscriptions, c.SubscriptionLinger = 1, 20*time.Millisecond })
	for range 2 { // the second finds the place that the first has left
		c := begin()
		subscription(c, "subscribe", "todo://list", "")
		subscription(c, "unsubscribe", "todo://list", "")
	}
	begin().Subscribe("todo://list")
	next, deadline := begin(), time.Now().Add(10*time.Second)
	for next.Asks("resources/subscribe", `{"uri":"todo://lists"}`).Error != nil {
		if time.Now().After(deadline) {
			t.Fatal("64: the subscriptions of a session without a stream do not end")
		}
	}
}

// A session's next stream begins with all that it subscribed to, which may have
// changed meanwhile, and knows which list its conversation took up without a stream.
func TestTheNextStreamKnowsWhatChanged(t *testing.T) {
	begin := limited(t, nil)
	a, b := begin(), begin()
	a.Writes("p:Own")
	b.Writes("p:Other")
	const list = `"uri":"todo://list"`
	stream := func() *servertest.Events {
		return servertest.OpenStream(t, "GET", a.URL, "", "Mcp-Session-Id", a.Session)
	}
	first := stream()
	a.Subscribe("todo://list")
	a.Writes("c:Own")
	first.Expect(list)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	a.Resume("Other").Says("Other")
	second := stream()
	second.Expect(list)
	for _, plan := range []string{"i:Other", "c:Other"} {
		b.Writes(plan)
		second.Expect(list)
	}
}

// The acknowledgement is the first message of a stream of subscriptions/listen,
// also where nothing is subscribed to and the answer follows at once. mcp-go lets
// the answer overtake it, or drops it.
func TestListenIsAcknowledgedFirst(t *testing.T) {
	chattest.Over(t, func(r *chattest.Rig) {
		c := r.Connect()
		for range 100 {
			message := c.Message("L", "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
			a, err := c.Send(t.Context(), message)
			note := c.NoteNow() // what came before the answer
			if err != nil || !strings.Contains(note, "notifications/subscriptions/acknowledged") || a.Result.ResultType != "complete" {
				c.Fatalf("a stream without subscriptions: %q %s %v", note, a.Raw, err)
			}
		}
	}, chattest.StdioModern, chattest.Sessionless)
}

// A request that names a version with sessions in _meta subscribes as any other.
func TestSubscribeWithAnOlderVersionInMeta(t *testing.T) {
	c := limited(t, func(c *server.Config) { c.MaxSubscriptions = 1 })()
	c = c.With(`"io.modelcontextprotocol/protocolVersion":"2025-06-18"`)
	c.Subscribe("todo://lists")
	subscription(c, "subscribe", "todo://lists/1", "one connection may have")
}

// told checks whether a subscriber was notified of todo://list before a beacon changed,
// or of nothing at all.
func told(c *chattest.Chat, beacon *chattest.Beacon, want bool, what string) {
	c.Helper()
	if got := beacon.Before(c); slices.Contains(got, "todo://list") != want || !want && len(got) > 0 {
		c.Errorf("told of %s: %q, want %t", what, got, want)
	}
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

// database keeps subscriptions for the servers of a test, as one that they share.
type database struct {
	todo.Subscriptions
	// reading is called before the subscriptions of a session are read.
	reading func(ctx context.Context) error

	mu    sync.Mutex
	gone  error // what each change is answered with
	rows  []todo.Subscription
	hints []func()
}

func (d *database) Subscribe(_ context.Context, s todo.Subscription, most int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		return d.gone
	}
	if len(d.of(s.Session)) >= most {
		return todo.ErrTooManySubscriptions
	}
	d.change(append(d.rows, s))
	return nil
}

func (d *database) Unsubscribe(_ context.Context, session, uri string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil {
		return d.gone
	}
	d.change(slices.DeleteFunc(d.rows, func(s todo.Subscription) bool { return s.Session == session && (uri == "" || s.URI == uri) }))
	return nil
}

// of returns the subscriptions of some sessions.
func (d *database) of(sessions ...string) []todo.Subscription {
	return slices.DeleteFunc(slices.Clone(d.rows), func(s todo.Subscription) bool { return !slices.Contains(sessions, s.Session) })
}

func (d *database) change(rows []todo.Subscription) {
	d.rows = rows
	for _, hint := range d.hints {
		hint()
	}
}

func (d *database) SubscriptionsOf(ctx context.Context, sessions []string) (found []todo.Subscription, err error) {
	if err := d.reading(ctx); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of(sessions...), nil
}

func (d *database) WatchSubscriptions(ctx context.Context, hint func()) error {
	d.mu.Lock()
	d.hints = append(d.hints, hint)
	d.mu.Unlock()
	<-ctx.Done()
	return nil
}

// readable is [database.reading] of a database that can be read.
func readable(context.Context) error { return nil }

// sites begins sessions at the first of two servers on one database, and returns the
// address of the second.
func sites(t *testing.T, d *database) (begin func() *chattest.Chat, second string) {
	t.Helper()
	r := &chattest.Rig{T: t, By: chattest.Session, Store: chattest.Memory()}
	edit := func(c *server.Config) { c.Subscriptions, c.MaxSubscriptions = d, 3 }
	a, b := r.Start(edit), r.Start(edit)
	return func() *chattest.Chat { return a.Chat("tester") }, b.Base + "/mcp"
}

func streamAt(t *testing.T, url string, c *chattest.Chat) *servertest.Events {
	t.Helper()
	return servertest.OpenStream(t, "GET", url, "", "Mcp-Session-Id", c.Session)
}

// BAD-INPUT 53: a stream whose subscriptions cannot be read as it opens has them
// later.
func TestSubscriptionsAreReadAgain(t *testing.T) {
	failures := make(chan error, 1)
	d := &database{reading: func(context.Context) error {
		select {
		case err := <-failures:
			return err
		default:
			return nil
		}
	}}
	begin, b := sites(t, d)
	c := begin()
	c.Subscribe("todo://lists")
	failures <- errors.New("the database is gone")
	stream := streamAt(t, b, c)
	begin().Subscribe("todo://lists") // a hint
	stream.Expect(`"uri":"todo://lists"`)
}

// BAD-INPUT 64: a session has as many subscriptions on all servers together as on
// one.
//
// BAD-INPUT 64: Subscriptions to other URIs, of a megabyte, or without end → Refused:
// only resources of ours (200 bytes), 100 of a session, on all servers together, or
// stream, each conversation's `todo://list` counted, 10,000 of all. A session without
// a stream keeps them for a minute
func TestSubscriptionLimitOfAllServers(t *testing.T) {
	begin, b := sites(t, &database{reading: readable})
	c := begin()
	for n := range 3 {
		[]*chattest.Chat{c, c.At(b)}[n%2].Subscribe(fmt.Sprint("todo://lists/", n))
	}
	subscription(c.At(b), "subscribe", "todo://list", "one connection may have")
}

// BAD-INPUT 53: what cannot be stored is answered with an error and changes nothing:
// neither does a second subscription end the first, nor is one removed.
func TestSubscriptionsThatCannotBeStored(t *testing.T) {
	d := &database{reading: readable}
	begin := limited(t, func(c *server.Config) { c.Subscriptions, c.MaxAllSubscriptions = d, 1 })
	c, other := begin(), begin()
	subscription(c, "subscribe", "todo://lists", "")
	d.gone = errors.New("the database is gone")
	subscription(c, "subscribe", "todo://lists", "could not be stored")
	subscription(other, "subscribe", "todo://lists", "all connections together")
	subscription(c, "unsubscribe", "todo://lists", "could not be removed")
	subscription(other, "subscribe", "todo://lists", "all connections together")
	d.gone = nil
	subscription(c, "unsubscribe", "todo://lists", "")
	subscription(other, "subscribe", "todo://lists", "")
}

// A session that its client ends at one server has no subscriptions at another: the
// stream there is told nothing any more, and none are stored.
func TestSubscriptionsEndWithTheirSession(t *testing.T) {
	d := &database{reading: readable}
	begin, b := sites(t, d)
	c, other := begin(), begin()
	stream := streamAt(t, b, c)
	c.Subscribe("todo://lists")
	stream.Expect(`"uri":"todo://lists"`)
	r, err := http.NewRequestWithContext(t.Context(), "DELETE", c.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", c.Session)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	d.mu.Lock()
	if len(d.rows) > 0 {
		t.Errorf("%d subscriptions are stored", len(d.rows))
	}
	d.mu.Unlock()
	second := streamAt(t, b, other)
	other.Subscribe("todo://lists") // comes to the second server after the end
	second.Expect(`"uri":"todo://lists"`)
	// A client that goes on there all the same has what it subscribes to there.
	c = c.At(b)
	c.Subscribe("todo://list")
	for n := range 3 { // by the third it was sent all of the first
		c.Writes(fmt.Sprint("p:", n))
		if sent := stream.Until(`"todo://list"`); strings.Contains(sent, "todo://lists") {
			t.Errorf("the ended session was sent %s", sent)
		}
	}
}
