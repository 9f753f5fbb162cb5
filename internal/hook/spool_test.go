package hook_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// spoolRig is a board with a spool.
type spoolRig struct {
	*rig
	*hook.Spool
	broken error // the store's error; nil if it works
	logged []string
}

func newSpoolRig(t *testing.T) *spoolRig {
	t.Helper()
	r := &spoolRig{rig: newRig(t)}
	r.Spool = &hook.Spool{
		Folder: filepath.Join(t.TempDir(), "todo.db"+sqlite.SpoolSuffix),
		Log:    func(err error) { r.logged = append(r.logged, err.Error()) },
	}
	r.store = storetest.NewMemoryKeeping(board.Keep{Before: r.Settle})
	r.lists, r.Spool.Store = board.NewBoard(r.store).As(""), r.store
	return r
}

// put adds an event to the spool as of a time.
func (r *spoolRig) put(came time.Time, event string) {
	r.Helper()
	r.write(map[string]string{fmt.Sprintf("%020d-X", came.UnixNano()): event})
}

// read returns the contents of the spool's files by their names.
func (r *spoolRig) read() map[string]string {
	r.Helper()
	all := make(map[string]string)
	files, _ := os.ReadDir(r.Folder) // there may be none yet
	for _, f := range files {
		all[f.Name()] = string(checktest.Must(os.ReadFile(filepath.Join(r.Folder, f.Name())))(r.T))
	}
	return all
}

// write adds files to the spool.
func (r *spoolRig) write(files map[string]string) {
	r.Helper()
	checktest.Check(r.T, os.MkdirAll(r.Folder, 0o700))
	for name, data := range files {
		checktest.Check(r.T, os.WriteFile(filepath.Join(r.Folder, name), []byte(data), 0o600))
	}
}

func steps(chat, step string) string {
	return fmt.Sprintf(`{"session_id":%q,"cwd":"/w","hook_event_name":"PostToolUse","tool_name":"update_plan","tool_input":{"plan":[{"step":"Write","status":"pending"},{"step":%q,"status":"pending"}]}}`, chat, step)
}

// tell sends the hook an event.
func (r *spoolRig) tell(event string) (told string, err error) {
	r.Helper()
	e := checktest.Must(hook.Read(strings.NewReader(event)))(r.T)
	return r.Do(r.Context(), e, func() (board.Lists, func(), error) { return r.lists, func() {}, r.broken })
}

// takes sends the hook an event that must not fail.
func (r *spoolRig) takes(event string) { r.Helper(); checktest.Must(r.tell(event))(r.T) }

// drains applies the waiting events, and checks that nothing is logged.
func (r *spoolRig) drains() {
	r.Helper()
	if err := r.Drain(r.Context(), r.store); err != nil || r.logged != nil {
		r.Error(err, r.logged)
	}
}

// left checks how many events are in the spool.
func (r *spoolRig) left(want int) {
	r.Helper()
	checktest.Same(r.T, "events left", len(r.read()), want)
}

// expect checks the text of the second item in all revisions of each chat's list, and how many events are left.
func (r *spoolRig) expect(left int, lists ...string) {
	r.Helper()
	defer func(applied board.Store) { r.Spool.Store = applied }(r.Spool.Store)
	r.Spool.Store = nil
	var got []string
	for _, l := range checktest.Must(r.store.Find(r.Context(), board.Query{}))(r.T) {
		history := checktest.Must(r.store.History(r.Context(), l.List.ID, 0, 0))(r.T)
		var texts []string
		for _, s := range history {
			texts = append(texts, s.Items[1].Text)
		}
		got = append(got, l.List.Chat+": "+strings.Join(texts, " "))
	}
	slices.Sort(got)
	checktest.Same(r.T, "-want +got", cmp.Diff(lists, got), "")
	r.left(left)
}

// Waiting events are applied in order, as of the times when they came, before the next event.
func TestSpoolIsInOrder(t *testing.T) {
	r := newSpoolRig(t)
	hourAgo := time.Now().Add(-time.Hour)
	for n, event := range []string{steps("a", "1"), steps("b", "1"), steps("a", "2"), steps("a", "3")} {
		r.put(hourAgo.Add(time.Duration(n)), event)
	}
	checktest.Same(t, "told", checktest.Must(r.tell(`{"session_id":"a","hook_event_name":"UserPromptSubmit","prompt":"go"}`))(t), "")
	r.expect(0, "a: 1 2 3", "b: 1")
	for _, l := range r.all() {
		if d := l.Updated.Sub(hourAgo); d < 0 || d > time.Microsecond {
			t.Errorf("it was updated at %v, want %v", l.Updated, hourAgo)
		}
	}
	r.takes(steps("a", "4"))
	r.expect(0, "a: 1 2 3 4", "b: 1")
	if r.logged != nil {
		t.Error(r.logged)
	}
}

// Events keep their order, also when the clock is set back meanwhile. An event from the future is applied as of now.
func TestSpoolIDsGrow(t *testing.T) {
	r := newSpoolRig(t)
	r.Left = func() {}
	r.put(time.Now().Add(24*time.Hour), steps("a", "1"))
	r.takes(steps("a", "2"))
	r.takes(steps("a", "3"))
	r.drains()
	r.expect(0, "a: 1 2 3")
	for _, l := range r.all() {
		if l.Updated.After(time.Now()) {
			t.Errorf("it was updated at %v", l.Updated)
		}
	}
}

// An event stays in the spool while the store fails. An event that was applied, but not removed before its process was
// killed, is not applied again.
func TestSpoolKeepsWhatFails(t *testing.T) {
	r := newSpoolRig(t)
	r.broken = errors.New("broken")
	for _, step := range []string{"1", "2"} {
		checktest.Is(t, "error", checktest.Err(r.tell(steps("a", step))), r.broken)
	}
	if told, err := r.tell(`{"session_id":"a","hook_event_name":"SessionStart","source":"resume"}`); !errors.Is(err, r.broken) || told != "" {
		t.Error(told, err)
	}
	r.expect(2)
	before := r.read()
	for name := range before {
		if runtime.GOOS != "windows" {
			checktest.Same(t, "the mode", checktest.Must(os.Lstat(filepath.Join(r.Folder, name)))(t).Mode(), 0o600)
		}
	}
	r.drains()
	r.expect(0, "a: 1 2")
	r.write(before)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checktest.Is(t, "error", r.Drain(ctx, r.store), context.Canceled)
	r.expect(2, "a: 1 2")
	r.drains()
	r.expect(0, "a: 1 2")
}

// After a process was killed between two events, the next process applies all events again. This changes nothing, even
// for an event whose id the store does not keep, such as a question that was answered since. A file that a killed
// process wrote only in part is no event, and does no harm.
func TestSpoolKilledWhileApplying(t *testing.T) {
	r := newSpoolRig(t)
	r.Left = func() {}
	ask := `{"session_id":"a","cwd":"/w","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"make"}}`
	came := time.Now().Add(-time.Minute)
	for n, event := range []string{steps("a", "1"), ask, steps("a", "2"), steps("b", "1")} {
		r.put(came.Add(time.Duration(n)*time.Second), event)
	}
	var atKill map[string]string
	killed := failing{r.store, "b", func() { atKill = r.read() }}
	checktest.Fails(t, "the store does not fail", r.Drain(t.Context(), killed))
	r.write(atKill)
	r.write(map[string]string{".todo-mcp-1": steps("b", "2")[:50]}) // of a hook that was killed as it wrote
	r.takes(steps("b", "3"))
	r.drains()
	r.expect(1, "a: 1 2", "b: 1 3")
	for _, l := range r.all() {
		if got := r.standing(l); got.Asks != "" {
			t.Errorf("it asks %q", got.Asks)
		}
	}
}

// Events of many chats that come while many processes apply events are each applied once, and in order within a chat.
func TestSpoolUnderMany(t *testing.T) {
	const chats, events, drainers = 16, 8, 24
	r := newSpoolRig(t)
	told := make(chan struct{}, chats*events)
	r.Left, r.Log = func() { told <- struct{}{} }, func(err error) { t.Log(err) } // Settle may time out on a busy machine
	st := checktest.Must(sqlite.Open(strings.TrimSuffix(r.Folder, sqlite.SpoolSuffix), board.Keep{Before: r.Settle}))(t)
	defer st.Close()
	r.store, r.Spool.Store = st, st
	r.lists = board.NewBoard(st).As("")
	var hooks, others sync.WaitGroup
	var want []string
	for chat := range chats {
		name, texts := fmt.Sprintf("%02d", chat), make([]string, events)
		for n := range texts {
			texts[n] = fmt.Sprint(n)
		}
		want = append(want, name+": "+strings.Join(texts, " "))
		hooks.Go(func() {
			for _, text := range texts {
				e, err := hook.Read(strings.NewReader(steps(name, text)))
				if _, failed := r.Do(t.Context(), e, r.open); err != nil || failed != nil {
					t.Error(err, failed)
				}
			}
		})
	}
	for range drainers {
		front := &hook.Spool{Folder: r.Folder, Log: r.Log, Store: st} // as in another process
		others.Go(func() {
			for range told {
				front.Settle(t.Context())
			}
		})
	}
	hooks.Wait()
	close(told)
	others.Wait()
	r.drains()
	r.expect(0, want...)
}

// Every method of a store applies the spooled events before it reads or changes anything, also if the context of its
// caller has ended.
func TestSpoolIsBeforeTheStore(t *testing.T) {
	key := board.Key{Chat: todo.ChatID("", "", todo.ChatKey("a"), false), Mirrors: true}
	for name, use := range map[string]func(context.Context, board.Store) error{
		"Load": func(ctx context.Context, st board.Store) error {
			_, err := st.Load(ctx, "x", 0)
			return board.PassOver(err)
		},
		"Find":    func(ctx context.Context, st board.Store) error { _, err := st.Find(ctx, board.Query{}); return err },
		"History": func(ctx context.Context, st board.Store) error { _, err := st.History(ctx, "x", 0, 0); return err },
		"Seen":    func(ctx context.Context, st board.Store) error { _, err := st.Seen(ctx, key); return err },
		"SeenOn":  func(ctx context.Context, st board.Store) error { _, err := st.SeenOn(ctx, "", "x"); return err },
		"Named":   func(ctx context.Context, st board.Store) error { _, err := st.Named(ctx, "", "x"); return err },
		"Chat":    func(ctx context.Context, st board.Store) error { _, err := st.Chat(ctx, "x"); return err },
		"Chats": func(ctx context.Context, st board.Store) error {
			_, err := st.Chats(ctx, board.ChatQuery{})
			return err
		},
		"by who goes away": func(ctx context.Context, st board.Store) error {
			gone, cancel := context.WithCancel(ctx)
			cancel()
			_, _ = st.Find(gone, board.Query{})
			return nil
		},
		"Keyed":    func(ctx context.Context, st board.Store) error { _, err := st.Keyed(ctx, board.ChatKey{}); return err },
		"Position": func(ctx context.Context, st board.Store) error { _, err := st.Position(ctx); return err },
		"Update": func(ctx context.Context, st board.Store) error {
			return st.Update(ctx, key, func(tx board.Tx) error {
				if held, err := tx.Seen(ctx, key); err != nil || len(held) != 1 {
					return fmt.Errorf("the chat has %d lists, %w", len(held), err)
				}
				return nil
			})
		},
	} {
		r := newSpoolRig(t)
		r.Left = func() {}
		for n := range 3 {
			r.takes(steps("a", fmt.Sprint(n)))
			r.left(1)
			checktest.Check(t, use(t.Context(), r.store))
		}
		if r.expect(0, "a: 0 1 2"); r.logged != nil {
			t.Errorf("%s: %q", name, r.logged)
		}
	}
}

// An event that waited in the spool does not change its chat's state if a later event was applied before it, unless the
// clock was set back.
func TestSpoolIsOvertaken(t *testing.T) {
	const idle, ended = `{"hook_event_name":"Notification","notification_type":"idle_prompt"}`, `{"hook_event_name":"SessionEnd","reason":"other"}`
	for _, c := range []struct{ later, waited, want string }{
		{rests, asks, "idle"}, {rests, prompts, "idle"}, {prompts, idle, "working"}, {prompts, ended, "working"}, {prompts, starts, "working"},
		{rests, `{"hook_event_name":"PermissionDenied"}`, "idle"},
	} {
		r := newSpoolRig(t)
		r.sendFrom("", "s", c.later)
		r.put(time.Now().Add(-time.Minute), strings.Replace(c.waited, "{", `{"session_id":"s","cwd":"/w",`, 1))
		r.isDoing(c.want, fmt.Sprintf("%s after %s", c.waited, c.later))
	}
	r := newSpoolRig(t)
	r.lists = board.NewBoard(r.store, board.WithClock(func() time.Time { return time.Now().Add(time.Hour) })).As("")
	r.sendFrom("", "s", rests)
	r.put(time.Now(), strings.Replace(asks, "{", `{"session_id":"s","cwd":"/w",`, 1))
	r.isDoing("waits: run `rm -r build`?", "the clock was set back")
}

// If a spooled event fails, the store is still used, without that event. The event is tried again after three seconds,
// or as soon as another event comes.
func TestSpoolBeforeABrokenStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSpoolRig(t)
		r.Left = func() {}
		broken := failing{Store: r.store, chat: "a"}
		r.Spool.Store = &broken
		tell := func(event string) { r.takes(event) }
		find := func() { // succeeds even if the spool's events fail
			checktest.Check(t, checktest.Err(r.store.Find(t.Context(), board.Query{})))
		}
		tell(steps("a", "1"))
		find()
		find()
		if len(r.logged) != 1 || !strings.Contains(r.logged[0], "broken") {
			t.Error(r.logged)
		}
		tell(steps("b", "1"))
		find()
		r.expect(1, "b: 1")
		find()
		broken.chat = "nobody"
		find()
		r.expect(1, "b: 1")
		time.Sleep(3 * time.Second)
		find()
		r.expect(0, "a: 1", "b: 1")
	})
}

// failing is a store that fails on a list of one chat.
type failing struct {
	board.Store
	chat   string
	before func() // called before the error; may be nil
}

func (f failing) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	if key.Chat != todo.ChatID("", "", todo.ChatKey(f.chat), false) {
		return f.Store.Update(ctx, key, change)
	}
	if f.before != nil {
		f.before()
	}
	return errors.New("broken")
}

// When the store fails on a list, only the events of that list's chat stay in the spool. An event on which the store
// fails for a day is set aside.
func TestSpoolOfABrokenList(t *testing.T) {
	r := newSpoolRig(t)
	broken := failing{Store: r.store, chat: "a"}
	now := time.Now().Add(-time.Hour)
	r.put(now.Add(-24*time.Hour), steps("a", "of yesterday"))
	for n, chat := range []string{"a", "b", "a", "b"} {
		r.put(now.Add(time.Duration(n)*time.Second), steps(chat, fmt.Sprint(n)))
	}
	if err := r.Drain(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "broken") || len(r.logged) != 1 {
		t.Error(err, r.logged)
	}
	r.expect(2, "b: 1 3")
	checktest.Has(t, "set aside", r.aside(), "of yesterday")
	broken.before = func() { broken.chat = "nobody" } // the store works from the chat's second event on
	checktest.Fails(t, "the store does not fail", r.Drain(t.Context(), &broken))
	r.expect(2, "b: 1 3")
	checktest.Check(t, r.Drain(t.Context(), r.store))
	r.expect(0, "a: 0 2", "b: 1 3")
}

// aside returns the events that were set aside.
func (r *spoolRig) aside() string {
	r.Helper()
	aside := spoolRig{rig: r.rig, Spool: &hook.Spool{Folder: r.Folder + "-damaged"}}
	return strings.Join(slices.Collect(maps.Values(aside.read())), "")
}

// BAD-INPUT 114: Sixty hooks at once, on a free or locked store; a spool with a cut, huge or refused event, or a
// thousand events; a link or pipe as spool → Each event is on disk in order, and the next reader sees it. Only bad
// events are set aside; a hook applies events that the spool refuses
func TestDamagedSpool(t *testing.T) {
	good := steps("a", "secret")
	now := time.Now().Add(-time.Minute)
	for name, damaged := range map[string]string{
		"cut":        good[:len(good)/2],
		"nothing":    "",
		"huge":       strings.Replace(good, "secret", strings.Repeat("secret", hook.MaxEvent/6), 1),
		"answered":   `{"session_id":"a","hook_event_name":"UserPromptSubmit","prompt":"secret"}`,
		"unknown":    `{"session_id":"a","hook_event_name":"secret"}`,
		"refused":    strings.Replace(good, "pending", "begun", 1),
		"not needed": `{"session_id":"a","hook_event_name":"PostToolUse","tool_name":"mcp__todo__TodoWrite"}`,
		"zeros":      strings.Repeat("\x00", 100),
	} {
		t.Run(name, func(t *testing.T) {
			r := newSpoolRig(t)
			r.put(now, damaged)
			r.put(time.Now().Add(-time.Second), steps("b", "1"))
			checktest.Check(t, r.Drain(t.Context(), r.store))
			r.expect(0, "b: 1")
			if aside := r.aside(); aside != damaged {
				t.Errorf("%d bytes are set aside", len(aside))
			}
			if len(r.logged) != 1 || strings.Contains(r.logged[0], "secret") && name != "unknown" {
				t.Error(r.logged)
			}
		})
	}
	for name, full := range map[string]int{"a thousand": 1000, "64 MB": 9} {
		r := newSpoolRig(t)
		r.broken = errors.New("broken")
		for n := range full {
			r.put(now.Add(time.Duration(n)), steps("c", "1")+strings.Repeat(" ", 64<<20/9*(9/full)))
		}
		before := r.read()
		if _, err := r.tell(steps("d", "1")); !errors.Is(err, r.broken) || !strings.Contains(err.Error(), "is lost") || !strings.Contains(err.Error(), "no more than 1000") {
			t.Errorf("%s: %v", name, err)
		}
		checktest.Same(t, "what waits was changed", maps.Equal(r.read(), before), true)
		r.Spool.Store, r.broken = nil, nil // the store works again
		checktest.Fails(t, "error", checktest.Err(r.tell(steps("d", "1"))), "applied at once")
		r.expect(full, "d: 1")
	}
}
