package watch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Texts break at spaces, and wide ones between characters.
func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"one two three", 7, []string{"one two", "three"}},
		{"漢字漢字漢字", 5, []string{"漢字", "漢字", "漢字"}},
		{"a b c d e f g h", 3, []string{"a b", "c d", "e …"}},
		{"漢", 1, []string{"…"}},
		{"", 5, []string{""}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text, c.width, maxWrapped)); diff != "" {
			t.Errorf("%q in %d (-want +got)\n%s", c.text, c.width, diff)
		}
	}
}

// The table has no key twice in one place.
func TestBindings(t *testing.T) {
	for _, p := range []place{onBoard, onList, onPage} {
		seen := map[string]string{}
		for _, b := range bindings() {
			for k := range strings.FieldsSeq(b.keys) {
				if b.where&p != 0 && seen[k] != "" {
					t.Errorf("%q means %q and %q", k, seen[k], b.help)
				} else if b.where&p != 0 {
					seen[k] = b.help + " "
				}
			}
		}
	}
}
