package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/audit"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// logged returns a store with an audit log, and the log's output.
func logged(st board.Store) (*bytes.Buffer, *audit.Log) {
	out := &bytes.Buffer{}
	return out, &audit.Log{Store: st, Out: out, Report: slog.New(slog.DiscardHandler)}
}

// A store with an audit log passes the conformance suite of stores. Without TODO_LONG, only one test of it runs: reads
// during a transaction do not see half of it.
func TestConformance(t *testing.T) {
	suite := storetest.RunBeside
	if os.Getenv("TODO_LONG") != "" {
		suite = storetest.Run
	}
	suite(t, func(testing.TB) board.Store {
		_, log := logged(storetest.NewMemory())
		return log
	})
}

// read returns the values of the named members of each line of a log.
func read(t *testing.T, data string, members ...string) (lines []string) {
	t.Helper()
	for text := range strings.Lines(data) {
		var entry map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &entry); err != nil {
			t.Errorf("%v: %q", err, text)
			continue
		}
		var parts []string
		for _, name := range members {
			parts = append(parts, strings.Trim(string(entry[name]), `"`))
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return lines
}

func check(t *testing.T, data fmt.Stringer, members string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, read(t, data.String(), strings.Fields(members)...)); diff != "" {
		t.Error(diff)
	}
}

func save(t *testing.T, s board.Store, list string, revision int64) {
	t.Helper()
	checktest.Must(storetest.Save(t.Context(), s, todo.Snapshot{List: todo.List{ID: list}, Revision: revision}))(t)
}

func apply(t *testing.T, lists board.Lists, w board.Write) (list string) {
	t.Helper()
	return checktest.Must(lists.Apply(t.Context(), w))(t).After.List.ID
}

// Each saved revision has one line, whoever made it: the writer, the list and the kind
// of change, and no text. A call that saves nothing has no line.
func TestLines(t *testing.T) {
	out, log := logged(storetest.NewMemory())
	b := board.NewBoard(log)
	defer b.Close()
	lists := b.For(board.Identity{Principal: "team", User: "ann"})
	agent := todo.Writer{Client: "client\u009b\u202e", Variant: "TodoWrite"}
	target := board.Target{Conversation: board.Conversation{Key: "c"}}
	add := board.Write{Target: target, Writer: agent, Operation: todo.Operation{ID: "op-1", Digest: "d"}, Change: func(d *todo.Draft) error { d.Append("secret a", "secret b"); return nil }}
	list := apply(t, lists, add)
	apply(t, lists, add) // a repeat
	apply(t, lists, board.Write{Target: target, Writer: agent, Change: func(*todo.Draft) error { return nil }})
	person := todo.Writer{Person: true}
	for _, edit := range []todo.Edit{{Do: todo.EditRename, Text: "secret title"}, {Do: todo.EditArchive}, {Do: todo.EditRestore, Revision: 1}, {Do: todo.EditDelete}} {
		checktest.Must(lists.Edit(t.Context(), list, edit, person))(t)
	}
	checktest.Must(lists.Purge(t.Context(), todo.Writer{Client: "command line", Variant: "prune", Person: true}, list))(t)
	got := read(t, out.String(), "action", "outcome", "principal", "user", "person", "variant", "revision", "changes")
	want := []string{
		`save applied team ann  TodoWrite 1 {"added":2}`,
		`save applied team ann true  2 {"renamed":true}`,
		`save applied team ann true  3 {"archived":true}`,
	}
	if len(got) < len(want) || cmp.Diff(want, got[:len(want)]) != "" {
		t.Errorf("%s", cmp.Diff(want, got))
	}
	checktest.Has(t, "the log", strings.Join(got, "\n"), `{"deleted":true}`, "purge applied team ann true prune")
	if strings.Contains(out.String(), "secret") || strings.ContainsAny(out.String(), "\u009b\u202e") {
		t.Errorf("a text or a control is in the log: %s", out)
	}
	if first := read(t, out.String(), "list", "operation", "process")[0]; !strings.HasPrefix(first, list+" ") || len(strings.Fields(first)) != 3 {
		t.Errorf("%q", first)
	}
}

// Each list that a transaction saves has a line, also the list that is archived when
// its conversation begins the next one.
func TestSeveralLists(t *testing.T) {
	out, log := logged(storetest.NewMemory())
	b := board.NewBoard(log)
	defer b.Close()
	var ids []string
	for _, text := range []string{"a", "b"} {
		ids = append(ids, apply(t, b.As(""), board.Write{
			Target: board.Target{Lines: []todo.Line{{Text: text, Status: "pending"}}, Conversation: board.Conversation{Key: "session:c"}},
			Writer: todo.Writer{Variant: "TodoWrite"}, Change: func(d *todo.Draft) error { d.Append(text); return nil }}))
	}
	check(t, out, "outcome list revision changes", `applied `+ids[0]+` 1 {"added":1}`, `applied `+ids[0]+` 2 {"archived":true}`, `applied `+ids[1]+` 1 {"added":1}`)
}

type updating struct {
	board.Store
	end func(update func(change func(board.Tx) error) error, change func(board.Tx) error) error
}

func (u updating) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	return u.end(func(change func(board.Tx) error) error { return u.Store.Update(ctx, key, change) }, change)
}

func failing(st board.Store, failure error) board.Store {
	return updating{st, func(update func(func(board.Tx) error) error, change func(board.Tx) error) error {
		return errors.Join(update(change), failure)
	}}
}

// A save that may have happened has a line with the outcome "unknown"; a save that did not has no line.
func TestUnknownAndRefused(t *testing.T) {
	next := todo.Snapshot{List: todo.List{ID: "a"}, Revision: 1}
	out, unknown := logged(failing(storetest.NewMemory(), board.ErrUnknownOutcome))
	_, _ = storetest.Save(t.Context(), unknown, next)
	check(t, out, "outcome list", "unknown a")
	out, full := logged(storetest.NewMemoryKeeping(board.Keep{Lists: 1}))
	for _, id := range []string{"b", "b", "c"} { // saved; refused as not the next revision; refused for want of room
		next.List.ID = id
		_, _ = storetest.Save(t.Context(), full, next)
	}
	for _, refusal := range []error{&todo.InputError{}, board.ErrUnknownOutcome} { // returned by Update's function
		next.List.ID, next.Revision = "b", 2
		err := full.Update(t.Context(), board.Key{}, func(tx board.Tx) error {
			checktest.Check(t, checktest.Err(tx.Save(t.Context(), next)))
			return refusal
		})
		checktest.Is(t, "error", err, refusal)
	}
	check(t, out, "outcome list", "applied b")
}

// An update that runs more than once has the lines of the run that was stored.
func TestRunAgain(t *testing.T) {
	errAgain := errors.New("run again")
	out, st := logged(updating{storetest.NewMemory(), func(update func(func(board.Tx) error) error, change func(board.Tx) error) error {
		err := update(func(tx board.Tx) error { return errors.Join(change(tx), errAgain) })
		if !errors.Is(err, errAgain) {
			return err
		}
		return update(change)
	}})
	save(t, st, "a", 1)
	save(t, st, "a", 2)
	check(t, out, "list revision changes", "a 1 {}", "a 2 {}")
}

// A failed purge has no line or, if its outcome is unknown, a line for each list that may be gone.
func TestPurgeThatFails(t *testing.T) {
	for err, want := range map[error][]string{
		errors.New("disk on fire"): nil,
		board.ErrUnknownOutcome:    {"purge unknown a true prune", "purge unknown b true prune"},
	} {
		st := storetest.NewMemory()
		out, log := logged(failing(st, err))
		save(t, st, "a", 1)
		save(t, st, "b", 1)
		b := board.NewBoard(log)
		if _, got := b.Everyone().Purge(t.Context(), todo.Writer{Variant: "prune", Person: true}, "a", "b"); !errors.Is(got, err) {
			t.Error(got)
		}
		check(t, out, "action outcome list person variant", want...)
	}
}

// The line of an imported revision names the import as the writer, not the writer in the file.
func TestImported(t *testing.T) {
	out := &bytes.Buffer{}
	st := &audit.Log{Store: storetest.NewMemory(), Out: out, Report: slog.New(slog.DiscardHandler), Imports: true}
	next := todo.Snapshot{List: todo.List{ID: "a", Principal: "team"}, Revision: 1, Writer: todo.Writer{User: "ann", Client: "claude-code", Process: "p1"}}
	checktest.Must(storetest.Save(t.Context(), st, next))(t)
	check(t, out, "action outcome principal list revision user client variant person process", "import applied team a 1  command line import true ")
}

// disk is a file on a disk with little space.
type disk struct {
	bytes.Buffer
	space int
}

func (d *disk) Write(p []byte) (int, error) {
	n, _ := d.Buffer.Write(p[:min(len(p), d.space)])
	if d.space -= n; n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

// BAD-INPUT 92: An audit log that cannot be written → Saves go on, `/readyz` answers 503, [lines
// go to the server's log](../operations.md#the-audit-log)
func TestFullDisk(t *testing.T) {
	out, report := &disk{space: 200}, &bytes.Buffer{}
	log := &audit.Log{Store: storetest.NewMemory(), Out: out, Report: slog.New(slog.NewJSONHandler(report, nil))}
	for n := range 5 {
		save(t, log, fmt.Sprint(n), 1)
	}
	if log.Check() == nil {
		t.Error("it is not said")
	}
	out.space = 1 << 30
	checktest.Check(t, log.Check())
	save(t, log, "5", 1)
	whole := func(text string) (lists []string) { // the lists that whole lines name; a failed write may leave a part of a line before them
		for line := range strings.Lines(text) {
			var entry struct{ List string }
			if json.Unmarshal([]byte(line), &entry) == nil {
				lists = append(lists, entry.List)
			}
		}
		return lists
	}
	var left strings.Builder
	for line := range strings.Lines(report.String()) {
		var entry struct{ Lines string }
		checktest.Check(t, json.Unmarshal([]byte(line), &entry))
		left.WriteString(entry.Lines)
	}
	checktest.Same(t, "the log's lists", strings.Join(whole(out.String()), " "), "0 5")
	checktest.Same(t, "the lists in the server's log", strings.Join(whole(left.String()), " "), "1 2 3 4")
}

// After another program renamed the log, lines go to a new file. Only the owner can read either file.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	st := &audit.Log{Store: storetest.NewMemory(), Out: audit.File(path), Report: slog.New(slog.DiscardHandler)}
	for _, id := range []string{"a", "b", "c"} {
		save(t, st, id, 1)
		if id == "a" {
			checktest.Check(t, os.Rename(path, path+".1"))
		}
	}
	checktest.Check(t, st.Close())
	for name, want := range map[string][]string{path + ".1": {"a"}, path: {"b", "c"}} {
		data, err := os.ReadFile(name)
		if got := read(t, string(data), "list"); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%s: %v %v", name, got, err)
		}
		checktest.Same(t, "who else may read it", checktest.Must(os.Stat(name))(t).Mode().Perm()&0o077, 0)
	}
}
