// Package storetest is the conformance suite of board.Store. It tests what the interface promises on any backend. A
// backend must pass [Run]; [RunKeep] if it can be limited with a board.Keep; and [RunDurable] if its lists survive the
// process. [Memory] is a backend for tests of other packages.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Open returns a new, empty store for one test; the suite closes it.
type Open func(t testing.TB) board.Store

// Run runs the suite as subtests of t, each on a store of its own.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, board.Store){
		"save and load":             saveAndLoad,
		"revisions are dense":       dense,
		"large lists":               large,
		"refused":                   refused,
		"panic":                     panics,
		"own reads":                 ownReads,
		"several saves":             severalSaves,
		"nothing is seen half-way":  isolated,
		"nothing to store":          nothing,
		"order of arrival":          ordered,
		"waiting ends":              waiting,
		"seen":                      seen,
		"seen in a transaction":     seenInTx,
		"names":                     names,
		"parents":                   parents,
		"parents in a transaction":  parentsInTx,
		"chats":                     chats,
		"queries of chats":          chatQueries,
		"chats and lists, one Seq":  chatSeq,
		"chats go with their lists": chatsOfLists,
		"own reads of chats":        ownChats,
		"keys":                      keys,
		"claims":                    claims,
		"claims at once":            claimsAtOnce,
		"alive":                     alive,
		"operations":                operations,
		"find":                      find,
		"history":                   history,
		"snapshots are immutable":   immutable,
		"two lists in either order": eitherOrder,
		"hint after save":           hintAfterSave,
		"cancelled":                 cancelled,
		"model":                     model,
		"find by operation":         findByOperation,
		"updated since":             since,
		"find a text":               findText,
		"any text":                  anyText,
		"many watchers":             manyWatchers,
		"cancelled reads":           cancelledReads,
		"deleted":                   deleted,
		"purge":                     purge,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test(t, s)
		})
	}
	t.Run("closed", func(t *testing.T) { closed(t, open(t)) })
	t.Run("closed while watched", func(t *testing.T) { closedWhileWatched(t, open(t)) })
	t.Run("closed while saving", func(t *testing.T) { closedWhileSaving(t, open) })
	t.Run("closed while an update runs", func(t *testing.T) { closedWhileUpdating(t, open(t)) })
}

// baseTime is the time in test snapshots. It has nanoseconds because a store
// must keep them; all times are UTC.
var baseTime = time.Date(2026, 11, 20, 9, 0, 0, 123456789, time.UTC)

// list returns revision n of a list in a workspace, with n items. Most fields have a value, but not Principal, Parent,
// Archived, Deleted and Operation.
func list(id, workspace string, n int64) todo.Snapshot {
	gone := todo.Item{ID: "9", Text: "gone", Status: todo.Pending}
	s := todo.Snapshot{
		List:     todo.List{ID: id, Conversation: "c", Client: "c", Created: baseTime, Workspace: workspace, Name: "näme", Mirrored: true, Previous: "previous", Chat: "chat"},
		Revision: n, Items: []todo.Item{}, LastID: int(n), Updated: baseTime.Add(time.Duration(n) * time.Second), Worked: baseTime, GivenTitle: "Títle",
		Order: todo.PersonEdit{Replaced: "1,2", Text: "2,1", Repeats: 1, Revision: 1}, ReplacedBy: "next",
		Writer: todo.Writer{Client: "c", Variant: "v", Agent: "a", User: "u", Person: true, Process: "p"},
		Report: todo.Report{Notes: []string{"a note"}, Dropped: []todo.Item{gone}, Unseen: []todo.Difference{{Kind: todo.Removed, Before: gone}}, Titled: "Títle", Ordered: []string{"1"}, By: todo.People,
			Kept: []todo.Difference{{Kind: todo.Moved}}, Elsewhere: "e", Continues: "c", PutAway: todo.PutAway{Title: "t", Open: []todo.Item{gone}}},
	}
	for i := range n {
		s.Items = append(s.Items, todo.Item{ID: fmt.Sprint(i + 1), Text: "日本 \"quoted\" <b>", Active: "doing", Status: todo.InProgress, Created: baseTime, Started: baseTime,
			BegunBy: todo.PersonChat, PersonEdit: todo.PersonEdit{Text: "日本", Replaced: "a\nb", Repeats: 2, Revision: 1}})
	}
	return s
}

// Save saves one revision, and stores what chats have seen, in an update of its own.
func Save(ctx context.Context, s board.Store, next todo.Snapshot, seen ...board.Seen) (saved todo.Snapshot, err error) {
	key := board.Key{Principal: next.List.Principal, Chat: next.List.ID}
	if len(seen) > 0 {
		key = seen[0].Key
	}
	err = s.Update(ctx, key, func(tx board.Tx) (err error) {
		saved, err = saveIn(ctx, tx, next)
		if err != nil {
			return err
		}
		return setSeen(ctx, tx, seen...)
	})
	if err != nil {
		return todo.Snapshot{}, err
	}
	return saved, nil
}

// Purge purges lists in one transaction, and passes over unknown ones.
func Purge(ctx context.Context, s board.Store, by todo.Writer, now time.Time, lists ...string) (purged []string, err error) {
	err = s.Update(ctx, board.Key{}, func(tx board.Tx) error {
		purged = nil
		for _, list := range lists {
			err := tx.Purge(ctx, list, by, now)
			if err == nil {
				purged = append(purged, list)
			} else if !errors.Is(err, board.ErrNotFound) {
				return err
			}
		}
		return nil
	})
	return purged, err
}

// saveIn reads the newest revision of a list in a transaction, and saves the next one.
func saveIn(ctx context.Context, tx board.Tx, next todo.Snapshot) (todo.Snapshot, error) {
	if next.Revision > 1 {
		if _, err := tx.Load(ctx, next.List.ID, 0); err != nil {
			return todo.Snapshot{}, err
		}
	}
	return tx.Save(ctx, next)
}

func setSeen(ctx context.Context, tx board.Tx, seen ...board.Seen) error {
	for _, c := range seen {
		if err := tx.See(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func mustSave(t testing.TB, s board.Store, next todo.Snapshot, seen ...board.Seen) todo.Snapshot {
	t.Helper()
	saved, err := Save(t.Context(), s, next, seen...)
	if err != nil {
		t.Fatalf("save %s revision %d: %v", next.List.ID, next.Revision, err)
	}
	return saved
}

// mustSet stores what chats have seen, in an update of its own.
func mustSet(t testing.TB, s board.Store, seen ...board.Seen) {
	t.Helper()
	mustUpdate(t, s, seen[0].Key, func(tx board.Tx) error { return setSeen(t.Context(), tx, seen...) })
}

func mustUpdate(t testing.TB, s board.Store, key board.Key, change func(board.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), key, change); err != nil {
		t.Fatalf("update of %v: %v", key, err)
	}
}

func checkEqual(t testing.TB, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // takes a tenth of the time of cmp.Diff
		return
	}
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

func saveAndLoad(t *testing.T, s board.Store) {
	if _, err := s.Load(t.Context(), "none", 0); !errors.Is(err, board.ErrNotFound) {
		t.Errorf("load from an empty store: %v", err)
	}
	var saved []todo.Snapshot
	for n := range int64(5) {
		next := list("a", "x", n+1)
		got := mustSave(t, s, next)
		if got.Seq <= 0 || n > 0 && got.Seq <= saved[n-1].Seq {
			t.Errorf("seq %d of revision %d does not grow", got.Seq, n+1)
		}
		next.Seq = got.Seq
		checkEqual(t, "saved", next, got)
		saved = append(saved, got)
	}
	for n := range int64(6) {
		want := saved[max(n, 1)-1]
		if n == 0 {
			want = saved[4]
		}
		got, err := s.Load(t.Context(), "a", n)
		if err != nil {
			t.Fatal(err)
		}
		checkEqual(t, fmt.Sprint("load revision ", n), want, got)
	}
	for _, n := range []int64{6, -1} {
		if _, err := s.Load(t.Context(), "a", n); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("load revision %d: %v", n, err)
		}
	}
	// The List of the first save stays, whatever List later saves have.
	other := list("a", "elsewhere", 6)
	other.List.Name = "renamed"
	if got := mustSave(t, s, other); got.List != saved[0].List {
		t.Errorf("a later save changed the list to %+v", got.List)
	}
}

// dense tests that a list accepts only the revision after its newest, whether it began with revision 1 or with a later
// one.
func dense(t *testing.T, s board.Store) {
	mustSave(t, s, list("a", "x", 1))
	mustSave(t, s, list("a", "x", 2))
	mustUpdate(t, s, board.Key{Chat: "c"}, func(tx board.Tx) error { // as an import does
		if _, err := tx.Load(t.Context(), "b", 0); !errors.Is(err, board.ErrNotFound) {
			t.Error(err)
		}
		for n := int64(7); n <= 8; n++ {
			if _, err := tx.Save(t.Context(), list("b", "x", n)); err != nil {
				return err
			}
		}
		return nil
	})
	for _, next := range []todo.Snapshot{list("a", "x", 1), list("a", "x", 2), list("a", "x", 4), list("a", "x", 9), list("b", "x", 1), list("b", "x", 7), list("b", "x", 10), list("c", "x", 0)} {
		for _, read := range []bool{true, false} { // also if the transaction has not read the list
			err := s.Update(t.Context(), board.Key{Chat: "c"}, func(tx board.Tx) error {
				if read {
					if _, err := tx.Load(t.Context(), next.List.ID, 0); err != nil {
						return err
					}
				}
				_, err := tx.Save(t.Context(), next)
				return err
			})
			if err == nil || errors.Is(err, board.ErrUnknownOutcome) {
				t.Errorf("save revision %d of %s: %v", next.Revision, next.List.ID, err)
			}
		}
	}
	for id, first := range map[string]int64{"a": 1, "b": 7} {
		got, err := s.History(t.Context(), id, 0, 0)
		if err != nil || len(got) != 2 || got[0].Revision != first || got[1].Revision != first+1 {
			t.Errorf("history of %s afterwards: %d revisions, %v", id, len(got), err)
		}
	}
}

// large tests that each revision of a list of [todo.MaxItems] items is read as it was saved, after changes of one item,
// of the order and of all items.
func large(t *testing.T, s board.Store) {
	next := list("a", "x", 1)
	next.Items = Plan(todo.MaxItems)
	var saved []todo.Snapshot
	for n := range 8 {
		next.Items = append([]todo.Item{}, next.Items...)
		next.Revision = int64(n + 1)
		switch i := n * 100; n {
		case 0:
		case 3:
			next.Items[i], next.Items[i+1] = next.Items[i+1], next.Items[i]
		case 5:
			next.Items = append(next.Items[i:], next.Items[:i]...)
		case 6:
			for i := range next.Items {
				next.Items[i].Text += " all"
			}
		case 7:
			next.Items = next.Items[:5]
		default:
			next.Items[i].Status, next.Items[i].Ended = todo.Completed, baseTime
		}
		saved = append(saved, mustSave(t, s, next))
	}
	checkEqual(t, "a large list's history", saved, checktest.Must(s.History(t.Context(), "a", 0, 0))(t))
}

// operations tests that a transaction finds the revision that an operation saved, so that a repeated call gets the same
// answer.
func operations(t *testing.T, s board.Store) {
	next := list("a", "x", 1)
	next.Operation = todo.Operation{ID: "op", Digest: "d"}
	first := mustSave(t, s, next)
	mustSave(t, s, list("a", "x", 2))
	read := func(read board.Reader) error {
		found, err := read.Find(t.Context(), board.Query{Operation: "op"})
		checkEqual(t, "found by operation", []todo.Snapshot{first}, found)
		if err != nil {
			return err
		}
		found, err = read.Find(t.Context(), board.Query{Operation: "none"})
		if len(found) != 0 {
			t.Errorf("found by an unknown operation: %v", found)
		}
		return err
	}
	if err := read(s); err != nil {
		t.Error(err)
	}
	mustUpdate(t, s, board.Key{}, func(tx board.Tx) error { return read(tx) })
	var all sync.WaitGroup
	for range 8 { // the same call, sent again before it was answered
		all.Go(func() {
			err := s.Update(context.Background(), board.Key{Chat: "x"}, func(tx board.Tx) error {
				found, err := tx.Find(context.Background(), board.Query{Operation: "again"})
				if err != nil || len(found) > 0 {
					return err
				}
				now, err := tx.Load(context.Background(), "a", 0)
				if err != nil {
					return err
				}
				now.Revision++
				now.Operation.ID = "again"
				_, err = tx.Save(context.Background(), now)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := checktest.Must(s.Load(t.Context(), "a", 0))(t); got.Revision != 3 || got.Operation.ID != "again" {
		t.Errorf("an operation that was sent 8 times made revision %d", got.Revision)
	}
}

// immutable tests that a caller who changes the items of a snapshot after passing it to
// a transaction, or after reading it from the store, does not change the store.
func immutable(t *testing.T, s board.Store) {
	want, note := list("a", "x", 1).Items[0].Text, list("a", "x", 1).Report.Notes[0]
	for n := range int64(2) {
		next := list("a", "x", n+1)
		mustUpdate(t, s, board.Key{}, func(tx board.Tx) error {
			next = list("a", "x", n+1)
			_, err := saveIn(t.Context(), tx, next)
			next.Items[0].Text, next.Report.Notes[0] = "changed by the writer", "changed by the writer"
			return err
		})
		next.Items[0].Text = "changed by the writer again"
		checkAndModify := func(l todo.Snapshot, err error) {
			t.Helper()
			if err != nil || l.Items[0].Text != want || l.Report.Notes[0] != note || l.Report.Dropped[0].Text != "gone" {
				t.Errorf("text is %q, note %q, %v", l.Items[0].Text, l.Report.Notes[0], err)
				return
			}
			l.Items[0].Text, l.Report.Notes[0], l.Report.Dropped[0].Text = "changed by a reader", "changed", "changed"
		}
		for range 2 {
			checkTx(t, s, []string{"a"})
			l, err := s.Load(t.Context(), "a", 0)
			checkAndModify(l, err)
			found, err := s.Find(t.Context(), board.Query{})
			checkAndModify(found[0], err)
			revisions, err := s.History(t.Context(), "a", 0, 0)
			checkAndModify(revisions[n], err)
		}
	}
}

// RunBeside tests that reads do not wait for a running update, and return nothing of it.
func RunBeside(t *testing.T, open Open) {
	s := open(t)
	defer s.Close()
	t.Run("nothing is seen half-way", func(t *testing.T) { isolated(t, s) })
}

// RunDurable tests that all that was saved is there after the store was closed and opened again, and that two stores on
// the same data act as one. open opens the store at path, and creates it the first time.
func RunDurable(t *testing.T, open func(path string) (board.Store, error)) {
	path := t.TempDir() + "/todo.db"
	x := board.Key{Chat: "x"}
	var want []todo.Snapshot
	var knows []board.Seen
	for round := range 3 {
		s, err := open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.History(t.Context(), "a", 0, 0)
		if err != nil || len(got) != len(want) {
			t.Fatalf("round %d: %d revisions, %v", round, len(got), err)
		}
		for i := range got {
			checkEqual(t, "after opening again", want[i], got[i])
		}
		checkEqual(t, "seen after opening again", knows, checktest.Must(s.Seen(t.Context(), x))(t), cmpopts.EquateEmpty())
		for range 5 {
			n := int64(len(want) + 1)
			want = append(want, mustSave(t, s, list("a", "x", n), board.Seen{Key: x, List: "a", Revision: n, Current: true, Process: "p"}))
		}
		knows = checktest.Must(s.Seen(t.Context(), x))(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path = t.TempDir() + "/shared.db"
	var both [2]board.Store
	for i := range both {
		s, err := open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		both[i] = s
	}
	t.Run("shared, chats", func(t *testing.T) { sharedChats(t, both[0], both[1]) })
	t.Run("shared, read", func(t *testing.T) { shared(t, both[0], both[1]) })
	t.Run("shared, linearizable", func(t *testing.T) { linearizable(t, both[0], both[1]) })
	t.Run("shared, named", func(t *testing.T) { countByName(t, both[0], both[1]) })
	t.Run("shared, begin once", func(t *testing.T) { beginOnce(t, both[0], both[1]) })
}

// shared tests that each of two stores on the same data reads at once all that the other has stored, also in a
// transaction, even if the reading store remembers older data.
func shared(t *testing.T, a, b board.Store) {
	x := board.Key{Chat: "reader"}
	sub := list("sub", "w", 1)
	sub.List.ParentConversation = x.Chat // its parent changes, but not its revision
	mustSave(t, a, sub)
	for n := int64(1); n <= 6; n++ {
		saved := mustSave(t, a, list("shared", "w", n), board.Seen{Key: x, List: "shared", Revision: n, Current: true})
		checkTx(t, b, []string{"shared", "sub"}, x)
		checkEqual(t, "what the other store saved", saved, checktest.Must(b.Load(t.Context(), "shared", 0))(t))
		if n%2 == 0 {
			mustSet(t, b, board.Seen{Key: x, List: "other", Revision: n, Current: true})
		}
		checkTx(t, a, []string{"shared", "sub"}, x)
		a, b = b, a
	}
	if _, err := Purge(t.Context(), a, todo.Writer{}, time.Now(), "shared"); err != nil {
		t.Fatal(err)
	}
	checkTx(t, b, []string{"shared"}, x)
}
