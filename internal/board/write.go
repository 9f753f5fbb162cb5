package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Write is one change to apply to a list.
type Write struct {
	Target
	Writer todo.Writer // the board sets its Process
	// Operation identifies the write; if its id is empty, the board makes one. A repeatable write also has a digest.
	Operation todo.Operation
	Before    string // another id of the operation, used before the chat was known; empty for none
	Change    todo.Change
	Title     string // for a list without a given title; ignored if [todo.CleanTitle] refuses it
	Seen      int64  // the revision that a person saw; 0 means the newest or, for an agent, the one that its chat saw
}

// Outcome is the result of a write.
type Outcome struct {
	// After is the revision that the write made or, if it is repeated, that its first run made. If the write changed
	// nothing, After is the newest revision; number 0 means that there is no list.
	After    todo.Snapshot
	Changed  bool // this write made the revision After
	Repeated bool // the operation had been applied before
	todo.Report
}

// Apply applies a write and returns when its revision is durable. It returns [ErrReadOnly], an
// [*todo.InputError] when the change refuses (nothing was changed), [todo.ErrMirrored], [ErrNotFound] when
// the target names no list of the principal, [ErrTooManyLists], [ErrOperationReused], an error that wraps
// [ErrUnknownOutcome], the context's error or another error of the store.
func (l Lists) Apply(ctx context.Context, w Write) (Outcome, error) {
	b := l.board
	if w.Operation.ID == "" {
		w.Operation.ID = NewID()
	}
	w.Conversation = l.Own(w.Conversation)
	w.Writer.User, w.Writer.Process = cmp.Or(l.id.User, w.Writer.User), b.process
	here := l.here(w.Conversation)
	key := Key{Chat: cmp.Or(w.Conversation.Key, w.Conversation.Name, w.List), Mirrors: w.Conversation.Mirrors}
	var out Outcome
	run := func(mayBeRepeat bool) error {
		return l.update(ctx, key, func(tx Tx) (err error) {
			out, err = (&attempt{Lists: l, Write: w, read: tx, tx: tx, at: b.now(), here: here}).write(ctx, mayBeRepeat)
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
	call := out.After
	if !out.Changed {
		call.Call = NewID()[:callIDLength]
	}
	b.feed.deliver(call, true)
	return out, nil
}

// repeated returns the outcome of the write's operation if that was applied before, else the zero Outcome.
func (a *attempt) repeated(ctx context.Context) (Outcome, error) {
	found, err := a.tx.Find(ctx, Query{Operation: a.Operation.ID})
	if err == nil && len(found) == 0 && a.Before != "" {
		found, err = a.tx.Find(ctx, Query{Operation: a.Before})
	}
	if err != nil || len(found) == 0 {
		return Outcome{}, err
	}
	after := found[0]
	if after.Operation.Digest != a.Operation.Digest || !a.all && after.List.Principal != a.id.Principal {
		return Outcome{}, ErrOperationReused
	}
	return Outcome{After: after, Repeated: true, Report: after.Report}, nil
}

// write applies the change to the revision of the chosen list that the writer was shown, and merges it with later
// changes by others. It reports others' changes of that list, and of a list that the write leaves.
func (a *attempt) write(ctx context.Context, mayBeRepeat bool) (out Outcome, err error) {
	if mayBeRepeat {
		if out, err = a.repeated(ctx); err != nil || out.Repeated {
			return out, err
		}
	}
	err = a.choose(ctx)
	if err == nil && len(a.list.Later) > 0 && !a.Writer.Person && a.List == "" {
		err = a.release(ctx, false)
	}
	var told todo.Report
	if err == nil && (a.begins || a.putsAway) {
		err = a.tellOfLeft(ctx, &told)
	}
	if err != nil {
		return Outcome{}, err
	}
	saw, err := a.saw(ctx, a.list)
	if err != nil {
		return Outcome{}, err
	}
	if saw.Revision != a.list.Revision && a.Seen == 0 {
		a.tell(saw, a.list, &told)
	}
	base := saw
	if a.Lines == nil && a.Seen == 0 {
		base = a.list // the call says nothing about items that others changed
	}
	base.LastID = max(base.LastID, a.list.LastID)
	var failed error
	step := a.step(ctx, a.list.List, &failed)
	draft, err := step.Draft(base, a.list)
	if err == nil {
		err = step.Settle(draft, saw, &told)
	}
	if err = cmp.Or(err, failed); err != nil {
		return Outcome{}, err
	}
	before := draft.Before
	if a.continues {
		told.Continues = before.Title()
	}
	switch {
	case a.Item != "" && a.List == "" && a.current.List.ID != before.List.ID && !a.continues:
		told.Elsewhere = before.List.ID
		draft.StayLeft()
	case before.ReplacedBy != "" && a.Lines != nil && !a.Writer.Person:
		draft.Archive(false, "") // its own chat writes it again
	}
	// A new list without items does not change the draft, but is saved, since it replaces the current list.
	clears := a.begins && a.Lines != nil && len(a.Lines) == 0 && a.current.Revision > 0
	// A list that is archived only by its age comes back by a new revision.
	wakes := draft.BringsBack() && a.board.archived(before).Archived
	return a.save(ctx, draft, told, clears || wakes || a.mends || draft.Changed())
}

// step returns the write as a [todo.Step]. Its function Present stores an error of the store in failed.
func (a *attempt) step(ctx context.Context, list todo.List, failed *error) todo.Step {
	s := todo.Step{Change: a.Change, Sent: &a.sent, Author: todo.PersonChat, At: a.at, Title: a.Title, Mirrors: a.Conversation.Mirrors}
	if !a.Writer.Person {
		s.Author = a.Conversation.Key
	}
	known := make(map[string]bool) // one answer per author: a write keeps all items of an agent, or none
	s.Present = func(author string) bool {
		if _, isKnown := known[author]; !isKnown && *failed == nil {
			known[author], *failed = a.anyHere(ctx, list, func(s Seen) bool { return s.Chat == author })
		}
		return known[author]
	}
	return s
}

// changes returns [todo.Step.Changes] of the write: false if it has no Change, and true after an error of the store.
func (a *attempt) changes(ctx context.Context, shown, newest todo.Snapshot) bool {
	if a.Change == nil {
		return false
	}
	var failed error
	return a.step(ctx, newest.List, &failed).Changes(shown, newest) || failed != nil
}

// tellOfLeft reports what others changed in the current list, which the write leaves, and sets the field left for
// [attempt.see]. It stores nothing: if the write were refused, the store would have to roll that back for all writes
// that share the transaction.
func (a *attempt) tellOfLeft(ctx context.Context, told *todo.Report) error {
	if a.seen(a.current) <= 0 || a.Writer.Person {
		return nil
	}
	left, err := a.lastShown(ctx, a.current)
	if err != nil {
		return err
	}
	a.tell(left, a.current, told)
	a.left = []Seen{{Key: a.key, List: a.current.List.ID, Revision: a.current.Revision}}
	return nil
}

// saw returns a list as the writer was shown it.
func (a *attempt) saw(ctx context.Context, list todo.Snapshot) (todo.Snapshot, error) {
	who, seen := a.Conversation, a.seen(list)
	switch {
	case list.Revision == 0:
		return list, nil
	case a.Seen > 0:
		return revision(ctx, a.read, list, a.Seen)
	case who.Key == "" && who.Name == "" || a.Writer.Person:
		return list, nil
	case a.shown.Revision > 0:
		return a.shown, nil
	case seen > 0:
		return revision(ctx, a.read, list, seen)
	case seen < 0 && (len(a.Lines) == 0 || a.sent.Keeps(list)): // the write shows that the agent knows the list
		return shownToAgents(ctx, a.read, list, nil)
	case list.Settled():
		return list, nil // all items are settled: open items of the write are new
	}
	return todo.Snapshot{List: list.List, Items: []todo.Item{}}, nil
}

// tell adds to a report what others changed from a revision of a list to the newest one.
func (a *attempt) tell(base, newest todo.Snapshot, r *todo.Report) {
	r.Tell(base, newest, &a.sent, a.seen(newest) > 0, a.Change != nil)
}

// save saves the draft if changed is true, archives the list that it replaces, and stores what the chat has seen.
func (a *attempt) save(ctx context.Context, draft *todo.Draft, report todo.Report, changed bool) (Outcome, error) {
	before := draft.Before
	after := before
	if changed {
		after = draft.Snapshot(a.Writer, a.Operation)
	}
	begins := changed && after.Revision == 1
	topic, err := a.hear(ctx, begins)
	if err != nil {
		return Outcome{}, err
	}
	if begins {
		after.List = a.begun(after, topic)
	}
	if changed && (a.begins || a.putsAway) && len(a.current.Later) > 0 {
		err = a.takeLater(ctx, &after)
	}
	if err == nil && a.putsAway {
		report.PutAway = a.current.PutAway()
		draft := todo.NewDraft(a.current, a.at)
		draft.Archive(true, after.List.ID)
		_, err = a.saveBeside(ctx, draft, a.Writer)
	}
	if a.Operation.Digest != "" && changed {
		after.Report = report
	}
	if err == nil && changed {
		after, err = a.tx.Save(ctx, after)
	}
	switch {
	case err != nil || !changed:
	case after.Deleted && !before.Deleted:
		err = a.alsoSubLists(ctx, after.List, todo.Edit{Do: todo.EditDelete})
	case before.Deleted && !after.Deleted:
		err = a.alsoSubLists(ctx, after.List, todo.Edit{Do: todo.EditUndelete})
	case after.Settled() && !before.Settled():
		err = a.alsoSubLists(ctx, after.List, todo.Edit{Do: todo.EditArchive})
	}
	if err == nil {
		err = a.see(ctx, after, report.Elsewhere == "")
	}
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{After: after, Changed: changed, Report: report}, nil
}

// takeLater moves the items that wait for the end of the turn from the list that was current to the written list.
func (a *attempt) takeLater(ctx context.Context, to *todo.Snapshot) error {
	to.Later = slices.Concat(to.Later, a.current.Later)
	if a.current.Later = nil; a.putsAway {
		return nil // save then archives the current list, and so saves it
	}
	_, err := a.saveBeside(ctx, todo.NewDraft(a.current, a.at), a.Writer)
	return err
}

// saveBeside saves a draft in the write's transaction, without an operation: so feed.pull does not take it for a call.
func (a *attempt) saveBeside(ctx context.Context, draft *todo.Draft, by todo.Writer) (todo.Snapshot, error) {
	by.Process = a.board.process
	return a.tx.Save(ctx, draft.Snapshot(by, todo.Operation{}))
}

// alsoSubLists makes an edit in the lists of a main list's sub-agents, and saves those that it changes. A deleted main
// list stays their Parent until its conversation begins the next list.
func (a *attempt) alsoSubLists(ctx context.Context, main todo.List, e todo.Edit) error {
	subs, err := a.tx.Find(ctx, Query{Principal: &main.Principal, Parent: main.ID, Deleted: e.Do == todo.EditUndelete})
	for _, sub := range subs {
		if err == nil {
			sub, err = a.tx.Load(ctx, sub.List.ID, 0)
		}
		if err != nil {
			break
		}
		draft := todo.NewDraft(sub, a.at)
		if err = draft.Edit(e); err == nil && draft.Changed() {
			_, err = a.saveBeside(ctx, draft, a.Writer)
		}
	}
	return err
}

// begun returns the new list of the write's conversation that begins with snapshot s, under a topic if there is one.
func (a *attempt) begun(s todo.Snapshot, topic string) todo.List {
	who := a.Conversation
	l := todo.List{ID: NewID(), Principal: a.id.Principal, Conversation: who.Key, Client: who.Client, Chat: who.Chat, Name: who.Name,
		Workspace: who.Workspace, Branch: a.branch, ParentConversation: who.Parent, Agent: who.Agent, Mirrored: who.Mirrors, Created: s.Updated}
	if !who.Shared {
		l.Previous = a.current.List.ID
	}
	return l.Begins(topic, s.Items)
}

// see stores what the conversation knows after the write, unless the store knows it already: its
// chat has seen revision s and, if moves is true, s is the current list of the chat and of the conversation's
// name. A person's write shows the chat nothing, but if the write begins a list, the chat holds it.
func (a *attempt) see(ctx context.Context, s todo.Snapshot, moves bool) error {
	who, err := a.Conversation, error(nil)
	if moves && who.Name != "" && a.List == "" && s.Revision > 0 && s.List.ID != a.named {
		err = a.tx.SetName(ctx, a.id.Principal, who.Name, s.List.ID)
	}
	if err == nil && len(a.taken) > 0 {
		err = a.passOn(ctx)
	}
	all := a.left
	if who.Key != "" && s.Revision > 0 && (!a.Writer.Person || s.Revision == 1) {
		own := Seen{Key: a.key, List: s.List.ID, Current: moves}
		if !a.Writer.Person {
			own.Revision, own.Process = s.Revision, a.here.Process
		}
		all = append([]Seen{own}, a.left...)
	}
	for _, now := range all {
		isKnown := slices.ContainsFunc(a.known, func(old Seen) bool {
			return old.List == now.List && now.Revision <= old.Revision && (old.Current || !now.Current) && (now.Process == "" || now.Process == old.Process)
		})
		if err == nil && !isKnown {
			err = a.tx.See(ctx, now)
		}
	}
	return err
}

// passOn gives the chat all that the earlier chat, see [Conversation.Takes], has seen, and ends the earlier chat.
func (a *attempt) passOn(ctx context.Context) error {
	before, err := a.tx.Chat(ctx, a.Conversation.Takes)
	if err == nil {
		before.HostID = cmp.Or(a.Conversation.Chat, a.Conversation.Key)
		before.End("known by its id", a.at)
		_, err = a.tx.SaveChat(ctx, before)
	}
	for _, s := range slices.Backward(a.taken) {
		s.Key, s.Current = a.key, s.Held > 0
		if err == nil {
			err = a.tx.See(ctx, s)
		}
	}
	return err
}
