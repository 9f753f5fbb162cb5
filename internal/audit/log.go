// Package audit logs who changed a list: it writes a line of JSON for each saved revision, and for each list that
// somebody removed for good. Lists that a store removes by itself, to make room or a day after they were deleted,
// have no line. A line never has a text of a list.
//
// A line is written after the save is durable. While the log cannot be written, saves go on, lines go to the program's
// own log and [Log.Check] fails.
package audit

import (
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

// Log is a store whose saves and purges are logged. It is safe for concurrent use.
type Log struct {
	board.Store
	Out    io.Writer
	Report *slog.Logger // gets the lines that Out does not take
	// Imports is true if an import makes all saves. Their lines have the action "import" and, as the writer, the import
	// command instead of the writer in the imported file.
	Imports bool

	mu     sync.Mutex
	failed bool // the last write failed, perhaps after a part of a line
}

// File is a writer that appends to the file at this path. Only the owner may read a file that it makes. It opens the
// file for each write, so that a log may be rotated by renaming.
type File string

// Write implements io.Writer.
func (path File) Write(lines []byte) (n int, err error) {
	if info, err := os.Stat(string(path)); err == nil && !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.OpenFile(string(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = f.Write(lines)
	return n, errors.Join(err, f.Close())
}

// Check returns an error if the log cannot be written. It writes nothing, or a line break after a failure.
func (l *Log) Check() error { return l.append(nil) }

// append writes whole lines. After a failure it begins with a line break, since the file may end in a part of a line.
// That part cannot be cut off: other processes may append to the file meanwhile.
func (l *Log) append(lines []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed {
		lines = append([]byte("\n"), lines...)
	}
	_, err := l.Out.Write(lines)
	if l.failed = err != nil; l.failed {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

type line struct {
	Time      time.Time `json:"time"`
	Action    string    `json:"action"`  // save, import, purge
	Outcome   string    `json:"outcome"` // applied, or unknown if the revision may be stored
	Principal string    `json:"principal,omitempty"`
	todo.Writer
	List      string         `json:"list"`
	Revision  int64          `json:"revision,omitempty"`
	Operation string         `json:"operation,omitempty"`
	Items     int            `json:"items"`
	Changes   map[string]any `json:"changes,omitzero"` // nil if unknown
}

func newLine(action string, by todo.Writer, s todo.Snapshot) line {
	return line{Time: time.Now().UTC(), Action: action, Outcome: "applied", Principal: s.List.Principal, Writer: by,
		List: s.List.ID, Revision: s.Revision, Items: len(s.Items)}
}

// countChanges describes a revision: how many items were added, removed, moved and changed, "renamed" if the given
// title changed, and the new values of "archived" and "deleted" if they changed.
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
func (l *Log) Update(ctx context.Context, key board.Key, change func(board.Tx) error) error {
	var t auditedTx
	err := l.Store.Update(ctx, key, func(tx board.Tx) error {
		t = auditedTx{Tx: tx, imports: l.Imports} // a previous run was not stored
		err := change(&t)
		if err != nil {
			t.saved = nil
		}
		return err
	})
	isUnknown := errors.Is(err, board.ErrUnknownOutcome)
	if len(t.saved) == 0 || err != nil && !isUnknown {
		return err
	}
	var text []byte
	for _, entry := range t.saved {
		if isUnknown {
			entry.Outcome, entry.Changes = "unknown", nil
		}
		data, _ := json.Marshal(entry) // cannot fail: it has texts, numbers and the present time
		text = append(append(text, render.SafeJSON(data)...), '\n')
	}
	if failed := l.append(text); failed != nil {
		l.Report.Error("the audit log cannot be written; the server is not ready", "error", failed, "lines", string(text))
	}
	return err
}

type auditedTx struct {
	board.Tx
	imports bool
	saved   []line
}

// Save implements board.Tx. It loads the previous revision by number, since the transaction has it in memory. A load of
// the newest revision would lock that one, and the store would not notice that the caller's revision is older.
func (t *auditedTx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	var before todo.Snapshot
	if next.Revision > 1 {
		before, _ = t.Load(ctx, next.List.ID, next.Revision-1) // if this fails, the line has no changes
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
