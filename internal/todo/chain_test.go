package todo_test

import "testing"

// A front end that follows a list goes on with the next list of the same conversation,
// also when it comes later, and follows a name whatever list has it.
func TestChain(t *testing.T) {
	d := newDesk(t)
	a, b := d.proof("a"), d.proof("b")
	first := a.writes("c:A").After.List
	early, err := a.lists().Chain(t.Context(), first.ID)
	checkErr(t, err)
	other := b.writes("p:A").After.List
	second := a.writes("p:B").After.List
	third := a.writes("p:C").After.List
	late, err := a.lists().Chain(t.Context(), second.ID)
	checkErr(t, err)
	for _, l := range []struct {
		name        string
		has, expect bool
	}{
		{"first, early", early.Has(first), true}, {"second, early", early.Has(second), true}, {"third, early", early.Has(third), true},
		{"other, early", early.Has(other), false}, {"first, late", late.Has(first), false}, {"third, late", late.Has(third), true},
	} {
		if l.has != l.expect {
			t.Errorf("%s: %v", l.name, l.has)
		}
	}
	if late.Newest() != third.ID || early.Newest() != first.ID {
		t.Errorf("newest %s, %s", late.Newest(), early.Newest())
	}
	named := d.proof("n")
	named.who.Name = "release"
	byName, err := a.lists().Chain(t.Context(), "release")
	checkErr(t, err)
	if l := named.writes("p:N").After.List; !byName.Has(l) || byName.Has(other) {
		t.Error("by name")
	}
}
