package todo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file chooses the list that a call means. It is the only place with guesses
// (docs/spec/architecture.md, "Who is calling").

// CandidateAge is how long after its last update a conversation that is not certain
// may go on with a list by writing most of it again.
const CandidateAge = 7 * 24 * time.Hour

// maxCandidates is how many lists such a write is compared with.
const maxCandidates = 100

// Target is what a call means: who calls, and what the call says about its list.
type Target struct {
	Conversation Conversation
	// List is the id of a list; empty means the one that the conversation holds.
	List string
	// Lines are the lines of a whole-list write, also of an empty one, as View has
	// them; nil in other calls.
	Lines []Line
	View  View
	// Item is the id of the item that the call changes; empty in other calls.
	Item string
	// Append is true when the call adds items.
	Append bool
	// Agent is the sub-agent that calls; empty for the main agent.
	Agent string

	principal string // set by [Lists]
	deleted   bool   // List may be a deleted one
}

// choice is the list that a call means.
type choice struct {
	list Snapshot // revision 0 when there is none
	seen int64    // the newest revision that the caller's agent was shown; -1 when unknown
	// shown is what the caller's agent was shown of the list, or where the write was
	// recognised by that, any of its agents; revision 0 where it was not needed.
	shown Snapshot
	// knows is true when the call keeps so much of the list that its agent must know
	// it, although no cursor says so.
	knows bool
	// begins is true when the write begins the conversation's next list.
	begins bool
	// putAway is the open list that the write gives up for this one; revision 0 for
	// none.
	putAway Snapshot
	// leaves is true when the write leaves a list of which its agent has not seen all.
	leaves bool
	// continues is true for a list of an earlier chat, or of an earlier connection.
	continues bool
	current   Snapshot // the list that the conversation holds; revision 0 for none
}

// finder looks for the list that a call means.
type finder struct {
	*Board
	read    Reader
	all     bool // the lists of every principal
	target  Target
	mirrors bool // the caller writes a list that mirrors its host's own
	// changes reports whether the write would change a list, of which its agent was shown
	// a revision; nil for a read.
	changes func(shown, newest Snapshot) bool
	held    []Cursor // of the holder, the current one first
	known   []Cursor // of the conversation; those of the holder unless it has a name
}

// find returns the list that a call means, or [ErrNotFound] when it names one
// that its principal does not have.
func (f *finder) find(ctx context.Context) (choice, error) {
	t := f.target
	if c := t.Conversation; c.Holder() != "" {
		var err error
		if f.held, err = f.read.Cursors(ctx, Key{t.principal, c.Holder()}); err != nil {
			return choice{}, fmt.Errorf("find the conversation's list: %w", err)
		}
		f.held = f.ofConnection(f.held)
		f.known = f.held
		if c.Key != c.Holder() {
			if f.known, err = f.read.Cursors(ctx, Key{t.principal, c.Key}); err != nil {
				return choice{}, fmt.Errorf("find what the conversation has seen: %w", err)
			}
		}
	}
	out, err := f.choose(ctx)
	if err == nil && !f.all && out.list.Revision > 0 && out.list.List.Principal != t.principal {
		err = ErrNotFound
	}
	if err != nil {
		return choice{}, err
	}
	out.seen = f.seen(out.list.List.ID)
	return out, nil
}

// seen returns the newest revision of a list that the caller's agent was
// shown, or -1.
func (f *finder) seen(list string) int64 {
	for _, c := range f.known {
		if c.List == list {
			return c.Seen
		}
	}
	return -1
}

func (f *finder) choose(ctx context.Context) (choice, error) {
	t := f.target
	current, err := f.current(ctx)
	if err != nil {
		return choice{}, err
	}
	out := choice{list: current, current: current}
	switch {
	case t.List != "":
		out.list, err = f.read.Load(ctx, t.List, 0)
		if errors.Is(err, ErrNotFound) || out.list.Deleted && !t.deleted {
			return choice{}, ErrNotFound // the same as for another principal's list
		}
		out.knows = f.seen(t.List) < 0 && t.Lines != nil && keeps(t.Lines, out.list)
		return out, err
	case t.Item != "":
		out.list, err = f.withItem(ctx, current)
		return out, err
	case t.Append:
		return f.next(ctx, out)
	case t.Lines == nil:
	case t.Conversation.Name != "":
		out.begins = current.Revision == 0
		out.knows = f.seen(current.List.ID) < 0 && keeps(t.Lines, current)
	case f.isCertain():
		return f.replace(ctx, out)
	default:
		return f.goOn(ctx, out)
	}
	return out, nil
}

// current returns the list that the holder holds, of revision 0 for none.
func (f *finder) current(ctx context.Context) (Snapshot, error) {
	if len(f.held) == 0 || !f.held[0].Current {
		return Snapshot{}, nil
	}
	return f.load(ctx, f.held[0].List)
}

// load returns a list that the holder holds or held, of revision 0 when there
// is none any more.
func (f *finder) load(ctx context.Context, id string) (Snapshot, error) {
	list, err := f.read.Load(ctx, id, 0)
	if errors.Is(err, ErrNotFound) || list.Deleted {
		return Snapshot{}, nil
	}
	return list, err
}

// isCertain reports whether the caller is the chat that it was before: its key is
// proof, or it has written in this connection, which no other chat has.
func (f *finder) isCertain() bool {
	c := f.target.Conversation
	return !c.Hint || !c.Shared && len(f.held) > 0 && f.held[0].Current && f.held[0].Process == f.process
}

// ofConnection returns a conversation's cursors as this connection has them: while
// another process serves the same chat, too, each goes on with what it wrote itself.
func (f *finder) ofConnection(held []Cursor) []Cursor {
	c := f.target.Conversation
	mine := slices.IndexFunc(held, func(h Cursor) bool { return h.Moved > 0 && h.Process == f.process })
	if !c.Hint || c.Shared || mine <= 0 {
		return held
	}
	held = slices.Clone(held)
	first := held[mine]
	for i := range held {
		held[i].Current = false
	}
	first.Current = true
	return slices.Insert(slices.Delete(held, mine, mine+1), 0, first)
}

// isElsewhere reports whether what the conversation writes cannot be in a list: that of
// a sub-agent that has ended, or one that the agent keeps in its host's own tool.
func (f *finder) isElsewhere(s Snapshot) bool {
	return s.Archived && s.ReplacedBy == "" && s.List.Agent != "" || s.List.Mirrored && !f.mirrors
}

// replace chooses for a whole-list write of a certain conversation: the list it holds,
// unless that is settled or the write has nothing of it.
func (f *finder) replace(ctx context.Context, out choice) (choice, error) {
	current, lines := out.current, f.target.Lines
	if current.Revision == 0 || f.isElsewhere(current) {
		out.begins = true
		return out, nil
	}
	seen := f.seen(current.List.ID)
	if len(current.Items) == 0 || seen <= 0 {
		return out, nil
	}
	shown, err := f.revision(ctx, current, seen)
	if err != nil {
		return choice{}, err
	}
	out.shown = shown
	settled := current.Settled() && shown.Settled()
	switch {
	case len(lines) == 0:
		out.begins = current.Settled()
		return out, nil
	case settled && !f.changes(shown, current):
		return out, nil
	case !settled && (hasAny(lines, shown) || len(shown.Items) == 0):
		return out, nil
	case shown.Settled() && !settled:
		return out, nil // a person has added to it what is to be done yet
	}
	on, err := f.read.CursorsOn(ctx, current.List.Principal, current.List.ID)
	if err != nil {
		return choice{}, fmt.Errorf("find who holds the list: %w", err)
	}
	if current.Open() && !slices.ContainsFunc(on, f.isOthers) {
		out.putAway = current
	}
	earlier, err := f.ownLists(ctx)
	if err != nil {
		return choice{}, err
	}
	most := 0
	for _, l := range earlier {
		n := shared(lines, l.Items)
		comesBack := l.List.ID != current.List.ID && l.isUnfinished() && !f.isElsewhere(l)
		if comesBack && n > most && continues(f.target, l, true) {
			out.list, out.shown, most = l, Snapshot{}, n
		}
	}
	out.begins = most == 0
	return out, nil
}

// isOthers reports whether a cursor is that of another conversation that is present and
// holds the list.
func (f *finder) isOthers(c Cursor) bool {
	own := f.target.Conversation
	return c.Current && c.Conversation != own.Key && c.Conversation != own.Holder() && f.isPresent(c)
}

// next chooses for a call that adds items: the list that the conversation holds, or the
// next one when all of that is completed, as far as its agent was shown it, too.
func (f *finder) next(ctx context.Context, out choice) (choice, error) {
	current := out.current
	out.begins = current.Revision == 0 || f.isElsewhere(current)
	if out.begins || !current.AllCompleted() || f.target.Conversation.Name != "" {
		return out, nil
	}
	shown := current
	if seen := f.seen(current.List.ID); seen > 0 {
		var err error
		if shown, err = f.revision(ctx, current, seen); err != nil {
			return choice{}, err
		}
	}
	out.begins = shown.AllCompleted()
	return out, nil
}

// hasAny reports whether a whole-list write has an item of a list, by its id or by what
// it is called.
func hasAny(lines []Line, list Snapshot) bool {
	for i, line := range lines[:min(len(lines), len(list.Items))] {
		if line.Text == list.Items[i].Text {
			return true // as almost always
		}
	}
	return shared(lines, list.Items) > 0 ||
		slices.ContainsFunc(lines, func(l Line) bool { return l.ID != "" && list.index(l.ID) >= 0 })
}

// goOn chooses for a whole-list write of a conversation that is not certain: an earlier
// list that the write shows to be the agent's, else the next one.
func (f *finder) goOn(ctx context.Context, out choice) (choice, error) {
	current, lines := out.current, f.target.Lines
	if len(lines) == 0 {
		out.begins = current.Settled()
		return out, f.checkOnlyOneOpen(ctx)
	}
	if current.Revision > 0 && !f.isElsewhere(current) && (len(current.Items) == 0 || namesAll(lines, current)) {
		return out, nil
	}
	if current.Revision > 0 && shared(lines, current.Items) == len(lines) {
		// No other list can have more of the lines.
		if list, shown, err := f.best(ctx, []Snapshot{current}, current); err != nil || list.Revision > 0 {
			out.list, out.shown, out.continues = list, shown, f.held[0].Process != f.process
			return out, err
		}
	}
	list, shown, own, err := f.recognise(ctx, current)
	switch {
	case err != nil:
		return choice{}, err
	case list.Revision > 0:
		out.list, out.shown = list, shown
		out.continues = !own || !slices.ContainsFunc(f.held, func(c Cursor) bool { return c.List == list.List.ID && c.Process == f.process })
		return out, nil
	}
	out.begins = current.Revision == 0 || !current.Settled() || f.changes(current, current)
	return out, nil
}

// namesAll reports whether every line names an item of the list by id.
func namesAll(lines []Line, list Snapshot) bool {
	return !slices.ContainsFunc(lines, func(l Line) bool { return l.ID == "" || list.index(l.ID) < 0 })
}

// withItem returns the list that has the item: the current one, else the one of those
// that the holder held that it held last.
func (f *finder) withItem(ctx context.Context, current Snapshot) (Snapshot, error) {
	if current.index(f.target.Item) >= 0 {
		return current, nil
	}
	lists, err := f.ownLists(ctx)
	for _, l := range lists {
		if l.index(f.target.Item) >= 0 {
			return l, nil
		}
	}
	return current, err
}

// ownLists returns the lists that the holder holds or held, the one that became
// current last first.
func (f *finder) ownLists(ctx context.Context) (lists []Snapshot, err error) {
	for i, c := range f.held {
		if i == maxCandidates || c.Moved == 0 {
			break
		}
		list, err := f.load(ctx, c.List)
		if err != nil {
			return nil, err
		}
		if list.Revision > 0 {
			lists = append(lists, list)
		}
	}
	return lists, nil
}

// checkOnlyOneOpen refuses an empty write by a key that several chats share, if
// they have several open lists.
func (f *finder) checkOnlyOneOpen(ctx context.Context) error {
	if !f.target.Conversation.Shared {
		return nil
	}
	lists, err := f.ownLists(ctx)
	if err != nil {
		return err
	}
	var open []string
	for _, l := range lists {
		if l.Open() && !l.Archived && f.now().Sub(l.Updated) <= CandidateAge {
			open = append(open, fmt.Sprintf("%q (%s)", Cut(l.Title(), 40), l.List.ID))
		}
	}
	if len(open) < 2 {
		return nil
	}
	return &InputError{Problems: []Problem{{Path: "todos", Message: "Several chats share this connection, and which list to clear is unclear: " +
		strings.Join(open, ", ") + ". Nothing was changed. Send list_id with the id of one, or set its items to completed"}}}
}

// recognise returns the unfinished list that a whole-list write continues, and what its
// agents were shown of it; of several the one of which it keeps the most items, and
// revision 0 when there is none. It looks among the lists that the holder held, and
// then among those of the same client and workspace.
func (f *finder) recognise(ctx context.Context, current Snapshot) (list, shown Snapshot, own bool, err error) {
	mine, err := f.ownLists(ctx)
	if err != nil {
		return list, shown, false, err
	}
	if list, shown, err = f.best(ctx, mine, current); err != nil || list.Revision > 0 {
		return list, shown, true, err
	}
	c := f.target.Conversation
	others, err := f.read.Find(ctx, Query{Principal: &f.target.principal, Client: c.Client, Workspace: &c.Workspace,
		UpdatedSince: f.now().Add(-CandidateAge), Limit: maxCandidates})
	if err != nil {
		return list, shown, false, fmt.Errorf("find unfinished lists: %w", err)
	}
	others = slices.DeleteFunc(others, func(l Snapshot) bool {
		return l.List.Name != "" || l.Archived || slices.ContainsFunc(mine, func(m Snapshot) bool { return m.List.ID == l.List.ID })
	})
	list, shown, err = f.best(ctx, others, current)
	return list, shown, false, err
}

// best returns the list that the write continues among some.
func (f *finder) best(ctx context.Context, lists []Snapshot, current Snapshot) (list, shown Snapshot, err error) {
	most := 0
	for _, l := range lists {
		n := shared(f.target.Lines, l.Items)
		isCurrent := l.List.ID == current.List.ID
		// What an agent wrote it was shown.
		if n == 0 || n <= most || !f.mayContinue(l) || !l.Writer.Person && !continues(f.target, l, isCurrent) {
			continue
		}
		on, err := f.read.CursorsOn(ctx, l.List.Principal, l.List.ID)
		if err != nil {
			return list, shown, fmt.Errorf("find who holds the list: %w", err)
		}
		saw, err := f.shownToAgents(ctx, l, on)
		if err != nil {
			return list, shown, err
		}
		if f.isFree(on) && continues(f.target, saw, isCurrent) {
			list, shown, most = l, saw, n
		}
	}
	return list, shown, nil
}

// mayContinue reports whether a list is one that the caller may go on with by writing it
// again: unfinished, changed lately, of the same agent and not of another chat of the
// host. One that was put away is not, unless its conversation put it away itself.
func (f *finder) mayContinue(l Snapshot) bool {
	c := f.target.Conversation
	otherChat := c.Chat != "" && l.List.Chat != "" && c.Chat != l.List.Chat
	return l.isUnfinished() && f.target.Agent == l.List.Agent && !l.List.Mirrored && !otherChat &&
		f.now().Sub(l.Updated) <= CandidateAge
}

// isUnfinished reports whether an agent may go on with a list: it is open, and was not
// put away, or only for the next plan.
func (s Snapshot) isUnfinished() bool {
	return s.Open() && (!s.Archived || s.ReplacedBy != "")
}

// isFree reports whether the caller holds or held a list with these cursors in this
// connection, or no conversation that is present holds it.
func (f *finder) isFree(on []Cursor) bool {
	own := f.target.Conversation
	isMine := func(c Cursor) bool {
		return c.Moved > 0 && c.Conversation == own.Key && (own.Shared || c.Process == f.process)
	}
	isTheirs := func(c Cursor) bool {
		return (c.Current || c.Moved > 0 && sharedKey(c.Conversation)) && f.isPresent(c)
	}
	return slices.ContainsFunc(on, isMine) || !slices.ContainsFunc(on, isTheirs)
}

// shownToAgents returns the newest revision of a list that any agent was shown.
func (f *finder) shownToAgents(ctx context.Context, l Snapshot, on []Cursor) (Snapshot, error) {
	seen := int64(0)
	for _, c := range on {
		if c.Conversation != personKey {
			seen = max(seen, c.Seen)
		}
	}
	if seen == 0 {
		return f.lastAgentRevision(ctx, l)
	}
	return f.revision(ctx, l, seen)
}

// continues reports whether a whole-list write shows that its agent knows a list as it
// was shown to its agents: four fifths of its items, and two, or all of the one that
// its conversation holds. Where agents finished items one of these has to be sent as
// finished: a plan of the same shape for another task has none.
func continues(t Target, shown Snapshot, isCurrent bool) bool {
	n := shared(t.Lines, shown.Items)
	if 5*n < 4*len(shown.Items) || n < 2 && !(isCurrent && n == len(shown.Items) && n > 0) {
		return false
	}
	finished, sent := 0, 0
	for _, item := range shown.Items {
		if !item.Status.Settled() || item.ByPerson {
			continue
		}
		finished++
		for _, line := range t.Lines {
			if status, ok := t.View.Core(line.Status); ok && status.Settled() && item.isCalled(Fold(line.Text)) {
				sent++
				break
			}
		}
	}
	return finished == 0 || sent > 0 || t.View.Words == nil
}

// keeps reports whether a whole-list write keeps at least half of a list's open items,
// and two of its items (all, where list or write has fewer): then its agent knows the
// list.
func keeps(lines []Line, list Snapshot) bool {
	var open []Item
	for _, item := range list.Items {
		if !item.Status.Settled() {
			open = append(open, item)
		}
	}
	return 2*shared(lines, open) >= len(open) && shared(lines, list.Items) >= min(2, len(lines), len(list.Items))
}

// shared counts the items that a line has. Each line counts for one item at most.
func shared(lines []Line, items []Item) int {
	unmatched := make(map[string]int, len(lines))
	for _, l := range lines {
		unmatched[Fold(l.Text)]++
	}
	n := 0
	for _, item := range items {
		for _, name := range item.names() {
			if unmatched[name] > 0 {
				unmatched[name]--
				n++
				break
			}
		}
	}
	return n
}

// names returns the folded texts by which an agent may mean the item: its text, its
// active text, the short forms of a long text, and the wordings that a person replaced.
func (i Item) names() []string {
	names := []string{Fold(i.Text)}
	if i.Active != "" {
		names = append(names, Fold(i.Active))
	}
	names = append(names, foldAll(shortened(i.Text))...)
	return append(names, foldAll(i.Hand.wordings())...)
}

// isCalled reports whether a folded text means the item.
func (i Item) isCalled(folded string) bool { return slices.Contains(i.names(), folded) }

// isSent reports whether a line means the item.
func (i Item) isSent(lines []Line) bool {
	return slices.ContainsFunc(lines, func(l Line) bool { return i.isCalled(Fold(l.Text)) })
}

// revision returns a revision of a list, or the first kept one after it.
func (f *finder) revision(ctx context.Context, newest Snapshot, revision int64) (Snapshot, error) {
	if revision >= newest.Revision {
		return newest, nil
	}
	return revisionFrom(ctx, f.read, newest, revision)
}

func revisionFrom(ctx context.Context, read Reader, newest Snapshot, revision int64) (Snapshot, error) {
	found, err := read.History(ctx, newest.List.ID, revision-1, 1)
	if err != nil {
		return Snapshot{}, fmt.Errorf("load the revision that the writer saw: %w", err)
	}
	return append(found, newest)[0], nil
}

// lastAgentRevision returns the last revision up to s that no person wrote. If
// people wrote all of them, the result has no items. If the store no longer
// keeps a revision, the result is the one after it.
func (f *finder) lastAgentRevision(ctx context.Context, s Snapshot) (Snapshot, error) {
	if !s.Writer.Person {
		return s, nil
	}
	last, err := f.read.LastBy(ctx, s.List.ID, false, s.Revision)
	if errors.Is(err, ErrNotFound) {
		last, err = revisionFrom(ctx, f.read, s, 1)
		if last.Revision == 1 {
			last = Snapshot{List: s.List, Items: []Item{}}
		}
	}
	if err != nil {
		return s, fmt.Errorf("load the revision that the agent last saw: %w", err)
	}
	return last, nil
}
