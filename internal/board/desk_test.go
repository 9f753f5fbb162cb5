package board_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	memory "github.com/todo-mcp/todo-mcp/internal/store/memorytest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// desk is several processes on one store, each with a board, and the tests'
// words for what conversations do there. A list is written as its items with the
// first letter of each status, "p:A c:B", perhaps with an id and an active text,
// "2=p:A/Doing A".
type desk struct {
	t      *testing.T
	store  board.Store
	now    time.Time
	boards map[string]*board.Board

	archiveAfter time.Duration
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, store: memory.New(), now: time.Now().UTC().Truncate(time.Second), boards: map[string]*board.Board{}}
	t.Cleanup(func() {
		for name := range d.boards {
			d.stop(name)
		}
	})
	return d
}

func (d *desk) save(next todo.Snapshot) (saved todo.Snapshot, err error) {
	err = d.store.Update(context.Background(), board.Key{Chat: next.List.ID}, func(tx board.Tx) error {
		saved, err = tx.Save(context.Background(), next)
		return err
	})
	return saved, err
}

func (d *desk) board(process string) *board.Board {
	if d.boards[process] == nil {
		d.boards[process] = board.NewBoard(d.store, board.WithClock(func() time.Time { return d.now }), board.WithArchiveAfter(d.archiveAfter))
	}
	return d.boards[process]
}

func (d *desk) stop(process string) {
	d.boards[process].Close()
	delete(d.boards, process)
}

type chat struct {
	*desk
	process string
	who     board.Conversation
	agent   string
	begin   todo.List // what its writes begin
	title   string    // what its host calls the list
}

// proof returns a conversation with a key of its own; hint one whose key may
// stand for another chat than before; shared one whose key several chats have.
func (d *desk) proof(key string) chat {
	return chat{desk: d, process: "p1", who: board.Conversation{Key: key}}
}

func (d *desk) hint(process, key string) chat {
	return chat{desk: d, process: process, who: board.Conversation{Key: key, Hint: true, Client: "cli", Workspace: "/w"}}
}

func (d *desk) shared(process string) chat {
	c := d.hint(process, "process:"+process)
	c.who.Shared = true
	return c
}

var coreWords = map[string]todo.Status{"p": todo.Pending, "i": todo.InProgress, "c": todo.Completed, "b": todo.Blocked, "f": todo.Failed}

func parseLines(list string) []todo.Line {
	lines := []todo.Line{}
	for _, field := range strings.Fields(list) {
		head, text, _ := strings.Cut(field, ":")
		text, active, _ := strings.Cut(text, "/")
		id, letter, named := strings.Cut(head, "=")
		if !named {
			id, letter = "", head
		}
		lines = append(lines, todo.Line{ID: id, Text: text, Active: active, Status: string(coreWords[letter])})
	}
	return lines
}

func show(s todo.Snapshot) string {
	var out []string
	for _, i := range s.Items {
		out = append(out, string(i.Status[0])+":"+i.Text)
	}
	return strings.Join(out, " ")
}

func (c chat) lists() board.Lists { return c.board(c.process).As("") }

func (c chat) apply(target board.Target, change todo.Change) (board.Outcome, error) {
	c.t.Helper()
	target.Conversation = c.who
	return c.lists().Apply(context.Background(), board.Write{Target: target, Begin: c.begin, Title: c.title, Change: change})
}

func (c chat) writes(list string) board.Outcome {
	c.t.Helper()
	view := todo.CoreView()
	view.Active = false
	lines := parseLines(list)
	out, err := c.apply(board.Target{Lines: lines, View: view}, func(d *todo.Draft) error { d.Replace(view, lines); return nil })
	if err != nil {
		c.t.Fatalf("%s writes %q: %v", c.who.Key, list, err)
	}
	return out
}

func whole(who board.Conversation, lines ...todo.Line) board.Write {
	return board.Write{Target: board.Target{Conversation: who, Lines: lines, View: todo.CoreView()}, Writer: todo.Writer{Client: who.Client},
		Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); return nil }}
}

func (c chat) reads() string {
	c.t.Helper()
	s, err := c.lists().Show(context.Background(), board.Target{Conversation: c.who})
	if errors.Is(err, board.ErrNotFound) {
		return "none"
	}
	checkErr(c.t, err)
	return show(s)
}

func (d *desk) personEdits(list string, change todo.Change) {
	d.t.Helper()
	w := board.Write{Target: board.Target{List: list}, Writer: todo.Writer{Person: true}, Change: change}
	must(d.board("person").As("").Apply(context.Background(), w))(d.t)
}

func setStatus(id string, s todo.Status) todo.Change {
	return func(d *todo.Draft) error { d.SetStatus(id, s); return nil }
}

func (d *desk) all() (out []string) {
	lists := must(d.store.Find(context.Background(), board.Query{}))(d.t)
	for _, l := range lists {
		out = append(out, show(l))
	}
	return out
}

func reword(id, text string) todo.Change {
	return func(d *todo.Draft) error { return d.Edit(todo.Edit{Do: todo.EditText, Item: id, Text: text}) }
}

func person() todo.Writer { return todo.Writer{Client: "panel", Person: true} }

func checkErr(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) func(tester) T {
	return func(t tester) T { t.Helper(); checkErr(t, err); return v }
}

// tester is a test, also one that rapid repeats.
type tester interface {
	Helper()
	Fatal(args ...any)
}

func newBoard(t testing.TB, store board.Store, options ...board.Option) *board.Board {
	b := board.NewBoard(store, options...)
	t.Cleanup(b.Close)
	return b
}

func apply(t testing.TB, b *board.Board, w board.Write) board.Outcome {
	t.Helper()
	out := must(b.As("").Apply(context.Background(), w))(t)
	return out
}
