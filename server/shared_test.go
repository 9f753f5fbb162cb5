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
	rows  []todo.Subscription
	hints []func()
	after []int64 // what servers read those of all sessions after
}

// settled is the Seq of what was stored before any server started.
const settled = 1000

func (d *database) Subscribe(_ context.Context, s todo.Subscription) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Seq = settled + int64(len(d.rows)) + 1
	d.rows = append(d.rows, s)
	for _, hint := range d.hints {
		hint()
	}
	return nil
}

func (d *database) SubscriptionsOf(ctx context.Context, session string) (found []todo.Subscription, err error) {
	if err := d.reading(ctx); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.rows), func(s todo.Subscription) bool { return s.Session != session }), nil
}

func (d *database) SubscriptionsAfter(_ context.Context, after int64) ([]todo.Subscription, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.after = append(d.after, after)
	return slices.DeleteFunc(slices.Clone(d.rows), func(s todo.Subscription) bool { return s.Seq <= after }), nil
}

func (d *database) Position(context.Context) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return settled + int64(len(d.rows)), nil
}

func (d *database) Watch(ctx context.Context, hint func()) error {
	d.mu.Lock()
	d.hints = append(d.hints, hint)
	d.mu.Unlock()
	<-ctx.Done()
	return nil
}

// sites serves two servers on one database.
func sites(t *testing.T, d *database) (a, b string) {
	t.Helper()
	st, urls := memory.New(), []string{}
	for range 2 {
		s := servertest.New(t, st, func(c *server.Config) { c.Subscriptions = d })
		urls = append(urls, servertest.Serve(t, s, nil).URL+"/mcp")
	}
	return urls[0], urls[1]
}

// subscribe subscribes a session to a resource.
func subscribe(t *testing.T, url, session, uri string) {
	t.Helper()
	if _, _, body := servertest.Post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":%q}}`, uri), "Mcp-Session-Id", session); strings.Contains(body, `"error"`) {
		t.Fatal(body)
	}
}

// BAD-INPUT 53: a stream whose subscriptions cannot be read as it opens has them
// later, and no other session's are read again for it.
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
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Min(d.after) < settled {
		t.Errorf("read those of all sessions after %d", d.after)
	}
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
