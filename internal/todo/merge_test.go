package todo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parseItems parses items such as "1p:Text 2x:Other": id, letter of the status,
// text. The letter is the first of the status, or x for cancelled.
func parseItems(text string) (items []Item) {
	status := map[byte]Status{'p': Pending, 'i': InProgress, 'c': Completed, 'f': Failed, 'x': Cancelled}
	for part := range strings.FieldsSeq(text) {
		head, body, _ := strings.Cut(part, ":")
		items = append(items, Item{ID: head[:len(head)-1], Text: body, Status: status[head[len(head)-1]]})
	}
	return items
}

// formatItems is the inverse of parseItems.
func formatItems(items []Item) string {
	var parts []string
	for _, i := range items {
		letter := i.Status[:1]
		if i.Status == Cancelled {
			letter = "x"
		}
		parts = append(parts, fmt.Sprintf("%s%s:%s", i.ID, letter, i.Text))
	}
	return strings.Join(parts, " ")
}

func TestMerge3(t *testing.T) {
	for _, c := range []struct{ name, base, theirs, mine, want string }{
		{"nobody else", "1p:A 2p:B", "1p:A 2p:B", "1c:A 9p:N", "1c:A 10p:N"},
		{"a repeat of what they added is an item of its own", "1p:A", "1p:A 3p:Same", "1p:A 9p:Same 9i:Same", "1p:A 3p:Same 10i:Same"},
		{"their addition stays, in its place", "1p:A 2p:B", "1p:A 3p:C 2p:B", "1c:A 2i:B", "1c:A 3p:C 2i:B"},
		{"their completion stays", "1p:A 2p:B", "1c:A 2p:B", "1p:A 2i:B", "1c:A 2i:B"},
		{"their completion stays although mine starts the item", "1p:A", "1c:A", "1i:A", "1c:A"},
		{"their removal stays", "1p:A 2p:B", "2p:B", "1i:A 2p:B", "2p:B"},
		{"their rewording stays", "1p:A 2p:B", "1p:A! 2p:B", "1i:A 2p:B", "1i:A! 2p:B"},
		{"both reword, mine wins", "1p:A", "1p:A1", "1p:A2", "1p:A2"},
		{"mine removes what they did not change", "1p:A 2p:B", "1p:A 2p:B 3p:C", "1p:A", "1p:A 3p:C"},
		{"mine does not remove what they changed", "1p:A 2p:B", "1p:A 2c:B", "1p:A", "1p:A 2c:B"},
		{"both add the same", "1p:A", "1p:A 2p:Same", "1p:A 9i:same", "1p:A 2i:same"},
		{"both settle differently, theirs wins", "1i:A", "1x:A", "1c:A", "1x:A"},
		{"they reopened, mine did not change it", "1c:A", "1p:A", "1c:A", "1p:A"},
		{"the order is that of mine", "1p:A 2p:B 3p:C", "1p:A 2p:B 3c:C", "3p:C 1p:A 2p:B", "3c:C 1p:A 2p:B"},
	} {
		n := 9
		got := merge3(parseItems(c.base), parseItems(c.theirs), parseItems(c.mine), func() string { n++; return fmt.Sprint(n) })
		if formatItems(got) != c.want {
			t.Errorf("%s: %s, want %s", c.name, formatItems(got), c.want)
		}
	}
}

// A person's edits that the agent has not seen survive the agent's next
// whole-list write, and the agent's changes of other items apply.
func TestMergeKeepsThePersonsEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, label) }
		var base, mine []Item
		for n := range draw("items", 5) {
			status := []Status{Pending, InProgress}[draw("status", 1)]
			base = append(base, Item{ID: fmt.Sprint(n + 1), Text: fmt.Sprint("Step ", n), Status: status})
		}
		theirs := slices.Clone(base)
		for edit := range draw("edits", 4) {
			at, kind := draw("at", len(theirs)), draw("edit", 2)
			switch {
			case kind == 0:
				theirs = slices.Insert(theirs, at, Item{ID: fmt.Sprint(100 + edit), Text: fmt.Sprint("person ", edit), Status: Pending})
			case at == len(theirs):
			case kind == 1:
				theirs[at].Status = Completed
			default:
				theirs = slices.Delete(theirs, at, at+1)
			}
		}
		for _, item := range base { // the agent changes statuses, drops items and adds one
			if item.Status = []Status{Pending, InProgress, Completed}[draw("to", 2)]; draw("keep", 4) > 0 {
				mine = append(mine, item)
			}
		}
		if draw("new", 1) > 0 {
			mine = append(mine, Item{ID: "900", Text: "agent new", Status: Pending})
		}
		next := 500
		merged := merge3(base, theirs, mine, func() string { next++; return fmt.Sprint(next) })
		got, before, now := Near(merged), Near(base), Near(theirs)
		for _, item := range theirs {
			_, known := before(0, item.ID)
			if merged, stays := got(0, item.ID); !stays && !known || item.Status == Completed && merged.Status != Completed {
				t.Fatalf("the person's %+v became %+v", item, merged)
			}
		}
		for _, item := range append(base, mine...) {
			merged, stays := got(0, item.ID)
			if _, kept := now(0, item.ID); !kept && stays {
				t.Fatalf("%+v was resurrected", merged)
			}
		}
		for _, item := range mine {
			their, kept := now(0, item.ID)
			if merged, _ := got(0, item.ID); kept && their.Status != Completed && merged.Status != item.Status {
				t.Fatalf("the agent's change of %+v is lost: %+v", item, merged)
			}
		}
		if slices.Equal(base, theirs) && len(mine) != len(merged) {
			t.Fatalf("without edits of the person the agent's write has %d items, not %d", len(merged), len(mine))
		}
	})
}
