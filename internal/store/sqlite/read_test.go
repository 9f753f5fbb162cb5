package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
)

// move makes a list the current one of a conversation.
func move(ctx context.Context, s *Store, conversation, list string) error {
	c := todo.Cursor{Key: todo.Key{Conversation: conversation}, List: list, Current: true}
	return s.Update(ctx, c.Key, func(tx todo.Tx) error { return tx.SetCursor(ctx, c) })
}

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
		saved, err := storetest.Save(t.Context(), writer, snapshot("a", n))
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
	if _, err := storetest.Save(t.Context(), s, sub); err != nil {
		t.Fatal(err)
	}
	for i, list := range []string{"a", "sub", "a"} {
		if err := move(t.Context(), s, "main", list); err != nil {
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
	if _, err := storetest.Save(b.Context(), s, next, todo.Cursor{Key: todo.Key{Conversation: "c"}, List: "a", Current: true}); err != nil {
		b.Fatal(err)
	}
	b.Run("floor", func(b *testing.B) {
		f, err := s.use(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer f.release()
		for b.Loop() {
			rows, err := f.db.QueryContext(b.Context(), queries.Load, "a")
			if err != nil || !rows.Next() {
				b.Fatal(err)
			}
			if err := errors.Join(new(row).scan(rows), rows.Close()); err != nil {
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
	b.Run("cursors", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Cursors(b.Context(), todo.Key{Conversation: "c"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
