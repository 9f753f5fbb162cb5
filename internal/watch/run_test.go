package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/remote"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

func newLists(t *testing.T) board.Lists {
	t.Helper()
	b := board.NewBoard(storetest.NewMemory())
	t.Cleanup(b.Close)
	return b.As("")
}

func writeItems(t *testing.T, lists board.Lists, name string, texts ...string) {
	t.Helper()
	checktest.Must(lists.Apply(context.Background(), board.Write{
		Target: board.Target{Conversation: board.Conversation{Key: "name:" + name, Name: name}},
		Change: func(d *todo.Draft) error { d.Append(texts...); return nil },
	}))(t)
}

// says makes the agent of a list report what it does and asks.
func says(t *testing.T, lists board.Lists, name string, does todo.Doing, asks string) {
	t.Helper()
	_, err := lists.Hear(t.Context(), board.Conversation{Key: "name:" + name, Name: name}, func(c *todo.Chat, at time.Time) { c.Says(does, asks, at) })
	checktest.Check(t, err)
}

// Run draws changes of lists and what an agent asks, shows the history, makes edits, runs the
// editor, and quits on q.
func TestRun(t *testing.T) {
	lists := newLists(t)
	writeItems(t, lists, "release", "Write tests")
	c := newTerminal()
	done := make(chan error)
	go func() {
		done <- run(t.Context(), Local{Lists: lists}, c, Options{Where: "here", Now: time.Now, List: "release", Edit: func(_ context.Context, s todo.Snapshot, apply func(todo.Edit) error) error {
			c.checkRestored(t)
			if err := apply(todo.Edit{Do: todo.EditItems, Lines: []todo.Line{{Text: "Typed", Status: "pending"}}}); err != nil {
				return err
			}
			return apply(todo.Edit{Do: "burn"})
		}})
	}()
	c.waitFor(t, "Write tests")
	writeItems(t, lists, "release", "Ship it")
	c.waitFor(t, "Ship it")
	says(t, lists, "release", todo.Asks, "push?")
	c.waitFor(t, "asks: push?")
	c.press(t, "h", "revision 2")
	c.press(t, "\x1b", "○ Ship it")
	c.press(t, "x", "u undo")
	if l := load(t, lists); l.Items[0].Status != todo.Completed || !l.Writer.Person {
		t.Errorf("after x the list is %+v", l)
	}
	c.waitFor(t, "waits to be seen")
	c.press(t, "e", "do must be status") // the error has a page
	c.press(t, "\x1b", "○ Typed")
	c.SendRaw([]byte("q"))
	checktest.Check(t, <-done)
	c.checkRestored(t)
}

// scripted is a source with the given Follow and Standings.
type scripted struct {
	Source
	standings []account.ListState
	follow    func(show func([]todo.Snapshot, bool), lost func(error)) error
}

func (s scripted) Follow(_ context.Context, show func([]todo.Snapshot, bool), lost func(error)) error {
	return s.follow(show, lost)
}

func (s scripted) Standings(context.Context, []todo.Snapshot) ([]account.ListState, error) {
	<-time.After(2 * frameEvery) // so long that a frame without them could be drawn before
	return s.standings, nil
}

// Run restores the terminal however it ends: by an error or a panic of the
// source, a signal, or a panic of the viewer.
func TestTerminalRestored(t *testing.T) {
	failures := map[string]func(func([]todo.Snapshot, bool), func(error)) error{
		"no such server":  func(func([]todo.Snapshot, bool), func(error)) error { return errors.New("no such server") },
		"panic: nil list": func(func([]todo.Snapshot, bool), func(error)) error { panic("nil list") },
	}
	for want, follow := range failures {
		c := newTerminal()
		checktest.Fails(t, want, run(t.Context(), scripted{follow: follow}, c, Options{Now: time.Now}), want)
		c.checkRestored(t)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("SIGTERM"))
	c := newTerminal()
	if err := run(ctx, Local{Lists: newLists(t)}, c, Options{Now: time.Now}); err != nil {
		t.Errorf("after a signal: %v", err)
	}
	c.checkRestored(t)

	c = newTerminal()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = run(t.Context(), Local{Lists: newLists(t)}, c, Options{Now: func() time.Time { panic("viewer") }})
	}()
	c.checkRestored(t)
}

// At the start a working list is on the screen, at the cursor, however many lists were left open.
func TestStartsAtWhoWorks(t *testing.T) {
	lists, standings := []todo.Snapshot{list("busy", 100, 1, time.Hour, "i:Ship")}, []account.ListState(nil)
	for i := range 30 {
		id := fmt.Sprint("left", i)
		lists = append(lists, list(id, int64(i), 1, 2*time.Minute, "p:a"))
		standings = append(standings, account.ListState{List: id, Standing: todo.Standing{State: todo.LeftOpen}})
	}
	more, ended, c := make(chan struct{}), make(chan struct{}), newTerminal()
	source := scripted{standings: standings, follow: func(show func([]todo.Snapshot, bool), _ func(error)) error {
		show(lists, true)
		<-more
		show([]todo.Snapshot{list("busy", 101, 2, 0, "i:Ship p:Celebrate")}, false)
		<-ended
		return nil
	}}
	done := make(chan error)
	go func() { done <- run(t.Context(), source, c, Options{Now: noon}) }()
	c.waitFor(t, "live")
	close(more)
	c.waitFor(t, "1 working")
	c.waitFor(t, "▌◐ busy")
	c.SendRaw([]byte("q"))
	close(ended)
	checktest.Check(t, <-done)
}

// Plain writes a line for each event, and returns an error at the first write after its reader is gone.
func TestPlain(t *testing.T) {
	lists := newLists(t)
	writeItems(t, lists, "release", "Write \x1b[2Jtests")
	writeItems(t, lists, "other", "Something else")
	r, w := io.Pipe()
	done := make(chan error)
	noon := func() time.Time { return time.Now().UTC() }
	go func() {
		done <- Plain(t.Context(), Local{Lists: lists}, w, io.Discard, Options{List: "release", Now: noon})
	}()
	read := func() string {
		buf := make([]byte, 4096)
		n := checktest.Must(r.Read(buf))(t)
		_, text, _ := strings.Cut(string(buf[:n]), "  ") // without the time
		return text
	}
	checktest.Same(t, "first", read(), "release  0/1  working: Write \\x1b[2Jtests\n")
	writeItems(t, lists, "other", "Not to be seen")
	writeItems(t, lists, "release", "Ship")
	checktest.Same(t, "then", read(), "release  0/2  + Ship\n")
	for _, c := range []struct {
		does       todo.Doing
		asks, want string
	}{
		{todo.Asks, "push?\x1b", "asks: push?\\x1b"}, {todo.Rests, "", "idle"}, {todo.Works, "", "working"}, {todo.Rests, "push?", "asks: push?"},
	} {
		says(t, lists, "release", c.does, c.asks)
		checktest.Same(t, fmt.Sprintf("as its agent says %q, %q", c.does, c.asks), read(), "release  0/2  "+c.want+"\n")
	}
	r.Close()
	writeItems(t, lists, "release", "Nobody reads this")
	if err := <-done; !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// Plain reports a lost source, and continues when the source is back, with one line for each
// event. A list that does not exist is an error.
func TestPlainLost(t *testing.T) {
	var out, errOut strings.Builder
	history := releaseHistory()
	ended := list("release", 12, 4, time.Minute, "c:Write tests f:Ship 发布 🚀| b:Wait|for Ann")
	ended.Items = append(ended.Items, history[2].Items[2])
	away, back, gone := ended, ended, ended
	away.Revision, away.Archived, away.ReplacedBy = 5, true, "next-plan"
	back.Revision = 6
	gone.Revision, gone.Deleted = 7, true
	source := scripted{follow: func(show func([]todo.Snapshot, bool), lost func(error)) error {
		show(history[:1], true)
		lost(fmt.Errorf("get: %w", errors.New("connection refused\x1b")))
		show(history[1:2], true)
		show(history[1:2], true)
		show([]todo.Snapshot{history[2]}, false)
		for _, s := range []todo.Snapshot{ended, away, back, gone} {
			show([]todo.Snapshot{s}, false)
		}
		return nil
	}}
	checktest.Check(t, Plain(t.Context(), source, &out, &errOut, Options{List: "release", Where: "there", Now: noon}))
	want := `2026-03-04 11:00:00  release  0/3  idle: Write tests
2026-03-04 11:40:00  release  1/3  ~ Write tests: in progress → completed
2026-03-04 11:40:00  release  1/3  ~ Ship: pending → in progress
2026-03-04 11:56:00  release  1/3  ~ Ship → Ship 发布 🚀
2026-03-04 11:56:00  release  1/3  + Tell everybody
2026-03-04 11:56:00  release  1/3  - Celebrate
2026-03-04 11:59:00  release  1/4  ~ Ship 发布 🚀: in progress → failed
2026-03-04 11:59:00  release  1/4  + Wait (blocked)
2026-03-04 11:59:00  release  1/4  archived, replaced by “next-pla”
2026-03-04 11:59:00  release  1/4  brought back
2026-03-04 11:59:00  release  1/4  deleted
`
	checktest.Same(t, "out", out.String(), want)
	checktest.Same(t, "errOut", errOut.String(), "todo-mcp: there: not live, reconnecting (connection refused\\x1b)\n")
	if err := Plain(t.Context(), Local{Lists: newLists(t)}, &out, &errOut, Options{List: "none", Now: noon}); err == nil || !strings.Contains(err.Error(), `no list "none"`) {
		t.Errorf("a list that is not there: %v", err)
	}
}

// shown keeps the text written to it, and calls done at each write.
type shown struct {
	text string
	done func()
}

func (s *shown) Write(p []byte) (int, error) {
	s.text += string(p)
	s.done()
	return len(p), nil
}

// BAD-INPUT 50 and 130: whichever read of the store fails, Plain returns the error, or shows all
// lists, with states that may come from the lists alone.
func TestPlainWhateverReadFails(t *testing.T) {
	faults := &servertest.Nth{}
	b := board.NewBoard(&servertest.Failing{Store: storetest.NewMemory(), Fault: faults.Fault})
	t.Cleanup(b.Close)
	lists := b.As("")
	writeItems(t, lists, "release", "Write tests")
	writeItems(t, lists, "docs", "Write pages")
	found := checktest.Must(lists.Find(t.Context(), board.Query{}))(t)
	edit := todo.Edit{Do: todo.EditAdd, Text: "Read them"}
	checktest.Must(lists.Edit(t.Context(), found[0].List.ID, edit, todo.Writer{}))(t)
	for _, fault := range []error{servertest.ErrDisk, context.DeadlineExceeded, board.ErrDamaged, board.ErrNotFound} {
		for n := 1; ; n++ {
			ctx, cancel := context.WithCancel(t.Context())
			out := &shown{done: cancel}
			faults.Fail(n, fault)
			err := Plain(ctx, Local{Lists: lists}, out, io.Discard, Options{Now: time.Now})
			cancel()
			read, _ := faults.Failed()
			isShown := strings.Contains(out.text, "release") && strings.Contains(out.text, "docs")
			if !isShown && !errors.Is(err, fault) || isShown && err != nil {
				t.Errorf("read %d (%s): %v: %q, %v", n, read, fault, out.text, err)
			}
			if read == "" {
				break
			}
		}
	}
}

// items returns the items of a list in short form: "completed:A pending:B".
func items(s todo.Snapshot) string {
	var parts []string
	for _, i := range s.Items {
		parts = append(parts, string(i.Status)+":"+i.Text)
	}
	return strings.Join(parts, " ")
}

// apply makes an edit, and fails the test if the edit is refused.
func apply(t *testing.T, source Source, e edit) board.Outcome {
	t.Helper()
	return checktest.Must(source.Edit(t.Context(), e.list, e.Edit))(t)
}

// load returns the newest revision of the only list.
func load(t *testing.T, lists board.Lists) todo.Snapshot {
	t.Helper()
	found, err := lists.Find(t.Context(), board.Query{Deleted: true})
	if err != nil || len(found) != 1 {
		t.Fatalf("%d lists, %v", len(found), err)
	}
	return found[0]
}

// Each edit takes effect, and is merged with the agent's writes since the person saw the list. Its undo keeps the
// agent's writes before and after the edit. If a tick brought back an archived list, its undo archives the list again.
func TestEdits(t *testing.T) {
	tick := todo.Edit{Do: todo.EditStatus, Item: "1", Status: todo.Completed}
	for _, c := range []struct {
		edit              todo.Edit
		archived          bool   // before the edit
		after, undone     string // items after the edit, and after its undo; the agent adds C before the edit, then D
		archives, returns bool   // whether the list is archived after the edit, and after its undo
	}{
		{tick, false, "completed:A pending:B pending:C", "pending:A pending:B pending:C pending:D", false, false},
		{todo.Edit{Do: todo.EditItems, Lines: []todo.Line{{ID: "2", Text: "X", Status: "blocked"}, {Text: "new", Status: "pending"}}}, false,
			"blocked:X pending:C pending:new", "pending:A pending:B pending:C pending:D", false, false},
		{todo.Edit{Do: todo.EditArchive}, false, "pending:A pending:B pending:C", "pending:A pending:B pending:C", true, false},
		{todo.Edit{Do: todo.EditUnarchive}, true, "pending:A pending:B pending:C", "pending:A pending:B pending:C", false, true},
		{tick, true, "completed:A pending:B pending:C", "pending:A pending:B pending:C", false, true},
	} {
		lists := newLists(t)
		source := Local{Lists: lists}
		writeItems(t, lists, "release", "A", "B")
		e := edit{Edit: c.edit, list: load(t, lists).List.ID}
		e.Seen = load(t, lists).Revision
		writeItems(t, lists, "release", "C")
		if c.archived {
			apply(t, source, edit{Edit: todo.Edit{Do: todo.EditArchive}, list: e.list})
		}
		out := apply(t, source, e)
		if items(out.After) != c.after || !out.Changed || out.After.Archived != c.archives || !load(t, lists).Writer.Person {
			t.Errorf("%s: %q, archived %v, changed %v; want %q", c.edit.Do, items(out.After), out.After.Archived, out.Changed, c.after)
		}
		if e.OfItems() && !c.archived {
			writeItems(t, lists, "release", "D")
		}
		out = apply(t, source, e.inverse(out.After))
		if items(out.After) != c.undone || out.After.Archived != c.returns {
			t.Errorf("%s undone: %q, archived %v; want %q", c.edit.Do, items(out.After), out.After.Archived, c.undone)
		}
	}
}

// An undo takes back the edit alone, and not a write of the agent that came just before the
// edit and was not yet on the screen. An edit that changed nothing has no undo. An undo that finds
// nothing to take back says so.
func TestUndo(t *testing.T) {
	lists := newLists(t)
	source := Local{Lists: lists}
	writeItems(t, lists, "release", "A")
	shown := load(t, lists)
	m := modelWith(80, 20, shown)
	writeItems(t, lists, "release", "B")
	do := func(e edit, says string) (out board.Outcome) {
		t.Helper()
		out = apply(t, source, e)
		m.edited(e, shown, out, nil)
		if !strings.HasPrefix(unpainted(m.note), " "+says) {
			t.Errorf("it says %q, want %q", m.note, says)
		}
		return out
	}
	tick := todo.Edit{Seen: shown.Revision, Do: todo.EditStatus, Item: "1", Status: todo.Completed}
	for range 2 { // the second changes nothing
		do(edit{Edit: tick, list: shown.List.ID}, "“A”: completed")
	}
	if len(m.undo) != 1 {
		t.Fatalf("undo %+v", m.undo)
	}
	m.press("u")
	undo := *m.take().edit
	if out := do(undo, "Undone"); items(out.After) != "pending:A pending:B" {
		t.Errorf("undone: %q", items(out.After))
	}
	do(undo, "Nothing was undone")
	m.underWay = 1 // the screen may show an edit before it is answered
	m.press("u")
	isSent := m.take().edit != nil
	m.underWay = 0
	do(edit{Edit: tick, list: shown.List.ID}, "“A”: completed")
	if e := m.take().edit; isSent || e == nil || e.Do != todo.EditUndo {
		t.Errorf("u while an edit is under way: sent at once: %t, then %+v", isSent, e)
	}
}

// A store and a server, as sources, return the standings and the history of lists.
func TestSources(t *testing.T) {
	s := servertest.New(t, nil, nil)
	client := checktest.Must(remote.New(servertest.Serve(t, s, nil).URL, ""))(t)
	lists := s.Board.As("")
	writeItems(t, lists, "release", "A", "B")
	list := load(t, lists)
	id := list.List.ID
	tick := todo.Edit{Seen: list.Revision, Do: todo.EditStatus, Item: "2", Status: todo.Completed}
	if out := apply(t, client, edit{Edit: tick, list: id}); items(out.After) != "pending:A completed:B" {
		t.Errorf("edited to %s", items(out.After))
	}
	for _, source := range []Source{Local{Lists: lists}, client} {
		standings, err := source.Standings(t.Context(), []todo.Snapshot{load(t, lists)})
		if said := byList(standings)[id]; err != nil || said.State == "" || fmt.Sprint(said.Unseen) != "[2]" {
			t.Errorf("standings %+v, %v", standings, err)
		}
		checktest.Same(t, "revisions", len(checktest.Must(source.History(t.Context(), id))(t)), 2)
	}
}
