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

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/servertest"
)

// database keeps subscriptions for the servers of a test, as one that they share.
type database struct {
	todo.Subscriptions
	// reading is called before those of a session are read.
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

// sites serves two servers on one database.
func sites(t *testing.T, d *database) (a, b string) {
	t.Helper()
	st, urls := memory.New(), []string{}
	for range 2 {
		s := servertest.New(t, st, func(c *server.Config) { c.Subscriptions, c.MaxSubscriptions = d, 3 })
		urls = append(urls, servertest.Serve(t, s, nil).URL+"/mcp")
	}
	return urls[0], urls[1]
}

// subscribe subscribes a session to a resource.
func subscribe(t *testing.T, url, session, uri string) {
	t.Helper()
	if body := trySubscribe(t, url, session, uri); strings.Contains(body, `"error"`) {
		t.Fatal(body)
	}
}

func trySubscribe(t *testing.T, url, session, uri string) (answer string) {
	t.Helper()
	_, _, answer = servertest.Post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":%q}}`, uri), "Mcp-Session-Id", session)
	return answer
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
	a, b := sites(t, d)
	session := servertest.Session(t, a, "tester")
	subscribe(t, a, session, "todo://lists")
	failures <- errors.New("the database is gone")
	stream := servertest.OpenStream(t, "GET", b, "", "Mcp-Session-Id", session)
	subscribe(t, a, servertest.Session(t, a, "tester"), "todo://lists") // a hint
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
	a, b := sites(t, d)
	ctx, hangUp := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", b, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Mcp-Session-Id": {servertest.Session(t, a, "tester")}, "Accept": {"text/event-stream"}}
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
func TestSubscriptionLimitOfAllServers(t *testing.T) {
	d := &database{reading: readable}
	a, b := sites(t, d)
	session := servertest.Session(t, a, "tester")
	for n := range 3 {
		subscribe(t, []string{a, b}[n%2], session, fmt.Sprint("todo://lists/", n))
	}
	if answer := trySubscribe(t, b, session, "todo://list"); !refused(answer, "one connection may have") {
		t.Errorf("64: %s", answer)
	}
}

// BAD-INPUT 53: what cannot be stored is answered with an error and changes nothing:
// neither does a second subscription end the first, nor is one removed.
func TestSubscriptionsThatCannotBeStored(t *testing.T) {
	d := &database{reading: readable}
	send, begin := subscribing(t, func(c *server.Config) { c.Subscriptions, c.MaxAllSubscriptions = d, 1 })
	session, other := begin(), begin()
	expect := func(session, method, refusal string) {
		t.Helper()
		answer := send(session, method, "todo://lists", `"a":1`)
		if refusal == "" && strings.Contains(answer, `"error"`) || refusal != "" && !refused(answer, refusal) {
			t.Errorf("53: %s: %s", method, answer)
		}
	}
	expect(session, "subscribe", "")
	d.gone = errors.New("the database is gone")
	expect(session, "subscribe", "could not be stored")
	expect(other, "subscribe", "all connections together")
	expect(session, "unsubscribe", "could not be removed")
	expect(other, "subscribe", "all connections together")
	d.gone = nil
	expect(session, "unsubscribe", "")
	expect(other, "subscribe", "")
}

// A session that its client ends at one server has no subscriptions at another: the
// stream there is told nothing any more, and none are stored.
func TestSubscriptionsEndWithTheirSession(t *testing.T) {
	d := &database{reading: readable}
	a, b := sites(t, d)
	session, other := servertest.Session(t, a, "tester"), servertest.Session(t, a, "tester")
	stream := servertest.OpenStream(t, "GET", b, "", "Mcp-Session-Id", session)
	subscribe(t, a, session, "todo://lists")
	stream.Expect(`"uri":"todo://lists"`)
	r, err := http.NewRequestWithContext(t.Context(), "DELETE", a, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", session)
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
	second := servertest.OpenStream(t, "GET", b, "", "Mcp-Session-Id", other)
	subscribe(t, a, other, "todo://lists") // comes to b after the end
	second.Expect(`"uri":"todo://lists"`)
	// A client that goes on at b all the same has what it subscribes to there.
	subscribe(t, b, session, "todo://list")
	for n := range 3 { // by the third it was sent all of the first
		servertest.Post(t, b, servertest.Call(n, "TodoWrite", servertest.Todos("pending", fmt.Sprint(n))), "Mcp-Session-Id", session)
		if sent := stream.Until(`"todo://list"`); strings.Contains(sent, "todo://lists") {
			t.Errorf("the ended session was sent %s", sent)
		}
	}
}
