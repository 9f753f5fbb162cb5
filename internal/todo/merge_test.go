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
	texts := []string{"A", "B", "C", "D", "E", "F"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 5).Draw(t, "n")
		var base []Item
		for i := range n {
			base = append(base, Item{ID: fmt.Sprint(i + 1), Text: texts[i], Status: rapid.SampledFrom([]Status{Pending, InProgress}).Draw(t, "status")})
		}
		theirs := slices.Clone(base)
		added, completed, removed := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for edit := range rapid.IntRange(0, 4).Draw(t, "edits") {
			switch rapid.IntRange(0, 2).Draw(t, "edit") {
			case 0:
				item := Item{ID: fmt.Sprint(100 + edit), Text: fmt.Sprint("person ", edit), Status: Pending}
				theirs = slices.Insert(theirs, rapid.IntRange(0, len(theirs)).Draw(t, "at"), item)
				added[item.ID] = true
			case 1:
				if len(theirs) > 0 {
					i := rapid.IntRange(0, len(theirs)-1).Draw(t, "which")
					theirs[i].Status = Completed
					completed[theirs[i].ID] = true
				}
			case 2:
				if len(theirs) > 0 {
					i := rapid.IntRange(0, len(theirs)-1).Draw(t, "which")
					removed[theirs[i].ID] = true
					delete(added, theirs[i].ID)
					delete(completed, theirs[i].ID)
					theirs = slices.Delete(slices.Clone(theirs), i, i+1)
				}
			}
		}
		// The agent changes statuses of the items it saw, drops some and adds
		// one.
		var mine []Item
		for _, item := range base {
			if rapid.IntRange(0, 4).Draw(t, "keep") > 0 {
				item.Status = rapid.SampledFrom([]Status{Pending, InProgress, Completed}).Draw(t, "to")
				mine = append(mine, item)
			}
		}
		if rapid.Bool().Draw(t, "new") {
			mine = append(mine, Item{ID: "900", Text: "agent new", Status: Pending})
		}
		next := 500
		got := byID(merge3(base, theirs, mine, func() string { next++; return fmt.Sprint(next) }))
		for id := range added {
			if _, ok := got[id]; !ok {
				t.Fatalf("the person's addition %s is gone", id)
			}
		}
		for id := range completed {
			if item, ok := got[id]; !ok || item.Status != Completed {
				t.Fatalf("the person's completion of %s is gone: %+v", id, item)
			}
		}
		for id := range removed {
			if _, ok := got[id]; ok {
				t.Fatalf("%s was resurrected", id)
			}
		}
		before := byID(base)
		for _, item := range mine {
			if _, known := before[item.ID]; known && !completed[item.ID] && !removed[item.ID] && got[item.ID].Status != item.Status {
				t.Fatalf("the agent's change of %s is lost: %+v", item.ID, got[item.ID])
			}
		}
		if len(added)+len(completed)+len(removed) == 0 && len(mine) != len(got) {
			t.Fatalf("without edits of the person the agent's write has %d items, not %d", len(got), len(mine))
		}
	})
}
