// Package storetest is the conformance suite of todo.Store. It tests what the
// interface promises on any backend. A backend must pass [Run]; [RunKeep] if it
// can be limited with a todo.Keep; and [RunDurable] if its lists survive the
// process.
package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/todo"
)

// Open returns a new, empty store for one test; the suite closes it.
type Open func(t testing.TB) todo.Store

// Run runs the suite as subtests of t, each on a store of its own.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, todo.Store){
		"save and load":           saveAndLoad,
		"conflicts":               conflicts,
		"bindings":                bindings,
		"basis":                   basis,
		"begin once":              beginOnce,
		"parents":                 parents,
		"host calls":              hostCalls,
		"alive":                   alive,
		"operations":              operations,
		"find":                    find,
		"history":                 history,
		"last by":                 lastBy,
		"snapshots are immutable": immutable,
		"linearizable":            linearizable,
		"watch":                   watch,
		"hint after save":         hintAfterSave,
		"cancelled":               cancelled,
		"model":                   model,
		"find by operation":       findByOperation,
		"updated since":           since,
		"any text":                anyText,
		"many watchers":           manyWatchers,
		"cancelled reads":         cancelledReads,
		"announcements":           announcements,
		"deleted":                 deleted,
		"purge":                   purge,
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
}

// baseTime is the time in test snapshots. It has nanoseconds because a store
// must keep them; all times are UTC.
var baseTime = time.Date(2026, 11, 20, 9, 0, 0, 123456789, time.UTC)

// list returns revision n of a list in a workspace, with n items.
func list(id, workspace string, n int64) todo.Snapshot {
	s := todo.Snapshot{
		List:     todo.List{ID: id, Conversation: "c", Client: "c", Created: baseTime, Workspace: workspace, Name: "näme", Mirrored: true, First: "first"},
		Revision: n, Items: []todo.Item{}, LastID: int(n), Updated: baseTime.Add(time.Duration(n) * time.Second), Worked: baseTime,
		Writer: todo.Writer{Client: "c", Variant: "v", Agent: "a", User: "u", Person: true, Process: "p"},
		Report: todo.Report{Notes: []string{"a note"}, Dropped: []todo.Item{{ID: "9", Text: "gone", Status: todo.Pending}}},
	}
	for i := range n {
		s.Items = append(s.Items, todo.Item{ID: fmt.Sprint(i + 1), Text: "日本 \"quoted\" <b>", Active: "doing", Status: todo.InProgress, Created: baseTime, Started: baseTime})
	}
	return s
}

func mustSave(t testing.TB, s todo.Store, next todo.Snapshot) todo.Snapshot {
	t.Helper()
	saved, err := s.Save(t.Context(), next)
	if err != nil {
		t.Fatalf("save %s revision %d: %v", next.List.ID, next.Revision, err)
	}
	return saved
}

func checkEqual(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

func saveAndLoad(t *testing.T, s todo.Store) {
	if _, err := s.Load(t.Context(), "none", 0); !errors.Is(err, todo.ErrNotFound) {
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
		if _, err := s.Load(t.Context(), "a", n); !errors.Is(err, todo.ErrNotFound) {
			t.Errorf("load revision %d: %v", n, err)
		}
	}
	// The List of the first save stays, whatever later saves have.
	other := list("a", "elsewhere", 6)
	other.List.Name = "renamed"
	if got := mustSave(t, s, other); got.List != saved[0].List {
		t.Errorf("a later save changed the list to %+v", got.List)
	}
}

func conflicts(t *testing.T, s todo.Store) {
	mustSave(t, s, list("a", "x", 1))
	newest := mustSave(t, s, list("a", "x", 2))
	for _, n := range []int64{1, 2, 4, 9} {
		_, err := s.Save(t.Context(), list("a", "x", n))
		var conflict *todo.ConflictError
		if !errors.As(err, &conflict) {
			t.Errorf("save revision %d over 2: %v", n, err)
			continue
		}
		checkEqual(t, "current", newest, conflict.Current)
	}
	if _, err := s.Save(t.Context(), list("b", "x", 2)); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("revision 2 of no list: %v", err)
	}
	got, err := s.History(t.Context(), "a", 0, 0)
	if err != nil || len(got) != 2 {
		t.Errorf("history after conflicts: %d revisions, %v", len(got), err)
	}
}

func operations(t *testing.T, s todo.Store) {
	next := list("a", "x", 1)
	next.Operation = todo.Operation{ID: "op", Digest: "d"}
	first := mustSave(t, s, next)
	mustSave(t, s, list("a", "x", 2))
	checkEqual(t, "repeat", first, mustSave(t, s, next))
	next.Operation.Digest = "other"
	if _, err := s.Save(t.Context(), next); !errors.Is(err, todo.ErrOperationReused) {
		t.Errorf("reuse: %v", err)
	}
	found, err := s.Find(t.Context(), todo.Query{Operation: "op"})
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "found by operation", []todo.Snapshot{first}, found)
	if found, err := s.Find(t.Context(), todo.Query{Operation: "none"}); err != nil || len(found) != 0 {
		t.Errorf("found by unknown operation: %v, %v", found, err)
	}
}

// immutable tests that a caller who changes the items of a snapshot after
// passing it to the store, or after getting it from there, does not change the
// store.
func immutable(t *testing.T, s todo.Store) {
	next := list("a", "x", 2)
	next.Revision = 1
	want, note := mustSave(t, s, next).Items[0].Text, next.Report.Notes[0]
	next.Items[0].Text, next.Report.Notes[0] = "changed by the writer", "changed by the writer"
	checkAndModify := func(l todo.Snapshot, err error) {
		t.Helper()
		if err != nil || l.Items[0].Text != want || l.Report.Notes[0] != note || l.Report.Dropped[0].Text != "gone" {
			t.Errorf("text is %q, note %q, %v", l.Items[0].Text, l.Report.Notes[0], err)
			return
		}
		l.Items[0].Text, l.Report.Notes[0], l.Report.Dropped[0].Text = "changed by a reader", "changed", "changed"
	}
	for range 2 {
		l, err := s.Load(t.Context(), "a", 0)
		checkAndModify(l, err)
		found, err := s.Find(t.Context(), todo.Query{})
		checkAndModify(found[0], err)
		revisions, err := s.History(t.Context(), "a", 0, 0)
		checkAndModify(revisions[0], err)
	}
}

// RunDurable tests that saved snapshots are there after the store was closed
// and opened again. open opens the store at path, and creates it the first
// time.
func RunDurable(t *testing.T, open func(path string) (todo.Store, error)) {
	path := t.TempDir() + "/todo.db"
	var want []todo.Snapshot
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
		for range 5 {
			want = append(want, mustSave(t, s, list("a", "x", int64(len(want)+1))))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
