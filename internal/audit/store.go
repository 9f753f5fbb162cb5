package audit

import (
	"context"
	"errors"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

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

// countChanges describes a revision: how many items were added, removed, moved and changed; renamed for another given
// title; archived and deleted, if they differ, as they are now.
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
		saved = nil // a previous run was not stored
		err := change(t)
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

// auditedTx is a transaction that describes what it saved and removed.
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

// newLine returns the line of a writer's action on a list at revision s.
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
