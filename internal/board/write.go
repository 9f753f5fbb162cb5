package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"todo-mcp/internal/todo"
)

// Write is one change to apply to a list.
type Write struct {
	Target
	// Begin describes the list if this write begins one. The board sets its ID,
	// Principal, Conversation, Client, Name, Workspace, Agent, Previous, Chat, Topic
	// and Created.
	Begin todo.List
	// Writer is who writes. The board sets its Process.
	Writer todo.Writer
	// Operation identifies the write. The board generates an id when it has
	// none. A caller that may repeat the write adds a digest of its content.
	Operation todo.Operation
	// Before is the id that the operation had before the chat of its process was known; empty
	// for none. What was applied by it then is not applied again.
	Before string
	Change todo.Change
	// Title is the list's title from its host, unless it was given one, also by others
	// meanwhile; empty for none. One that [todo.CleanTitle] refuses is passed over.
	Title string
	// Seen is the revision that the writer saw, for a person who edits it; 0 is the
	// newest, or for an agent what its chat has seen.
	Seen int64
}

// Outcome is the result of a write.
type Outcome struct {
	// After is the list after the write: the revision that the write made or,
	// if it changed nothing, the newest one; revision 0 means that there is no
	// list. For a repeated operation it is the revision made the first time.
	After todo.Snapshot
	// Changed is true when this write made the revision After.
	Changed bool
	// Repeated is true when the operation had been applied before.
	Repeated bool
	todo.Report
}

// Apply applies a write and returns when its revision is durable. It returns
// [ErrReadOnly], an [*todo.InputError] when the change refuses (nothing was changed),
// [todo.ErrMirrored], [ErrNotFound] when the target names no list of the principal,
// [ErrTooManyLists], [ErrOperationReused], an error that wraps [ErrUnknownOutcome], the
// context's error or another one of the store.
func (l Lists) Apply(ctx context.Context, w Write) (Outcome, error) {
	b := l.board
	if w.Operation.ID == "" {
		w.Operation.ID = NewID()
	}
	w.principal, w.subject, w.Conversation = l.principal, l.subject, l.Own(w.Conversation)
	w.Writer.User, w.Writer.Process = cmp.Or(l.user, w.Writer.User), b.process
	w.Begin.ParentConversation = l.own(w.Begin.ParentConversation, false)
	l.attend(w.Conversation)
	var out Outcome
	run := func(mayBeRepeat bool) error {
		return l.update(ctx, Key{Chat: cmp.Or(w.Conversation.Key, w.Conversation.Name, w.List), Mirrors: w.Conversation.Mirrors}, func(tx Tx) (err error) {
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
		if err == nil && len(found) == 0 && a.Before != "" {
			found, err = a.tx.Find(ctx, Query{Operation: a.Before})
		}
		if err != nil {
			return Outcome{}, err
		}
		if len(found) > 0 {
			after := found[0]
			if after.Operation.Digest != a.Operation.Digest || !a.all && after.List.Principal != a.principal {
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
	wakes := draft.BringsBack() && a.archived(draft.Before()).Archived
	return a.save(ctx, draft, report, clears || wakes || a.mends || draft.Changed())
}

// change applies the change to the list that the call means: to the revision that the
// writer was shown, merged with what others changed since. It returns the draft of the
// next revision and what the writer is told, also of a list that it leaves.
func (a *attempt) change(ctx context.Context) (draft *todo.Draft, told todo.Report, err error) {
	if a.begins || a.putsAway {
		if err = a.tellOfLeft(ctx, &told); err != nil {
			return nil, told, err
		}
	}
	saw, err := a.saw(ctx, a.list)
	if err != nil {
		return nil, told, err
	}
	if saw.Revision != a.list.Revision && a.Seen == 0 {
		a.tell(saw, a.list, &told)
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

// step returns the step that the write is; present is as in a [todo.Step].
func (a *attempt) step(present func(hand string) bool) todo.Step {
	s := todo.Step{Change: a.Change, Sent: &a.sent, Hand: todo.PersonsHand, At: a.at, Present: present,
		Title: a.Title, Mirrors: a.Begin.Mirrored}
	if !a.Writer.Person {
		s.Hand = todo.HandOf(a.Conversation.Key)
	}
	if a.begins {
		s.Earlier = a.current.Items
	}
	return s
}

// draft returns the draft of a revision after newest, as the change makes it of one that
// the writer was shown.
func (a *attempt) draft(ctx context.Context, shown, newest todo.Snapshot) (*todo.Draft, error) {
	var failed error
	d, err := a.step(a.presentHands(ctx, newest.List, &failed)).Draft(shown, newest)
	return d, cmp.Or(err, failed)
}

// changes is [todo.Step.Changes]; true where who is present cannot be read.
func (a *attempt) changes(ctx context.Context, shown, newest todo.Snapshot) bool {
	var failed error
	return a.step(a.presentHands(ctx, newest.List, &failed)).Changes(shown, newest) || failed != nil
}

// presentHands returns a function that reports whether a conversation that knows a list is
// present, by its hand. It reads them when it is called first.
func (a *attempt) presentHands(ctx context.Context, list todo.List, failed *error) func(hand string) bool {
	var on []Seen
	var isRead bool
	return func(hand string) (isHere bool) {
		if !isRead {
			isRead = true
			on, *failed = a.read.SeenOn(ctx, list.Principal, list.ID)
		}
		if *failed == nil {
			isHere, *failed = a.anyHere(ctx, a.read, on, func(s Seen) bool { return todo.HandOf(s.Chat) == hand })
		}
		return isHere
	}
}

// tellOfLeft adds to a report what others changed in the current list, which the write
// leaves, and remembers that its agent has then seen it. Nothing is stored before the
// write can no more be refused: what a refused one had stored, its store would have to
// roll back for all that share its transaction.
func (a *attempt) tellOfLeft(ctx context.Context, told *todo.Report) error {
	if a.seen(a.current) <= 0 || a.Writer.Person {
		return nil
	}
	left, err := a.lastShown(ctx, a.current)
	if err != nil {
		return err
	}
	a.tell(left, a.current, told)
	a.left = []Seen{{Key: a.key(a.Conversation.Key), List: a.current.List.ID, Revision: a.current.Revision}}
	return nil
}

func (a *attempt) saw(ctx context.Context, list todo.Snapshot) (todo.Snapshot, error) {
	seen := a.seen(list)
	switch {
	case list.Revision == 0:
		return list, nil
	case a.Seen > 0:
		return revision(ctx, a.read, list, a.Seen)
	case a.Conversation.isNobody() || a.Writer.Person:
		return list, nil
	case a.shown.Revision > 0:
		return a.shown, nil
	case seen > 0:
		return revision(ctx, a.read, list, seen)
	case seen < 0 && (len(a.Lines) == 0 || a.sent.Keeps(list)): // it knows the list
		return shownToAgents(ctx, a.read, list, nil)
	case list.Settled():
		return list, nil // what is to be done is all the writer's
	}
	return todo.Snapshot{List: list.List, Items: []todo.Item{}}, nil
}

// tell adds to a report what others changed from a revision of a list to the newest one.
func (a *attempt) tell(base, newest todo.Snapshot, r *todo.Report) {
	r.Tell(base, newest, &a.sent, a.seen(newest) > 0)
}

// settle settles a draft, and says in the report of which list it is, where that is not the
// one that the conversation holds. saw is what the writer was shown.
func (a *attempt) settle(d *todo.Draft, saw todo.Snapshot, report *todo.Report) error {
	before := d.Before()
	if err := a.step(nil).Settle(d, saw, report); err != nil {
		return err
	}
	if a.continues {
		report.Continues = before.Title()
	}
	switch {
	case a.Item != "" && a.List == "" && a.current.List.ID != before.List.ID && !a.continues:
		report.Elsewhere = before.List.ID
		d.StayLeft()
	case before.ReplacedBy != "" && a.Lines != nil && !a.Writer.Person:
		d.Archive(false) // its own chat writes it again
	}
	return nil
}

// save saves the draft of the write if it changed anything, puts away what it replaces,
// and stores what its chat has seen.
func (a *attempt) save(ctx context.Context, draft *todo.Draft, report todo.Report, changed bool) (Outcome, error) {
	before := draft.Before()
	after := before
	if changed {
		after = draft.Snapshot(a.Writer, a.Operation)
	}
	begins := changed && after.Revision == 1
	heard, err := a.hear(ctx, begins)
	if err != nil {
		return Outcome{}, err
	}
	if begins {
		after.List = a.begun(after, heard.topic)
	}
	if heard, err = heard.save(ctx, a.tx); err != nil {
		return Outcome{}, err
	}
	if a.putsAway {
		report.PutAway = a.current.PutAway()
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
		if after.Settled() && !before.Settled() {
			if err := a.archiveSubLists(ctx, after.List); err != nil {
				return Outcome{}, err
			}
		}
	}
	if _, err := heard.save(ctx, a.tx); err != nil { // no write is refused because its chat has no room
		return Outcome{}, err
	}
	moves := report.Elsewhere == ""
	if moves {
		if err := a.name(ctx, after); err != nil {
			return Outcome{}, err
		}
	}
	if err := a.see(ctx, after, moves); err != nil {
		return Outcome{}, err
	}
	return Outcome{After: after, Changed: changed, Report: report}, nil
}

// archive puts a list away; replacedBy is the one that its conversation began
// instead, or empty.
func (a *attempt) archive(ctx context.Context, list todo.Snapshot, replacedBy string, by todo.Writer) error {
	draft := todo.NewDraft(list, a.at)
	draft.ArchiveFor(replacedBy)
	by.Process = a.process
	_, err := a.tx.Save(ctx, draft.Snapshot(by, todo.Operation{})) // no call's, see feed.deliver
	return err
}

func (a *attempt) archiveSubLists(ctx context.Context, main todo.List) error {
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

// begun returns the list that begins with a snapshot, and has a topic.
func (a *attempt) begun(s todo.Snapshot, topic string) todo.List {
	who := a.Conversation
	l := a.Begin
	l.ID, l.Created = NewID(), s.Updated
	l.Principal, l.Conversation, l.Client, l.Chat = a.principal, who.Key, who.Client, who.Chat
	l.Name = cmp.Or(who.Name, l.Name)
	l.Workspace = cmp.Or(who.Workspace, l.Workspace)
	l.Agent = a.Agent
	if !who.Shared {
		l.Previous = a.current.List.ID
	}
	l.Topic = topic
	return l
}

// see stores what the conversation knows after the write, as far as the store does not know it:
// its chat has seen this revision, and the list is its current one, and that of its name, if it
// moves.
func (a *attempt) see(ctx context.Context, s todo.Snapshot, moves bool) error {
	if err := a.passOn(ctx); err != nil {
		return err
	}
	var all []Seen
	if s.Revision > 0 {
		all = a.seenAfter(s, moves)
	}
	for _, now := range append(all, a.left...) {
		isKnown := slices.ContainsFunc(a.known, func(old Seen) bool {
			return old.List == now.List && now.Revision <= old.Revision && (old.Current || !now.Current) && (now.Process == "" || now.Process == old.Process)
		})
		if isKnown {
			continue
		}
		if err := a.tx.See(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

// passOn gives the chat what it takes over, whole. What that was known by is then the chat's, and
// nobody is there by it any more.
func (a *attempt) passOn(ctx context.Context) error {
	if len(a.taken) == 0 {
		return nil
	}
	who := a.Conversation
	before, err := a.tx.Chat(ctx, who.Takes)
	if err == nil {
		before.HostID = cmp.Or(who.Chat, who.Key)
		before.End("known by its id", a.at)
		_, err = a.tx.SaveChat(ctx, before)
	}
	for _, s := range slices.Backward(a.taken) {
		s.Key, s.Current = a.key(who.Key), s.Held > 0
		if err == nil {
			err = a.tx.See(ctx, s)
		}
	}
	return err
}

// seenAfter returns what the chat of the conversation has seen after the write: nothing after a
// person's, except that it begins a list.
func (a *attempt) seenAfter(s todo.Snapshot, moves bool) []Seen {
	if a.Conversation.Key == "" || a.Writer.Person && s.Revision != 1 {
		return nil
	}
	own := Seen{Key: a.key(a.Conversation.Key), List: s.List.ID, Current: moves}
	if !a.Writer.Person { // else the chat's agent has seen nothing
		own.Revision, own.Process = s.Revision, a.here(a.Conversation).Process
	}
	return []Seen{own}
}

// name has the list of the write have the conversation's name, unless the call named the list: the
// name stays with its own.
func (a *attempt) name(ctx context.Context, s todo.Snapshot) error {
	if a.Conversation.Name == "" || a.List != "" || s.Revision == 0 || s.List.ID == a.named {
		return nil
	}
	return a.tx.SetName(ctx, a.principal, a.Conversation.Name, s.List.ID)
}
