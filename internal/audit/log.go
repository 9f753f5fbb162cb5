// Package audit writes who changed which list: a line of JSON for each saved revision, and for each list that
// somebody removed for good. Lists that a store removes by itself, to make room or a day after they were deleted,
// have no line. A line never has a text of a list.
//
// A line is written after the save is durable. While the log cannot be written, saves go on, lines wait in memory and
// [Log.Check] fails. A line says how many did not fit in memory. What still waits when the process ends is lost, and
// reported.
package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const maxWaiting = 1 << 20 // how many bytes of lines wait for a log that cannot be written

// Log is an audit log. It is safe for concurrent use.
type Log struct {
	out    func(lines []byte) (n int, err error) // as io.Writer.Write
	report *slog.Logger

	mu      sync.Mutex
	waiting []byte // lines to write
	lost    int    // how many lines did not fit since the last write
	failing error  // of the last write
}

// ToFile returns a log that appends to a file for its owner alone. It opens the file for each write, so that a log
// may be rotated by renaming. The first of several failures is reported.
func ToFile(path string, report *slog.Logger) *Log {
	return &Log{report: report, out: func(lines []byte) (int, error) {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return 0, fmt.Errorf("%s is not a file", path)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 0, err
		}
		n, err := f.Write(lines)
		return n, errors.Join(err, f.Close())
	}}
}

// ToWriter returns a log that writes to out, each line at once.
func ToWriter(out io.Writer, report *slog.Logger) *Log { return &Log{report: report, out: out.Write} }

// Check writes what waits, and returns why the log cannot be written.
func (l *Log) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flush()
}

// Waiting returns how many bytes of lines wait to be written.
func (l *Log) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

func (l *Log) write(lines ...line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range lines {
		data, err := json.Marshal(entry)
		if err != nil || len(l.waiting)+len(data) > maxWaiting {
			l.lost++
			continue
		}
		l.waiting = append(append(l.waiting, render.SafeJSON(data)...), '\n')
	}
	_ = l.flush() // flush reports it
}

// flush writes what waits. Its first failure in a row is reported.
func (l *Log) flush() error {
	err := l.try()
	if err != nil && l.failing == nil {
		l.report.Error("the audit log cannot be written; lines wait in memory, and the server is not ready", "error", err)
	}
	l.failing = err
	return err
}

// try writes what waits in one write, and then how many lines were lost. After a failure it keeps what was not
// written whole, behind a line break if a part of it was.
func (l *Log) try() error {
	n, err := l.out(l.waiting)
	if err != nil {
		whole := bytes.LastIndexByte(l.waiting[:n], '\n') + 1
		l.waiting = l.waiting[whole:]
		if n > whole {
			l.waiting = append([]byte("\n"), l.waiting...)
		}
		return fmt.Errorf("audit log: %w", err)
	}
	l.waiting = nil
	if l.lost == 0 {
		return nil
	}
	l.waiting = fmt.Appendf(nil, `{"time":%q,"action":"lost","lines":%d}`+"\n", time.Now().UTC().Format(time.RFC3339Nano), l.lost)
	l.lost = 0
	return l.try()
}

// Store returns a store whose saves and purges are logged. With imports, whose files say who wrote each revision,
// lines have the action "import" and the command as the writer.
func Store(st board.Store, l *Log, imports bool) board.Store { return &audited{st, l, imports} }

type audited struct {
	board.Store
	log     *Log
	imports bool
}

type line struct {
	Time      time.Time      `json:"time"`
	Action    string         `json:"action"`  // save, import, purge
	Outcome   string         `json:"outcome"` // applied, or unknown if the revision may be stored
	Principal string         `json:"principal,omitempty"`
	User      string         `json:"user,omitempty"`
	Person    bool           `json:"person,omitempty"`
	Client    string         `json:"client,omitempty"`
	Variant   string         `json:"variant,omitempty"`
	Agent     string         `json:"agent,omitempty"`
	List      string         `json:"list"`
	Revision  int64          `json:"revision,omitempty"`
	Operation string         `json:"operation,omitempty"`
	Process   string         `json:"process,omitempty"`
	Items     int            `json:"items"`
	Changes   map[string]any `json:"changes,omitzero"` // nil if unknown
}

// countChanges describes a revision: how many items were added, removed, moved and changed, and "renamed" if the given
// title changed. "archived" and "deleted" have their new values if these changed.
func countChanges(before, after todo.Snapshot) map[string]any {
	changes := make(map[string]any)
	for _, d := range todo.Diff(before, after) {
		n, _ := changes[string(d.Kind)].(int)
		changes[string(d.Kind)] = n + 1
	}
	if before.GivenTitle != after.GivenTitle {
		changes["renamed"] = true
	}
	if before.Archived != after.Archived {
		changes["archived"] = after.Archived
	}
	if before.Deleted != after.Deleted {
		changes["deleted"] = after.Deleted
	}
	return changes
}

// Update implements board.Store. It logs each revision that it stored and each list that it removed.
func (a *audited) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	var saved []line
	err := a.Store.Update(ctx, key, func(tx board.Tx) error {
		t := &auditedTx{Tx: tx, imports: a.imports}
		err := change(t)
		saved = nil // a previous run was not stored
		if err == nil {
			saved = t.saved
		}
		return err
	})
	unknown := errors.Is(err, board.ErrUnknownOutcome)
	for i := range saved {
		if unknown {
			saved[i].Outcome, saved[i].Changes = "unknown", nil
		}
	}
	if len(saved) > 0 && (err == nil || unknown) {
		a.log.write(saved...)
	}
	return err
}

type auditedTx struct {
	board.Tx
	imports bool
	saved   []line
}

// Save implements board.Tx. It loads the revision before by its number, which the transaction has in memory. Loading
// the newest one would lock it, and the store would no longer notice that the caller has an older one.
func (t *auditedTx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	var before todo.Snapshot
	if next.Revision > 1 {
		before, _ = t.Load(ctx, next.List.ID, next.Revision-1) // without it the line has no changes
	}
	after, err := t.Tx.Save(ctx, next)
	if err != nil {
		return after, err
	}
	l := newLine("save", after.Writer, after)
	l.Operation = after.Operation.ID
	if t.imports {
		l = newLine("import", todo.Writer{Client: "command line", Variant: "import", Person: true}, after)
	}
	if before.Revision == after.Revision-1 {
		l.Changes = countChanges(before, after)
	}
	t.saved = append(t.saved, l)
	return after, nil
}

func newLine(action string, by todo.Writer, s todo.Snapshot) line {
	return line{
		Time: time.Now().UTC(), Action: action, Outcome: "applied", Principal: s.List.Principal, User: by.User, Person: by.Person,
		Client: by.Client, Variant: by.Variant, Agent: by.Agent, Process: by.Process, List: s.List.ID, Revision: s.Revision, Items: len(s.Items),
	}
}

// Purge implements board.Tx.
func (t *auditedTx) Purge(ctx context.Context, list string, by todo.Writer, now time.Time) error {
	before, err := t.Load(ctx, list, 0)
	if errors.Is(err, board.ErrDamaged) { // a damaged list can be purged
		before.List.ID, err = list, nil
	}
	if err == nil {
		err = t.Tx.Purge(ctx, list, by, now)
	}
	if err == nil {
		t.saved = append(t.saved, newLine("purge", by, before))
	}
	return err
}

// Close implements board.Store. It writes the lines that wait.
func (a *audited) Close() error {
	err := a.Store.Close()
	if a.log.Waiting() > 0 {
		err = errors.Join(err, a.log.Check())
	}
	return err
}
