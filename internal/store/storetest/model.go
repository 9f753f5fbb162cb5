package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"todo-mcp/internal/todo"
)

// model makes random calls and compares their results with a reference, a map
// of slices. All runs share the store, so each has its own list ids.
func model(t *testing.T, s todo.Store) {
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		m := &reference{t: t, store: s, prefix: fmt.Sprintf("run%d-", run), lists: map[string][]todo.Snapshot{}}
		r.Repeat(map[string]func(*rapid.T){
			"save":    m.save,
			"load":    m.load,
			"history": m.history,
			"find":    m.find,
		})
	})
}

// reference is the expected state of the lists of one run, and makes the calls.
type reference struct {
	t      *testing.T
	store  todo.Store
	prefix string
	lists  map[string][]todo.Snapshot
}

func (m *reference) id(r *rapid.T) string {
	return m.prefix + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "list")
}

func (m *reference) save(r *rapid.T) {
	id := m.id(r)
	now := int64(len(m.lists[id]))
	n := now + int64(rapid.IntRange(-1, 2).Draw(r, "ahead"))
	next := list(id, m.prefix, max(n, 1))
	next.Items = next.Items[:min(len(next.Items), 3)]
	saved, err := m.store.Save(m.t.Context(), next)
	var conflict *todo.ConflictError
	switch {
	case next.Revision == now+1:
		if err != nil {
			r.Fatalf("save revision %d: %v", next.Revision, err)
		}
		m.lists[id] = append(m.lists[id], saved)
	case now == 0:
		if !errors.Is(err, todo.ErrNotFound) {
			r.Fatalf("save revision %d of no list: %v", next.Revision, err)
		}
	case !errors.As(err, &conflict) || conflict.Current.Revision != now:
		r.Fatalf("save revision %d over %d: %v", next.Revision, now, err)
	}
}

func (m *reference) load(r *rapid.T) {
	id := m.id(r)
	revisions := m.lists[id]
	n := rapid.IntRange(0, len(revisions)+1).Draw(r, "revision")
	got, err := m.store.Load(m.t.Context(), id, int64(n))
	if n == 0 {
		n = len(revisions)
	}
	if n == 0 || n > len(revisions) {
		if !errors.Is(err, todo.ErrNotFound) {
			r.Fatalf("load revision %d of %d: %v", n, len(revisions), err)
		}
		return
	}
	if diff := cmp.Diff(revisions[n-1], got); diff != "" || err != nil {
		r.Fatalf("load: %v\n%s", err, diff)
	}
}

func (m *reference) history(r *rapid.T) {
	id := m.id(r)
	after := rapid.IntRange(0, len(m.lists[id])).Draw(r, "after")
	got, err := m.store.History(m.t.Context(), id, int64(after), 0)
	want := m.lists[id][after:]
	if err != nil || len(got) != len(want) || len(want) > 0 && !cmp.Equal(want, got) {
		r.Fatalf("history after %d: %v\n%s", after, err, cmp.Diff(want, got))
	}
}

func (m *reference) find(r *rapid.T) {
	got, err := m.store.Find(m.t.Context(), todo.Query{Workspace: &m.prefix})
	if err != nil || len(got) != len(m.lists) {
		r.Fatalf("found %d of %d lists: %v", len(got), len(m.lists), err)
	}
	for i, l := range got {
		revisions := m.lists[l.List.ID]
		if !cmp.Equal(l, revisions[len(revisions)-1]) || i > 0 && l.Seq > got[i-1].Seq {
			r.Fatalf("found %+v at place %d", l, i)
		}
	}
}
