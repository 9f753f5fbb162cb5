package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// deleted tests that only queries with Deleted find a deleted list.
func deleted(t *testing.T, s board.Store) {
	mustSave(t, s, list("a", "x", 1))
	gone := list("b", "x", 1)
	mustSave(t, s, gone)
	gone.Revision, gone.Deleted = 2, true
	mustSave(t, s, gone)
	find := func(q board.Query) (ids []string) {
		t.Helper()
		q.OldestFirst = true
		found, err := s.Find(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			ids = append(ids, f.List.ID)
		}
		return ids
	}
	checkEqual(t, "found", []string{"a"}, find(board.Query{}))
	checkEqual(t, "found with the deleted", []string{"a", "b"}, find(board.Query{Deleted: true}))
	if got, err := s.Load(t.Context(), "b", 0); err != nil || !got.Deleted {
		t.Errorf("load: %v, %v", got.Deleted, err)
	}
	gone.Revision, gone.Deleted = 3, false
	mustSave(t, s, gone)
	checkEqual(t, "found when it is back", []string{"a", "b"}, find(board.Query{}))
}

// trash tests that a deleted list is removed when it can no longer be brought back, but not because of the clock of a
// single save, which may be wrong (BAD-INPUT 57).
func trash(t *testing.T, s board.Store) {
	gone := list("gone", "w", 1)
	gone.Deleted, gone.Updated = true, time.Now().Add(-2*board.TrashAge)
	mustSaveChat(t, s, chat("its chat"))
	mustSave(t, s, gone, current("its chat", "gone"))
	for _, id := range []string{"first", "second"} {
		if _, err := s.Load(t.Context(), "gone", 0); err != nil {
			t.Errorf("before %s: %v", id, err)
		}
		l := list(id, "w", 1)
		l.Updated = time.Now()
		mustSave(t, s, l)
	}
	if _, err := s.Load(t.Context(), "gone", 0); !errors.Is(err, board.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
	checkChats(t, s, "when its list has gone")
}

// purge tests that only a deleted revision without content is left of each purged list.
func purge(t *testing.T, s board.Store) {
	const many = 20
	ids := []string{"unknown"}
	for n := range many {
		next := list(fmt.Sprint("l", n), "x", 1)
		next.Operation = todo.Operation{ID: "op" + next.List.ID}
		mustSave(t, s, next, current(next.List.ID, next.List.ID))
		ids = append(ids, next.List.ID)
	}
	kept := mustSave(t, s, list("kept", "x", 1), current("z", "kept"))
	last := mustSave(t, s, list("last", "x", 1), current("z", "last")).List.ID
	ids = append(ids, last)
	now := baseTime.Add(time.Hour)
	by := todo.Writer{Client: "command line", Variant: "prune", Person: true}
	purged, err := Purge(t.Context(), s, by, now, ids...)
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "purged", ids[1:], purged)
	found, err := s.Find(t.Context(), board.Query{})
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "found", []todo.Snapshot{kept}, found)
	fresh, err := s.Find(t.Context(), board.Query{AfterSeq: kept.Seq, Deleted: true})
	if err != nil || len(fresh) != many+1 {
		t.Fatalf("%d lists changed, %v", len(fresh), err)
	}
	if held := checktest.Must(s.Seen(t.Context(), board.Key{Chat: "z"}))(t); len(held) != 1 || held[0].List != "kept" || held[0].Current {
		t.Errorf("the conversation of a purged list holds %+v", held)
	}
	revisions, err := s.History(t.Context(), "l0", 0, 0)
	if err != nil || len(revisions) != 1 {
		t.Fatalf("%d revisions, %v", len(revisions), err)
	}
	left := revisions[0]
	begun := left.List.Created
	left.Seq, left.List.Created = 0, time.Time{}
	checkEqual(t, "left", todo.Snapshot{List: todo.List{ID: "l0"}, Revision: 2, Items: []todo.Item{}, Updated: now, Deleted: true, Writer: by}, left)
	if begun.IsZero() {
		t.Error("the list does not say when it began")
	}
	for what, read := range map[string]func() ([]board.Seen, error){
		"of its conversation": func() ([]board.Seen, error) { return s.Seen(t.Context(), board.Key{Chat: "l0"}) },
		"on it":               func() ([]board.Seen, error) { return s.SeenOn(t.Context(), "", "l0") },
	} {
		if left, err := read(); len(left) > 0 || err != nil {
			t.Errorf("seen %s: %v, %v", what, left, err)
		}
	}
	if found, err := s.Find(t.Context(), board.Query{Operation: "opl0"}); len(found) > 0 || err != nil {
		t.Errorf("found by its operation: %v, %v", found, err)
	}
	newest := mustSave(t, s, list("newest", "x", 1), current("z", "newest"))
	if purged, err := Purge(t.Context(), s, by, now, "newest"); len(purged) != 1 || err != nil {
		t.Fatalf("purged %v, %v", purged, err)
	}
	if fresh, err := s.Find(t.Context(), board.Query{AfterSeq: newest.Seq, Deleted: true}); len(fresh) != 1 || err != nil {
		t.Errorf("who knows the newest list is told of %v, %v when it is purged", fresh, err)
	}
}

// runQuotas tests the limits on lists and bytes.
func runQuotas(t *testing.T, start func(*testing.T, board.Keep) board.Store) {
	t.Run("BAD-INPUT 65 lists of one conversation", func(t *testing.T) { begunLately(t, start(t, board.Keep{Begun: 2})) })
	t.Run("BAD-INPUT 65 abandoned lists make room", func(t *testing.T) { abandoned(t, start(t, board.Keep{Lists: 4, Abandoned: time.Hour})) })
	t.Run("BAD-INPUT 65 finished lists make room", func(t *testing.T) { finished(t, start(t, board.Keep{Lists: 5, Abandoned: time.Hour})) })
	t.Run("BAD-INPUT 65 what was finished long ago goes", func(t *testing.T) { expired(t, start(t, board.Keep{Finished: time.Microsecond})) })
	t.Run("BAD-INPUT 65 chats that ended", func(t *testing.T) { overChats(t, start(t, board.Keep{Abandoned: time.Hour})) })
	t.Run("BAD-INPUT 65 room of another list of the chat", func(t *testing.T) { roomOfChat(t, start(t, board.Keep{Lists: 1, Abandoned: time.Hour})) })
	t.Run("BAD-INPUT 65 shares of chats", func(t *testing.T) { chatShares(t, start(t, board.Keep{Bytes: 4_000_000})) })
	t.Run("BAD-INPUT 65 shares", func(t *testing.T) { shares(t, start(t, board.Keep{Bytes: 4_000_000, Abandoned: time.Hour})) })
	t.Run("BAD-INPUT 65 conversations that know a list", func(t *testing.T) { holders(t, start(t, board.Keep{Bytes: 20_000_000})) })
	t.Run("BAD-INPUT 65 bytes", func(t *testing.T) { full(t, start(t, board.Keep{Bytes: 1_000_000})) })
}

// begin saves the first revision of a list that a conversation begins.
func begin(t *testing.T, s board.Store, id, conversation string, updated time.Time) error {
	t.Helper()
	next := list(id, "x", 1)
	next.List.Conversation, next.List.Name, next.Updated, next.Writer.Person = conversation, "", updated, false
	_, err := Save(t.Context(), s, next, current(conversation, id))
	return err
}

// begunLately tests that a conversation may begin two lists a day and no more, and that imported lists, which nobody
// changed that day, do not count.
func begunLately(t *testing.T, s board.Store) {
	if err := begin(t, s, "of last week", "a", time.Now().Add(-7*24*time.Hour)); err != nil {
		t.Error(err)
	}
	for n, want := range []error{nil, nil, board.ErrTooManyLists} {
		if err := begin(t, s, fmt.Sprint("a", n), "a", time.Now()); !errors.Is(err, want) {
			t.Errorf("65: list %d: %v", n+1, err)
		}
	}
	if err := begin(t, s, "b", "b", time.Now()); err != nil {
		t.Errorf("65: of another conversation: %v", err)
	}
	mustSave(t, s, list("imported", "x", 1)) // list() gives it a conversation of its own
}

// abandoned tests that, in a store for four lists, only a list that is old, has one revision and was shown to no other
// chat gives way to a new list.
func abandoned(t *testing.T, s board.Store) {
	now := time.Now()
	old := now.Add(-2 * time.Hour)
	for id, at := range map[string]time.Time{"new": now, "changed": old, "shown": old, "old": old} {
		if err := begin(t, s, id, "of "+id, at); err != nil {
			t.Fatal(err)
		}
	}
	mustSave(t, s, list("changed", "x", 2))
	mustSet(t, s, board.Seen{Key: board.Key{Chat: "somebody"}, List: "shown", Revision: 1})
	refuse := errors.New("refused")
	err := s.Update(t.Context(), board.Key{Chat: "next"}, func(tx board.Tx) error {
		next := list("next", "x", 1)
		next.List.Conversation = "next"
		if _, err := tx.Save(t.Context(), next); err != nil {
			return err
		}
		return refuse
	})
	if !errors.Is(err, refuse) {
		t.Errorf("65: a list that begins and is refused then: %v", err)
	}
	if _, err := s.Load(t.Context(), "old", 0); err != nil {
		t.Errorf("65: the abandoned list gave way to one that was refused: %v", err)
	}
	if err := begin(t, s, "next", "next", now); err != nil {
		t.Errorf("65: with an abandoned list: %v", err)
	}
	if _, err := s.Load(t.Context(), "old", 0); !errors.Is(err, board.ErrNotFound) {
		t.Errorf("65: the abandoned list: %v", err)
	}
	if err := begin(t, s, "one more", "one more", now); !errors.Is(err, board.ErrTooManyLists) {
		t.Errorf("65: without one: %v", err)
	}
	for _, id := range []string{"new", "changed", "shown", "next"} {
		if _, err := s.Load(t.Context(), id, 0); err != nil {
			t.Errorf("65: %s: %v", id, err)
		}
	}
	if _, err := Purge(t.Context(), s, todo.Writer{}, now, "new"); err != nil {
		t.Fatal(err)
	}
	if err := begin(t, s, "one more", "one more", now); err != nil {
		t.Errorf("65: after a purge: %v", err)
	}
}

// finished tests that, in a store for five lists, old finished lists give way to new ones, also if archived. A list
// with a name and a list that a person changed last stay.
func finished(t *testing.T, s board.Store) {
	old := time.Now().Add(-2 * time.Hour)
	begin := func(id string, status todo.Status, of func(*todo.Snapshot)) error {
		next := todo.Snapshot{List: todo.List{ID: id, Conversation: "of " + id}, Revision: 1, Updated: old, Items: []todo.Item{{ID: "1", Text: "x", Status: status}}}
		of(&next)
		_, err := Save(t.Context(), s, next, current(next.List.Conversation, id), current("another", id))
		return err
	}
	for id, of := range map[string]func(*todo.Snapshot){
		"new":      func(l *todo.Snapshot) { l.Updated = time.Now() },
		"finished": func(*todo.Snapshot) {},
		"archived": func(l *todo.Snapshot) { l.Archived = true },
		"kept":     func(l *todo.Snapshot) { l.Writer.Person = true },
		"named":    func(l *todo.Snapshot) { l.List.Name = "named" },
	} {
		if err := begin(id, todo.Completed, of); err != nil {
			t.Fatal(err)
		}
	}
	for n, goes := range []string{"archived", "finished", ""} {
		err := begin(fmt.Sprint("next", n), todo.Pending, func(*todo.Snapshot) {})
		if goes == "" {
			if !errors.Is(err, board.ErrTooManyLists) {
				t.Errorf("65: without a list that may go: %v", err)
			}
		} else if gone, loadErr := s.Load(t.Context(), goes, 0); err != nil || loadErr != nil || !gone.Deleted {
			t.Errorf("65: %s: %v, deleted %v, %v", goes, err, gone.Deleted, loadErr)
		}
	}
	for _, id := range []string{"new", "kept", "named", "next0", "next1"} {
		if got, err := s.Load(t.Context(), id, 0); err != nil || got.Deleted {
			t.Errorf("65: %s: %v", id, err)
		}
	}
}

// expired tests that, when a list of a principal begins, the principal's finished lists are removed if they last
// changed longer ago than Keep.Finished. Lists that a person changed or looked at, or that a chat holds, stay.
func expired(t *testing.T, s board.Store) {
	one := func(id string, of func(*todo.Snapshot)) todo.Snapshot {
		next := todo.Snapshot{List: todo.List{ID: id}, Revision: 1, Updated: time.Now().Add(-2 * time.Hour), Items: []todo.Item{{ID: "1", Text: "x", Status: todo.Completed}}}
		of(&next)
		return next
	}
	lists := []todo.Snapshot{
		one("of another", func(l *todo.Snapshot) { l.List.Principal = "p" }),
		one("old", func(*todo.Snapshot) {}),
		one("archived", func(l *todo.Snapshot) { l.Archived = true }),
		one("new", func(l *todo.Snapshot) { l.Updated = time.Now().Add(time.Hour) }),
		one("open", func(l *todo.Snapshot) { l.Items[0].Status = todo.Pending }),
		one("kept", func(l *todo.Snapshot) { l.Writer.Person = true }),
		one("shown", func(*todo.Snapshot) {}),
		one("held", func(*todo.Snapshot) {}),
	}
	held := board.Seen{Key: board.Key{Chat: "chat"}, List: "held", Revision: 1, Current: true}
	looked := board.Seen{Key: board.Key{Chat: todo.PersonChat}, List: "shown", Revision: 1}
	mustSaveChat(t, s, todo.Chat{ID: "chat", Used: time.Now(), Here: todo.Served{{Process: todo.Detached, Until: time.Now().Add(time.Hour)}}})
	for _, l := range lists {
		mustUpdate(t, s, held.Key, func(tx board.Tx) error {
			_, err := tx.Save(t.Context(), l)
			for _, c := range []board.Seen{held, looked} {
				if err == nil && c.List == l.List.ID {
					err = tx.See(t.Context(), c)
				}
			}
			return err
		})
	}
	// However many lists stay because a person looked at them, the other old lists go.
	for n := range board.MaxAbandoned {
		seen := looked
		seen.List = fmt.Sprint("looked ", n)
		mustSave(t, s, one(seen.List, func(l *todo.Snapshot) { l.Updated = l.Updated.Add(-time.Hour) }), seen)
	}
	mustSave(t, s, one("young", func(*todo.Snapshot) {}))
	for begun := time.Now().Round(0); time.Since(begun) < 2*time.Microsecond; { // some clocks tick 64 times a second
		runtime.Gosched()
	}
	mustSave(t, s, one("last", func(l *todo.Snapshot) { l.Updated = time.Now() })) // its time is "now" for the next ages
	mustSave(t, s, one("next", func(*todo.Snapshot) {}))
	found := checktest.Must(s.Find(t.Context(), board.Query{OldestFirst: true}))(t)
	var left []string
	for _, l := range found {
		if !strings.HasPrefix(l.List.ID, "looked ") {
			left = append(left, l.List.ID)
		}
	}
	if n := len(found) - len(left); n != board.MaxAbandoned {
		t.Errorf("65: %d lists are left at which a person looked", n)
	}
	checkEqual(t, "65: left", []string{"of another", "new", "open", "kept", "shown", "held", "last", "next"}, left)
}

// shares tests that a principal who signed in gets at most a quarter of the store, that other principals can still save
// when this quarter is used up, that deleted lists make room at once, and that lists can be archived and deleted even
// when nothing else can be done.
func shares(t *testing.T, s board.Store) {
	of := func(principal, id string, revision int64) todo.Snapshot {
		next := bulky(id, revision)
		next.List.Principal, next.Updated = principal, time.Now()
		return next
	}
	n := saveUntilFull(t, s, func(n int64) todo.Snapshot { return of("p", fmt.Sprint("p", n), 1) })
	if n < 40 || n > 90 {
		t.Errorf("65: %d lists of 10 kB in a share of 1 MB", n)
	}
	mustSave(t, s, of("q", "q", 1))
	mustSave(t, s, of("", "server", 1))
	for i := range int64(3) {
		gone := of("p", fmt.Sprint("p", i), 2)
		gone.Deleted = true
		mustSave(t, s, gone)
	}
	mustSave(t, s, of("p", "next", 1))
	revisions := saveUntilFull(t, s, func(n int64) todo.Snapshot { return of("p", "next", n+2) })
	putAway := of("p", "next", revisions+2)
	putAway.Archived = true
	mustSave(t, s, putAway)
	if _, err := Save(t.Context(), s, of("p", "next", revisions+3)); !errors.Is(err, board.ErrStoreFull) {
		t.Errorf("65: a change behind it: %v", err)
	}
}

// holders tests that, of very many conversations that have seen a list, the store knows only the [board.MaxHolders]
// that used it last.
func holders(t *testing.T, s board.Store) {
	mustSave(t, s, list("a", "x", 1), current("first", "a"))
	const more = 50
	mustUpdate(t, s, board.Key{Chat: "first"}, func(tx board.Tx) error {
		for n := range board.MaxHolders + more {
			if err := tx.See(t.Context(), current(fmt.Sprint("c", n), "a")); err != nil {
				return err
			}
		}
		return nil
	})
	on := checktest.Must(s.SeenOn(t.Context(), "", "a"))(t)
	knows := func(key string) bool {
		return slices.ContainsFunc(on, func(c board.Seen) bool { return c.Chat == key })
	}
	if len(on) != board.MaxHolders || knows("c0") || !knows(fmt.Sprint("c", board.MaxHolders+more-1)) {
		t.Errorf("45: %d are known", len(on))
	}
}

// full tests that, when no list can begin any more in a store of a million bytes, its lists can still change for a
// while, and that a purge makes room.
func full(t *testing.T, s board.Store) {
	mustSave(t, s, bulky("a", 1))
	mustSaveChat(t, s, chat("old"))
	saveUntilFull(t, s, func(n int64) todo.Snapshot { return bulky(fmt.Sprint("other", n), 1) })
	if _, err := Save(t.Context(), s, bulky("a", 2)); err != nil {
		t.Fatalf("65: a list that there is, when no other begins any more: %v", err)
	}
	more := saveUntilFull(t, s, func(n int64) todo.Snapshot { return bulky("a", 3+n) })
	for what, store := range map[string]func(board.Tx) error{
		"a key": func(tx board.Tx) error {
			return tx.SetKey(t.Context(), board.ChatKey{Kind: board.CallKey, Text: "x"}, "c", time.Now().Add(time.Hour))
		},
		"a chat": func(tx board.Tx) error { _, err := tx.SaveChat(t.Context(), chat("new")); return err },
	} {
		if err := s.Update(t.Context(), board.Key{}, store); !errors.Is(err, board.ErrStoreFull) {
			t.Errorf("79: %s: %v", what, err)
		}
	}
	b := board.NewBoard(s)
	defer b.Close()
	if err := b.As("").TryWrite(t.Context()); !errors.Is(err, board.ErrStoreFull) {
		t.Errorf("79: what tells whether the store can be written: %v", err)
	}
	old := chat("old")
	old.Title.Text = "it goes on"
	if err := s.Update(t.Context(), board.Key{}, func(tx board.Tx) error {
		if _, err := tx.SaveChat(t.Context(), chat("new")); !errors.Is(err, board.ErrStoreFull) {
			t.Errorf("79: a chat beside what goes on: %v", err)
		}
		_, err := tx.SaveChat(t.Context(), old)
		return err
	}); err != nil {
		t.Errorf("79: after a refusal the rest of an update: %v", err)
	}
	if got, err := s.Load(t.Context(), "a", 0); err != nil || got.Revision != 2+more {
		t.Errorf("65: revision %d, want %d: %v", got.Revision, 2+more, err)
	}
	if _, err := Purge(t.Context(), s, todo.Writer{}, time.Now(), "a", "other0", "other1", "other2", "other3", "other4", "other5"); err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, bulky("b", 1))
}

// bulky returns a revision of a list, with 10 kB of texts.
func bulky(id string, revision int64) todo.Snapshot {
	l := list(id, "x", revision)
	l.Items = make([]todo.Item, 20)
	for i := range l.Items {
		l.Items[i] = todo.Item{ID: fmt.Sprint(i + 1), Text: fmt.Sprintf("%d %0500d", revision, i), Status: todo.Pending}
	}
	return l
}

// saveUntilFull saves the snapshots that next returns for 0, 1, 2 … until the store is full, and returns how many it
// saved.
func saveUntilFull(t *testing.T, s board.Store, next func(n int64) todo.Snapshot) (n int64) {
	t.Helper()
	for ; n < 1000; n++ {
		if _, err := Save(t.Context(), s, next(n)); errors.Is(err, board.ErrStoreFull) {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("65: without end")
	return n
}
