package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A steady write reads nothing from the disk, and looks at few pages: what it needs to know it
// has stored itself, unless another connection has written.
func TestSteadyUpdateReadsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	read, pages, wrote := counted(t, path, sqlite.DBStatusCacheMiss), counted(t, path, looks...), counted(t, path, sqlite.DBStatusCacheWrite)
	s := filled(t, path, 200)
	key := board.Key{Chat: "session:c"}
	first := snapshot("a", 1)
	first.Items, first.LastID = storetest.Plan(50), 50
	must(storetest.Save(t.Context(), s, first, board.Seen{Key: key, List: "a", Revision: 1, Current: true}))(t)
	write := func(n int) {
		t.Helper()
		checkErr(t, s.Update(t.Context(), key, func(tx board.Tx) error { return writeNext(t.Context(), tx, key, n) }))
	}
	const writes = 50
	for n := range writes { // so that SQLite has what it needs in memory
		write(n)
	}
	read()
	pages()
	wrote()
	for n := range writes {
		write(n)
	}
	if n := read(); n > 0 {
		t.Errorf("%d writes read %d pages from the disk", writes, n)
	}
	onDisk := wrote()
	if onDisk > 13*writes {
		t.Errorf("%d writes write %d pages to the disk", writes, onDisk)
	}
	looked := pages()
	if looked > 50*writes {
		t.Errorf("%d writes look at %d pages", writes, looked)
	}
	execSQL(t, openRaw(t, path), `INSERT INTO keys VALUES ('', '', 'call', 'theirs', '', 0)`)
	pages()
	write(0)
	once := pages()
	write(1)
	again := pages()
	if again >= once || again > 50 {
		t.Errorf("a write looks at %d pages after another connection has written, and the next one at %d", once, again)
	}
	t.Logf("a write writes %.1f pages and looks at %.1f, at %d after another connection has written", float64(onDisk)/writes, float64(looked)/writes, once)
}

// BAD-INPUT 50: when another file is put in the place of the one that is open, what is
// read is what that file says, although it has the same numbers as what was saved here.
func TestReadsTheFileInItsPlace(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "todo.db"), filepath.Join(dir, "backup.db")
	ours := open(t, path)
	mustSave(t, ours, "a", 1)
	db := openRaw(t, path)
	execSQL(t, db, fmt.Sprintf("VACUUM INTO '%s'", backup))
	db.Close()
	mustSave(t, ours, "a", 2)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		checkErr(t, os.Rename(path+suffix, path+suffix+".away"))
	}
	checkErr(t, os.Rename(backup, path))
	theirs := snapshot("a", 2)
	theirs.Items[0].Text = "theirs"
	must(storetest.Save(t.Context(), open(t, path), theirs))(t)
	if got, err := ours.Load(t.Context(), "a", 0); err != nil || got.Items[0].Text != "theirs" {
		t.Errorf("50: read %q, %v", got.Items[0].Text, err)
	}
}

// BAD-INPUT 65: what is kept in memory is bounded, also of lists without items, whose
// last revision says which were dropped.
func TestMemoryOfEmptiedLists(t *testing.T) {
	_, s := newStore(t)
	for n := range 100 {
		emptied := snapshot(fmt.Sprint("l", n), 1)
		emptied.Items = nil
		for i := range 60 {
			emptied.Report.Dropped = append(emptied.Report.Dropped, todo.Item{ID: fmt.Sprint(i), Text: strings.Repeat("x", 4000)})
		}
		must(storetest.Save(t.Context(), s, emptied))(t)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if mb := m.HeapAlloc >> 20; mb > 20 {
		t.Errorf("45: %d MB are kept of 100 empty lists", mb)
	}
}

// BAD-INPUT 51: a conversation whose call is given up while its commit is under way
// begins no second list with the next.
func TestBeginsOnceWhenGivenUp(t *testing.T) {
	_, s := newStore(t)
	key := board.Key{Chat: "c"}
	add := func(ctx context.Context, id string) error {
		return s.Update(ctx, key, func(tx board.Tx) error {
			known, err := tx.Seen(ctx, key)
			if err != nil {
				return err
			}
			if len(known) > 0 {
				return incrementIn(tx, known[0].List)
			}
			return errors.Join(incrementIn(tx, id), tx.See(ctx, board.Seen{Key: key, List: id, Current: true}))
		})
	}
	// A request that keeps the transaction open.
	hold := func() (running, until chan struct{}) {
		running, until = make(chan struct{}), make(chan struct{})
		change := func(board.Tx) error { close(running); <-until; return nil }
		go s.Update(context.Background(), board.Key{}, change)
		return running, until
	}
	running, first := hold()
	<-running
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { given <- add(ctx, "one") }()
	waiting := func(n int) {
		for len(s.queue) < n {
			runtime.Gosched()
		}
	}
	waiting(1)
	running, second := hold() // in one transaction with the save of "one", and after it
	waiting(2)
	close(first)
	<-running
	cancel()
	if err := <-given; !errors.Is(err, board.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	next := make(chan error, 1)
	go func() { next <- add(t.Context(), "two") }()
	waiting(1)
	close(second)
	checkErr(t, <-next)
	found, err := s.Find(t.Context(), board.Query{})
	if err != nil || len(found) != 1 || found[0].List.ID != "one" || found[0].Revision != 2 {
		t.Errorf("54: %+v, %v", found, err)
	}
}

// batch runs updates as when they wait at the same time, and returns the request of each.
func batch(s *Store, w *writer, changes ...func(board.Tx) error) (done []*request) {
	for _, change := range changes {
		done = append(done, &request{change: change, done: make(chan struct{})})
	}
	for again := slices.Clone(done); len(again) > 0; {
		again = s.commit(w, again)
	}
	return done
}

// goodUpdate saves the next revision of the list "a", and what else a write stores. It fails
// where anything is there that [badUpdate] stored, or is not there that it stored itself.
func goodUpdate(ctx context.Context, key board.Key) func(board.Tx) error {
	return func(tx board.Tx) error {
		known, err1 := tx.Seen(ctx, key)
		now, err2 := tx.Load(ctx, "a", 0)
		chat, err3 := tx.Chat(ctx, "c")
		none, err4 := tx.Chat(ctx, "bad")
		if err := errors.Join(err1, board.PassOver(err2), err3, err4); err != nil {
			return err
		}
		if len(known) == 0 && now.Revision != 0 || len(known) > 0 && known[0].Revision != now.Revision {
			return fmt.Errorf("revision %d beside %+v", now.Revision, known)
		}
		if now.Revision > 0 && chat.Asks != fmt.Sprint("good ", now.Revision) || none.ID != "" {
			return fmt.Errorf("the chat is %+v, and one is there that was taken back: %+v", chat, none)
		}
		next := snapshot("a", now.Revision+1)
		next.Items[0].Text, next.Operation.ID = "good", fmt.Sprint("op", next.Revision)
		_, err1 = tx.SaveChat(ctx, todo.Chat{ID: "c", Asks: fmt.Sprint("good ", next.Revision)})
		_, err2 = tx.Save(ctx, next)
		return errors.Join(err1, err2, tx.See(ctx, board.Seen{Key: key, List: "a", Revision: next.Revision, Current: true}))
	}
}

// badUpdate changes what goodUpdate changes, begins the list "b", and ends as told.
func badUpdate(ctx context.Context, key board.Key, end func(board.Tx) error) func(board.Tx) error {
	return func(tx board.Tx) error {
		now, err := tx.Load(ctx, "a", 0)
		if err != nil {
			return err
		}
		for _, id := range []string{"c", "bad"} {
			if _, err := tx.SaveChat(ctx, todo.Chat{ID: id, Asks: "bad"}); err != nil {
				return err
			}
		}
		if to, err := tx.Keyed(ctx, board.ChatKey{Text: "bad"}); err != nil || to != "" {
			return fmt.Errorf("a key is there that was taken back: %q, %w", to, err)
		}
		next := snapshot("a", now.Revision+1)
		next.Items[0].Text = "bad"
		_, err1 := tx.Save(ctx, next)
		_, err2 := tx.Save(ctx, snapshot("b", 1))
		err = errors.Join(err1, err2, tx.SetKey(ctx, board.ChatKey{Text: "bad"}, "bad", time.Now().Add(time.Hour)),
			tx.See(ctx, board.Seen{Key: key, List: "b", Revision: 1, Current: true}))
		if err != nil {
			return err
		}
		return end(tx)
	}
}

// What an update stored before it failed, in whatever way, is taken back, and nothing of the
// others in its transaction.
func TestBatchAnswersEachUpdate(t *testing.T) {
	path, s := newStore(t)
	ctx, key := t.Context(), board.Key{Chat: "c"}
	mustSave(t, s, "damaged", 1)
	execSQL(t, openRaw(t, path), `UPDATE history SET body = 'x' WHERE list = 'damaged'`)
	w := newWriter(s)
	defer w.close()
	good := goodUpdate(ctx, key)
	refusal := errors.New("refused")
	again, endless := snapshot("b", 2), snapshot("b", 2)
	again.Operation.ID = "op1"
	endless.Updated = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	revision := int64(0)
	for what, end := range map[string]func(board.Tx) error{
		"refused":            func(board.Tx) error { return refusal },
		"a damaged row":      func(tx board.Tx) error { _, err := tx.Load(ctx, "damaged", 0); return err },
		"an operation again": func(tx board.Tx) error { _, err := tx.Save(ctx, again); return err },
		"no such time":       func(tx board.Tx) error { _, err := tx.Save(ctx, endless); return err },
		"no such revision":   func(tx board.Tx) error { _, err := tx.Save(ctx, snapshot("b", 7)); return err },
		"panicked":           func(board.Tx) error { panic("on purpose") },
	} {
		bad := badUpdate(ctx, key, end)
		for i, r := range batch(s, w, good, bad, good, bad, bad, good) {
			if isGood := i == 0 || i == 2 || i == 5; (r.err == nil) != isGood {
				t.Errorf("%s: update %d: %v", what, i, r.err)
			}
		}
		revision += 3
		if batch(s, w, bad)[0].err == nil {
			t.Errorf("%s, alone: no error", what)
		}
		now, err1 := s.Load(ctx, "a", 0)
		_, none := s.Load(ctx, "b", 0)
		chats, err2 := s.Chats(ctx, board.ChatQuery{})
		to, err3 := s.Keyed(ctx, board.ChatKey{Text: "bad"})
		known, err4 := s.Seen(ctx, key)
		if err := errors.Join(err1, err2, err3, err4); err != nil || now.Revision != revision || now.Items[0].Text != "good" || !errors.Is(none, board.ErrNotFound) ||
			len(chats) != 1 || chats[0].Asks != fmt.Sprint("good ", revision) || to != "" || len(known) != 1 || known[0].Revision != revision {
			t.Errorf("%s: revision %d, not %d; a list that was taken back: %v; chats %+v, a key to %q, seen %+v, %v", what, now.Revision, revision, none, chats, to, known, err)
		}
	}
	w.close()
	checkIntegrity(t, path)
}

// A damaged row costs its list alone: others are written in the same transaction, and read, as
// many as wanted. The store knows what is left out.
func TestDamagedRecord(t *testing.T) {
	path, s := newStore(t)
	for _, next := range []todo.Snapshot{snapshot("body", 1), snapshot("type", 1), snapshot("null", 1), snapshot("good", 1)} {
		must(storetest.Save(t.Context(), s, next, board.Seen{Key: board.Key{Chat: next.List.ID}, List: next.List.ID, Current: true}))(t)
	}
	execSQL(t, openRaw(t, path), `UPDATE history SET body = 'x' WHERE list = 'body'`,
		`UPDATE lists SET begun = 'x' WHERE id = 'type'`, `UPDATE seen SET at = 'x' WHERE list = 'type'`,
		`UPDATE history SET revision = x'00' WHERE list = 'null'`)
	w := newWriter(s)
	defer w.close()
	var changes []func(board.Tx) error
	for _, id := range []string{"good", "body", "good", "type", "null", "good"} {
		changes = append(changes, func(tx board.Tx) error { return incrementIn(tx, id) })
	}
	for i, r := range batch(s, w, changes...) {
		switch i {
		case 0, 2, 5:
			if r.err != nil {
				t.Errorf("the good list: %v", r.err)
			}
		default:
			if !errors.Is(r.err, board.ErrCorrupt) {
				t.Errorf("update %d, of a damaged row: %v", i, r.err)
			}
		}
	}
	checkRevision(t, s, "good", 4)
	mustSave(t, s, "other", 1)
	for what, q := range map[string]board.Query{"all": {}, "two": {Limit: 2}, "from the oldest": {OldestFirst: true, Limit: 2}, "that say it": {Text: "a"}} {
		if found, err := s.Find(t.Context(), q); err != nil || len(found) != 2 {
			t.Errorf("%s: %d lists, %v", what, len(found), err)
		}
	}
	if on, err := s.SeenOn(t.Context(), "", "type"); err != nil || len(on) > 0 {
		t.Errorf("seen %+v, %v", on, err)
	}
	if revisions, err := s.History(t.Context(), "body", 0, 1); err != nil || len(revisions) > 0 {
		t.Errorf("revisions %+v, %v", revisions, err)
	}
	if damaged := s.Damaged(); len(damaged) != 4 || !strings.Contains(damaged[0], "history (body 1)") {
		t.Errorf("left out: %q", damaged)
	}
	for _, id := range []string{"body", "type", "null"} {
		if _, err := s.Load(t.Context(), id, 0); !errors.Is(err, board.ErrCorrupt) {
			t.Errorf("%s is read: %v", id, err)
		}
	}
}

// writeNext does what a write does: it reads what its conversation knows, and the list
// that it holds, saves the next revision of it, and stores what the chat has seen.
func writeNext(ctx context.Context, tx board.Tx, key board.Key, n int) error {
	known, err := tx.Seen(ctx, key)
	if err != nil {
		return err
	}
	next, err := tx.Load(ctx, known[0].List, 0)
	if err != nil {
		return err
	}
	next.Items = slices.Clone(next.Items)
	next.Revision++
	items := len(next.Items)
	next.Items[n%items].Status = todo.Statuses()[n/items%2]
	if _, err := tx.Save(ctx, next); err != nil {
		return err
	}
	return tx.See(ctx, board.Seen{Key: key, List: next.List.ID, Revision: next.Revision, Current: true})
}

func move(ctx context.Context, s *Store, conversation, list string) error {
	c := board.Seen{Key: board.Key{Chat: conversation}, List: list, Current: true}
	return s.Update(ctx, c.Key, func(tx board.Tx) error { return tx.See(ctx, c) })
}
