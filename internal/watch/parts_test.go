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

// A number at the right of a text from right to left is parted from it by what counts as a
// letter from left to right, in which a terminal keeps it there.
func TestSpreadRightToLeft(t *testing.T) {
	for text, want := range map[string]string{"left": "left    5m", "עברית": "עברית⠀  5m", "كتابة x": "كتابة x⠀5m", "אבגדהוזח": "אבגדהוזח5m"} {
		if got := spread(text, "5m", 10); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Bold and code are drawn as Markdown writes them, and what only looks like it stays. A
// line that is broken within them goes on in them, and no line is wider for their marks.
func TestMarked(t *testing.T) {
	signs := strings.NewReplacer(string(plainText), "0", string(bold), "B", string(dim), "D", string(code), "C")
	lines := wrap(marked(plainText, "run `make test` and **all** of it"), 9, maxWrapped)
	if got := signs.Replace(strings.Join(lines, "|")); got != "run Cmake0|Ctest00 and0|0Ball00 of it" {
		t.Errorf("wrapped: %q", got)
	}
	for text, want := range map[string]string{
		"plain":                "plain",
		"run `make` now":       "run Cmake00 now",
		"``a`b``":              "Ca`b00",
		"**all** of it":        "Ball00 of it",
		"**run `x` now**":      "Brun Cx0B now00",
		"src/**/a and b/**/c":  "src/**/a and b/**/c",
		"a ** b ** c, `, f(**": "a ** b ** c, `, f(**",
		"x**2 and y**2":        "x**2 and y**2",
		"这是**重点**内容":           "这是B重点00内容",
	} {
		if got := signs.Replace(marked(plainText, text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := signs.Replace(marked(dim, "**a** `b`")); strings.ContainsAny(got, "BC*`") {
		t.Errorf("dim: %q", got)
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
