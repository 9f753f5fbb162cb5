package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
)

// silent is a store that does not answer which list is a conversation's, and counts
// how many ask at once.
type silent struct {
	todo.Store
	asking *atomic.Int32
}

func (s silent) Cursors(ctx context.Context, _ todo.Key) ([]todo.Cursor, error) {
	s.asking.Add(1)
	defer s.asking.Add(-1)
	<-ctx.Done()
	return nil, ctx.Err()
}

// Streams that all want their current list read leave the store's connections to
// others, and a store that does not answer holds up what else they are told for a
// bounded time.
func TestCurrentListsAreReadInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := silent{memory.New(), new(atomic.Int32)}
		board := todo.NewBoard(store)
		defer board.Close()
		r := New(Config{Board: board, Max: 2, MaxAll: 20})
		defer r.Close()
		const streams = 5
		told := make(chan mcp.JSONRPCNotification, 2*streams)
		var clients []Client
		for n := range streams {
			c := Client{Session: fmt.Sprint(n), Conversation: todo.Conversation{Key: fmt.Sprint("chat:", n)}}
			for _, uri := range []string{Current, All} {
				if err := r.Subscribe(t.Context(), c, uri); err != nil {
					t.Fatal(err)
				}
			}
			clients = append(clients, c)
		}
		for _, c := range clients {
			serve(t, r, c, told)
		}
		synctest.Wait()
		if n := store.asking.Load(); n != maxReading {
			t.Fatalf("%d read at once, want %d", n, maxReading)
		}
		for range 2 * streams {
			<-told
		}
	})
}

// serve passes on what a client is notified of, until the test ends.
func serve(t *testing.T, r *Room, c Client, told chan<- mcp.JSONRPCNotification) *Stream {
	s := r.Open(c)
	served := make(chan error)
	go func() {
		served <- s.Serve(t.Context(), func(n mcp.JSONRPCNotification) error { told <- n; return nil })
	}()
	t.Cleanup(func() {
		if err := <-served; err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s
}

// BAD-INPUT 64: the subscriptions of a session without a stream end after a while, and of
// one that has unsubscribed from all at once.
func TestSubscriptionsWithoutAStreamEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := todo.NewBoard(memory.New())
		defer board.Close()
		r := New(Config{Board: board, MaxAll: 1})
		defer r.Close()
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

// A hint makes no subscriber read that does not want its current list.
func TestAHintWakesWhoWantsTheCurrentList(t *testing.T) {
	board := todo.NewBoard(memory.New())
	defer board.Close()
	r := New(Config{Board: board, Max: 1, MaxAll: 2})
	defer r.Close()
	for uri, wakes := range map[string]bool{Current: true, All: false} {
		if err := r.Subscribe(t.Context(), Client{Session: uri}, uri); err != nil {
			t.Fatal(err)
		}
		sub := r.clients[uri]
		<-sub.wake
		if r.Moved(todo.Identity{}, ""); len(sub.wake) == 1 != wakes {
			t.Errorf("%s: woken is %t", uri, !wakes)
		}
	}
}

// A change of the current list is noticed from the subscription on, and one of another
// list is not.
func TestAChangeOfTheCurrentList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := todo.NewBoard(memory.New())
		defer board.Close()
		lists, who := board.As(""), todo.Conversation{Key: "chat:a"}
		write := func(by todo.Conversation, list, text string) todo.Snapshot {
			out, err := lists.Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: by, List: list, Append: true},
				Change: func(d *todo.Draft) error { d.Append(text); return nil }})
			if err != nil {
				t.Fatal(err)
			}
			return out.After
		}
		current := write(todo.Conversation{Key: "chat:b"}, "", "A") // another chat began it
		if err := lists.SetCurrent(t.Context(), who, current); err != nil {
			t.Fatal(err)
		}
		r := New(Config{Board: board, Max: 2, MaxAll: 20})
		defer r.Close()
		notes, c := make(chan mcp.JSONRPCNotification, 2), Client{Session: "s", Conversation: who, Listen: []byte("1")}
		serve(t, r, c, notes)
		if err := r.Subscribe(t.Context(), c, Current); err != nil {
			t.Fatal(err)
		}
		for want, text := range []string{"", "B"} {
			if text != "" {
				write(todo.Conversation{Key: "chat:c"}, current.List.ID, text)
			}
			write(todo.Conversation{Key: "chat:d"}, "", "other")
			if synctest.Wait(); len(notes) != want {
				t.Errorf("%d notifications, want %d", len(notes), want)
			}
		}
	})
}

// failing is a store that cannot say which list is a conversation's while it fails.
type failing struct {
	todo.Store
	fails *atomic.Bool
}

func (f failing) Cursors(ctx context.Context, k todo.Key) ([]todo.Cursor, error) {
	if f.fails.Load() {
		return nil, errors.New("the disk is gone")
	}
	return f.Store.Cursors(ctx, k)
}

// BAD-INPUT 50: a current list that could not be read is read again when a list changes,
// whoever began that.
func TestACurrentListIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := failing{memory.New(), new(atomic.Bool)}
		board := todo.NewBoard(store)
		defer board.Close()
		lists, who := board.As(""), todo.Conversation{Key: "chat:a"}
		write := func(list string) todo.Snapshot {
			out, err := lists.Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "chat:b"}, List: list, Append: true},
				Change: func(d *todo.Draft) error { d.Append("A"); return nil }})
			if err != nil {
				t.Fatal(err)
			}
			return out.After
		}
		taken := write("")
		if err := lists.SetCurrent(t.Context(), who, taken); err != nil {
			t.Fatal(err)
		}
		r := New(Config{Board: board, Max: 2, MaxAll: 20})
		defer r.Close()
		notes, c := make(chan mcp.JSONRPCNotification, 2), Client{Session: "s", Conversation: who, Listen: []byte("1")}
		serve(t, r, c, notes)
		store.fails.Store(true)
		if err := r.Subscribe(t.Context(), c, Current); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		store.fails.Store(false)
		write(taken.List.ID)
		if synctest.Wait(); len(notes) != 1 {
			t.Errorf("50: %d notifications", len(notes))
		}
	})
}

// BAD-INPUT 64: what is refused uses no memory.
func TestRefusedSubscriptionsLeaveNothing(t *testing.T) {
	board := todo.NewBoard(memory.New())
	defer board.Close()
	r := New(Config{Board: board, Max: 1, MaxAll: 1})
	defer r.Close()
	for n := range 3 {
		err := r.Subscribe(t.Context(), Client{Session: fmt.Sprint(n)}, All)
		if (err != nil) != (n > 0) {
			t.Errorf("subscription %d: %v", n, err)
		}
	}
	if len(r.clients) != 1 {
		t.Errorf("%d sessions are kept", len(r.clients))
	}
}

// A session's next stream begins with what it subscribed to, also when the one before is
// still sending as it is replaced.
func TestTheStreamBeforeTakesNothingFromTheNext(t *testing.T) {
	for range 20 { // where both wake and end are due, either may be taken
		synctest.Test(t, func(t *testing.T) {
			board := todo.NewBoard(memory.New())
			defer board.Close()
			r := New(Config{Board: board, Max: 2, MaxAll: 20})
			defer r.Close()
			c := Client{Session: "s"}
			first := r.Open(c)
			sending, sent, ended := make(chan bool), make(chan bool), make(chan bool)
			go func() {
				_ = first.Serve(t.Context(), func(mcp.JSONRPCNotification) error { close(sending); <-sent; return nil })
				first.Close()
				close(ended)
			}()
			if err := r.Subscribe(t.Context(), c, All); err != nil {
				t.Fatal(err)
			}
			if _, err := board.As("").Apply(t.Context(), todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: "chat:a"}, Append: true},
				Change: func(d *todo.Draft) error { d.Append("A"); return nil }}); err != nil {
				t.Fatal(err)
			}
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
