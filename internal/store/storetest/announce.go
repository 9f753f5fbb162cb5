package storetest

import (
	"fmt"
	"testing"
	"time"

	"todo-mcp/internal/todo"
)

// announcements tests that announcements are read in the order they were made,
// that the last [todo.KeepAnnouncements] are kept, and that watchers are
// hinted.
func announcements(t *testing.T, s todo.Store) {
	if got, err := s.Announced(t.Context(), 0); err != nil || len(got) != 0 {
		t.Fatalf("announced before anything: %v, %v", got, err)
	}
	mustSave(t, s, list("a", "x", 1))
	hints := make(chan struct{}, 1)
	stop := startWatch(t, s, "watched", func() {
		select {
		case hints <- struct{}{}:
		default:
		}
	})
	defer stop()
	announce := func(n int) {
		t.Helper()
		if err := s.Announce(t.Context(), todo.Announcement{List: "a", Revision: 1, Call: fmt.Sprint("c", n), Process: fmt.Sprint("p", n)}); err != nil {
			t.Fatal(err)
		}
	}
	for len(hints) > 0 {
		<-hints
	}
	announce(0)
	select {
	case <-hints:
	case <-time.After(timeout):
		t.Error("no hint of an announcement")
	}
	first, err := s.Announced(t.Context(), 0)
	if err != nil || len(first) != 1 {
		t.Fatalf("announced: %v, %v", first, err)
	}
	checkEqual(t, "announcement", todo.Announcement{Seq: first[0].Seq, List: "a", Revision: 1, Call: "c0", Process: "p0"}, first[0])
	for n := range todo.KeepAnnouncements + 10 {
		announce(n + 1)
	}
	kept, err := s.Announced(t.Context(), 0)
	if err != nil || len(kept) != todo.KeepAnnouncements || kept[len(kept)-1].Process != fmt.Sprint("p", todo.KeepAnnouncements+10) {
		t.Errorf("kept %d announcements, %v", len(kept), err)
	}
	rest, err := s.Announced(t.Context(), kept[len(kept)-3].Seq)
	if err != nil || len(rest) != 2 || rest[0] != kept[len(kept)-2] {
		t.Errorf("announced after a seq: %v, %v", rest, err)
	}
}
