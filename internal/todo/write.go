package todo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Write is one change to apply to a list.
type Write struct {
	Target
	// Begin describes the list if this write begins one. The board sets its ID,
	// Principal, Conversation, Client, Name, Workspace, Agent, Previous, Chat, Topic
	// and Created.
	Begin List
	// Writer is who writes. The board sets its Process.
	Writer Writer
	// Operation identifies the write. The board generates an id when it has
	// none. A caller that may repeat the write adds a digest of its content.
	Operation Operation
	Change    Change
	// Title is the list's title from its host, unless it was given one, also by others
	// meanwhile; empty for none. One that [CleanTitle] refuses is passed over.
	Title string
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
	// Reopened are the items that were completed and that a whole-list write opened again,
	// as an agent does that forgot what it had done.
	Reopened []Item `json:"reopened,omitempty"`
	// Unseen is what others changed since the writing agent last saw the list;
	// the write was merged with these changes. Titled is the title that a person gave
	// the list since then, and Ordered are the texts of the items if their order
	// changed.
	Unseen  []Difference `json:"unseen,omitempty"`
	Titled  string       `json:"titled,omitempty"`
	Ordered []string     `json:"ordered,omitempty"`
	// By is who made the changes in Unseen.
	By Others `json:"by,omitempty"`
	// Kept is what stays although the agent, which had been told, sent it as it was before
	// a person changed it: items with another text (Before has the agent's), and with
	// [Moved] the order, which is in Ordered.
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

// OthersDid reports whether others changed something since the agent last saw the list.
func (r Report) OthersDid() bool { return len(r.Unseen)+len(r.Ordered) > 0 || r.Titled != "" }

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

// Apply applies a write and returns when its revision is durable. It returns
// [ErrReadOnly], an [*InputError] when the change refuses (nothing was changed),
// [ErrMirrored], [ErrNotFound] when the target names no list of the principal,
// [ErrTooManyLists], [ErrOperationReused], an error that wraps [ErrUnknownOutcome], the
// context's error or another one of the store.
func (l Lists) Apply(ctx context.Context, w Write) (Outcome, error) {
	b := l.board
	if w.Operation.ID == "" {
		w.Operation.ID = NewID()
	}
	w.principal, w.subject, w.Conversation = l.principal, l.subject, l.Own(w.Conversation)
	w.Writer.User, w.Writer.Process = cmp.Or(l.user, w.Writer.User), b.process
	w.Begin.ParentConversation = l.Own(Conversation{Key: w.Begin.ParentConversation}).Key
	l.attend(w.Conversation)
	var out Outcome
	run := func(mayBeRepeat bool) error {
		return l.update(ctx, cmp.Or(w.Conversation.CurrentKey(), w.List), func(tx Tx) (err error) {
			out, err = (&attempt{Board: b, Write: w, read: tx, tx: tx, all: l.all, at: b.now()}).write(ctx, mayBeRepeat)
			return err
		})
	}
	err := run(w.Operation.Digest != "")
	if errors.Is(err, ErrUnknownOutcome) && ctx.Err() == nil {
		first := err
		if err = run(true); err != nil && !IsRefusal(err) {
			err = fmt.Errorf("%w; repeated: %w", first, err)
		}
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("write list: %w", err)
	}
	b.feed.deliverOwn(out)
	return out, nil
}

// write applies the write, or returns the outcome of its operation if that was applied
// before.
func (a *attempt) write(ctx context.Context, mayBeRepeat bool) (Outcome, error) {
	if mayBeRepeat {
		found, err := a.tx.Find(ctx, Query{Operation: a.Operation.ID})
		if err != nil {
			return Outcome{}, err
		}
		if len(found) > 0 {
			after := found[0]
			if after.Operation != a.Operation || !a.all && after.List.Principal != a.principal {
				return Outcome{}, ErrOperationReused
			}
			return Outcome{After: after, Repeated: true, Report: after.Report}, nil
		}
	}
	if err := a.choose(ctx); err != nil {
		return Outcome{}, err
	}
	draft, report, err := a.change(ctx)
	if err != nil {
		return Outcome{}, err
	}
	// An empty write after a settled list begins an empty one, which no draft tells.
	clears := a.begins && a.Lines != nil && len(a.Lines) == 0 && a.current.Revision > 0
	// A list that only its age archived is not said to be so in the store. To bring it
	// back it needs a revision of today.
	wakes := draft.archives && !draft.next.Archived && a.archived(draft.before).Archived
	return a.save(ctx, draft, report, clears || wakes || a.mends || draft.Changed())
}

// change applies the change to the list that the call means: to the revision that the
// writer was shown, merged with what others changed since. It returns the draft of the
// next revision and what the writer is told, also of a list that it leaves.
func (a *attempt) change(ctx context.Context) (draft *Draft, told Report, err error) {
	if a.begins || a.putsAway {
		if err = a.tellOfLeft(ctx, &told); err != nil {
			return nil, told, err
		}
	}
	saw, err := a.saw(ctx, a.list)
	if err == nil && saw.Revision != a.list.Revision && a.Seen == 0 {
		err = a.tell(ctx, saw, a.list, &told)
	}
	if err != nil {
		return nil, told, err
	}
	base := saw
	if a.Lines == nil && a.Seen == 0 {
		base = a.list // the call says nothing about items that others changed
	}
	base.LastID = max(base.LastID, a.list.LastID)
	if draft, err = a.draft(ctx, base, a.list); err == nil {
		err = a.settle(draft, saw, &told)
	}
	return draft, told, err
}

// draft returns the draft of a revision after newest, as the change makes it of one that
// the writer was shown.
func (a *attempt) draft(ctx context.Context, shown, newest Snapshot) (*Draft, error) {
	d := NewDraft(shown, a.at)
	if d.hand = PersonsHand; !a.Writer.Person {
		d.hand = handOf(a.Conversation.Key)
	}
	if a.begins {
		d.earlier = a.current.Items
	}
	var failed error
	d.present = a.presentHands(ctx, newest.List, &failed)
	if err := cmp.Or(a.Change(d), failed); err != nil {
		return nil, err
	}
	if shown.Revision != newest.Revision {
		d.rebase(newest)
	}
	if !a.Writer.Person {
		d.next.Asks, d.next.Rests = "", false
	}
	return d, nil
}

// changes reports whether the write would change what stands on a list, or be refused,
// when its agent was shown one revision. Another active text, and a wording that a person
// replaced, change nothing.
func (a *attempt) changes(ctx context.Context, shown, newest Snapshot) bool {
	d, err := a.draft(ctx, shown, newest)
	if err != nil {
		return true
	}
	d.applyHand(shown, len(a.Lines) > 0)
	return !slices.EqualFunc(newest.Items, d.next.Items, func(a, b Item) bool {
		return a.ID == b.ID && a.Text == b.Text && a.Status == b.Status
	})
}

// tellOfLeft adds to a report what others changed in the current list, which the write
// leaves, and remembers that its agent has then seen it. Nothing is stored before the
// write can no more be refused: what a refused one had stored, its store would have to
// roll back for all that share its transaction.
func (a *attempt) tellOfLeft(ctx context.Context, told *Report) error {
	if a.seen(a.current) <= 0 || a.Writer.Person {
		return nil
	}
	left, err := a.lastShown(ctx, a.current)
	if err == nil {
		err = a.tell(ctx, left, a.current, told)
	}
	if err != nil {
		return err
	}
	a.left = []Cursor{{Key: Key{a.principal, a.Conversation.Key}, List: a.current.List.ID, Seen: a.current.Revision}}
	return nil
}

func (a *attempt) saw(ctx context.Context, list Snapshot) (Snapshot, error) {
	seen := a.seen(list)
	switch {
	case list.Revision == 0:
		return list, nil
	case a.Seen > 0:
		return revision(ctx, a.read, list, a.Seen)
	case a.Conversation.CurrentKey() == "" || a.Writer.Person:
		return list, nil
	case a.shown.Revision > 0:
		return a.shown, nil
	case seen > 0:
		return revision(ctx, a.read, list, seen)
	case seen < 0 && (len(a.Lines) == 0 || keeps(a.Lines, list)): // it knows the list
		return shownToAgents(ctx, a.read, list, nil)
	case list.Settled():
		return list, nil // what is to be done is all the writer's
	}
	return Snapshot{List: list.List, Items: []Item{}}, nil
}

// tell adds to a report what others changed from a revision of a list to the newest one.
func (a *attempt) tell(ctx context.Context, base, newest Snapshot, r *Report) error {
	changed := Diff(base, newest)
	if a.seen(newest) <= 0 {
		sent := make(map[string]bool, len(a.Lines))
		for _, l := range a.Lines {
			sent[Fold(l.Text)] = true
		}
		changed = slices.DeleteFunc(changed, func(d Difference) bool {
			return d.Kind == Added && d.After.isNamed(func(name string) bool { return sent[name] })
		})
	}
	if len(changed) > 0 && len(a.Lines) > 0 {
		changed = slices.DeleteFunc(changed, a.saysItself(base))
	}
	r.Unseen = append(r.Unseen, changed...)
	if !InSameOrder(base.Items, newest.Items) {
		r.Ordered = append(r.Ordered, texts(newest.Items)...)
	}
	isTitled := newest.GivenTitle != base.GivenTitle && base.Revision > 0
	if isTitled {
		r.Titled = newest.GivenTitle
	}
	if len(changed) == 0 && !isTitled {
		return nil
	}
	switch { // at least one revision since base is the newest one's writer's
	case newest.Other > base.Revision:
		r.By = PeopleAndAgents
	case newest.Writer.Person:
		r.By = People
	default:
		r.By = Agents
	}
	return nil
}

// saysItself returns a function that reports whether the write gives an item the status
// that others gave it since a revision, as an agent does that was told of it elsewhere, such
// as by the page in its chat.
func (a *attempt) saysItself(base Snapshot) func(Difference) bool {
	sent := make(map[string]string)
	for n, item := range match(a.View, base.Items, a.Lines) {
		if item != nil {
			sent[item.ID] = a.Lines[n].Status
		}
	}
	return func(d Difference) bool {
		before, _ := a.View.Show(d.Before)
		after, isShown := a.View.Show(d.After)
		return d.Kind == Changed && d.Before.Text == d.After.Text && d.Before.Reason == d.After.Reason &&
			isShown && before.Status != after.Status && sent[d.After.ID] == after.Status
	}
}

// settle decides what becomes of a draft beside what the write asks for, and checks it.
// saw is what the writer was shown.
func (a *attempt) settle(d *Draft, saw Snapshot, report *Report) error {
	report.Kept = d.applyHand(saw, len(a.Lines) > 0)
	d.tidy()
	if d.next.GivenTitle == "" && a.Title != "" {
		d.next.GivenTitle, _ = CleanTitle(a.Title)
	}
	if slices.ContainsFunc(report.Kept, func(k Difference) bool { return k.Kind == Moved }) {
		report.Ordered = texts(d.next.Items)
	}
	if d.before.List.Mirrored && !a.Begin.Mirrored && !slices.EqualFunc(d.before.Items, d.next.Items, Item.same) {
		return ErrMirrored
	}
	if err := checkWaits(d.next.Items); err != nil && !d.before.List.Mirrored && !a.Begin.Mirrored {
		return err
	}
	// A variant limits what one call sends; a merge may add what others added. What makes
	// a list no larger is never refused.
	err := CheckSize(d.next.Items)
	if err != nil && (len(d.next.Items) > len(d.before.Items) || Size(d.next.Items) > Size(d.before.Items)) {
		return &InputError{Problems: []Problem{{Message: err.Error(), Err: err}}}
	}
	report.Notes = d.notes
	find := Near(d.next.Items)
	for n, item := range d.before.Items {
		switch now, stays := find(n, item.ID); {
		case !stays && !item.Status.Settled():
			report.Dropped = append(report.Dropped, item)
		case stays && item.Status == Completed && !now.Status.Settled() && a.Lines != nil && !a.Writer.Person:
			report.Reopened = append(report.Reopened, now)
		}
	}
	if a.continues {
		report.Continues = d.before.Title()
	}
	switch wasLeft := d.before.ReplacedBy != ""; {
	case a.Item != "" && a.List == "" && a.current.List.ID != d.before.List.ID && !a.continues:
		report.Elsewhere = d.before.List.ID
		d.archives = wasLeft // and stays so
	case wasLeft && a.Lines != nil && !a.Writer.Person:
		d.Archive(false) // its own chat writes it again
	}
	return nil
}

// save saves the draft of the write if it changed anything, puts away what it replaces,
// and moves the cursors.
func (a *attempt) save(ctx context.Context, draft *Draft, report Report, changed bool) (Outcome, error) {
	after := draft.before
	if changed {
		after = draft.snapshot(a.Writer, a.Operation)
		if after.Revision == 1 {
			var err error
			if after.List, err = a.begun(ctx, after); err != nil {
				return Outcome{}, err
			}
		}
	}
	if a.putsAway {
		report.PutAway = PutAway{Title: a.current.Title(), Open: open(a.current.Items)}
		if err := a.archive(ctx, a.current, after.List.ID, a.Writer); err != nil {
			return Outcome{}, err
		}
	}
	if changed {
		if a.Operation.Digest != "" {
			after.Report = report
		}
		var err error
		if after, err = a.tx.Save(ctx, after); err != nil {
			return Outcome{}, err
		}
		if after.Settled() && !draft.before.Settled() {
			if err := a.archiveSubLists(ctx, after.List); err != nil {
				return Outcome{}, err
			}
		}
	}
	if goesOn := after.Asks != draft.next.Asks || after.Rests != draft.next.Rests; goesOn && !changed {
		var err error
		if after, err = a.tx.Save(ctx, after.says("", false, a.at)); err != nil {
			return Outcome{}, err
		}
	}
	if err := a.setCursors(ctx, after, report.Elsewhere == ""); err != nil {
		return Outcome{}, err
	}
	return Outcome{After: after, Changed: changed, Report: report}, nil
}

func open(items []Item) (out []Item) {
	for _, item := range items {
		if !item.Status.Settled() {
			out = append(out, item)
		}
	}
	return out
}

func texts(items []Item) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = item.Text
	}
	return out
}

// archive puts a list away; replacedBy is the one that its conversation began
// instead, or empty.
func (a *attempt) archive(ctx context.Context, list Snapshot, replacedBy string, by Writer) error {
	draft := NewDraft(list, a.at)
	draft.Archive(true)
	draft.next.ReplacedBy = replacedBy
	by.Process = a.process
	_, err := a.tx.Save(ctx, draft.snapshot(by, Operation{})) // no call's, see feed.deliver
	return err
}

func (a *attempt) archiveSubLists(ctx context.Context, main List) error {
	subs, err := a.tx.Find(ctx, Query{Principal: &main.Principal, Parent: main.ID})
	for _, sub := range subs {
		if err != nil {
			break
		}
		if sub, err = a.tx.Load(ctx, sub.List.ID, 0); err == nil && !sub.Archived {
			err = a.archive(ctx, sub, "", sub.Writer)
		}
	}
	return err
}

func (a *attempt) begun(ctx context.Context, s Snapshot) (l List, err error) {
	who := a.Conversation
	l = a.Begin
	l.ID, l.Created = NewID(), s.Updated
	l.Principal, l.Conversation, l.Client, l.Chat = a.principal, who.Key, who.Client, who.Chat
	l.Name = cmp.Or(who.Name, l.Name)
	l.Workspace = cmp.Or(who.Workspace, l.Workspace)
	l.Agent = a.Agent
	if !who.Shared {
		l.Previous = a.current.List.ID
	}
	l.Topic, err = a.takeTopic(ctx)
	return l, err
}

// setCursors stores what the conversation knows after the write, as far as the store
// does not know it: it has seen this revision, and holds the list if it moves.
func (a *attempt) setCursors(ctx context.Context, s Snapshot, moves bool) error {
	var cursors []Cursor
	if s.Revision > 0 {
		cursors = a.cursors(a.Write, s, moves)
	}
	for _, c := range append(cursors, a.left...) {
		known := a.byKey
		if c.Conversation == a.Conversation.Key {
			known = a.known
		}
		isKnown := slices.ContainsFunc(known, func(old Cursor) bool {
			fades := !c.Until.IsZero() && c.Until.Sub(old.Until) > c.Until.Sub(a.now())/2
			return old.List == c.List && c.Seen <= old.Seen && (old.Current || !c.Current) &&
				(c.Process == "" || c.Process == old.Process && !fades)
		})
		if isKnown {
			continue
		}
		if err := a.tx.SetCursor(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// cursors returns the cursors to store with a write: its conversation has seen this
// revision, and holds the list if it moves. It is empty for a write without a
// conversation, and for a person's, except that it begins a list.
func (b *Board) cursors(w Write, s Snapshot, moves bool) []Cursor {
	c, currentKey := w.Conversation, w.Conversation.CurrentKey()
	if currentKey == "" || w.Writer.Person && s.Revision != 1 {
		return nil
	}
	cursors := make([]Cursor, 0, 2)
	if c.Key != currentKey && w.List == "" { // else the name stays with its list
		cursors = append(cursors, Cursor{Key: Key{w.principal, currentKey}, List: s.List.ID, Current: moves})
	}
	own := Cursor{Key: Key{w.principal, c.Key}, List: s.List.ID, Current: moves}
	if !w.Writer.Person { // else the conversation's agent has seen nothing, and is not here
		own.Seen = s.Revision
		own.Process, own.Until = b.presence(c)
	}
	return append(cursors, own)
}
