package todo_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"todo-mcp/internal/todo"
)

// BAD-INPUT 42: which list names are valid.
//
// BAD-INPUT 42: List names such as `a/b`, `..`, `*`, SQL, 10 KB → Refused: a name has
// 1 to 100 letters, digits, spaces or `. _ -` and begins with a letter or digit. (Ids
// of conversations, agents and operations from `_meta` are no names: one that is not
// visible ASCII of at most 128 bytes stands in keys as its digest)
func TestCheckName(t *testing.T) {
	for _, name := range []string{"a", "release 1.0", "Việc", "日本語", "a_b-c"} {
		if err := todo.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", " ", "a/b", "..", "*", "-x", "a\nb", "a\u202eb", "\xff", " a", "a "} {
		if todo.CheckName(name) == nil {
			t.Errorf("%q passed", name)
		}
	}
}

// A text is refused or becomes one line without control characters, once and for
// all; a name that is taken can stand in a path, a query and a header as it is.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{"", " a\r\n\tb ", "\x00", "\u0085\u2028", "a\u009bb", "../x", "Release 1.2_a-b", strings.Repeat("é", 101), "*", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if clean, err := todo.CleanText(text); err != nil {
			if strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 200 {
				t.Fatalf("%q", err)
			}
		} else {
			if again, err := todo.CleanText(clean); err != nil || again != clean {
				t.Fatalf("%q becomes %q, then %q, %v", text, clean, again, err)
			}
			if strings.ContainsFunc(clean, unicode.IsControl) || strings.TrimSpace(clean) != clean {
				t.Fatalf("%q is left in %q", clean, text)
			}
		}
		if todo.CheckName(text) == nil {
			if len(text) > 400 || utf8.RuneCountInString(text) > 100 || !utf8.ValidString(text) || strings.ContainsAny(text, "/\\:?#%&\x7f\"'<>*") || strings.ContainsFunc(text, unicode.IsControl) || text[0] == '.' {
				t.Fatalf("name %q is taken", text)
			}
		}
		if cut := todo.Cut(text, 5); utf8.RuneCountInString(cut) > 5 {
			t.Fatalf("%q", cut)
		}
		todo.Fold(text)
	})
}
