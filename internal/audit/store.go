package audit

import (
	"context"
	"errors"
	"time"

	"todo-mcp/internal/todo"
)

// Store returns a store whose saves and purges are written to a log. Purges that a
// store does by itself, of lists that were deleted a day ago, are not.
func Store(st todo.Store, l *Log) todo.Store { return &audited{st, l, time.Now} }

type audited struct {
	todo.Store
	log *Log
	now func() time.Time
}

// Unwrap returns the store whose saves these are.
func (a *audited) Unwrap() todo.Store { return a.Store }

// line is one line of the log.
type line struct {
	Time   time.Time `json:"time"`
	Action string    `json:"action"` // save, purge
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
	Changes   *changes `json:"changes,omitempty"` // nil if the revision before could not be read
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

// Save implements todo.Store.
func (a *audited) Save(ctx context.Context, next todo.Snapshot, bindings ...todo.Binding) (todo.Snapshot, error) {
	after, err := a.Store.Save(ctx, next, bindings...)
	switch {
	case errors.Is(err, todo.ErrUnknownOutcome):
		a.log.write(a.describe("unknown", next, nil))
	case err == nil && after.Revision == next.Revision && after.Writer == next.Writer && after.Operation == next.Operation:
		a.log.write(a.describe("applied", after, a.changes(ctx, after)))
	}
	return after, err
}

// changes counts what a saved revision changed; nil if the revision before it is
// not kept or cannot be read.
func (a *audited) changes(ctx context.Context, after todo.Snapshot) *changes {
	if after.Revision == 1 {
		return countChanges(todo.Snapshot{}, after)
	}
	before, err := a.Store.Load(ctx, after.List.ID, after.Revision-1)
	if err != nil {
		return nil
	}
	return countChanges(before, after)
}

func (a *audited) describe(outcome string, s todo.Snapshot, c *changes) line {
	return line{
		Time: a.now().UTC(), Action: "save", Outcome: outcome, Principal: s.List.Principal, User: s.Writer.User, Person: s.Writer.Person,
		Client: s.Writer.Client, Variant: s.Writer.Variant, Agent: s.Writer.Agent, List: s.List.ID, Revision: s.Revision,
		Operation: s.Operation.ID, Process: s.Writer.Process, Items: len(s.Items), Changes: c,
	}
}

// Purge implements todo.Store.
func (a *audited) Purge(ctx context.Context, now time.Time, lists ...string) (int, error) {
	var lines []line
	for _, id := range lists {
		if s, err := a.Store.Load(ctx, id, 0); err == nil {
			lines = append(lines, line{Action: "purge", Principal: s.List.Principal, List: id, Revision: s.Revision, Items: len(s.Items)})
		}
	}
	n, err := a.Store.Purge(ctx, now, lists...)
	outcome := "applied"
	if errors.Is(err, todo.ErrUnknownOutcome) {
		outcome = "unknown"
	} else if err != nil {
		return n, err
	}
	for i := range lines {
		lines[i].Time, lines[i].Outcome = a.now().UTC(), outcome
	}
	a.log.write(lines...)
	return n, err
}

// Close implements todo.Store. It closes the log too.
func (a *audited) Close() error { return errors.Join(a.Store.Close(), a.log.Close()) }
