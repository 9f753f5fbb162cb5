package subscriptions

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// silent is a store that never answers which list is a conversation's current one.
type silent struct{ board.Store }

func (silent) Seen(ctx context.Context, _ board.Key) ([]board.Seen, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func newHub(t *testing.T, store board.Store, most, all int) *Hub {
	b := board.NewBoard(store)
	t.Cleanup(b.Close)
	r := New(Config{Board: b, Max: most, MaxAll: all})
	t.Cleanup(r.Close)
	return r
}

func subscribe(t *testing.T, r *Hub, c Client, uri string) {
	t.Helper()
	checktest.Check(t, r.Subscribe(t.Context(), c, uri))
}

func write(t *testing.T, r *Hub, conversation, list string) todo.Snapshot {
	t.Helper()
	target := board.Target{Conversation: board.Conversation{Key: conversation}, List: list, Append: true}
	return checktest.Must(r.Board.As("").Apply(t.Context(), board.Write{Target: target,
		Change: func(d *todo.Draft) error { d.Append("A"); return nil }}))(t).After
}

func takesUp(t *testing.T, r *Hub, who board.Conversation, of string) todo.Snapshot {
	t.Helper()
	list := write(t, r, of, "")
	checktest.Check(t, r.Board.As("").SetCurrent(t.Context(), who, list))
	return list
}

func serve(t *testing.T, r *Hub, c Client, told chan<- mcp.JSONRPCNotification) *Stream {
	s := r.Open(c)
	served := make(chan error)
	go func() {
		served <- s.Serve(t.Context(), func(n mcp.JSONRPCNotification) error { told <- n; return nil })
	}()
	t.Cleanup(func() {
		checktest.Check(t, <-served)
		s.Close()
	})
	return s
}

// BAD-INPUT 64: subscriptions of a session without a stream end after a minute, or when it unsubscribes.
func TestSubscriptionsWithoutAStreamEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHub(t, storetest.NewMemory(), 1, 1)
		subscribe := func(session string, refused bool) {
			t.Helper()
			if err := r.Subscribe(t.Context(), Client{Session: session}, Current); (err != nil) != refused {
				t.Errorf("64: %s: %v", session, err)
			}
		}
		subscribe("a", false)
		r.Unsubscribe("a", Current)
		subscribe("b", false)
		time.Sleep(linger) // of the test's clock
		subscribe("c", true)
		time.Sleep(time.Nanosecond)
		subscribe("c", false)
	})
}

// From its subscription on, a client is notified of changes of the current list, and not of other lists.
func TestAChangeOfTheCurrentList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, who := newHub(t, storetest.NewMemory(), 2, 20), board.Conversation{Key: "chat:a"}
		current := takesUp(t, r, who, "chat:b")
		notes, c := make(chan mcp.JSONRPCNotification, 2), Client{Session: "s", Conversation: who, Listen: []byte("1")}
		serve(t, r, c, notes)
		subscribe(t, r, c, Current)
		for want := range 2 {
			if want > 0 {
				write(t, r, "chat:c", current.List.ID)
			}
			write(t, r, "chat:d", "")
			if synctest.Wait(); len(notes) != want {
				t.Errorf("%d notifications, want %d", len(notes), want)
			}
		}
	})
}

// BAD-INPUT 50: a store that does not answer delays notices to a client by at most [readTimeout]. The client is also
// notified of a current list that cannot be read.
func TestACurrentListThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHub(t, silent{storetest.NewMemory()}, 2, 20)
		told, c := make(chan mcp.JSONRPCNotification, 2), Client{Session: "s", Conversation: board.Conversation{Key: "chat:a"}}
		subscribe(t, r, c, Current)
		subscribe(t, r, c, All)
		serve(t, r, c, told)
		<-told
		<-told
	})
}

// A client is also notified of an agent's event, here a rest, which may archive a list without a revision.
func TestWhatAgentsDoIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, who := newHub(t, storetest.NewMemory(), 4, 20), board.Conversation{Key: "chat:a"}
		current := takesUp(t, r, who, "chat:b")
		told, c := make(chan mcp.JSONRPCNotification, 20), Client{Session: "s", Conversation: who, Listen: []byte("1")}
		subscribe(t, r, c, One+current.List.ID)
		subscribe(t, r, c, All)
		serve(t, r, c, told)
		synctest.Wait()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for len(told) > 0 {
			<-told
		}
		if _, err := r.Board.As("").Hear(t.Context(), who, func(c *todo.Chat, at time.Time) { c.Says(todo.Rests, "", at) }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(told) != 2 {
			t.Errorf("the list and the list of all are told %d times of an agent that rests", len(told))
		}
	})
}

// BAD-INPUT 64: a signed-in user may have half of all subscriptions, in any number of sessions.
func TestSubscriptionsAreCountedByUser(t *testing.T) {
	r := newHub(t, storetest.NewMemory(), 1, 4)
	for n, c := range []struct {
		user, refusal string
	}{{"vic", ""}, {"vic", ""}, {"vic", "one user may have 2 subscriptions"}, {"ann", ""}} {
		err := r.Subscribe(t.Context(), Client{Session: fmt.Sprint(n), Identity: board.Identity{Principal: "team", Subject: c.user}}, All)
		if (err != nil) != (c.refusal != "") || err != nil && err.Error() != c.refusal {
			t.Errorf("64: %d: %v", n, err)
		}
	}
	if len(r.clients) != 3 { // a refused subscription uses no memory
		t.Errorf("64: %d sessions are kept", len(r.clients))
	}
}

// A session's next stream begins with the resources that it subscribed to, even if the previous stream is still sending
// when it is replaced.
func TestTheStreamBeforeTakesNothingFromTheNext(t *testing.T) {
	for range 20 { // if both wake and end are ready, select may take either
		synctest.Test(t, func(t *testing.T) {
			r := newHub(t, storetest.NewMemory(), 2, 20)
			c := Client{Session: "s"}
			first := r.Open(c)
			sending, sent, ended := make(chan bool), make(chan bool), make(chan bool)
			go func() {
				_ = first.Serve(t.Context(), func(mcp.JSONRPCNotification) error { close(sending); <-sent; return nil })
				first.Close()
				close(ended)
			}()
			subscribe(t, r, c, All)
			write(t, r, "chat:a", "")
			<-sending
			second := r.Open(c)
			close(sent)
			<-ended
			notes := make(chan mcp.JSONRPCNotification, 2)
			go func() {
				_ = second.Serve(t.Context(), func(n mcp.JSONRPCNotification) error { notes <- n; return nil })
			}()
			if synctest.Wait(); len(notes) == 0 {
				t.Error("the next stream is told nothing")
			}
			r.Close()
			second.Close()
		})
	}
}
