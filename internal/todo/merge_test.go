package todo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
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
		checktest.Same(t, c.name, formatItems(got), c.want)
	}
}
