package storetest

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Check is [rapid.Check] for properties that wait for disks or a database. It makes 25 runs, a quarter of the default,
// unless TODO_LONG (the long form of the tests) or the flag rapid.checks is set. Each run draws its own calls.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	if checks := flag.Lookup("rapid.checks"); os.Getenv("TODO_LONG") == "" && checks.Value.String() == checks.DefValue {
		_ = checks.Value.Set("25")
		defer checks.Value.Set(checks.DefValue) //nolint:errcheck // it is a number
	}
	rapid.Check(t, property)
}

// model makes random calls and compares their results with a reference, which keeps maps of slices. All runs share the
// store, so each has its own list ids and conversations.
func model(t *testing.T, s board.Store) {
	run := 0
	Check(t, func(r *rapid.T) {
		run++
		m := &reference{t: t, store: s, prefix: fmt.Sprintf("run%d-", run), lists: map[string][]todo.Snapshot{}, seen: map[board.Key][]board.Seen{}}
		r.Repeat(map[string]func(*rapid.T){
			"update":  m.update,
			"load":    m.load,
			"history": m.history,
			"find":    m.find,
			"seen":    m.readSeen,
		})
	})
}

// reference is the expected state of the lists and conversations of one run, and makes
// the calls.
type reference struct {
	t      *testing.T
	store  board.Store
	prefix string
	lists  map[string][]todo.Snapshot
	seen   map[board.Key][]board.Seen
}

func (m *reference) id(r *rapid.T) string {
	return m.prefix + rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "list")
}

func (m *reference) key(r *rapid.T) board.Key {
	return board.Key{Principal: rapid.SampledFrom([]string{"", "p"}).Draw(r, "principal"), Chat: m.prefix + rapid.SampledFrom([]string{"x", "y"}).Draw(r, "conversation")}
}

// step is one action of a transaction. It saves the revision newest+ahead of its list. A step without a list stores
// seen instead.
type step struct {
	list  string
	ahead int64
	seen  board.Seen
}

// update makes an update with random steps. The function of the update may return an error at its end.
func (m *reference) update(r *rapid.T) {
	var steps []step
	for range rapid.IntRange(0, 4).Draw(r, "steps") {
		if rapid.Bool().Draw(r, "sees") {
			c := board.Seen{Key: m.key(r), List: m.id(r), Revision: rapid.Int64Range(0, 3).Draw(r, "seen"), Current: rapid.Bool().Draw(r, "current")}
			if rapid.Bool().Draw(r, "served") {
				c.Process = "p"
			}
			steps = append(steps, step{seen: c})
		} else {
			steps = append(steps, step{list: m.id(r), ahead: rapid.SampledFrom([]int64{1, 1, 1, 1, 1, 0, 2}).Draw(r, "ahead")})
		}
	}
	refuse := rapid.IntRange(0, 3).Draw(r, "refuse") == 0
	refusal, wrong := errors.New("refused"), errors.New("a revision that is not the next")
	lists, known := m.lists, m.seen
	err := m.store.Update(m.t.Context(), m.key(r), func(tx board.Tx) error {
		lists, known = maps.Clone(m.lists), maps.Clone(m.seen)
		for _, step := range steps {
			if step.list == "" {
				if err := tx.See(m.t.Context(), step.seen); err != nil {
					return err
				}
				known[step.seen.Key], _ = board.See(known[step.seen.Key], step.seen, time.Now())
				continue
			}
			next := list(step.list, m.prefix, int64(len(lists[step.list]))+step.ahead)
			next.Items = next.Items[:min(len(next.Items), 3)]
			saved, err := saveIn(m.t.Context(), tx, next)
			if err != nil && (step.ahead != 1) {
				return errors.Join(wrong, err)
			}
			if err != nil {
				return err
			}
			if step.ahead != 1 {
				return fmt.Errorf("revision %d was saved over %d", next.Revision, len(lists[step.list]))
			}
			lists[step.list] = append(slices.Clip(lists[step.list]), saved)
		}
		if refuse {
			return refusal
		}
		return nil
	})
	bad := slices.ContainsFunc(steps, func(s step) bool { return s.list != "" && s.ahead != 1 })
	switch {
	case bad && !errors.Is(err, wrong), !bad && refuse && !errors.Is(err, refusal), !bad && !refuse && err != nil:
		r.Fatalf("update %+v: %v", steps, err)
	case err == nil:
		m.lists, m.seen = lists, known
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
		if !errors.Is(err, board.ErrNotFound) {
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
	got, err := m.store.Find(m.t.Context(), board.Query{Workspace: &m.prefix})
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

// readSeen compares what the store returns for a chat (Seen) and for a list of a principal (SeenOn) with the rows that
// [board.See] makes from the same steps.
func (m *reference) readSeen(r *rapid.T) {
	key, id := m.key(r), m.id(r)
	check := func(what string, want, got []board.Seen, err error) {
		if diff := cmp.Diff(sorted(want), sorted(got), cmpopts.IgnoreFields(board.Seen{}, "At"), equateEmpty); diff != "" || err != nil {
			r.Fatalf("seen %s: %v\n%s", what, err, diff)
		}
	}
	got, err := m.store.Seen(m.t.Context(), key)
	check("of a conversation", m.seen[key], got, err)
	if !slices.IsSortedFunc(got, func(a, b board.Seen) int { return int(b.Held - a.Held) }) {
		r.Fatalf("what was seen is not in order: %+v", got)
	}
	var on []board.Seen
	for of, all := range m.seen {
		for _, c := range all {
			if of.Principal == key.Principal && c.List == id {
				on = append(on, c)
			}
		}
	}
	got, err = m.store.SeenOn(m.t.Context(), key.Principal, id)
	check("on a list", on, got, err)
}
