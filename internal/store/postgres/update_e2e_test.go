//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/todo-mcp/todo-mcp/internal/audit"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/store/tables"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type trips struct{ n atomic.Int64 }

func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(data.SQL, "pg_notify") { // not counted: updates do not wait for notices
		c.n.Add(1)
	}
	return ctx
}
func (c *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// A chat's write to its list takes two round trips to the database: one waits for its turn and reads, one stores and
// commits.
func TestRoundTrips(t *testing.T) {
	s := fresh(t, board.Keep{Revisions: 5, Lists: 100, Begun: 10, Abandoned: time.Hour})
	var c trips
	config := s.pool.Config()
	config.ConnConfig.Tracer = &c
	traced := checktest.Must(pgxpool.NewWithConfig(t.Context(), config))(t)
	s.pool.Close()
	s.pool, s.Reader = traced, newReader(traced, &s.Health, s.call)
	audited := &audit.Log{Store: s, Out: io.Discard, Report: slog.New(slog.DiscardHandler)} // it adds no reads
	lists := board.NewBoard(audited).As("p")
	agent := board.Target{Conversation: board.Conversation{Key: "c"}}
	mirror := board.Target{Conversation: board.Conversation{Key: "c", Mirrors: true}}
	person := board.Target{}
	for i, step := range []struct {
		what   string
		target *board.Target
		want   int64
	}{
		{"a write that begins a list", &agent, 5}, // also looks up the new id, checks the room, registers the process
		{"a write", &agent, 2}, {"the next", &agent, 2},
		{"one that mirrors its host's, and begins", &mirror, 4}, {"the next of it", &mirror, 2},
		{"a person's", &person, 2},
	} {
		lines := []todo.Line{{Text: "one", Status: "pending"}, {Text: fmt.Sprint("step ", i), Status: "pending"}}
		agent.Lines, mirror.Lines = lines, lines
		view := todo.View{Words: map[todo.Status]string{todo.Pending: "pending"}}
		c.n.Store(0)
		out, err := lists.Apply(t.Context(), board.Write{Target: *step.target, Writer: todo.Writer{Person: step.target == &person},
			Change: func(d *todo.Draft) error { d.Replace(view, lines); return nil }})
		if err != nil || !out.Changed {
			t.Fatal(step.what, out, err)
		}
		if step.target == &agent {
			person.List = out.After.List.ID
		}
		if got := c.n.Load(); got != step.want {
			t.Errorf("%s: %d round trips, want %d", step.what, got, step.want)
		}
	}
}

// begin starts an update in another goroutine, and returns when change calls pause. end lets the update go on.
func begin(t *testing.T, s *Store, key board.Key, change func(tx board.Tx, pause func()) error) (end func(), done chan error) {
	t.Helper()
	paused, goOn := make(chan bool), make(chan bool)
	end = sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(end)
	done = make(chan error, 1)
	pause := sync.OnceFunc(func() { paused <- true; <-goOn })
	go func() {
		done <- s.Update(context.Background(), key, func(tx board.Tx) error { return change(tx, pause) })
	}()
	<-paused
	return end, done
}

// awaitWaiting waits until n connections wait for a lock.
func awaitWaiting(t *testing.T, s *Store, n int) {
	t.Helper()
	await(t, fmt.Sprint(n, " updates that wait"), func() bool {
		waiting := 0
		return s.pool.QueryRow(t.Context(), `SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted`).Scan(&waiting) == nil && waiting == n
	})
}

// An update waits for a running update of the same principal on another server. Then it reads all that the other update
// stored: a list found by a query, the chats that hold the list, a name, and a chat. Each update runs once. Updates of
// other principals do not wait.
func TestUpdatesOfAPrincipal(t *testing.T) {
	s, other := both(t)
	ctx, chat := t.Context(), todo.ChatID("p", "", "b", false)
	first, second := board.Key{Principal: "p", Chat: "x"}, board.Key{Principal: "p", Chat: "y"}
	mustSave(t, s, "a", 1)
	logged := &audit.Log{Store: s, Out: io.Discard, Report: slog.New(slog.DiscardHandler)}
	var runs atomic.Int32
	write := func(tx board.Tx, of board.Key, pause func()) error {
		runs.Add(1)
		found, err1 := tx.Find(ctx, board.Query{})
		on, err2 := tx.SeenOn(ctx, "p", "a")
		name, err3 := tx.Named(ctx, "p", "name")
		c, err4 := tx.Chat(ctx, chat)
		pause()
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return err
		}
		_, err1 = tx.Save(ctx, snapshot("a", found[0].Revision+1))
		if len(on) == 0 {
			err2 = tx.See(ctx, board.Seen{Key: of, List: "a", Current: true})
		}
		if name == "" {
			err3 = tx.SetName(ctx, "p", "name", of.Chat)
		}
		_, err4 = tx.SaveChat(ctx, todo.Chat{ID: chat, Principal: "p", Asks: c.Asks + of.Chat})
		return errors.Join(err1, err2, err3, err4)
	}
	end, done := begin(t, s, first, func(tx board.Tx, pause func()) error { return write(tx, first, pause) })
	waiting := make(chan error, 1)
	go func() {
		waiting <- other.Update(ctx, second, func(tx board.Tx) error { return write(tx, second, func() {}) })
	}()
	awaitWaiting(t, s, 1)
	checktest.Check(t, other.Update(ctx, board.Key{Principal: "q"}, func(tx board.Tx) error { return tx.SetName(ctx, "q", "name", "b") }))
	end()
	checktest.Check(t, errors.Join(<-done, <-waiting))
	checktest.Check(t, logged.Update(ctx, first, func(tx board.Tx) error { return write(tx, first, func() {}) }))
	on, err1 := s.SeenOn(ctx, "p", "a")
	name, err2 := s.Named(ctx, "p", "name")
	c, err3 := s.Chat(ctx, chat)
	if err := errors.Join(err1, err2, err3); err != nil || len(on) != 1 || name != "x" || c.Asks != "xyx" || runs.Load() != 3 {
		t.Errorf("%d holders, the name of %s, a chat that asks %q after %d runs, %v", len(on), name, c.Asks, runs.Load(), err)
	}
	mustBeAt(t, s, "a", 4)
}

// An update of all principals waits for running updates, and later updates wait for it.
func TestUpdatesOfAllPrincipals(t *testing.T) {
	s, other := both(t)
	var order []string
	adds := func(what string) func(tx board.Tx, pause func()) error {
		return func(tx board.Tx, pause func()) error { pause(); order = append(order, what); return nil }
	}
	end, first := begin(t, s, board.Key{Principal: "p"}, adds("first"))
	later := make(chan error, 3)
	for n, c := range []struct {
		s         *Store
		principal string
	}{{other, board.AllPrincipals}, {s, "p"}, {other, "q"}} {
		go func() {
			later <- c.s.Update(t.Context(), board.Key{Principal: c.principal}, func(tx board.Tx) error { return adds(c.principal)(tx, func() {}) })
		}()
		if c.s == other { // an update on s waits in the process instead
			awaitWaiting(t, s, min(n+1, 2))
		}
	}
	end()
	checktest.Check(t, errors.Join(<-first, <-later, <-later, <-later))
	if len(order) != 4 || order[0] != "first" || order[1] != board.AllPrincipals {
		t.Errorf("in the order %q", order)
	}
}

// While an update of a principal runs, the principal's old rows stay, because the update may be
// using them. Updates of other principals do not wait for it. Afterwards the old rows are deleted.
func TestOldRowsInUse(t *testing.T) {
	s, other := both(t)
	ctx, key, long := t.Context(), board.Key{Principal: "p", Chat: "x"}, time.Now().Add(-2*board.SeenAge)
	begins := func(s *Store, list string) {
		l := snapshot(list, 1)
		l.List.Principal = "q"
		checktest.Must(storetest.Save(ctx, s, l))(t)
	}
	old := func(id string) {
		for n := range int64(2) {
			l := snapshot(id, n+1)
			l.List.Principal, l.Updated, l.Deleted = "p", long, n == 1
			checktest.Must(storetest.Save(ctx, s, l, board.Seen{Key: key, List: id, Revision: 1}))(t)
		}
		checktest.Must(storetest.SaveChat(ctx, s, todo.Chat{ID: "chat " + id, Principal: "p", Used: long}))(t)
	}
	begins(s, "now") // age is measured from the newest row, so there must be a recent one
	old("back")
	old("gone")
	checktest.Must(s.pool.Exec(ctx, `UPDATE todo_mcp.seen SET at = $1`, long.UnixNano()))(t)
	end, done := begin(t, s, key, func(tx board.Tx, pause func()) error {
		l, err1 := tx.Load(ctx, "back", 0)
		c, err2 := tx.Chat(ctx, "chat back")
		pause()
		l.Deleted, l.Revision, l.Updated, c.Used = false, l.Revision+1, time.Now(), time.Now()
		_, err3 := tx.Save(ctx, l)
		_, err4 := tx.SaveChat(ctx, c)
		return errors.Join(err1, err2, err3, err4, tx.See(ctx, board.Seen{Key: key, List: "back", Revision: 3, Current: true}))
	})
	begins(other, "meanwhile")
	mustBeAt(t, s, "gone", 2)
	end()
	checktest.Check(t, <-done)
	other.Used = tables.Used{} // so that chats may be removed by age again
	begins(other, "later")
	mustBeAt(t, s, "back", 3)
	_, err := s.Load(ctx, "gone", 0)
	if on, err1 := s.Seen(ctx, key); !errors.Is(err, board.ErrNotFound) || err1 != nil || len(on) != 1 || on[0].Revision != 3 {
		t.Errorf("what is old: %v; seen: %+v, %v", err, on, err1)
	}
	for chat, stays := range map[string]bool{"chat back": true, "chat gone": false} {
		if c, err := s.Chat(ctx, chat); err != nil || (c.ID != "") != stays {
			t.Errorf("%s: %+v, %v", chat, c, err)
		}
	}
	if _, err := s.Check(ctx, func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
}

// A server that freezes in an update delays other updates of the principal for idle_in_transaction_session_timeout. The
// frozen update has stored nothing, and runs again when the server goes on.
func TestStandsStill(t *testing.T) {
	address := emptied(t)
	s, other := open(t, address+"&idle_in_transaction_session_timeout=300"), open(t, address)
	mustSave(t, s, "a", 1)
	var runs atomic.Int32
	next := func(tx board.Tx, pause func()) error {
		runs.Add(1)
		l, err := tx.Load(context.Background(), "a", 0)
		pause()
		if err == nil {
			l.Revision++
			_, err = tx.Save(context.Background(), l)
		}
		return err
	}
	end, done := begin(t, s, board.Key{Chat: "x"}, next)
	checktest.Check(t, other.Update(t.Context(), board.Key{Chat: "y"}, func(tx board.Tx) error { return next(tx, func() {}) }))
	end()
	checktest.Check(t, <-done)
	if mustBeAt(t, s, "a", 3); runs.Load() != 3 {
		t.Errorf("two updates ran %d times", runs.Load())
	}
}

func hold(t *testing.T, address, statement string) {
	t.Helper()
	conn := checktest.Must(pgx.Connect(t.Context(), address))(t)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	checktest.Must(conn.Exec(t.Context(), "BEGIN; "+statement))(t)
}

// A reader that continues from a Seq misses no chat and no list, whichever of two concurrent saves is committed last.
// Transactions of other programs delay no reader.
func TestHorizon(t *testing.T) {
	address := newDatabase(t)
	s, other := open(t, address), open(t, address)
	ctx := t.Context()
	checktest.Must(s.pool.Exec(ctx, `CREATE TABLE theirs (n int)`))(t)
	hold(t, server(t).Address("postgres"), `SELECT pg_current_xact_id()`)
	hold(t, address, `INSERT INTO theirs VALUES (1)`)
	saveChat := func(id string) func(board.Tx) error {
		return func(tx board.Tx) error { _, err := tx.SaveChat(ctx, todo.Chat{ID: id, Used: time.Now()}); return err }
	}
	saveList := func(id string) func(board.Tx) error {
		return func(tx board.Tx) error { _, err := tx.Save(ctx, snapshot(id, 1)); return err }
	}
	checktest.Check(t, s.Update(ctx, board.Key{}, saveList("first"))) // sets seq_offset
	position := checktest.Must(s.Position(ctx))(t)
	shown := func(after int64) string {
		lists, err1 := s.Find(ctx, board.Query{AfterSeq: after, OldestFirst: true})
		chats, err2 := s.Chats(ctx, board.ChatQuery{AfterSeq: after})
		checktest.Check(t, errors.Join(err1, err2))
		return fmt.Sprint(len(lists), len(chats))
	}
	for n, c := range []struct {
		slow, quick  func(board.Tx) error
		before, then string
		both         string // shown to a reader whose position was read before both commits
	}{
		{saveChat("slow"), saveList("quick"), "0 0", "1 1", "1 1"},
		{saveList("slow list"), saveChat("quick chat"), "1 1", "2 2", "1 1"},
		{saveChat("slow 2"), saveChat("quick 2"), "2 2", "2 4", "0 2"},
		{saveList("slow list 2"), saveList("quick list 2"), "2 4", "4 4", "2 0"},
	} {
		var meanwhile int64
		err := s.Update(ctx, board.Key{Principal: "slow"}, func(tx board.Tx) error {
			_, isRead := tx.Chats(ctx, board.ChatQuery{}) // a read inside the update, which got its Seqs when it began
			err := errors.Join(c.slow(tx), isRead, other.Update(ctx, board.Key{Principal: "quick"}, c.quick))
			if got := shown(position); got != c.before {
				t.Errorf("%d: shown although one before it is not committed: %s, want %s", n, got, c.before)
			}
			var err1 error
			meanwhile, err1 = s.Position(ctx)
			all, err2 := s.Chats(ctx, board.ChatQuery{})
			if len(all) != []int{0, 2, 3, 4}[n] {
				t.Errorf("%d: %d chats are read", n, len(all))
			}
			return errors.Join(err, err1, err2)
		})
		checktest.Check(t, err)
		if got := shown(position); got != c.then {
			t.Errorf("%d: shown in the end: %s, want %s", n, got, c.then)
		}
		if got := shown(meanwhile); got != c.both {
			t.Errorf("%d: shown to who came meanwhile: %s, want %s", n, got, c.both)
		}
	}
}

// Unsafe names a setting with which a commit may be lost.
func TestUnsafe(t *testing.T) {
	if setting, err := fresh(t).Unsafe(t.Context()); err != nil || strings.Contains(setting, "synchronous_commit") {
		t.Errorf("by default: %q, %v", setting, err)
	}
	address := newDatabase(t)
	s := open(t, address+"&options=-csynchronous_commit%3Doff")
	if setting, err := s.Unsafe(t.Context()); err != nil || !strings.Contains(setting, "synchronous_commit = off") {
		t.Errorf("switched off: %q, %v", setting, err)
	}
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func snapshot(id string, revision int64) todo.Snapshot {
	return todo.Snapshot{List: todo.List{ID: id, Created: time.Now().UTC()}, Revision: revision, Items: []todo.Item{}, Updated: time.Now().UTC()}
}

// A store that closes right after a save, as a command's store does, notifies other servers of the save.
func TestLastSaveIsTold(t *testing.T) {
	address := emptied(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn := checktest.Must(pgx.Connect(ctx, address))(t)
	defer conn.Close(context.Background())
	checktest.Must(conn.Exec(ctx, "LISTEN "+channel))(t)
	for n := range int64(20) {
		s := open(t, address)
		mustSave(t, s, "a", n+1)
		checktest.Check(t, s.Close())
		checktest.Must(conn.WaitForNotification(ctx))(t)
	}
}

// A process counts as alive on other servers until it leaves.
func TestAliveOnOtherServers(t *testing.T) {
	a, b := both(t)
	leave := a.Attend("p1")
	isAlive := func(when, process string, want bool) {
		t.Helper()
		b.alive.forget()
		if b.Alive(process) != want {
			t.Errorf("%s: alive %t", when, !want)
		}
	}
	isAlive("attended", "p1", true)
	isAlive("never attended", "p2", false)
	b.alive.read = time.Now().Add(-deadAge)
	leave2 := a.Attend("p2")
	if !b.Alive("p2") {
		t.Error("a process that has just begun is not seen before a second has passed")
	}
	leave2()
	checktest.Must(b.pool.Exec(t.Context(), `UPDATE todo_mcp.processes SET until = now()`))(t)
	isAlive("after its row expired", "p1", false)
	a.sayAlive(t.Context(), "p1")
	isAlive("said so again", "p1", true)
	leave()
	isAlive("after it left", "p1", false)
}

var laterSteps = []string{
	`ALTER TABLE todo_mcp.lists ADD COLUMN colour text NOT NULL DEFAULT 'red'`,
	`ALTER TABLE todo_mcp.chats ADD COLUMN colour text NOT NULL DEFAULT 'red'`,
}

func moveInChild(url string) (status int) {
	steps = append(steps, laterSteps...)
	s, err := Open(context.Background(), url, board.Keep{Moving: func(text string) { fmt.Println(text) }})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	_ = s.Close()
	return 0
}

func moved(t testing.TB, url string) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TODO_TEST_MOVE="+url)
	out, err := cmd.Output()
	if err != nil {
		t.Error(err)
	}
	return string(out)
}

func newer(t *testing.T, do func(t *testing.T), more ...string) {
	t.Helper()
	t.Run("newer", func(t *testing.T) {
		before := steps
		t.Cleanup(func() { steps = before })
		steps = append(steps[:len(steps):len(steps)], more...)
		do(t)
	})
}

func mustSave(t *testing.T, s *Store, id string, revision int64) {
	t.Helper()
	checktest.Must(storetest.Save(t.Context(), s, snapshot(id, revision)))(t)
}

func mustBeAt(t *testing.T, s *Store, id string, revision int64) {
	t.Helper()
	if got, err := s.Load(t.Context(), id, 0); err != nil || got.Revision != revision {
		t.Errorf("%s is at revision %d, not %d, %v", id, got.Revision, revision, err)
	}
}

// If several newer servers start at once, one of them upgrades an earlier database, and announces each step.
// BAD-INPUT 52: before the upgrade, a server of the earlier version saves as usual. After the upgrade, each of its reads
// and writes fails with ErrTooNew, and stores nothing.
func TestMovedBeside(t *testing.T) {
	url := newDatabase(t)
	old := open(t, url)
	mustSave(t, old, "idle", 1)
	for range 10 { // so that the database keeps a query plan
		mustBeAt(t, old, "idle", 1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers sync.WaitGroup
	begun := make(chan bool, 4)
	saved := make([]int64, 4)
	for i := range saved {
		writers.Go(func() {
			for {
				_, err := storetest.Save(ctx, old, snapshot(fmt.Sprint("busy", i), saved[i]+1))
				if err != nil {
					if !errors.Is(err, board.ErrTooNew) {
						t.Errorf("52: %v", err)
					}
					return
				}
				if saved[i]++; saved[i] == 5 {
					begun <- true
				}
			}
		})
	}
	for range saved {
		<-begun
	}
	said := make(chan string)
	for range 3 {
		go func() { said <- moved(t, url) }()
	}
	want := fmt.Sprintf("moving the store to schema %d of %d…\nmoving the store to schema %[2]d of %[2]d…\n", len(steps)+1, len(steps)+2)
	if all := <-said + <-said + <-said; all != want {
		t.Errorf("they said %q", all)
		cancel()
	}
	writers.Wait()
	_, reading := old.Load(t.Context(), "idle", 0)
	_, writing := storetest.Save(t.Context(), old, snapshot("idle", 2))
	for what, err := range map[string]error{"reading": reading, "writing": writing} {
		if !errors.Is(err, board.ErrTooNew) || !strings.Contains(err.Error(), "restart your client") {
			t.Errorf("52: %s: %v", what, err)
		}
	}
	newer(t, func(t *testing.T) {
		s := open(t, url)
		mustBeAt(t, s, "idle", 1)
		mustSave(t, s, "idle", 2)
		for i, revision := range saved {
			mustBeAt(t, s, fmt.Sprint("busy", i), revision)
		}
		fresh := checktest.Must(server(t).NewDatabase())(t)
		s2 := open(t, fresh, board.Keep{Moving: func(string) {}})
		mustSave(t, s2, "a", 1)
	}, laterSteps...)
}

// An upgrade that loses its connection, or whose step fails, leaves the database as it was. The error names the step's
// file, and a later server can upgrade the database. Without Keep.Moving, Open fails with ErrEarlier, which says how to
// upgrade.
func TestMoveFails(t *testing.T) {
	url := newDatabase(t)
	old := open(t, url)
	mustSave(t, old, "a", 1)
	kill := func(string) {
		checktest.Must(old.pool.Exec(context.Background(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1`, schemaLock))(t)
	}
	file := fmt.Sprintf("schema%03d.sql", len(steps)+1)
	for _, c := range []struct {
		say  func(string)
		step string
		says string
	}{
		{kill, laterSteps[0], file}, {func(string) {}, `INSERT INTO todo_mcp.nothing VALUES (1)`, file}, {nil, laterSteps[0], board.ErrEarlier.Error()},
	} {
		newer(t, func(t *testing.T) {
			if _, err := Open(t.Context(), url, board.Keep{Moving: c.say}); err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, board.ErrTooNew) {
				t.Errorf("%v, without %s", err, c.says)
			}
		}, c.step)
		mustBeAt(t, old, "a", 1)
	}
	mustSave(t, old, "a", 2)
	newer(t, func(t *testing.T) {
		s := open(t, url, board.Keep{Moving: func(string) {}})
		mustBeAt(t, s, "a", 2)
	}, laterSteps...)
}

// Time limits that the role or the address sets do not apply to the statements of an upgrade.
func TestMoveTakesItsTime(t *testing.T) {
	url := newDatabase(t)
	config := checktest.Must(pgx.ParseConfig(url))(t)
	config.RuntimeParams["statement_timeout"], config.RuntimeParams["lock_timeout"] = "500", "500"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "500"
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	newer(t, func(t *testing.T) {
		checktest.Check(t, prepare(ctx, config, func(string) { cancel() }))
	}, `SELECT pg_sleep(1)`)
}

// An upgrade waits for a running update that has read the schema version, even if the update has stored nothing yet.
func TestMoveWaitsForUpdates(t *testing.T) {
	url := newDatabase(t)
	old := open(t, url)
	done := make(chan string, 1)
	err := old.Update(t.Context(), board.Key{Chat: "x"}, func(tx board.Tx) error {
		go func() { done <- moved(t, url) }()
		waitsFor := ""
		for waitsFor == "" && len(done) == 0 {
			if err := old.pool.QueryRow(t.Context(), `SELECT coalesce(min(relation::regclass::text), '') FROM pg_locks WHERE NOT granted`).Scan(&waitsFor); err != nil {
				return err
			}
		}
		if waitsFor != "todo_mcp.store" {
			t.Errorf("it waits for %q", waitsFor)
		}
		_, err := tx.Save(t.Context(), snapshot("a", 1))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	<-done
	newer(t, func(t *testing.T) {
		s := open(t, url)
		mustBeAt(t, s, "a", 1)
	}, laterSteps...)
}
