package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// SaveChat saves a chat in an update of its own.
func SaveChat(ctx context.Context, s board.Store, c todo.Chat) (saved todo.Chat, err error) {
	err = s.Update(ctx, board.Key{Principal: c.Principal, Chat: c.ID}, func(tx board.Tx) error {
		saved, err = tx.SaveChat(ctx, c)
		return err
	})
	return saved, err
}

// SetKey stores a key in an update of its own.
func SetKey(ctx context.Context, s board.Store, k board.ChatKey, chat string, until time.Time) error {
	return s.Update(ctx, board.Key{Principal: k.Principal, Chat: chat}, func(tx board.Tx) error { return tx.SetKey(ctx, k, chat, until) })
}

// chat returns a chat that has not ended. Most fields have a value, but not Principal, User, Ended and Why.
func chat(id string) todo.Chat {
	now := time.Now().Round(0).UTC()
	return todo.Chat{ID: id, Client: "c", HostID: "h", Folder: "/日本/\x00", Parent: "p", Agent: "a",
		Title: todo.Topic{Text: "Títle \x00 \"<b>", From: todo.FromHost, Taken: true}, Doing: todo.Asks, Asks: "push? \u2028", Since: now, Forgot: true,
		Used: now, Here: todo.Served{{Process: "p"}, {Process: todo.Detached, Until: now}}}
}

// overSince returns a chat that was last used, and ended, at the given time.
func overSince(id string, at time.Time) todo.Chat {
	c := chat(id)
	c.Used = at.Round(0).UTC()
	c.End("logout", at)
	return c
}

func mustSaveChat(t testing.TB, s board.Store, c todo.Chat) todo.Chat {
	t.Helper()
	return checktest.Must(SaveChat(t.Context(), s, c))(t)
}

// ids returns the ids of the chats that a query finds, in the order of their Seq.
func ids(t testing.TB, s board.Store, q board.ChatQuery) (all []string) {
	t.Helper()
	for _, c := range checktest.Must(s.Chats(t.Context(), q))(t) {
		all = append(all, c.ID)
	}
	return all
}

// checkChats checks which chats a store has, and that a transaction reads the same of each chat as the store.
func checkChats(t testing.TB, s board.Store, what string, want ...string) {
	t.Helper()
	got := ids(t, s, board.ChatQuery{})
	slices.Sort(got)
	slices.Sort(want)
	checkEqual(t, what, want, got)
	for _, id := range got {
		checkTx(t, s, nil, board.Key{Chat: id})
	}
}

// chats tests that a saved chat is read whole, and that each save gives it a larger Seq.
func chats(t *testing.T, s board.Store) {
	if none, err := s.Chat(t.Context(), "none"); err != nil || none != (todo.Chat{}) {
		t.Errorf("a chat that is not there: %+v, %v", none, err)
	}
	strange := chat("id \ufffd '☃")
	strange.Principal, strange.User = `p\x00`, `\x`
	ended := overSince("ended", time.Now())
	var last int64
	for range 2 {
		for _, c := range []todo.Chat{chat("a"), {ID: "empty"}, strange, ended} {
			for _, change := range []func(*todo.Chat){func(*todo.Chat) {}, func(c *todo.Chat) { c.Title.Text = "changed" },
				func(c *todo.Chat) { c.Used = c.Used.Add(time.Hour) }, func(c *todo.Chat) { c.End("why", baseTime) },
				func(c *todo.Chat) { c.Ended, c.Why = time.Time{}, "" }} {
				change(&c)
				saved := mustSaveChat(t, s, c)
				if saved.Seq <= last {
					t.Errorf("seq %d after %d", saved.Seq, last)
				}
				c.Seq, last = saved.Seq, saved.Seq
				checkEqual(t, "saved", c, saved)
				checkEqual(t, "read", c, checktest.Must(s.Chat(t.Context(), c.ID))(t))
				found := checktest.Must(s.Chats(t.Context(), board.ChatQuery{Principal: &c.Principal, User: &c.User}))(t)
				if i := slices.IndexFunc(found, func(o todo.Chat) bool { return o.ID == c.ID }); i < 0 || found[i] != c {
					t.Errorf("found %+v, want %+v", found, c)
				}
				checkTx(t, s, nil, board.Key{Chat: c.ID})
			}
		}
	}
}

// chatQueries tests which chats each condition of a query selects.
func chatQueries(t *testing.T, s board.Store) {
	now := time.Now().Round(0).UTC()
	var third int64
	for n, c := range []todo.Chat{{ID: "a"}, {ID: "b", User: "u"}, {ID: "c", Principal: "p", User: "u"}, {ID: "d", Principal: "p"}} {
		c.Used = now.Add(time.Duration(n) * time.Minute)
		if saved := mustSaveChat(t, s, c); n == 2 {
			third = saved.Seq
		}
	}
	of := func(s string) *string { return &s }
	for want, q := range map[string]board.ChatQuery{
		"a b c d": {}, "a b": {Principal: of("")}, "c d": {Principal: of("p")}, "b c": {User: of("u")}, "a": {Principal: of(""), User: of("")},
		"c": {Principal: of("p"), User: of("u"), UsedSince: now, AfterSeq: 1}, "": {Principal: of("q")},
		"b  c d": {UsedSince: now.Add(time.Minute)}, "d": {AfterSeq: third}, "c  d": {AfterSeq: third - 1, Principal: of("p")},
	} {
		checkEqual(t, want, strings.Fields(want), ids(t, s, q), equateEmpty)
	}
	a := checktest.Must(s.Chat(t.Context(), "a"))(t)
	mustSaveChat(t, s, a)
	checkEqual(t, "by Seq", []string{"b", "c", "d", "a"}, ids(t, s, board.ChatQuery{}))
}

// chatSeq tests that chats and lists share one order of Seqs, that a Position covers both, and that a reader that
// continues from a Position misses no chat.
func chatSeq(t *testing.T, s board.Store) {
	start := checktest.Must(s.Position(t.Context()))(t)
	var seqs []int64
	for n := range int64(3) {
		l, c := mustSave(t, s, list("a", "x", n+1)), mustSaveChat(t, s, chat("a"))
		seqs = append(seqs, l.Seq, c.Seq)
		if at := checktest.Must(s.Position(t.Context()))(t); at < c.Seq {
			t.Errorf("position %d after a chat was saved as %d", at, c.Seq)
		}
	}
	mustUpdate(t, s, board.Key{Chat: "b"}, func(tx board.Tx) error {
		c1, err1 := tx.SaveChat(t.Context(), chat("b"))
		l, err2 := tx.Save(t.Context(), list("b", "x", 1))
		c2, err3 := tx.SaveChat(t.Context(), chat("c"))
		seqs = append(seqs, c1.Seq, l.Seq, c2.Seq)
		return errors.Join(err1, err2, err3)
	})
	if !slices.IsSorted(seqs) || len(slices.Compact(slices.Clone(seqs))) != len(seqs) || seqs[0] <= start {
		t.Errorf("seqs %d after %d", seqs, start)
	}
	checkEqual(t, "chats after the start", []string{"a", "b", "c"}, ids(t, s, board.ChatQuery{AfterSeq: start}))
	// The last Seq is not given again after its row was removed.
	purged, err := Purge(t.Context(), s, todo.Writer{}, time.Now(), "b")
	if err != nil || len(purged) != 1 {
		t.Fatal(purged, err)
	}
	if next := mustSaveChat(t, s, chat("d")); next.Seq <= seqs[len(seqs)-1] {
		t.Errorf("seq %d after %d", next.Seq, seqs[len(seqs)-1])
	}
}

// ownChats tests that a transaction reads the chats and keys that it has saved.
func ownChats(t *testing.T, s board.Store) {
	mustSaveChat(t, s, chat("a"))
	mustUpdate(t, s, board.Key{Chat: "a"}, func(tx board.Tx) error {
		check := func(id, title string) {
			t.Helper()
			c, err := tx.Chat(t.Context(), id)
			all, err2 := tx.Chats(t.Context(), board.ChatQuery{})
			isThere := slices.ContainsFunc(all, func(o todo.Chat) bool { return o == c })
			if err = errors.Join(err, err2); err != nil || c.Title.Text != title || isThere != (title != "") {
				t.Errorf("%s is about %q, want %q, of %+v, %v", id, c.Title.Text, title, all, err)
			}
		}
		check("a", chat("a").Title.Text)
		check("new", "")
		for _, title := range []string{"one", "two"} {
			for _, id := range []string{"a", "new"} {
				c := chat(id)
				c.Title.Text = title
				if _, err := tx.SaveChat(t.Context(), c); err != nil {
					return err
				}
				check(id, title)
			}
		}
		key := board.ChatKey{Kind: board.CallKey, Text: "x"}
		if err := tx.SetKey(t.Context(), key, "a", time.Now().Add(time.Hour)); err != nil {
			return err
		}
		if to, err := tx.Keyed(t.Context(), key); err != nil || to != "a" {
			t.Errorf("the key leads to %q, %v", to, err)
		}
		return nil
	})
	checkChats(t, s, "afterwards", "a", "new")
}

// bareChats tests that, of a user's chats that held no list, the store keeps those that were used last.
func bareChats(t *testing.T, s board.Store) {
	now := time.Now().Round(0).UTC()
	of := func(id, principal, user string, ago int) todo.Chat {
		return todo.Chat{ID: id, Principal: principal, User: user, Used: now.Add(-time.Duration(ago) * time.Second)}
	}
	const more, oldest = 10, 1_000_000
	others := []todo.Chat{of("of another", "p", "", oldest), of("of a user", "", "u", oldest), of("holds", "", "", oldest), of("held", "", "", oldest),
		of("mirrors", "", "", oldest), of("begins later", "", "", oldest)}
	for _, c := range others {
		mustSaveChat(t, s, c)
	}
	mustSave(t, s, list("a", "w", 1), current("holds", "a"), current("held", "a"), current("held", "b"), mirroring("mirrors", "a"),
		earlier("was shown", "a"))
	mustSaveChat(t, s, of("was shown", "", "", oldest))
	mustSave(t, s, list("b", "w", 1), current("had a list first", "b"))
	mustSaveChat(t, s, of("had a list first", "", "", oldest))
	mustUpdate(t, s, board.Key{}, func(tx board.Tx) error {
		for n := range board.MaxChats - 2 {
			if _, err := tx.SaveChat(t.Context(), of(fmt.Sprint(n), "", "", n)); err != nil {
				return err
			}
		}
		return nil
	})
	mustSave(t, s, list("c", "w", 1), current("begins later", "c"))
	mustUpdate(t, s, board.Key{}, func(tx board.Tx) error {
		for n := range more {
			if _, err := tx.SaveChat(t.Context(), of(fmt.Sprint("new", n), "", "", 0)); err != nil {
				return err
			}
		}
		return nil
	})
	mustSaveChat(t, s, of("oldest of all", "", "", 2*oldest)) // a chat that is saved now stays, however old
	kept := map[string]bool{}
	own := 0
	for _, c := range checktest.Must(s.Chats(t.Context(), board.ChatQuery{}))(t) {
		kept[c.ID] = true
		if c.Principal == "" && c.User == "" {
			own++
		}
	}
	for _, id := range []string{"of another", "of a user", "holds", "held", "mirrors", "had a list first", "begins later", "oldest of all", "0", "new0", "new9"} {
		if !kept[id] {
			t.Errorf("45: %s is gone", id)
		}
	}
	for _, id := range []string{"was shown", fmt.Sprint(board.MaxChats - 3)} {
		if kept[id] {
			t.Errorf("45: %s stays", id)
		}
	}
	if own != board.MaxChats+5 {
		t.Errorf("45: %d chats of one user, 5 of which have a list", own)
	}
}

// chatsOfLists tests that a chat is removed with the last of the lists that it held, not with an earlier one.
func chatsOfLists(t *testing.T, s board.Store) {
	for _, id := range []string{"one", "two", "both", "mirror", "shown", "none"} {
		mustSaveChat(t, s, chat(id))
	}
	mustSave(t, s, list("a", "w", 1), current("one", "a"), current("two", "a"), current("both", "a"), mirroring("mirror", "a"), earlier("shown", "a"))
	mustSave(t, s, list("b", "w", 1), current("two", "b"), mirroring("both", "b"))
	purge := func(list string) {
		t.Helper()
		if _, err := Purge(t.Context(), s, todo.Writer{}, time.Now(), list); err != nil {
			t.Fatal(err)
		}
	}
	purge("a")
	checkChats(t, s, "when a list has gone", "two", "both", "shown", "none")
	purge("b")
	checkChats(t, s, "when both have", "shown", "none")
}

// roomOfChat tests that a chat stays when its only list is removed to make room for its next list.
func roomOfChat(t *testing.T, s board.Store) {
	for _, id := range []string{"begins", "other"} {
		mustSaveChat(t, s, chat(id))
	}
	old := todo.Snapshot{List: todo.List{ID: "old"}, Revision: 1, Updated: time.Now().Add(-24 * time.Hour), Items: []todo.Item{{ID: "1", Text: "x", Status: todo.Completed}}}
	mustSave(t, s, old, current("begins", "old"), current("other", "old"))
	next := list("next", "w", 1)
	next.List.Conversation = "begins"
	mustSave(t, s, next, current("begins", "next"))
	if gone, err := s.Load(t.Context(), "old", 0); err != nil || !gone.Deleted {
		t.Fatalf("the old list did not make room: %+v, %v", gone, err)
	}
	checkChats(t, s, "when there was room", "begins")
}

// overChats tests that, when lists begin, chats without a list are removed a day after they ended, and all chats when
// nobody has used them for [board.SeenAge].
func overChats(t *testing.T, s board.Store) {
	mustSave(t, s, list("a", "w", 1), current("long over, with a list", "a"))
	long := time.Now().Add(-board.BareChatAge - time.Hour)
	for _, c := range []todo.Chat{overSince("long over", long), overSince("long over, with a list", long), overSince("just over", time.Now())} {
		mustSaveChat(t, s, c)
	}
	unused, lately := chat("unused"), chat("lately")
	unused.Used, lately.Used = time.Now().Add(-board.SeenAge-time.Hour), time.Now().Add(-board.SeenAge+time.Hour)
	mustSaveChat(t, s, unused)
	mustSaveChat(t, s, lately)
	for n := range 2 { // ages are computed at the time of the previous save
		l := list(fmt.Sprint("new", n), "w", 1)
		l.Updated = time.Now()
		mustSave(t, s, l)
	}
	checkChats(t, s, "left", "long over, with a list", "just over", "lately")
}

// chatShares tests that the chats of a principal can use up its share, and that other principals can still save then.
func chatShares(t *testing.T, s board.Store) {
	n := 0
	of := func(principal string) todo.Chat {
		n++
		c := chat(fmt.Sprint(principal, n))
		c.Principal, c.User, c.Title.Text = principal, fmt.Sprint("u", n/board.MaxChats), strings.Repeat("x", todo.MaxTitle)
		return c
	}
	var err error
	for ; err == nil && n < 10_000; err = s.Update(t.Context(), board.Key{}, func(tx board.Tx) (err error) {
		for range 50 {
			if err == nil {
				_, err = tx.SaveChat(t.Context(), of("p"))
			}
		}
		return err
	}) {
	}
	if !errors.Is(err, board.ErrStoreFull) {
		t.Errorf("65: %d chats of one principal: %v", n, err)
	}
	mustSaveChat(t, s, of("q"))
}

// keys tests to which chat a key leads, for which principal, user and kind, and for how long.
func keys(t *testing.T, s board.Store) {
	key := board.ChatKey{Kind: board.CallKey, Text: "toolu \x00 \xff"}
	hour := time.Now().Add(time.Hour)
	set := func(k board.ChatKey, chat string, until time.Time) {
		t.Helper()
		if err := SetKey(t.Context(), s, k, chat, until); err != nil {
			t.Fatal(err)
		}
	}
	leads := func(k board.ChatKey, want string) {
		t.Helper()
		if got, err := s.Keyed(t.Context(), k); err != nil || got != want {
			t.Errorf("%+v leads to %q, want %q, %v", k, got, want, err)
		}
	}
	leads(key, "")
	set(key, "a", hour)
	leads(key, "a")
	set(key, "b", hour)
	leads(key, "b")
	for _, other := range []func(*board.ChatKey){func(k *board.ChatKey) { k.Principal = "p" }, func(k *board.ChatKey) { k.User = "u" },
		func(k *board.ChatKey) { k.Kind = "other" }, func(k *board.ChatKey) { k.Text = "other" }} {
		k := key
		other(&k)
		leads(k, "")
		set(k, "theirs", hour)
		leads(k, "theirs")
		leads(key, "b")
	}
	set(key, "b", time.Now().Add(-time.Second))
	leads(key, "")
}

// newestKeys tests that the newest keys of a kind and a user stay.
func newestKeys(t *testing.T, s board.Store) {
	of := func(user string, n int) board.ChatKey {
		return board.ChatKey{User: user, Kind: board.CallKey, Text: fmt.Sprint("more", n)}
	}
	hour := time.Now().Add(time.Hour)
	mustUpdate(t, s, board.Key{}, func(tx board.Tx) error {
		err := tx.SetKey(t.Context(), of("u", 9), "a", hour)
		for n := 0; n < board.MaxKeys+10 && err == nil; n++ {
			err = tx.SetKey(t.Context(), of("", n), "a", hour.Add(time.Duration(n)*time.Second))
		}
		return err
	})
	for k, want := range map[board.ChatKey]string{of("", 9): "", of("", 10): "a", of("", board.MaxKeys+9): "a", of("u", 9): "a"} {
		if got := checktest.Must(s.Keyed(t.Context(), k))(t); got != want {
			t.Errorf("%+v leads to %q, want %q", k, got, want)
		}
	}
}

// claim claims a task for a principal when the clock shows the given time. It returns the time of an earlier claim that
// is younger than the given duration, or zero if there is none.
func claim(t *testing.T, s board.Store, principal, what string, at time.Time, within time.Duration) (earlier time.Time) {
	t.Helper()
	b := board.NewBoard(s, board.WithClock(func() time.Time { return at }))
	defer b.Close()
	return checktest.Must(b.As(principal).Claim(t.Context(), todo.List{ID: "list"}, what, within))(t)
}

// claims tests how long a claim lasts, and that each notice of each principal has its own claim.
func claims(t *testing.T, s board.Store) {
	now := time.Now().Round(0)
	type notice struct{ principal, what string }
	n := notice{what: "notice \x00 \xff"}
	for _, c := range []struct {
		of      notice
		after   time.Duration
		within  time.Duration
		earlier time.Duration // below 0: none
	}{
		{n, 0, time.Minute, -1}, {n, 30 * time.Second, time.Minute, 0}, {n, 59 * time.Second, time.Minute, 0}, {n, 59 * time.Second, 30 * time.Second, -1},
		{n, 61 * time.Second, time.Minute, 59 * time.Second}, {notice{what: "other"}, 0, time.Minute, -1},
		{notice{"p", n.what}, 0, time.Minute, -1}, {n, 5 * time.Minute, time.Minute, -1}, {n, 5 * time.Minute, 0, -1},
		{n, -24 * time.Hour, time.Minute, -1}, // the clock was a day ahead before
	} {
		got := claim(t, s, c.of.principal, c.of.what, now.Add(c.after), c.within)
		if got.IsZero() != (c.earlier < 0) || !got.IsZero() && !got.Equal(now.Add(c.earlier)) {
			t.Errorf("%+v: claimed at %s", c, got)
		}
	}
}

// claimsAtOnce tests that, of several boards that claim the same notice at once, only one gets it, and that only one
// gets it again when that claim has expired.
func claimsAtOnce(t *testing.T, s board.Store) {
	for _, now := range []time.Time{time.Now().Add(-30 * time.Minute), time.Now()} {
		var have atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				b := board.NewBoard(s, board.WithClock(func() time.Time { return now }))
				defer b.Close()
				earlier, err := b.As("").Claim(t.Context(), todo.List{ID: "list"}, "notice", 10*time.Minute)
				if earlier.IsZero() {
					have.Add(1)
				}
				if err != nil || !earlier.IsZero() && !earlier.Equal(now) {
					t.Errorf("claimed at %s, %v", earlier, err)
				}
			})
		}
		all.Wait()
		if n := have.Load(); n != 1 {
			t.Errorf("%d have it", n)
		}
	}
}

// sharedChats tests that each of two stores on the same data reads at once the chats that the other has stored, also in
// a transaction, even if the reading store remembers older ones.
func sharedChats(t *testing.T, a, b board.Store) {
	none := board.Key{Chat: "later"}
	checkTx(t, b, nil, none)
	for n := range 4 {
		c := chat("shared")
		c.Title.Text = fmt.Sprint(n)
		c = mustSaveChat(t, a, c)
		if n == 2 {
			mustSaveChat(t, a, chat("later"))
		}
		checkTx(t, b, nil, board.Key{Chat: "shared"}, none)
		mustUpdate(t, b, board.Key{Chat: "shared"}, func(tx board.Tx) error {
			got, err := tx.Chat(t.Context(), "shared")
			checkEqual(t, "what the other store saved", c, got)
			return err
		})
		a, b = b, a
	}
	mustSave(t, a, list("of the chat", "w", 1), current("shared", "of the chat"))
	if _, err := Purge(t.Context(), b, todo.Writer{}, time.Now(), "of the chat"); err != nil {
		t.Fatal(err)
	}
	checkTx(t, a, nil, board.Key{Chat: "shared"}, none)
	checkChats(t, a, "when its list is purged", "later")
}
