package record_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// roundTrip decodes a snapshot from its difference to base items.
func roundTrip(t rapid.TB, s todo.Snapshot, base []todo.Item) (todo.Snapshot, []byte) {
	t.Helper()
	stored, err := record.Items(base)
	if err != nil {
		t.Fatal(err)
	}
	if base, err = record.BaseItems(stored); err != nil {
		t.Fatal(err)
	}
	body, err := record.Difference(s, base)
	if err != nil {
		t.Fatal(err)
	}
	list, err := record.List(s.List)
	if err != nil {
		t.Fatal(err)
	}
	got, err := record.Snapshot(body, list, base, s.Seq)
	if err != nil {
		t.Fatal(err)
	}
	return got, body
}

// Whatever the items and the base are, a difference is decoded without loss.
func TestDifferenceRoundTrip(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	items := rapid.Custom(func(r *rapid.T) []todo.Item {
		ids := rapid.SliceOfNDistinct(rapid.IntRange(1, 8), 0, 8, rapid.ID).Draw(r, "ids")
		out := make([]todo.Item, 0, len(ids))
		for _, id := range ids {
			out = append(out, todo.Item{ID: fmt.Sprint(id), Text: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "text"),
				Active: rapid.SampledFrom([]string{"", "x", "y"}).Draw(r, "active"), Status: rapid.SampledFrom(todo.Statuses()).Draw(r, "status"),
				Reason: rapid.SampledFrom([]string{"", "why"}).Draw(r, "reason"), Created: at.Add(time.Duration(rapid.IntRange(0, 1).Draw(r, "created")))})
		}
		return out
	})
	rapid.Check(t, func(r *rapid.T) {
		want := fullSnapshot()
		want.Items = items.Draw(r, "items")
		got, _ := roundTrip(r, want, items.Draw(r, "base"))
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("-want +got\n%s", diff)
		}
	})
}

// BAD-INPUT 66: what a change of one item adds does not grow with the list.
func TestDifferenceIsSmall(t *testing.T) {
	s := fullSnapshot()
	s.Items = nil
	for n := range 1000 {
		s.Items = append(s.Items, todo.Item{ID: fmt.Sprint(n + 1), Text: strings.Repeat("x", 4000), Status: todo.Pending})
	}
	base := append([]todo.Item{}, s.Items...)
	s.Report = todo.Report{}
	s.Items[500].Status, s.Items[500].Ended = todo.Completed, s.Updated
	got, body := roundTrip(t, s, base)
	if diff := cmp.Diff(s, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(body) > 600 {
		t.Errorf("66: a tick takes %d bytes", len(body))
	}
}

func TestDamagedDifference(t *testing.T) {
	base := []todo.Item{{ID: "1", Text: "a", Status: todo.Pending}}
	for _, parts := range []string{`[{"n":2}]`, `[{"from":-1,"n":1}]`, `[{"from":1,"n":1}]`, `[{"like":2,"item":{}}]`, `[{"like":-1,"item":{}}]`,
		`[{}]`, `[{"from":9223372036854775807,"n":1}]`, `[{"from":1,"n":9223372036854775807}]`} {
		_, err := record.Snapshot([]byte(`{"revision":1,"parts":`+parts+`}`), []byte(`{}`), base, 1)
		if !errors.Is(err, todo.ErrCorrupt) {
			t.Errorf("%s: %v", parts, err)
		}
	}
}
