package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"todo-mcp/internal/audit"
	"todo-mcp/internal/todo"
)

func boardOn(t *testing.T, s todo.Store) todo.Lists {
	t.Helper()
	b := todo.NewBoard(s)
	t.Cleanup(b.Close)
	return b.As("")
}

// appending returns a write that adds an item.
func appending(key, text string, op todo.Operation) todo.Write {
	return todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: key}, Append: true}, Operation: op,
		Change: func(d *todo.Draft) error { d.Append(text); return nil }}
}

// planning returns a whole-list write.
func planning(key, status string, op todo.Operation, texts ...string) todo.Write {
	lines := []todo.Line{}
	for _, text := range texts {
		lines = append(lines, todo.Line{Text: text, Status: status})
	}
	return todo.Write{Target: todo.Target{Conversation: todo.Conversation{Key: key}, Lines: lines}, Operation: op,
		Change: func(d *todo.Draft) error { d.Replace(view, lines); return nil }}
}

func mustApply(t *testing.T, l todo.Lists, w todo.Write) todo.Outcome {
	t.Helper()
	out, err := l.Apply(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// BAD-INPUT 44: a repeat is told as one, and has one line in the audit log, also when
// the conversation is about to begin another list.
func TestARepeatIsNoChange(t *testing.T) {
	var log bytes.Buffer
	lists := boardOn(t, audit.Store(openWithCleanup(t, filepath.Join(t.TempDir(), "todo.db")), audit.ToWriter(&log, slog.New(slog.DiscardHandler))))
	add := appending("session:1", "A", todo.Operation{ID: "op", Digest: "d"})
	mustApply(t, lists, add)
	mustApply(t, lists, planning("session:1", "completed", todo.Operation{}, "A"))
	if again := mustApply(t, lists, add); again.Changed || !again.Repeated {
		t.Errorf("44: changed %v, repeated %v", again.Changed, again.Repeated)
	}
	if n := strings.Count(log.String(), `"op"`); n != 1 {
		t.Errorf("44: %d lines in the audit log for one revision", n)
	}
}

// BAD-INPUT 44: the answer to a repeat is that of the call, and says nothing of the
// list that the conversation holds by now.
func TestARepeatTellsOfItsOwnList(t *testing.T) {
	lists := boardOn(t, openWithCleanup(t, filepath.Join(t.TempDir(), "todo.db")))
	call := planning("session:1", "pending", todo.Operation{ID: "op", Digest: "d"}, "A", "B", "C")
	mustApply(t, lists, planning("session:1", "pending", todo.Operation{}, "A", "B"))
	first := mustApply(t, lists, call) // revision 2
	mustApply(t, lists, planning("session:1", "completed", todo.Operation{}, "A", "B", "C"))
	mustApply(t, lists, planning("session:1", "pending", todo.Operation{}, "X", "Y")) // revision 1 of another list
	again := mustApply(t, lists, call)
	if again.Changed || again.After.List.ID != first.After.List.ID || len(again.Report.Dropped) > 0 {
		t.Errorf("44: changed %v, dropped %+v", again.Changed, again.Report.Dropped)
	}
}

// BAD-INPUT 50: when another file is put in the place of the one that is open, what is
// read is what that file says, although the numbers are those of what was saved here.
func TestReadsTheFileInItsPlace(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "todo.db"), filepath.Join(dir, "backup.db")
	ours := openWithCleanup(t, path)
	mustSave(t, ours, "a", 1)
	db := openRaw(t, path)
	execSQL(t, db, fmt.Sprintf("VACUUM INTO '%s'", backup))
	db.Close()
	mustSave(t, ours, "a", 2)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+suffix, path+suffix+".away"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(backup, path); err != nil {
		t.Fatal(err)
	}
	theirs := snapshot("a", 2)
	theirs.Items[0].Text = "theirs"
	if _, err := openWithCleanup(t, path).Save(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if got, err := ours.Load(t.Context(), "a", 0); err != nil || got.Items[0].Text != "theirs" {
		t.Errorf("50: read %q, %v", got.Items[0].Text, err)
	}
}

// BAD-INPUT 45: what is kept in memory is bounded, also of lists without items, whose
// last revision says which were dropped.
func TestMemoryOfEmptiedLists(t *testing.T) {
	lists := boardOn(t, openWithCleanup(t, filepath.Join(t.TempDir(), "todo.db")))
	texts := make([]string, 250)
	for n := range 60 {
		for i := range texts {
			texts[i] = fmt.Sprint(i, strings.Repeat("x", 4000))
		}
		key := fmt.Sprint("session:", n)
		mustApply(t, lists, planning(key, "pending", todo.Operation{}, texts...))
		mustApply(t, lists, planning(key, "pending", todo.Operation{ID: key, Digest: "d"}))
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if mb := m.HeapAlloc >> 20; mb > 30 {
		t.Errorf("45: %d MB are kept of 60 empty lists", mb)
	}
}

// BAD-INPUT 54: a sub-agent whose call is given up while its commit is under way begins
// no second list with the next.
func TestSubAgentBeginsOnce(t *testing.T) {
	s := openWithCleanup(t, filepath.Join(t.TempDir(), "todo.db"))
	lists := boardOn(t, s)
	mustSave(t, s, "other", 1)
	add := func(ctx context.Context, text string) error {
		w := appending("session:1/agent:a", text, todo.Operation{})
		w.Agent, w.Begin.ParentConversation = "a", "session:1"
		_, err := lists.Apply(ctx, w)
		return err
	}
	// A request that keeps the transaction open.
	hold := func() (running, until chan struct{}) {
		running, until = make(chan struct{}), make(chan struct{})
		run := func(*statements) (todo.Snapshot, error) { close(running); <-until; return todo.Snapshot{}, nil }
		if err := s.enqueue(&request{run: run, done: make(chan struct{})}); err != nil {
			t.Fatal(err)
		}
		return running, until
	}
	running, first := hold()
	<-running
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { given <- add(ctx, "one") }()
	for queued := 0; queued == 0; runtime.Gosched() {
		s.mu.Lock()
		queued = len(s.queue)
		s.mu.Unlock()
	}
	running, second := hold() // in one transaction with the save of "one", and after it
	close(first)
	<-running
	cancel()
	if err := <-given; !errors.Is(err, todo.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	next := make(chan error, 1)
	go func() { next <- add(t.Context(), "two") }()
	for queued := 0; queued == 0; runtime.Gosched() { // it has read what it is based on
		s.mu.Lock()
		queued = len(s.queue)
		s.mu.Unlock()
	}
	close(second)
	if err := <-next; err != nil {
		t.Fatal(err)
	}
	found, err := lists.Find(t.Context(), todo.Query{})
	if err != nil || len(found) != 2 || len(found[0].Items) != 2 {
		t.Errorf("54: %d lists, the last with %d items, %v", len(found), len(found[0].Items), err)
	}
}

// BAD-INPUT 28: who has gone is told that, and not that something failed, which would
// be logged and counted as ours.
func TestWhoHasGoneIsToldSo(t *testing.T) {
	lists := boardOn(t, openWithCleanup(t, filepath.Join(t.TempDir(), "todo.db")))
	plan := planning("session:1", "pending", todo.Operation{}, "A")
	mustApply(t, lists, plan)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	cancel()
	for range 100 { // whether it gets its turn is by chance
		if _, err := lists.Apply(ctx, plan); !errors.Is(err, context.Canceled) {
			t.Fatalf("28: %v", err)
		}
	}
}
