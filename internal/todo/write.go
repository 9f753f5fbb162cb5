package todo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Write is one change to apply to a list.
type Write struct {
	Target
	// Begin describes the list if this write begins one. The board sets its ID,
	// Principal, Conversation, Client, Name, Workspace, Agent and Created, and
	// First if it is empty.
	Begin List
	// Writer is who writes. The board sets its Process.
	Writer Writer
	// Operation identifies the write. The board generates an id when it has
	// none. A caller that may repeat the write adds a digest of its content.
	Operation Operation
	Change    Change
	// Seen is the revision that the writer saw, for a person who edits it; 0 is
	// the newest, or for an agent the newest that no person wrote.
	Seen int64
}

// Report is what the answer to a write says beyond the list. If the caller may
// repeat the write, the report is stored with its revision, so that the repeat
// gets the same answer.
type Report struct {
	// Dropped are the items that were open and are no longer on the list.
	Dropped []Item `json:"dropped,omitempty"`
	// Unseen is what others changed since the writing agent last saw the list;
	// the write was merged with these changes.
	Unseen []Difference `json:"unseen,omitempty"`
	// By is who made the changes in Unseen.
	By Others `json:"by,omitempty"`
	// Elsewhere is the id of the list when it is not the one that the conversation
	// held: the call changed an item that only an earlier list of it has.
	Elsewhere string `json:"elsewhere,omitempty"`
	// Notes are the sentences that the change added, see [Draft.Note].
	Notes []string `json:"notes,omitempty"`
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

// apply applies a write as a principal; nil is every principal.
func (b *Board) apply(ctx context.Context, principal *string, w Write) (Outcome, error) {
	release, err := b.turns.take(ctx, cmp.Or(w.Conversation.Holder(), w.List))
	if err != nil {
		return Outcome{}, err
	}
	defer release()
	if w.Operation.ID == "" {
		w.Operation.ID = NewID()
	}
	w.Writer.Process = b.process
	out, err := b.applyInTurn(ctx, principal, w)
	if err == nil {
		b.feed.calls.deliverOwn(out)
	}
	if err == nil && out.Changed && out.After.Settled() {
		b.archiveSubLists(ctx, out.After.List)
	}
	return out, err
}

// archiveSubLists archives the lists of the sub-agents that worked for a list.
// One that cannot be archived now stays on the board.
func (b *Board) archiveSubLists(ctx context.Context, main List) {
	subs, err := b.store.Find(ctx, Query{Principal: &main.Principal, Parent: main.ID})
	if err != nil {
		return
	}
	for _, sub := range subs {
		if !sub.Archived {
			_, _ = b.As(main.Principal).Archive(ctx, sub.List.ID, true, sub.Writer)
		}
	}
}

// applyInTurn returns the outcome of an operation that was applied before, or
// applies the write: first to what the store has in memory, then to what is stored,
// again after each conflict with another process.
func (b *Board) applyInTurn(ctx context.Context, principal *string, w Write) (Outcome, error) {
	if out, ok := b.unchanged.get(w.Operation); ok {
		return out, nil
	}
	var conflicts conflicts
	for from := WithBasis(ctx, &Basis{}); ; from = ctx {
		out, err := b.try(from, principal, w)
		var conflict *ConflictError
		switch isConflict := errors.As(err, &conflict); {
		case unproven(from, w) && mayTryAgain(ctx, out, err):
			if !w.Operation.repeatable() {
				continue
			}
			if out, ok, err := b.repeated(ctx, principal, w); ok || err != nil {
				return out, err
			}
			continue
		case isConflict:
			if err = conflicts.wait(ctx, conflict, err); err == nil {
				continue
			}
		}
		if errors.Is(err, errUnproven) {
			err = ctx.Err() // else it would have been tried again
		}
		if err == nil && !out.Changed && !out.Repeated && w.Operation.repeatable() {
			b.unchanged.put(w.Operation, out)
		}
		return out, err
	}
}

// unproven reports whether only a save shows that a write is right: what it is based
// on may not be the newest, or it may have been applied before.
func unproven(ctx context.Context, w Write) bool {
	basis := BasisOf(ctx)
	return basis != nil && (basis.used() || w.Operation.repeatable())
}

// mayTryAgain reports whether a write saved nothing, and can be tried again.
func mayTryAgain(ctx context.Context, out Outcome, err error) bool {
	return !out.Changed && !out.Repeated && !errors.Is(err, ErrUnknownOutcome) && ctx.Err() == nil
}

// errUnproven is the error of a write that is [unproven] and makes no revision, so
// that it leaves no other trace.
var errUnproven = errors.New("the write may be based on an older revision")

// repeated returns the outcome of an operation that was applied before; ok is
// false when it was not.
func (b *Board) repeated(ctx context.Context, principal *string, w Write) (out Outcome, ok bool, err error) {
	found, err := b.store.Find(ctx, Query{Operation: w.Operation.ID})
	if err != nil || len(found) == 0 {
		return Outcome{}, false, err
	}
	after := found[0]
	if after.Operation != w.Operation || principal != nil && after.List.Principal != *principal {
		return Outcome{}, true, ErrOperationReused
	}
	return Outcome{After: after, Repeated: true, Report: after.Report}, true, nil
}

// try applies a write to the newest revision. It returns a [*ConflictError] if
// another process saves the list first.
func (b *Board) try(ctx context.Context, principal *string, w Write) (Outcome, error) {
	h, err := b.find(ctx, principal, w.Target)
	if err != nil {
		return Outcome{}, err
	}
	saw, report, err := b.shown(ctx, w, h)
	if err != nil {
		return Outcome{}, err
	}
	elsewhere := h.list.List.Mirrored && !w.Begin.Mirrored // what the agent writes here is another list
	if w.wholeOrAppend() && w.List == "" && !w.Writer.Person && (saw.Settled() && h.list.Settled() || subAgentEnded(h.list) || elsewhere) {
		if w.Lines != nil && len(w.Lines) == 0 {
			return b.letGo(ctx, w, h)
		}
		if subAgentEnded(h.list) || elsewhere || w.changes(saw, b.now()) {
			h.list, saw, report = Snapshot{}, Snapshot{}, Report{}
		}
	}
	return b.change(ctx, w, h, saw, report)
}

// subAgentEnded reports whether a list is that of a sub-agent that has ended.
func subAgentEnded(s Snapshot) bool { return s.Archived && s.List.Agent != "" }

// changes reports whether the write would change a snapshot's items, or be refused.
func (w Write) changes(s Snapshot, now time.Time) bool {
	draft := NewDraft(s, now)
	return w.Change(draft) != nil || !sameItems(s.Items, draft.items)
}

// letGo is an empty write where the conversation holds a list that stays as it
// ended: then it holds no list any more.
func (b *Board) letGo(ctx context.Context, w Write, h held) (Outcome, error) {
	if unproven(ctx, w) {
		return Outcome{}, errUnproven
	}
	err := b.bind(ctx, b.bindings(w, h, Snapshot{}))
	return Outcome{After: Snapshot{Items: []Item{}}}, err
}

// change applies the change of a write to the list that it means, of which the
// writer saw one revision, and saves it.
func (b *Board) change(ctx context.Context, w Write, h held, saw Snapshot, report Report) (Outcome, error) {
	before, base := h.list, saw
	if w.Lines == nil && w.Seen == 0 {
		base = before // the call says nothing about items that others changed
	}
	if before.Items == nil {
		before.Items = []Item{}
	}
	draft := NewDraft(base, b.now())
	if err := w.Change(draft); err != nil {
		return Outcome{After: before}, err
	}
	if base.Revision != before.Revision {
		draft.rebase(before)
	}
	if !w.Writer.Person {
		draft.keepBlocks(saw)
	}
	if before.List.Mirrored && !w.Begin.Mirrored && !sameItems(before.Items, draft.items) {
		return Outcome{After: before}, ErrMirrored
	}
	// A variant limits what one call sends; a merge may add what others added.
	if n := len(draft.items); n > MaxItems && n > len(before.Items) {
		return Outcome{After: before}, &InputError{Problems: []Problem{{Message: fmt.Sprintf("a list holds at most %d items, this would make %d", MaxItems, n)}}}
	}
	report.Dropped, report.Notes = draft.dropped(), draft.notes
	if w.Item != "" && w.List == "" && h.over != before.List.ID {
		report.Elsewhere = before.List.ID
	}
	if !draft.Changed() {
		if unproven(ctx, w) {
			return Outcome{}, errUnproven
		}
		return Outcome{After: before, Report: report}, b.sawUnchanged(ctx, w, h, report)
	}
	next := draft.snapshot(w.Writer, w.Operation)
	if w.Operation.repeatable() {
		next.Report = report
	}
	if next.Revision == 1 {
		next.List = b.begun(w, next)
	}
	after, err := b.save(withReplaced(ctx, before), next, b.bindings(w, h, next))
	if err != nil {
		return Outcome{After: before}, err
	}
	if after.List.Principal != next.List.Principal {
		return Outcome{After: before}, ErrOperationReused
	}
	if after.List.ID != next.List.ID || after.Revision != next.Revision || after.Writer.Process != b.process {
		// the same operation was applied before
		return Outcome{After: after, Repeated: true, Report: after.Report}, nil
	}
	return Outcome{After: after, Changed: true, Report: report}, nil
}

// begun returns the list that a write begins with a snapshot.
func (b *Board) begun(w Write, s Snapshot) List {
	c, l := w.Conversation, w.Begin
	l.ID, l.Created = NewID(), s.Updated
	l.Principal, l.Conversation, l.Client = w.principal, c.Key, c.Client
	l.Name = cmp.Or(c.Name, l.Name)
	l.Workspace = cmp.Or(c.Workspace, l.Workspace)
	l.Agent = w.Agent
	return l.Begun(s.Items)
}

// bindings returns what to store with a write: its conversation holds the list
// and has seen this revision of it. For a snapshot without a list the
// conversation lets go of the list it holds. It is empty for a write without a
// conversation, and for a person's, except that it begins a list.
func (b *Board) bindings(w Write, h held, s Snapshot) []Binding {
	c := w.Conversation
	if c.Holder() == "" || w.Writer.Person && s.Revision != 1 {
		return nil
	}
	hold := Binding{Principal: w.principal, Conversation: c.Holder(), List: s.List.ID, Seen: s.Revision, Moves: true, Over: h.over}
	if c.Hint {
		hold.Process = b.process
	}
	if w.Writer.Person {
		hold.Seen = 0 // the conversation's agent has seen nothing, and is not here
	} else {
		hold.Server, hold.Until = b.server(c), b.until(c)
	}
	if c.Key == c.Holder() || c.Key == "" {
		return []Binding{hold}
	}
	sees := hold
	hold.Seen, hold.Process = 0, ""
	sees.Conversation = c.Key
	if w.List != "" {
		return []Binding{sees} // the name stays with its list
	}
	return []Binding{hold, sees}
}

// server returns what [Binding.Server] is for a conversation that calls this board.
func (b *Board) server(c Conversation) string {
	if c.Detached {
		return detached
	}
	return b.process
}

// detached stands for the process of a conversation that is [Conversation.Detached].
const detached = "-"

// until returns when a conversation counts as ended unless it calls again, see
// [Conversation.Lasts].
func (b *Board) until(c Conversation) time.Time {
	if c.Lasts <= 0 {
		return time.Time{}
	}
	return b.now().Add(c.Lasts)
}

// bind stores bindings, with what was shown since the last write.
func (b *Board) bind(ctx context.Context, bindings []Binding) error {
	b.attend(bindings)
	read := b.sight.take()
	if err := b.store.Bind(ctx, append(bindings, read...)...); err != nil {
		b.sight.untake(read)
		return fmt.Errorf("save which list the conversation holds: %w", err)
	}
	return nil
}

// attend makes this process known as alive before its first binding.
func (b *Board) attend(bindings []Binding) {
	for _, n := range bindings {
		if n.Process != "" || n.Server != "" && n.Server != detached {
			// Without it the list may be continued by another process while this
			// one lives, if that process writes most of it.
			b.attending.Do(func() { b.leave, _ = b.store.Attend(b.process) })
		}
	}
}

// sawUnchanged records what the answer of a write that changed nothing shows.
// It stores that if the answer reports changes of others, since these are
// reported once, or if the conversation did not hold the list.
func (b *Board) sawUnchanged(ctx context.Context, w Write, h held, r Report) error {
	c := w.Conversation
	if c.Holder() == "" || w.Writer.Person || h.list.Revision == 0 {
		return nil
	}
	if len(r.Unseen) > 0 || h.over != h.list.List.ID {
		return b.bind(ctx, b.bindings(w, h, h.list))
	}
	b.showed(ctx, w.principal, c.Key, h)
	return nil
}

// showed records that a conversation was shown a list as it is. Where another board
// may get its next call, that is stored, unless it is known already; if that fails,
// it waits for the next write.
func (b *Board) showed(ctx context.Context, principal, conversation string, h held) {
	b.sight.note(principal, conversation, h.list.List.ID, h.list.Revision)
	if b.shared && h.seen < h.list.Revision {
		_ = b.bind(ctx, nil)
	}
}

// shown returns the revision of the list that the writer last saw. For an agent
// the report says what others changed since then.
func (b *Board) shown(ctx context.Context, w Write, h held) (base Snapshot, r Report, err error) {
	newest := h.list
	switch {
	case newest.Revision == 0:
		return newest, r, nil
	case w.Seen > 0:
		base, err = b.kept(ctx, newest, w.Seen)
		return base, r, err
	case w.Conversation.Holder() == "" || w.Writer.Person:
		return newest, r, nil
	case h.seen < 0 && (h.kept || w.Lines == nil || len(w.Lines) == 0):
		base, err = b.lastAgentRevision(ctx, newest)
	case h.seen <= 0:
		base = Snapshot{List: newest.List, Items: []Item{}}
	default:
		base, err = b.kept(ctx, newest, h.seen)
	}
	if err != nil || base.Revision == newest.Revision {
		return newest, r, err
	}
	if r.Unseen = Diff(base, newest); len(r.Unseen) > 0 {
		r.By, err = b.writersSince(ctx, base, newest)
	}
	return base, r, err
}

// kept returns a revision of a list, or the first kept one after it.
func (b *Board) kept(ctx context.Context, newest Snapshot, revision int64) (Snapshot, error) {
	if revision >= newest.Revision {
		return newest, nil
	}
	found, err := b.store.History(ctx, newest.List.ID, revision-1, 1)
	if err != nil {
		return Snapshot{}, fmt.Errorf("load the revision that the writer saw: %w", err)
	}
	return append(found, newest)[0], nil
}

// writersSince returns who wrote the revisions of a list after base, of which
// there is at least the newest.
func (b *Board) writersSince(ctx context.Context, base, newest Snapshot) (Others, error) {
	other, err := b.store.LastBy(ctx, newest.List.ID, !newest.Writer.Person, newest.Revision)
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

// lastAgentRevision returns the last revision up to s that no person wrote. If
// people wrote all of them, the result has no items. If the store no longer
// keeps a revision, the result is the one after it.
func (b *Board) lastAgentRevision(ctx context.Context, s Snapshot) (Snapshot, error) {
	if !s.Writer.Person {
		return s, nil
	}
	last, err := b.store.LastBy(ctx, s.List.ID, false, s.Revision)
	if errors.Is(err, ErrNotFound) {
		last, err = b.kept(ctx, s, 1)
		if last.Revision == 1 {
			last = Snapshot{List: s.List, Items: []Item{}}
		}
	}
	if err != nil {
		return s, fmt.Errorf("load the revision that the agent last saw: %w", err)
	}
	return last, nil
}

// save saves a snapshot and bindings, and repeats that once when the outcome is
// unknown, which the operation id makes harmless. It stays unknown if the repeat
// fails without the store having looked for the operation.
func (b *Board) save(ctx context.Context, next Snapshot, bindings []Binding) (Snapshot, error) {
	b.attend(bindings)
	read := b.sight.take()
	all := append(bindings, read...)
	after, err := b.store.Save(ctx, next, all...)
	if errors.Is(err, ErrUnknownOutcome) && ctx.Err() == nil {
		first := err
		if after, err = b.store.Save(ctx, next, all...); err != nil && !isVerdict(err) {
			err = fmt.Errorf("%w; repeated: %w", first, err)
		}
	}
	if err != nil {
		b.sight.untake(read)
		return Snapshot{}, fmt.Errorf("save list: %w", err)
	}
	return after, nil
}

// isVerdict reports whether an error of [Store.Save] says that the operation was
// looked for and not found, so that no earlier try of it was applied.
func isVerdict(err error) bool {
	var conflict *ConflictError
	return errors.As(err, &conflict) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrOperationReused) ||
		errors.Is(err, ErrTooManyLists) || errors.Is(err, ErrStoreFull)
}
