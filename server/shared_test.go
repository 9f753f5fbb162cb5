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

	"todo-mcp/internal/chattest"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

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

// BAD-INPUT 28: a client that hangs up while its subscriptions are read does not end
// the reading.
func TestSubscriptionsAreReadForWhoHangsUp(t *testing.T) {
	begun, hungUp, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	d := &database{reading: func(ctx context.Context) error {
		close(begun)
		<-hungUp
		read <- ctx.Err()
		return ctx.Err()
	}}
	begin, b := sites(t, d)
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", b, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Mcp-Session-Id": {begin().Session}, "Accept": {"text/event-stream"}}
	var gone sync.WaitGroup
	gone.Go(func() {
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
		}
	})
	<-begun
	hangUp()
	gone.Wait()
	close(hungUp)
	if err := <-read; err != nil {
		t.Error(err)
	}
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
