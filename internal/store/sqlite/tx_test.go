package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A write in a steady series reads nothing from the disk, and looks at few pages: the writer remembers what it stored,
// unless another connection has written.
func TestSteadyUpdateReadsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	read, pages, wrote := counted(t, path, sqlite.DBStatusCacheMiss), counted(t, path, looks...), counted(t, path, sqlite.DBStatusCacheWrite)
	s := filled(t, path, 200)
	key := board.Key{Chat: "session:c"}
	first := snapshot("a", 1)
	first.Items, first.LastID = storetest.Plan(50), 50
	checktest.Must(storetest.Save(t.Context(), s, first, board.Seen{Key: key, List: "a", Revision: 1, Current: true}))(t)
	write := func(n int) {
		t.Helper()
		checktest.Check(t, s.Update(t.Context(), key, func(tx board.Tx) error { return writeNext(t.Context(), tx, key, n) }))
	}
	const writes = 50
	for n := range writes { // so that SQLite has the pages in memory
		write(n)
	}
	read()
	pages()
	wrote()
	for n := range writes {
		write(n)
	}
	if n, onDisk, looked := read(), wrote(), pages(); n > 0 || onDisk > 13*writes || looked > 50*writes {
		t.Errorf("%d writes read %d pages from the disk, write %d and look at %d", writes, n, onDisk, looked)
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
}

// BAD-INPUT 50: when another file replaces the open one, reads return the content of that file, even if both files have
// the same revision of a list.
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
		checktest.Check(t, os.Rename(path+suffix, path+suffix+".away"))
	}
	checktest.Check(t, os.Rename(backup, path))
	theirs := snapshot("a", 2)
	theirs.Items[0].Text = "theirs"
	checktest.Must(storetest.Save(t.Context(), open(t, path), theirs))(t)
	if got, err := ours.Load(t.Context(), "a", 0); err != nil || got.Items[0].Text != "theirs" {
		t.Errorf("50: read %q, %v", got.Items[0].Text, err)
	}
}

// BAD-INPUT 65: the use of memory is bounded, also for lists without items whose last revision reports many dropped
// items.
func TestMemoryOfEmptiedLists(t *testing.T) {
	_, s := newStore(t)
	for n := range 100 {
		emptied := snapshot(fmt.Sprint("l", n), 1)
		emptied.Items = nil
		for i := range 60 {
			emptied.Report.Dropped = append(emptied.Report.Dropped, todo.Item{ID: fmt.Sprint(i), Text: strings.Repeat("x", 4000)})
		}
		checktest.Must(storetest.Save(t.Context(), s, emptied))(t)
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if mb := m.HeapAlloc >> 20; mb > 20 {
		t.Errorf("65: %d MB are kept of 100 empty lists", mb)
	}
}

// BAD-INPUT 51: if a call that begins a list is given up during its commit, the conversation's next call begins no
// second list.
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
	// hold starts a request, which closes running, and keeps the transaction open until the second channel is closed.
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
	running, second := hold() // in one transaction with the save of "one", after that save
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
	checktest.Check(t, <-next)
	found, err := s.Find(t.Context(), board.Query{})
	if err != nil || len(found) != 1 || found[0].List.ID != "one" || found[0].Revision != 2 {
		t.Errorf("51: %+v, %v", found, err)
	}
}

// batch runs updates as one batch, as if they had waited at the same time, and returns the request of each.
func batch(s *Store, w *writer, changes ...func(board.Tx) error) (done []*request) {
	for _, change := range changes {
		done = append(done, &request{change: change, done: make(chan struct{})})
	}
	s.commit(w, slices.Clone(done))
	return done
}

// goodUpdate saves the next revision of the list "a", a chat, and that the chat has seen the revision. It fails if it
// finds data of a [badUpdate], or misses data of an earlier goodUpdate.
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

// badUpdate overwrites data of goodUpdate, stores a list, a chat and a key of its own, and calls end last.
func badUpdate(ctx context.Context, key board.Key, end func(board.Tx) error) func(board.Tx) error {
	return func(tx board.Tx) error {
		now, err := tx.Load(ctx, "a", 0)
		if err != nil {
			return err
		}
		_, err1 := tx.SaveChat(ctx, todo.Chat{ID: "c", Asks: "bad"})
		_, err2 := tx.SaveChat(ctx, todo.Chat{ID: "bad", Asks: "bad"})
		if to, err := tx.Keyed(ctx, board.ChatKey{Text: "bad"}); err != nil || to != "" {
			return fmt.Errorf("a key is there that was taken back: %q, %w", to, err)
		}
		next := snapshot("a", now.Revision+1)
		next.Items[0].Text = "bad"
		_, err3 := tx.Save(ctx, next)
		_, err4 := tx.Save(ctx, snapshot("b", 1))
		err = errors.Join(err1, err2, err3, err4, tx.SetKey(ctx, board.ChatKey{Text: "bad"}, "bad", time.Now().Add(time.Hour)),
			tx.See(ctx, board.Seen{Key: key, List: "b", Revision: 1, Current: true}))
		return errors.Join(err, end(tx))
	}
}

// An update that fails for any reason stores nothing. The other updates in its transaction are stored.
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
		"given up": func(tx board.Tx) error {
			ctx, giveUp := context.WithCancel(ctx)
			giveUp()
			_, err := tx.SaveChat(ctx, todo.Chat{ID: "unknown"})
			return err
		},
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

// A damaged row affects only its own list: other lists are written in the same transaction, and queries still find as
// many lists as they ask for. The store's Damaged names the rows that were left out.
func TestDamagedRecord(t *testing.T) {
	path, s := newStore(t)
	for _, next := range []todo.Snapshot{snapshot("body", 1), snapshot("type", 1), snapshot("null", 1), snapshot("good", 1)} {
		checktest.Must(storetest.Save(t.Context(), s, next, board.Seen{Key: board.Key{Chat: next.List.ID}, List: next.List.ID, Current: true}))(t)
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
		if isGood := i == 0 || i == 2 || i == 5; isGood != (r.err == nil) || !isGood && !errors.Is(r.err, board.ErrCorrupt) {
			t.Errorf("update %d: %v", i, r.err)
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

// writeNext reads and writes like a tool call: it reads what its chat has seen and the chat's list, saves the list's
// next revision, and stores that the chat has seen it.
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
	_, saving := tx.Save(ctx, next)
	return errors.Join(saving, tx.See(ctx, board.Seen{Key: key, List: next.List.ID, Revision: next.Revision, Current: true}))
}

func move(ctx context.Context, s *Store, conversation, list string) error {
	c := board.Seen{Key: board.Key{Chat: conversation}, List: list, Current: true}
	return s.Update(ctx, c.Key, func(tx board.Tx) error { return tx.See(ctx, c) })
}

// BAD-INPUT 65: 100 revisions of a list of 256 kB take at most 5/4 of their size in the file, and 8 MiB in the log.
func TestLargeRevisions(t *testing.T) {
	path, s := newStore(t)
	next := snapshot("a", 1)
	next.Items = nil
	for n := range todo.MaxSize / todo.MaxText {
		next.Items = append(next.Items, todo.Item{ID: fmt.Sprint(n + 1), Text: fmt.Sprintf("%02d %s", n, strings.Repeat("x", todo.MaxText-3)), Status: todo.Pending})
	}
	const changes = 100
	var want [][]todo.Item
	for n := range changes {
		next.Items = slices.Clone(next.Items)
		next.Items[n%len(next.Items)].Text = fmt.Sprintf("%0200d", n)
		checktest.Must(storetest.Save(t.Context(), s, next))(t)
		want = append(want, next.Items)
		next.Revision++
	}
	for suffix, most := range map[string]int64{"": changes * todo.MaxSize * 5 / 4, "-wal": 2 * maxLog} {
		if info, err := os.Stat(path + suffix); err != nil || info.Size() > most {
			t.Errorf("65: after %d revisions of a list of 256 kB the file %q has %d bytes, %v", changes, suffix, info.Size(), err)
		}
	}
	for n, items := range want {
		if got, err := s.Load(t.Context(), "a", int64(n+1)); err != nil || !reflect.DeepEqual(items, got.Items) {
			t.Fatalf("65: revision %d is not as it was written, %v", n+1, err)
		}
	}
}

func contents(t testing.TB, s *Store) (text string, err error) {
	t.Helper()
	found, err := s.Find(t.Context(), board.Query{Deleted: true})
	for _, f := range found {
		revisions, err1 := s.History(t.Context(), f.List.ID, 0, 0)
		seen, err2 := s.Seen(t.Context(), board.Key{Principal: f.List.Principal, Chat: f.List.Conversation})
		if err = errors.Join(err, err1, err2); err == nil && (len(revisions) == 0 || !reflect.DeepEqual(revisions[len(revisions)-1], f)) {
			err = errors.New("the newest revision is not the newest")
		}
		if err != nil {
			break
		}
		text += fmt.Sprintf("%+v %+v\n", revisions, seen)
	}
	return text, err
}

// BAD-INPUT 130: a read or a check notices each flipped bit that changes what the store returns.
func TestFlippedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "todo.db")
	s := filled(t, path, 60) // storetest.Steps needs that many lists
	for n := range 40 {
		storetest.Steps()[1].Do(t, s, n) // writes a list
	}
	s.Close()
	s = open(t, path) // to read what is on the disk
	want := checktest.Must(contents(t, s))(t)
	checktest.Check(t, s.Close())
	data := checktest.Must(os.ReadFile(path))(t)
	random := rand.New(rand.NewPCG(1, 5))
	read := 0
	for range 40 {
		bit := random.IntN(8 * len(data))
		damaged := slices.Clone(data)
		damaged[bit/8] ^= 1 << (bit % 8)
		copied := filepath.Join(t.TempDir(), "todo.db")
		checktest.Check(t, os.WriteFile(copied, damaged, 0o600))
		s, err := Open(copied, board.Keep{})
		if err != nil {
			read++
			continue
		}
		got, readErr := contents(t, s)
		problems := 0
		_, checkErr := s.Check(t.Context(), func(string) { problems++ })
		switch {
		case readErr != nil || len(s.Damaged()) > 0:
			read++
		case problems == 0 && checkErr == nil && got != want:
			t.Errorf("130: bit %d of byte %d: nobody noticed\n%s", bit%8, bit/8, cmp.Diff(want, got))
		}
		s.Close()
	}
	if read < 13 { // a third of the flipped bits
		t.Errorf("130: only %d of 40 were noticed when read", read)
	}
}

// A write of many rows makes no file in the system's folder for temporary files: the
// container image has none, and its root file system may be read-only.
func TestWritesMakeNoTemporaryFiles(t *testing.T) {
	_, s := newStore(t)
	save := func(tx board.Tx) error {
		for range 20 {
			first := snapshot(board.NewID(), 1)
			first.List.Conversation, first.List.Workspace, first.Operation.ID = board.NewID(), board.NewID(), board.NewID()
			saved, err := tx.Save(t.Context(), first)
			if err == nil {
				key := board.Key{Chat: first.List.Conversation}
				err = tx.See(t.Context(), board.Seen{Key: key, List: saved.List.ID, Current: true})
			}
			if err != nil {
				return err
			}
		}
		open, err := filepath.Glob("/proc/self/fd/*")
		for _, fd := range open {
			if to, _ := os.Readlink(fd); strings.Contains(to, "etilqs") { // the prefix of SQLite's temporary files
				t.Errorf("it wrote %s", to)
			}
		}
		return err
	}
	for range 20 {
		checktest.Check(t, s.Update(t.Context(), board.Key{}, save))
	}
}

// A full store makes room for the list of a new chat, and for the chat itself.
func TestAFullStoreTakesNewChats(t *testing.T) {
	_, s := newStore(t, board.Keep{Bytes: 400_000, Abandoned: time.Nanosecond})
	b := board.NewBoard(s)
	defer b.Close()
	var lines []todo.Line
	for i := range 30 {
		lines = append(lines, todo.Line{Text: fmt.Sprint("a finished item with a long text, which fills the store ", i), Status: "completed"})
	}
	for n := range 150 {
		who := board.Conversation{Key: "session:" + fmt.Sprint(n), Lasts: time.Nanosecond}
		checktest.Must(b.As("").Apply(t.Context(), board.Write{Target: board.Target{Conversation: who},
			Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); return nil }}))(t)
	}
}

func filled(t testing.TB, path string, lists int) *Store {
	t.Helper()
	s := open(t, path, board.Keep{Revisions: 1000, Lists: 1_000_000, Begun: 1000, Bytes: 4_000_000_000, Abandoned: time.Hour})
	for n := 0; n < lists; {
		err := s.Update(t.Context(), board.Key{}, func(tx board.Tx) error {
			for most := min(lists, n+1000); n < most; n++ {
				next, current := storetest.Crowd(n)
				_, saving := tx.Save(t.Context(), next)
				seeing := tx.See(t.Context(), current)
				_, chatting := tx.SaveChat(t.Context(), todo.Chat{ID: current.Chat, Client: "tester", Used: time.Now().AddDate(0, 0, -1)})
				if err := errors.Join(saving, seeing, chatting); err != nil {
					return err
				}
			}
			return nil
		})
		checktest.Check(t, err)
	}
	return s
}

var looks = []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss}

// counted returns a function that returns how much the given SQLite counters grew since its last call. It counts only
// connections to the file at path that are opened after this call of counted.
func counted(t testing.TB, path string, counters ...sqlite.DBStatusOp) (pages func() int) {
	var mu sync.Mutex
	var all []sqlite.DBStatus
	before := 0
	sqlite.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, dsn string) error {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(dsn, path) {
			all = append(all, conn.(sqlite.DBStatus))
		}
		return nil
	})
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		now := 0
		for _, conn := range all {
			for _, counter := range counters {
				looked, _, err := conn.Status(counter, false)
				checktest.Check(t, err)
				now += looked
			}
		}
		n := now - before
		before = now
		return n
	}
}

// With ten times as many lists, an operation looks at no more than twice as many pages: its queries use indexes.
//
// BAD-INPUT 69: A small write beside 73 large lists, or to a list edited hundreds of times → It takes no longer, and
// reads no other list if its key is proof or an item is named; otherwise up to 200
func TestWorkDoesNotGrowWithLists(t *testing.T) {
	looked := make(map[string][]int)
	for _, lists := range []int{100, 1000} {
		path := filepath.Join(t.TempDir(), "todo.db")
		pages := counted(t, path, looks...)
		s := filled(t, path, lists)
		for _, step := range storetest.Steps() {
			step.Do(t, s, 0) // so that its statements are prepared
			pages()
			for n := range 10 {
				step.Do(t, s, 1+n)
			}
			looked[step.Name] = append(looked[step.Name], pages())
		}
	}
	for what, n := range looked {
		if n[0] == 0 || n[1] > 2*n[0] {
			t.Errorf("%s: SQLite looks at %d pages, and at %d with ten times as many lists", what, n[0], n[1])
		}
	}
}
