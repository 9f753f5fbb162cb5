package todo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Write is one change to apply to a list.
type Write struct {
	Target
	// Begin describes the list if this write begins one. The board sets its ID,
	// Principal, Conversation, Client, Name, Workspace, Agent, Previous, Chat and
	// Created.
	Begin List
	// Writer is who writes. The board sets its Process.
	Writer Writer
	// Operation identifies the write. The board generates an id when it has
	// none. A caller that may repeat the write adds a digest of its content.
	Operation Operation
	Change    Change
	// Seen is the revision that the writer saw, for a person who edits it; 0 is the
	// newest, or for an agent what its cursor says.
	Seen int64
}

// Report is what the answer to a write says beyond the list. If the caller may
// repeat the write, the report is stored with its revision, so that the repeat
// gets the same answer.
type Report struct {
	// Dropped are the items that were open and are no longer on the list.
	Dropped []Item `json:"dropped,omitempty"`
	// Unseen is what others changed since the writing agent last saw the list;
	// the write was merged with these changes. Titled is the title that a person gave
	// the list since then, and Ordered are the texts of the items if their order
	// changed.
	Unseen  []Difference `json:"unseen,omitempty"`
	Titled  string       `json:"titled,omitempty"`
	Ordered []string     `json:"ordered,omitempty"`
	// By is who made the changes in Unseen.
	By Others `json:"by,omitempty"`
	// Kept is what the agent sent as it was before a person changed it, of which it
	// had been told, and what stays therefore: items with another text (Before has the
	// agent's), and with [Moved] the order, which is in Ordered.
	Kept []Difference `json:"kept,omitempty"`
	// Elsewhere is the id of the list when it is not the one that the conversation
	// holds: the call changed an item that only an earlier list of it has.
	Elsewhere string `json:"elsewhere,omitempty"`
	// Continues is the title of the list if it is one of an earlier chat, which the
	// conversation goes on with from this call on.
	Continues string `json:"continues,omitempty"`
	// PutAway is the list that the write put away.
	PutAway PutAway `json:"put_away,omitzero"`
	// Notes are the sentences that the change added, see [Draft.Note].
	Notes []string `json:"notes,omitempty"`
}

// PutAway is a list that was put away because its conversation began another plan.
type PutAway struct {
	Title string `json:"title,omitempty"`
	Open  []Item `json:"open,omitempty"`
}

// Others is who changed a list besides the agent that writes it.
type Others string

// Who may have changed a list.
const (
	People          Others = "people"
	Agents          Others = "agents"
	PeopleAndAgents Others = "people and agents"
)

// Outcome is the result of a write.
type Outcome struct {
	// After is the list after the write: the revision that the write made or,
	// if it changed nothing, the newest one; revision 0 means that there is no
	// list. For a repeated operation it is the revision made the first time.
	After Snapshot
	// Changed is true when this write made the revision After.
	Changed bool
	// Repeated is true when the operation had been applied before.
	Repeated bool
	Report
}

// apply applies a write; all is true for the lists of every principal.
func (b *Board) apply(ctx context.Context, all bool, w Write) (Outcome, error) {
	if out, ok, err := b.answers.get(ctx, b.store, w.Operation); ok || err != nil {
		return out, err
	}
	if w.Operation.ID == "" {
		w.Operation.ID = NewID()
	}
	w.Writer.Process = b.process
	b.attend(w.Conversation)
	key := Key{w.principal, cmp.Or(w.Conversation.Holder(), w.List)}
	var out Outcome
	run := func(mayBeRepeat bool) error {
		return b.store.Update(ctx, key, func(tx Tx) (err error) {
			out, err = transaction{Board: b, tx: tx, all: all}.write(ctx, w, mayBeRepeat)
			return err
		})
	}
	err := run(w.Operation.repeatable())
	if errors.Is(err, ErrUnknownOutcome) && ctx.Err() == nil {
		first := err
		if err = run(true); err != nil && !IsRefusal(err) {
			err = fmt.Errorf("%w; repeated: %w", first, err)
		}
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("write list: %w", err)
	}
	if !out.Changed && !out.Repeated && w.Operation.repeatable() {
		b.answers.put(w.Operation, out)
	}
	b.feed.calls.deliverOwn(out)
	return out, nil
}

// transaction is one try of a write, in a transaction of the store.
type transaction struct {
	*Board
	tx  Tx
	all bool
}

// write applies a write, or returns the outcome of its operation if that was applied
// before.
func (t transaction) write(ctx context.Context, w Write, mayBeRepeat bool) (Outcome, error) {
	if mayBeRepeat {
		if out, ok, err := t.repeated(ctx, w); ok || err != nil {
			return out, err
		}
	}
	f := &finder{Board: t.Board, read: t.tx, all: t.all, target: w.Target, mirrors: w.Begin.Mirrored,
		changes: func(shown, newest Snapshot) bool { return w.changes(shown, newest, t.now()) }}
	c, err := f.find(ctx)
	if err != nil {
		return Outcome{}, err
	}
	seen := f.seen(c.current.List.ID)
	c.leaves = !w.Writer.Person && (c.begins || c.putAway.Revision > 0) && seen > 0 && seen < c.current.Revision
	return t.change(ctx, f, w, c)
}

// repeated returns the outcome of an operation that was applied before; ok is
// false when it was not.
func (t transaction) repeated(ctx context.Context, w Write) (out Outcome, ok bool, err error) {
	found, err := t.tx.Find(ctx, Query{Operation: w.Operation.ID})
	if err != nil || len(found) == 0 {
		return Outcome{}, false, err
	}
	after := found[0]
	if after.Operation != w.Operation || !t.all && after.List.Principal != w.principal {
		return Outcome{}, true, ErrOperationReused
	}
	return Outcome{After: after, Repeated: true, Report: after.Report}, true, nil
}

// changes reports whether the write would change what stands on a list, of which its
// agent was shown one revision, or be refused. Another active text, and a wording that a
// person replaced, change nothing of that.
func (w Write) changes(shown, newest Snapshot, now time.Time) bool {
	draft := NewDraft(shown, now)
	draft.hand = w.hand()
	if w.Change(draft) != nil {
		return true
	}
	if shown.Revision != newest.Revision {
		draft.rebase(newest)
	}
	draft.applyHand(shown)
	return !slices.EqualFunc(newest.Items, draft.items, func(a, b Item) bool {
		return a.ID == b.ID && a.Text == b.Text && a.Status == b.Status
	})
}

// hand returns whose hand writes.
func (w Write) hand() string {
	if w.Writer.Person {
		return PersonsHand
	}
	return handOf(w.Conversation.Key)
}

// change applies the change of a write to the list that it means, and saves it.
func (t transaction) change(ctx context.Context, f *finder, w Write, c choice) (Outcome, error) {
	before, saw, report, err := f.bases(ctx, w, c)
	if err != nil {
		return Outcome{}, err
	}
	base := saw
	if w.Lines == nil && w.Seen == 0 {
		base = before // the call says nothing about items that others changed
	}
	base.LastID = max(base.LastID, before.LastID)
	if before.Items == nil {
		before.Items = []Item{}
	}
	draft := NewDraft(base, t.now())
	draft.hand = w.hand()
	if c.begins {
		draft.earlier = c.current.Items
	}
	if err := w.Change(draft); err != nil {
		return Outcome{}, err
	}
	if base.Revision != before.Revision {
		draft.rebase(before)
	}
	if err := draft.settle(w, saw, &report); err != nil {
		return Outcome{}, err
	}
	if w.Lines != nil && before.ReplacedBy != "" && !w.Writer.Person {
		draft.Archive(false) // its own chat writes it again
	}
	if w.Item != "" && w.List == "" && c.current.List.ID != before.List.ID {
		report.Elsewhere = before.List.ID
		draft.staysAway()
	}
	if c.continues {
		report.Continues = before.Title()
	}
	if !draft.Changed() && !(c.begins && w.clears() && c.current.Revision > 0) {
		if c.putAway.Revision > 0 {
			err = t.archive(ctx, c.putAway, before.List.ID, w.Writer)
		}
		if err == nil {
			err = t.show(ctx, f, w, before)
		}
		return Outcome{After: before, Report: report}, err
	}
	return t.save(ctx, w, c, draft, report)
}

// bases returns the revision that a write replaces, the one that its writer was shown,
// and what the writer is told of the changes between them. Numbers go on from list to
// list, so that one means one step of a conversation.
func (f *finder) bases(ctx context.Context, w Write, c choice) (before, saw Snapshot, told Report, err error) {
	if !c.begins {
		before = c.list
		before.LastID = max(before.LastID, c.putAway.LastID)
		saw, told, err = f.shown(ctx, w, c)
		if c.leaves && err == nil {
			var left Report
			_, left, err = f.shown(ctx, w, choice{list: c.current, seen: f.seen(c.current.List.ID)})
			told.Unseen, told.By = append(left.Unseen, told.Unseen...), cmp.Or(told.By, left.By)
			told.Titled, told.Ordered = cmp.Or(told.Titled, left.Titled), append(left.Ordered, told.Ordered...)
		}
		return before, saw, told, err
	}
	if c.leaves {
		_, told, err = f.shown(ctx, w, choice{list: c.current, seen: f.seen(c.current.List.ID)})
	}
	before = Snapshot{Items: []Item{}, LastID: c.current.LastID}
	return before, before, told, err
}

// clears reports whether the write is an empty one.
func (w Write) clears() bool { return w.Lines != nil && len(w.Lines) == 0 }

// settle decides what becomes of the draft of a write beside what it asks for, and
// checks it. saw is what the writer was shown.
func (d *Draft) settle(w Write, saw Snapshot, report *Report) error {
	if !w.Writer.Person {
		d.keepBlocks(saw)
	}
	report.Kept = d.applyHand(saw)
	for _, kept := range report.Kept {
		if kept.Kind == Moved {
			report.Ordered = texts(d.items)
		}
	}
	if d.before.List.Mirrored && !w.Begin.Mirrored && !sameItems(d.before.Items, d.items) {
		return ErrMirrored
	}
	// A variant limits what one call sends; a merge may add what others added. What makes
	// a list no larger is never refused.
	if err := CheckSize(d.items); err != nil && (len(d.items) > len(d.before.Items) || Size(d.items) > Size(d.before.Items)) {
		return &InputError{Problems: []Problem{{Message: err.Error()}}}
	}
	report.Dropped, report.Notes = d.dropped(), d.notes
	return nil
}

// save saves the draft of a write, puts away what it replaces, and moves the cursors.
func (t transaction) save(ctx context.Context, w Write, c choice, draft *Draft, report Report) (Outcome, error) {
	next := draft.snapshot(w.Writer, w.Operation)
	if c.begins || next.Revision == 1 {
		next.List = t.begun(w, c, next)
	}
	if c.putAway.Revision > 0 {
		report.PutAway = PutAway{Title: c.putAway.Title(), Open: open(c.putAway.Items)}
	}
	if w.Operation.repeatable() {
		next.Report = report
	}
	if c.putAway.Revision > 0 {
		if err := t.archive(ctx, c.putAway, next.List.ID, w.Writer); err != nil {
			return Outcome{}, err
		}
	}
	after, err := t.tx.Save(ctx, next)
	if err != nil {
		return Outcome{}, err
	}
	if after.Settled() && !draft.before.Settled() {
		if err := t.archiveSubLists(ctx, after.List); err != nil {
			return Outcome{}, err
		}
	}
	cursors := t.cursors(w, after, report.Elsewhere == "")
	if n := len(cursors); n > 0 && c.leaves {
		told := Cursor{Key: cursors[n-1].Key, List: c.current.List.ID, Seen: c.current.Revision}
		cursors = append(cursors, told)
	}
	for _, cursor := range cursors {
		if err := t.tx.SetCursor(ctx, cursor); err != nil {
			return Outcome{}, err
		}
	}
	return Outcome{After: after, Changed: true, Report: report}, nil
}

// open returns the items that are not settled.
func open(items []Item) (out []Item) {
	for _, item := range items {
		if !item.Status.Settled() {
			out = append(out, item)
		}
	}
	return out
}

// texts returns the texts of items.
func texts(items []Item) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = item.Text
	}
	return out
}

// archive puts a list away; replacedBy is the one that its conversation began
// instead, or empty.
func (t transaction) archive(ctx context.Context, list Snapshot, replacedBy string, by Writer) error {
	draft := NewDraft(list, t.now())
	draft.Archive(true)
	draft.replacedBy = replacedBy
	by.Process = t.process
	_, err := t.tx.Save(ctx, draft.snapshot(by, Operation{})) // no call's, see callHub
	return err
}

// archiveSubLists archives the lists of the sub-agents that worked for a list.
func (t transaction) archiveSubLists(ctx context.Context, main List) error {
	subs, err := t.tx.Find(ctx, Query{Principal: &main.Principal, Parent: main.ID})
	for _, sub := range subs {
		if err != nil {
			break
		}
		if sub, err = t.tx.Load(ctx, sub.List.ID, 0); err == nil && !sub.Archived {
			err = t.archive(ctx, sub, "", sub.Writer)
		}
	}
	return err
}

// begun returns the list that a write begins with a snapshot.
func (b *Board) begun(w Write, c choice, s Snapshot) List {
	who, l := w.Conversation, w.Begin
	l.ID, l.Created = NewID(), s.Updated
	l.Principal, l.Conversation, l.Client, l.Chat = w.principal, who.Key, who.Client, who.Chat
	l.Name = cmp.Or(who.Name, l.Name)
	l.Workspace = cmp.Or(who.Workspace, l.Workspace)
	l.Agent = w.Agent
	if !who.Shared {
		l.Previous = c.current.List.ID
	}
	return l
}

// cursors returns the cursors to store with a write: its conversation has seen this
// revision, and holds the list if it moves. It is empty for a write without a
// conversation, and for a person's, except that it begins a list.
func (b *Board) cursors(w Write, s Snapshot, moves bool) []Cursor {
	c := w.Conversation
	if c.Holder() == "" || w.Writer.Person && s.Revision != 1 {
		return nil
	}
	name := Cursor{Key: Key{w.principal, c.Holder()}, List: s.List.ID, Current: moves}
	own := Cursor{Key: Key{w.principal, c.Key}, List: s.List.ID, Current: moves, Seen: s.Revision}
	if w.Writer.Person {
		own.Seen = 0 // the conversation's agent has seen nothing, and is not here
	} else {
		own.Process, own.Until = b.presence(c)
	}
	switch {
	case c.Name == "" || c.Key == c.Holder():
		return []Cursor{own}
	case c.Key == "":
		return []Cursor{name}
	case w.List != "":
		return []Cursor{own} // the name stays with its list
	}
	return []Cursor{name, own}
}

// show stores what the answer to a write that changed nothing shows, as far as the
// store does not know it.
func (t transaction) show(ctx context.Context, f *finder, w Write, s Snapshot) error {
	if s.Revision == 0 {
		return nil
	}
	for _, cursor := range t.cursors(w, s, w.Item == "" || w.List != "" || s.List.ID == Current(f.held)) {
		known := f.held
		if cursor.Conversation == w.Conversation.Key {
			known = f.known
		}
		if t.isNews(cursor, known) {
			if err := t.tx.SetCursor(ctx, cursor); err != nil {
				return err
			}
		}
	}
	return nil
}

// isNews reports whether a cursor says more than those that the store has.
func (b *Board) isNews(c Cursor, known []Cursor) bool {
	for _, old := range known {
		if old.List == c.List {
			fades := !c.Until.IsZero() && c.Until.Sub(old.Until) > c.Until.Sub(b.now())/2
			return c.Seen > old.Seen || c.Current && !old.Current || c.Process != "" && (c.Process != old.Process || fades)
		}
	}
	return true
}

// shown returns the revision of the list that the writer last saw. For an agent
// the report says what others changed since then.
func (f *finder) shown(ctx context.Context, w Write, c choice) (base Snapshot, r Report, err error) {
	newest := c.list
	switch {
	case newest.Revision == 0:
		return newest, r, nil
	case w.Seen > 0:
		base, err = f.revision(ctx, newest, w.Seen)
		return base, r, err
	case w.Conversation.Holder() == "" || w.Writer.Person:
		return newest, r, nil
	case c.shown.Revision > 0:
		base = c.shown
	case c.seen < 0 && (c.knows || w.Lines == nil || len(w.Lines) == 0):
		base, err = f.lastAgentRevision(ctx, newest)
	case c.seen <= 0 && newest.Settled():
		return newest, r, nil // what is to be done is all the writer's
	case c.seen <= 0:
		base = Snapshot{List: newest.List, Items: []Item{}}
	default:
		base, err = f.revision(ctx, newest, c.seen)
	}
	if err != nil || base.Revision == newest.Revision {
		return newest, r, err
	}
	r.Unseen = Diff(base, newest)
	if c.seen <= 0 {
		r.Unseen = slices.DeleteFunc(r.Unseen, func(d Difference) bool { return d.Kind == Added && d.After.isSent(w.Lines) })
	}
	if !inSameOrder(base.Items, newest.Items) {
		r.Ordered = texts(newest.Items)
	}
	if newest.GivenTitle != base.GivenTitle && base.Revision > 0 {
		r.Titled = newest.GivenTitle
	}
	if len(r.Unseen) > 0 || r.Titled != "" {
		r.By, err = f.writersSince(ctx, base, newest)
	}
	return base, r, err
}

// writersSince returns who wrote the revisions of a list after base, of which
// there is at least the newest.
func (f *finder) writersSince(ctx context.Context, base, newest Snapshot) (Others, error) {
	other, err := f.read.LastBy(ctx, newest.List.ID, !newest.Writer.Person, newest.Revision)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return "", fmt.Errorf("find who wrote since the writer saw the list: %w", err)
	case err == nil && other.Revision > base.Revision:
		return PeopleAndAgents, nil
	case newest.Writer.Person:
		return People, nil
	}
	return Agents, nil
}

// answers are the outcomes of operations that changed nothing, in this process.
// Others are stored with the revision that they made.
type answers struct {
	mu       sync.Mutex
	outcomes map[Operation]answer
}

// answer is an outcome without its list, of which only the newest revisions are kept.
type answer struct {
	list     string
	revision int64
	report   Report
}

// maxAnswers is how many outcomes are remembered. When there are more, all are
// forgotten.
const maxAnswers = 10_000

func (a *answers) put(op Operation, out Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.outcomes == nil || len(a.outcomes) >= maxAnswers {
		a.outcomes = make(map[Operation]answer)
	}
	a.outcomes[op] = answer{out.After.List.ID, out.After.Revision, out.Report}
}

// get returns the outcome of an operation, if it is remembered and its list is kept.
func (a *answers) get(ctx context.Context, read Reader, op Operation) (Outcome, bool, error) {
	a.mu.Lock()
	known, ok := a.outcomes[op]
	a.mu.Unlock()
	if !ok || known.revision == 0 {
		return Outcome{After: Snapshot{Items: []Item{}}, Report: known.report}, ok, nil
	}
	after, err := read.Load(ctx, known.list, known.revision)
	if errors.Is(err, ErrNotFound) {
		return Outcome{}, false, nil
	}
	return Outcome{After: after, Report: known.report}, err == nil, err
}
