// Package storetest is the conformance suite of todo.Store: what every backend
// must do, in the words of the interface. A new backend passes [Run], and
// [RunDurable] if it claims to outlive the process.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/todo"
)

// Open opens an empty store for a test; the suite closes it.
type Open func(t testing.TB) todo.Store

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, todo.Store){
		"save and load":          saveAndLoad,
		"conflicts":              conflicts,
		"exclusive scopes":       exclusiveScopes,
		"begin once":             beginOnce,
		"operations":             operations,
		"find":                   find,
		"history":                history,
		"snapshots do not move":  immutable,
		"linearizable":           linearizable,
		"watch":                  watch,
		"watch never runs ahead": watchNeverAhead,
		"cancelled":              cancelled,
		"model":                  model,
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
}

// at is the time in test snapshots; times are kept to the nanosecond, in UTC.
var at = time.Date(2026, 11, 20, 9, 0, 0, 123456789, time.UTC)

// list makes revision n of a list with as many items.
func list(id, scope string, n int64) todo.Snapshot {
	s := todo.Snapshot{
		List:     todo.List{ID: id, Scope: todo.Scope{Conversation: scope}, Created: at, Workspace: "/w", Name: "näme"},
		Revision: n, Items: []todo.Item{}, LastID: int(n), Updated: at.Add(time.Duration(n) * time.Second),
		Writer: todo.Writer{Client: "c", Variant: "v", Agent: "a"},
	}
	for i := range n {
		s.Items = append(s.Items, todo.Item{ID: fmt.Sprint(i + 1), Text: "日本 \"quoted\" <b>", Active: "doing", Status: todo.InProgress, Created: at, Started: at})
	}
	return s
}

func must(t testing.TB, s todo.Store, next todo.Snapshot) todo.Snapshot {
	t.Helper()
	saved, err := s.Save(t.Context(), next)
	if err != nil {
		t.Fatalf("save %s revision %d: %v", next.List.ID, next.Revision, err)
	}
	return saved
}

func same(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

func saveAndLoad(t *testing.T, s todo.Store) {
	if _, err := s.Load(t.Context(), "none", 0); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("load from nothing: %v", err)
	}
	var saved []todo.Snapshot
	for n := range int64(5) {
		next := list("a", "x", n+1)
		got := must(t, s, next)
		if got.Seq <= 0 || n > 0 && got.Seq <= saved[n-1].Seq {
			t.Errorf("seq %d of revision %d does not grow", got.Seq, n+1)
		}
		next.Seq = got.Seq
		same(t, "saved", next, got)
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
		same(t, fmt.Sprint("load revision ", n), want, got)
	}
	for _, n := range []int64{6, -1} {
		if _, err := s.Load(t.Context(), "a", n); !errors.Is(err, todo.ErrNotFound) {
			t.Errorf("load revision %d: %v", n, err)
		}
	}
	// The list is what it began as, whatever later saves say.
	other := list("a", "elsewhere", 6)
	other.List.Name = "renamed"
	if got := must(t, s, other); got.List != saved[0].List {
		t.Errorf("a later save changed the list to %+v", got.List)
	}
}

func conflicts(t *testing.T, s todo.Store) {
	must(t, s, list("a", "x", 1))
	newest := must(t, s, list("a", "x", 2))
	for _, n := range []int64{1, 2, 4, 9} {
		_, err := s.Save(t.Context(), list("a", "x", n))
		var conflict *todo.ConflictError
		if !errors.As(err, &conflict) {
			t.Errorf("save revision %d over 2: %v", n, err)
			continue
		}
		same(t, "current", newest, conflict.Current)
	}
	if _, err := s.Save(t.Context(), list("b", "x", 2)); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("revision 2 of no list: %v", err)
	}
	got, err := s.History(t.Context(), "a", 0, 0)
	if err != nil || len(got) != 2 {
		t.Errorf("history after conflicts: %d revisions, %v", len(got), err)
	}
}

func exclusive(id, scope string) todo.Snapshot {
	s := list(id, scope, 1)
	s.List.Scope.Exclusive = true
	return s
}

func exclusiveScopes(t *testing.T, s todo.Store) {
	first := must(t, s, exclusive("a", "x"))
	_, err := s.Save(t.Context(), exclusive("b", "x"))
	var conflict *todo.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("a second list of an exclusive scope: %v", err)
	}
	same(t, "current", first, conflict.Current)
	must(t, s, exclusive("c", "y"))
	foreign := exclusive("d", "x")
	foreign.List.Scope.Principal = "somebody"
	must(t, s, foreign)
	must(t, s, list("e", "z", 1))
	must(t, s, list("f", "z", 1))
}

// beginOnce: of many that begin an exclusive scope's list at once, one wins.
func beginOnce(t *testing.T, s todo.Store) {
	const n = 16
	var all sync.WaitGroup
	won := make(chan string, n)
	for i := range n {
		all.Go(func() {
			id := fmt.Sprint("l", i)
			_, err := s.Save(context.Background(), exclusive(id, "x"))
			var conflict *todo.ConflictError
			switch {
			case err == nil:
				won <- id
			case !errors.As(err, &conflict):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Errorf("%d lists began in one exclusive scope", len(won))
	}
}

func operations(t *testing.T, s todo.Store) {
	next := list("a", "x", 1)
	next.Operation = todo.Operation{ID: "op", Digest: "d"}
	first := must(t, s, next)
	must(t, s, list("a", "x", 2))
	same(t, "repeat", first, must(t, s, next))
	next.Operation.Digest = "other"
	if _, err := s.Save(t.Context(), next); !errors.Is(err, todo.ErrOperationReused) {
		t.Errorf("reuse: %v", err)
	}
	found, err := s.Find(t.Context(), todo.Query{Operation: "op"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "found by operation", []todo.Snapshot{first}, found)
	if found, err := s.Find(t.Context(), todo.Query{Operation: "none"}); err != nil || len(found) != 0 {
		t.Errorf("found by unknown operation: %v, %v", found, err)
	}
}

func find(t *testing.T, s todo.Store) {
	if got, err := s.Find(t.Context(), todo.Query{}); err != nil || len(got) != 0 {
		t.Fatalf("find in nothing: %v, %v", got, err)
	}
	a := must(t, s, list("a", "x", 1))
	sub := list("b", "y", 1)
	sub.List.Parent, sub.List.Scope.Principal = "a", "p"
	b := must(t, s, sub)
	must(t, s, list("c", "x", 1))
	c := must(t, s, list("c", "x", 2))
	none, p := "", "p"
	for _, q := range []struct {
		name  string
		query todo.Query
		want  []string
	}{
		{"all, last saved first", todo.Query{}, []string{"c", "b", "a"}},
		{"oldest first", todo.Query{OldestFirst: true}, []string{"a", "b", "c"}},
		{"limit", todo.Query{Limit: 2}, []string{"c", "b"}},
		{"scope", todo.Query{Scope: a.List.Scope.Key()}, []string{"c", "a"}},
		{"scope with no list", todo.Query{Scope: "none"}, nil},
		{"principal", todo.Query{Principal: &p}, []string{"b"}},
		{"no principal", todo.Query{Principal: &none}, []string{"c", "a"}},
		{"parent", todo.Query{Parent: "a"}, []string{"b"}},
		{"after", todo.Query{AfterSeq: a.Seq, OldestFirst: true}, []string{"b", "c"}},
		{"after all", todo.Query{AfterSeq: c.Seq}, nil},
		{"since", todo.Query{UpdatedSince: at.Add(1500 * time.Millisecond)}, []string{"c"}},
		{"together", todo.Query{Scope: a.List.Scope.Key(), AfterSeq: b.Seq}, []string{"c"}},
	} {
		got, err := s.Find(t.Context(), q.query)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, l := range got {
			ids = append(ids, l.List.ID)
		}
		same(t, q.name, q.want, ids)
	}
	got, err := s.Find(t.Context(), todo.Query{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the newest snapshot, whole", []todo.Snapshot{c}, got)
}

func history(t *testing.T, s todo.Store) {
	var saved []todo.Snapshot
	for n := range int64(5) {
		saved = append(saved, must(t, s, list("a", "x", n+1)))
		must(t, s, list("b", "y", n+1))
	}
	for _, c := range []struct {
		after int64
		limit int
		want  []todo.Snapshot
	}{{0, 0, saved}, {2, 0, saved[2:]}, {1, 2, saved[1:3]}, {5, 0, nil}, {9, 3, nil}} {
		got, err := s.History(t.Context(), "a", c.after, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			got = nil
		}
		same(t, fmt.Sprintf("after %d, limit %d", c.after, c.limit), c.want, got)
	}
	if got, err := s.History(t.Context(), "none", 0, 0); err != nil || len(got) != 0 {
		t.Errorf("history of nothing: %v, %v", got, err)
	}
}

// immutable: what the caller does with items it handed in or was handed does
// not reach the store.
func immutable(t *testing.T, s todo.Store) {
	next := list("a", "x", 2)
	next.Revision = 1
	want := must(t, s, next).Items[0].Text
	next.Items[0].Text = "changed by the writer"
	spoil := func(l todo.Snapshot, err error) {
		t.Helper()
		if err != nil || l.Items[0].Text != want {
			t.Errorf("text is %q, %v", l.Items[0].Text, err)
			return
		}
		l.Items[0].Text = "changed by a reader"
	}
	for range 2 {
		l, err := s.Load(t.Context(), "a", 0)
		spoil(l, err)
		found, err := s.Find(t.Context(), todo.Query{})
		spoil(found[0], err)
		revisions, err := s.History(t.Context(), "a", 0, 0)
		spoil(revisions[0], err)
	}
}

// linearizable: writers that each add to what they read lose no addition, and
// nobody reads backwards.
func linearizable(t *testing.T, s todo.Store) {
	const writers, each = 8, 25
	must(t, s, list("a", "x", 1))
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			seen := int64(0)
			for added := 0; added < each; {
				now, err := s.Load(context.Background(), "a", 0)
				if err != nil || now.Revision < seen {
					t.Errorf("read revision %d after %d: %v", now.Revision, seen, err)
					return
				}
				seen = now.Revision
				now.Revision++
				now.LastID++
				saved, err := s.Save(context.Background(), now)
				var conflict *todo.ConflictError
				switch {
				case err == nil:
					added++
					seen = saved.Revision
				case !errors.As(err, &conflict):
					t.Error(err)
					return
				case conflict.Current.Revision < seen+1:
					t.Errorf("lost to revision %d, having read %d", conflict.Current.Revision, seen)
				}
			}
		})
	}
	all.Wait()
	got, err := s.History(t.Context(), "a", 0, 0)
	if err != nil || len(got) != 1+writers*each {
		t.Fatalf("%d revisions, %v", len(got), err)
	}
	for i, r := range got {
		if r.Revision != int64(i+1) || r.LastID != i+1 {
			t.Fatalf("revision %d counts %d at place %d", r.Revision, r.LastID, i)
		}
	}
}

// begin starts watching and waits until it does, by saving until a hint comes.
func begin(t *testing.T, s todo.Store, hint func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- s.Watch(ctx, func() {
			select {
			case first <- struct{}{}:
			default:
			}
			hint()
		})
	}()
	for n := int64(1); ; n++ {
		must(t, s, list("watched", "w", n))
		select {
		case <-first:
			return func() {
				cancel()
				if err := <-done; err != nil {
					t.Errorf("watch ended with %v", err)
				}
			}
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func watch(t *testing.T, s todo.Store) {
	hints := make(chan struct{}, 1)
	stop := begin(t, s, func() {
		select {
		case hints <- struct{}{}:
		default:
		}
	})
	defer stop()
	select {
	case <-hints:
	default:
	}
	must(t, s, list("a", "x", 1))
	select {
	case <-hints:
	case <-time.After(5 * time.Second):
		t.Error("no hint within 5 s")
	}
}

// watchNeverAhead: at a hint the save that caused it can be read, and the last
// save is always followed by one.
func watchNeverAhead(t *testing.T, s todo.Store) {
	var mu sync.Mutex
	var seen int64
	moved := make(chan struct{}, 1)
	stop := begin(t, s, func() {
		now, err := s.Load(context.Background(), "a", 0)
		if err != nil && !errors.Is(err, todo.ErrNotFound) {
			t.Error(err)
		}
		mu.Lock()
		if now.Revision < seen {
			t.Errorf("read revision %d after %d", now.Revision, seen)
		}
		seen = now.Revision
		mu.Unlock()
		select {
		case moved <- struct{}{}:
		default:
		}
	})
	defer stop()
	const last = 50
	for n := range int64(last) {
		must(t, s, list("a", "x", n+1))
	}
	deadline := time.After(5 * time.Second)
	for {
		mu.Lock()
		now := seen
		mu.Unlock()
		if now == last {
			return
		}
		select {
		case <-moved:
		case <-deadline:
			t.Fatalf("the last hint read revision %d of %d", now, last)
		}
	}
}

func cancelled(t *testing.T, s todo.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, saveErr := s.Save(ctx, list("a", "x", 1))
	_, loadErr := s.Load(ctx, "a", 0)
	_, findErr := s.Find(ctx, todo.Query{})
	_, historyErr := s.History(ctx, "a", 0, 0)
	for name, err := range map[string]error{"save": saveErr, "load": loadErr, "find": findErr, "history": historyErr} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Load(t.Context(), "a", 0); !errors.Is(err, todo.ErrNotFound) {
		t.Errorf("a cancelled save was applied: %v", err)
	}
	// Cancelling at any moment leaves a whole revision or none, and the answer
	// tells which unless it says that it cannot.
	for n := int64(1); n <= 40; {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := s.Save(ctx, list("b", "x", n))
		now, loadErr := s.Load(t.Context(), "b", 0)
		if loadErr != nil && !errors.Is(loadErr, todo.ErrNotFound) {
			t.Fatal(loadErr)
		}
		if err == nil && now.Revision != n || err != nil && !errors.Is(err, todo.ErrUnknownOutcome) && now.Revision != n-1 {
			t.Fatalf("save of revision %d said %v, the store is at %d", n, err, now.Revision)
		}
		n = now.Revision + 1
		if err != nil {
			must(t, s, list("b", "x", n))
			n++
		}
	}
}

func closed(t *testing.T, s todo.Store) {
	must(t, s, list("a", "x", 1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := s.Save(t.Context(), list("a", "x", 2)); !errors.Is(err, todo.ErrClosed) {
		t.Errorf("save after close: %v", err)
	}
}

// RunDurable holds that what was saved is there after the store was opened
// again.
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
			same(t, "after opening again", want[i], got[i])
		}
		for range 5 {
			want = append(want, must(t, s, list("a", "x", int64(len(want)+1))))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
