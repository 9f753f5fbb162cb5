package todo_test

import (
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// BAD-INPUT 42: List names such as `a/b`, `..`, SQL, 10 KB → Refused: 1 to 100 letters, digits,
// spaces or `. _ -`, a letter or digit first. A strange id from `_meta` is stored as its digest
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
