package audit

import (
	"context"
	"errors"
	"time"

	"todo-mcp/internal/todo"
)

// Store returns a store whose saves and purges are written to a log. What a store
// removes by itself is not: lists that were deleted a day ago, and abandoned ones
// that make room.
func Store(st todo.Store, l *Log) todo.Store { return &audited{Store: st, log: l, now: time.Now} }

// Imported is as [Store] for an import. Who wrote a revision is then what a file
// says, so the lines have the action "import" and no writer but the command.
func Imported(st todo.Store, l *Log) todo.Store {
	return &audited{Store: st, log: l, now: time.Now, imports: true}
}

type audited struct {
	todo.Store
	log     *Log
	now     func() time.Time
	imports bool
}

// Unwrap returns the store whose saves these are.
func (a *audited) Unwrap() todo.Store { return a.Store }

// line is one line of the log.
type line struct {
	Time   time.Time `json:"time"`
	Action string    `json:"action"` // save, import, purge
	// Outcome is applied, or unknown: the revision may be there.
	Outcome   string   `json:"outcome"`
	Principal string   `json:"principal,omitempty"`
	User      string   `json:"user,omitempty"`
	Person    bool     `json:"person,omitempty"`
	Client    string   `json:"client,omitempty"`
	Variant   string   `json:"variant,omitempty"`
	Agent     string   `json:"agent,omitempty"`
	List      string   `json:"list"`
	Revision  int64    `json:"revision,omitempty"`
	Operation string   `json:"operation,omitempty"`
	Process   string   `json:"process,omitempty"`
	Items     int      `json:"items"`
	Changes   *changes `json:"changes,omitempty"` // nil if it is unknown, or the revision before was not read
}

// changes count what a revision changed: items by what happened to them, and what
// the list has besides items.
type changes struct {
	Added   int  `json:"added,omitempty"`
	Removed int  `json:"removed,omitempty"`
	Moved   int  `json:"moved,omitempty"`
	Changed int  `json:"changed,omitempty"`
	Renamed bool `json:"renamed,omitempty"`
	// Archived and Deleted are nil unless the revision changed them.
	Archived *bool `json:"archived,omitempty"`
	Deleted  *bool `json:"deleted,omitempty"`
}

func countChanges(before, after todo.Snapshot) *changes {
	c := &changes{Renamed: before.GivenTitle != after.GivenTitle}
	for _, d := range todo.Diff(before, after) {
		switch d.Kind {
		case todo.Added:
			c.Added++
		case todo.Removed:
			c.Removed++
		case todo.Moved:
			c.Moved++
		case todo.Changed:
			c.Changed++
		}
	}
	if before.Archived != after.Archived {
		c.Archived = &after.Archived
	}
	if before.Deleted != after.Deleted {
		c.Deleted = &after.Deleted
	}
	return c
}

// Update implements todo.Store. Each revision that it stored has a line.
func (a *audited) Update(ctx context.Context, key todo.Key, change func(todo.Tx) error) error {
	var saved []revision
	err := a.Store.Update(ctx, key, func(tx todo.Tx) error {
		t := &auditedTx{Tx: tx, newest: make(map[string]todo.Snapshot)}
		saved = nil // of a run before, which was not stored
		err := change(t)
		if err == nil {
			saved = t.saved
		}
		return err
	})
	var lines []line
	for _, r := range saved {
		switch {
		case err == nil:
			lines = append(lines, a.describe("applied", r.after, r.changes()))
		case errors.Is(err, todo.ErrUnknownOutcome):
			lines = append(lines, a.describe("unknown", r.after, nil))
		}
	}
	if len(lines) > 0 {
		a.log.write(lines...)
	}
	return err
}

// revision is one that was saved, and the one that it replaced; before has no revision
// if that is not known.
type revision struct{ before, after todo.Snapshot }

// changes counts what a revision changed; nil if the one before it is not known.
func (r revision) changes() *changes {
	if r.before.Revision != r.after.Revision-1 {
		return nil
	}
	return countChanges(r.before, r.after)
}

// auditedTx is a transaction that notes what it saved. It remembers what was read, so
// that nothing is read once more to know what a save replaces.
type auditedTx struct {
	todo.Tx
	newest map[string]todo.Snapshot // of each list, as far as it was read
	saved  []revision
}

// note remembers snapshots, the newest of each list.
func (t *auditedTx) note(read ...todo.Snapshot) {
	for _, s := range read {
		if s.Revision > t.newest[s.List.ID].Revision {
			t.newest[s.List.ID] = s
		}
	}
}

// Load implements todo.Tx.
func (t *auditedTx) Load(ctx context.Context, list string, revision int64) (todo.Snapshot, error) {
	s, err := t.Tx.Load(ctx, list, revision)
	t.note(s)
	return s, err
}

// Find implements todo.Tx.
func (t *auditedTx) Find(ctx context.Context, q todo.Query) ([]todo.Snapshot, error) {
	found, err := t.Tx.Find(ctx, q)
	t.note(found...)
	return found, err
}

// History implements todo.Tx.
func (t *auditedTx) History(ctx context.Context, list string, after int64, limit int) ([]todo.Snapshot, error) {
	revisions, err := t.Tx.History(ctx, list, after, limit)
	t.note(revisions...)
	return revisions, err
}

// Save implements todo.Tx.
func (t *auditedTx) Save(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	after, err := t.Tx.Save(ctx, next)
	if err == nil {
		t.saved = append(t.saved, revision{t.newest[after.List.ID], after})
		t.note(after)
	}
	return after, err
}

func (a *audited) describe(outcome string, s todo.Snapshot, c *changes) line {
	action, by, operation := "save", s.Writer, s.Operation.ID
	if a.imports {
		action, by, operation = "import", todo.Writer{Client: "command line", Variant: "import", Person: true}, ""
	}
	l := a.line(action, outcome, by, s)
	l.Operation, l.Changes = operation, c
	return l
}

// line returns the line for what a writer did to a list, of which s is the revision.
func (a *audited) line(action, outcome string, by todo.Writer, s todo.Snapshot) line {
	return line{
		Time: a.now().UTC(), Action: action, Outcome: outcome, Principal: s.List.Principal, User: by.User, Person: by.Person,
		Client: by.Client, Variant: by.Variant, Agent: by.Agent, Process: by.Process, List: s.List.ID, Revision: s.Revision, Items: len(s.Items),
	}
}

// Purge implements todo.Store. Each list that was removed has a line, also where
// others could not be.
func (a *audited) Purge(ctx context.Context, by todo.Writer, now time.Time, lists ...string) ([]string, error) {
	before := make(map[string]todo.Snapshot)
	for _, id := range lists {
		if s, err := a.Store.Load(ctx, id, 0); err == nil {
			before[id] = s
		}
	}
	purged, err := a.Store.Purge(ctx, by, now, lists...)
	var lines []line
	for _, id := range purged {
		s := before[id]
		s.List.ID = id // also of one that could not be read
		lines = append(lines, a.line("purge", "applied", by, s))
		delete(before, id)
	}
	if errors.Is(err, todo.ErrUnknownOutcome) {
		for _, id := range lists {
			if s, ok := before[id]; ok {
				lines = append(lines, a.line("purge", "unknown", by, s))
			}
		}
	}
	a.log.write(lines...)
	return purged, err
}

// Close implements todo.Store. It closes the log too.
func (a *audited) Close() error { return errors.Join(a.Store.Close(), a.log.Close()) }
