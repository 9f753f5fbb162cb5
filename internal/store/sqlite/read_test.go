package sqlite

import (
	"path/filepath"
	"testing"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// The newest revision of a list is decoded once, and what others write is read all
// the same: by this store, by another one of the same file, also where a list's
// parent changes and its revision does not.
func TestNewestIsReadAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s, other := openWithCleanup(t, path), openWithCleanup(t, path)
	for n := int64(1); n <= 5; n++ {
		writer, reader := s, other
		if n%2 == 0 {
			writer, reader = other, s
		}
		saved, err := writer.Save(t.Context(), snapshot("a", n))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, from := range []*Store{reader, writer} {
				if l, err := from.Load(t.Context(), "a", 0); err != nil || !l.Equal(saved) || l.Seq != saved.Seq {
					t.Fatalf("revision %d: %+v, %v", n, l, err)
				}
			}
		}
	}
	sub := snapshot("sub", 1)
	sub.List.ParentConversation = "main"
	if _, err := s.Save(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	for i, list := range []string{"a", "sub", "a"} {
		if err := s.Bind(t.Context(), todo.Binding{Conversation: "main", List: list, Moves: true}); err != nil {
			t.Fatal(err)
		}
		if l, err := other.Load(t.Context(), "sub", 0); err != nil || l.List.Parent != list {
			t.Errorf("%d: parent %q, want %q, %v", i, l.List.Parent, list, err)
		}
	}
}

// BenchmarkRead measures what every call reads of its list, beside the same rows by
// the driver without anything prepared.
func BenchmarkRead(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "todo.db"))
	defer s.Close()
	next := snapshot("a", 1)
	next.Items, next.LastID = storetest.Plan(10), 10
	if _, err := s.Save(b.Context(), next, todo.Binding{Conversation: "c", Moves: true}); err != nil {
		b.Fatal(err)
	}
	b.Run("floor", func(b *testing.B) {
		f, err := s.reader(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer f.release()
		for b.Loop() {
			if _, err := scan(f.db.QueryRowContext(b.Context(), selectNewest+` WHERE l.id = ?`, "a")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Load(b.Context(), "a", 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("bindings", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Bindings(b.Context(), "", "c"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
