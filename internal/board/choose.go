package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
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
	Lines []todo.Line
	View  todo.View
	// Item is the id of the item that the call changes; empty in other calls.
	Item string
	// Append is true when the call adds items.
	Append bool
	// Agent is the sub-agent that calls; empty for the main agent.
	Agent string

	principal string // set by [Lists], as is
	subject   string
	deleted   bool // List may be a deleted one
	damaged   bool // and one whose newest revision is damaged: the last good one counts
}

// attempt is one try of a write, in a transaction of the store. A read is one that has
// a target alone.
type attempt struct {
	*Board
	Write
	read  Reader
	tx    Tx        // nil in a read
	all   bool      // the lists of every principal
	at    time.Time // of the write: a list and the one put away for it have the same
	named string    // the id of the list that has the conversation's name; empty for none
	known []Seen    // what its chat has seen, the current list first
	here  todo.Here // the process that serves the conversation, in a write
	left  []Seen    // what it saw of the list that the write leaves
	taken []Seen    // what the chat that it takes over has seen

	current todo.Snapshot // the list that the conversation holds; revision 0 for none
	list    todo.Snapshot // the one that the call means; revision 0 for none
	// shown is what the caller's agent was shown of the list, or where the write was
	// recognised by that, any of its agents; revision 0 where it was not needed.
	shown todo.Snapshot
	sent  todo.Sent // Lines and View, set by choose
	// begins is true when the write begins the conversation's next list.
	begins bool
	// mends is true when the newest revision is damaged, and the list is one before it.
	mends bool
	// putsAway is true when the write gives up the current list, which is open.
	putsAway bool
	// continues is true for a list of an earlier chat, or of an earlier connection.
	continues bool
}

// choose finds the list that the call means. It returns [ErrNotFound] when the call
// names one that its principal does not have.
func (a *attempt) choose(ctx context.Context) (err error) {
	a.sent = todo.Sent{Lines: a.Lines, View: a.View}
	who := a.Conversation
	if who.Name != "" {
		if a.named, err = a.read.Named(ctx, a.principal, who.Name); err != nil {
			return fmt.Errorf("find the list of the name: %w", err)
		}
	}
	if who.Key != "" {
		if a.known, err = a.read.Seen(ctx, Key{a.principal, who.Key, who.Mirrors}); err != nil {
			return fmt.Errorf("find what the chat has seen: %w", err)
		}
		if who.Hint && !who.Shared {
			a.known = a.ofConnection(a.known)
		}
		if who.Takes != "" && who.Takes != who.Key && who.Name == "" {
			if err = a.takeOver(ctx); err != nil {
				return err
			}
		}
	}
	id := a.named
	if who.Name == "" {
		id = Current(a.known)
	}
	if id != "" {
		if a.current, err = a.load(ctx, id); err != nil {
			return err
		}
	}
	a.list = a.current
	if err = a.chooseBy(ctx); err != nil {
		return err
	}
	if !a.all && a.list.Revision > 0 && a.list.List.Principal != a.principal {
		return ErrNotFound
	}
	if a.begins {
		a.list = todo.Snapshot{}
	}
	if a.begins || a.putsAway { // numbers go on, so that one means one step of a conversation
		a.list.LastID = max(a.list.LastID, a.current.LastID)
	}
	if a.list.Items == nil {
		a.list.Items = []todo.Item{}
	}
	return nil
}

// takeOver finds what the conversation takes over, see [Conversation.Takes]. Who has taken it is
// noted as the id that it had not known.
func (a *attempt) takeOver(ctx context.Context) error {
	who := a.Conversation
	if slices.ContainsFunc(a.known, func(s Seen) bool { return s.Held > 0 }) {
		return nil
	}
	chat, err := a.read.Chat(ctx, who.Takes)
	if err != nil || chat.ID == "" || chat.HostID != "" {
		return err
	}
	if a.taken, err = a.read.Seen(ctx, Key{a.principal, who.Takes, who.Mirrors}); err == nil && len(a.taken) > 0 {
		a.known = a.taken
	}
	return err
}

// lastGood returns the newest revision that can be read of a list whose newest one cannot,
// or the error of that when there is none.
func (a *attempt) lastGood(ctx context.Context, damaged error) (todo.Snapshot, error) {
	good, err := a.read.History(ctx, a.List, 0, 0)
	if err != nil || len(good) == 0 {
		return todo.Snapshot{}, cmp.Or(err, damaged)
	}
	a.mends = true
	return good[len(good)-1], nil
}

func (a *attempt) chooseBy(ctx context.Context) (err error) {
	switch {
	case a.List != "":
		a.list, err = a.read.Load(ctx, a.List, 0)
		if a.damaged && errors.Is(err, ErrDamaged) {
			a.list, err = a.lastGood(ctx, err)
		}
		if errors.Is(err, ErrNotFound) || a.list.Deleted && !a.deleted {
			return ErrNotFound // the same as for another principal's list
		}
		return err
	case a.Item != "":
		return a.withItem(ctx)
	case a.Append:
		return a.next(ctx)
	case a.Lines == nil:
		return nil
	case a.Conversation.Name != "":
		a.begins = a.current.Revision == 0
		return nil
	case a.isCertain():
		return a.replace(ctx)
	}
	return a.guess(ctx)
}

// seen returns the newest revision of a list that the caller's agent was
// shown; 0 when it was shown none, and -1 when that is not known.
func (a *attempt) seen(list todo.Snapshot) int64 {
	for _, c := range a.known {
		if c.List == list.List.ID {
			return c.Revision
		}
	}
	return -1
}

// lastShown returns a list as the caller's agent was last shown it, or as it is where
// that is not known.
func (a *attempt) lastShown(ctx context.Context, list todo.Snapshot) (todo.Snapshot, error) {
	return revision(ctx, a.read, list, cmp.Or(max(a.seen(list), 0), list.Revision))
}

// load returns a list that the conversation holds or held, of revision 0 when there
// is none any more, or it cannot be read: an agent goes on with a new one.
func (a *attempt) load(ctx context.Context, id string) (todo.Snapshot, error) {
	list, err := a.read.Load(ctx, id, 0)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) || list.Deleted {
		return todo.Snapshot{}, nil
	}
	return list, err
}

// isCertain reports whether the caller is the chat that it was before: its key is
// proof, or it has written in this connection, which no other chat has.
func (a *attempt) isCertain() bool {
	c := a.Conversation
	return !c.Hint || !c.Shared && Current(a.known) != "" && a.known[0].Process == a.process
}

// ofConnection returns what a chat has seen as this connection has it: while another process
// serves the same chat, too, each goes on with what it wrote itself.
func (a *attempt) ofConnection(held []Seen) []Seen {
	mine := slices.IndexFunc(held, func(h Seen) bool { return h.Held > 0 && h.Process == a.process })
	if mine <= 0 {
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

// isElsewhere reports whether what the conversation writes cannot be in a list: one of
// a sub-agent that has ended, or one that the agent keeps in its host's own tool.
func (a *attempt) isElsewhere(s todo.Snapshot) bool {
	return s.Archived && s.ReplacedBy == "" && s.List.Agent != "" || s.List.Mirrored && !a.Begin.Mirrored
}

// replace chooses for a whole-list write of a certain conversation: the list it holds,
// unless that is settled or the write has nothing of it.
func (a *attempt) replace(ctx context.Context) (err error) {
	current := a.current
	if current.Revision == 0 || a.isElsewhere(current) {
		a.begins = true
		return nil
	}
	seen := a.seen(current)
	if len(current.Items) == 0 || seen <= 0 {
		return nil
	}
	if a.shown, err = revision(ctx, a.read, current, seen); err != nil {
		return err
	}
	if len(a.Lines) == 0 {
		a.begins = current.Settled()
		return nil
	}
	settled := a.shown.Settled()
	switch {
	case settled && current.Settled():
		if !a.changes(ctx, a.shown, current) {
			return nil
		}
	case settled: // a person has added to it what is to be done yet
		return nil
	case a.sent.HasAny(a.shown), len(a.shown.Items) == 0:
		return nil
	}
	return a.leave(ctx)
}

// leave chooses for a write that has nothing of the current list: an earlier list of the
// conversation that it writes again, else the next one.
func (a *attempt) leave(ctx context.Context) error {
	if a.current.Open() {
		on, err := a.read.SeenOn(ctx, a.current.List.Principal, a.current.List.ID)
		if err != nil {
			return fmt.Errorf("find who holds the list: %w", err)
		}
		own := a.Conversation
		isElsewhere, err := a.anyHere(ctx, a.read, on, func(s Seen) bool { return s.Current && s.Chat != own.Key && s.Chat != own.Takes })
		if err != nil {
			return fmt.Errorf("find whether another chat that is there holds the list: %w", err)
		}
		a.putsAway = !isElsewhere
	}
	found, err := a.recognise(ctx)
	a.begins = !found
	return err
}

// next chooses for a call that adds items: the list that the conversation holds, or the
// next one when all of that is completed, as far as its agent was shown it, too.
func (a *attempt) next(ctx context.Context) error {
	a.begins = a.current.Revision == 0 || a.isElsewhere(a.current)
	if a.begins && a.current.Revision == 0 { // a number means one step, also of a plan that may go on
		left, err := a.leftBehind(ctx, 1)
		if err == nil && len(left) > 0 {
			a.current.LastID = left[0].LastID
		}
		return err
	}
	if a.begins || !a.current.AllCompleted() || a.Conversation.Name != "" {
		return nil
	}
	shown, err := a.lastShown(ctx, a.current)
	a.begins = shown.AllCompleted()
	return err
}

// guess chooses for a whole-list write of a conversation that is not certain: an earlier
// list that the write shows to be the agent's, else the next one.
func (a *attempt) guess(ctx context.Context) error {
	current := a.current
	if len(a.Lines) == 0 {
		a.begins = current.Settled()
		return a.checkOnlyOneOpen(ctx)
	}
	if current.Revision > 0 && !a.isElsewhere(current) && (len(current.Items) == 0 || a.sent.NamesAll(current)) {
		return nil
	}
	found, err := a.recognise(ctx)
	if err != nil || found {
		a.continues = !slices.ContainsFunc(a.known, func(c Seen) bool {
			return c.Held > 0 && c.List == a.list.List.ID && c.Process == a.process
		})
		return err
	}
	a.begins = current.Revision == 0 || !current.Settled() || a.changes(ctx, current, current)
	return nil
}

// withItem chooses the list that has the item: the current one, else the one that the
// conversation held last. Where none has it, a call that adds items adds it.
func (a *attempt) withItem(ctx context.Context) error {
	if a.isOn(a.current) {
		return nil
	}
	for l, err := range a.ownLists(ctx) {
		if err != nil {
			return err
		}
		if a.isOn(l) {
			a.list = l
			return nil
		}
	}
	if a.Append {
		return a.next(ctx)
	}
	left, err := a.leftBehind(ctx, 2)
	if err != nil || len(left) != 1 || !a.isOn(left[0]) {
		return err
	}
	isOther := func(i todo.Item) bool { return todo.ItemNumber(i.ID) <= left[0].LastID } // then the number may be meant of either
	if !slices.ContainsFunc(a.current.Items, isOther) {
		a.list, a.continues = left[0], a.current.Revision == 0
	}
	return nil
}

// isOn reports whether the item that the call changes is on a list.
func (a *attempt) isOn(list todo.Snapshot) bool {
	_, ok := list.Item(a.Item)
	return ok
}

// leftBehind returns the open lists that earlier sessions of this client left in this folder,
// the last changed first and at most some, as one that is not certain may have written them:
// none of another chat of the host, none that a present agent holds. It returns none where the
// folder is not known.
func (a *attempt) leftBehind(ctx context.Context, most int) (left []todo.Snapshot, err error) {
	who := a.Conversation
	if !who.Hint || who.Workspace == "" || who.Client == "" {
		return nil, nil
	}
	found, err := a.read.Find(ctx, a.candidates())
	if err != nil {
		return nil, fmt.Errorf("find unfinished lists: %w", err)
	}
	slices.SortStableFunc(found, func(a, b todo.Snapshot) int { return b.Updated.Compare(a.Updated) })
	for _, l := range found {
		isOwn := slices.ContainsFunc(a.known, func(c Seen) bool { return c.List == l.List.ID && c.Held > 0 })
		if isOwn || l.List.Name != "" || l.Archived || !l.Open() || !a.mayBeOf(l) {
			continue
		}
		on, err := a.read.SeenOn(ctx, l.List.Principal, l.List.ID)
		if err != nil {
			return nil, fmt.Errorf("find who holds the list: %w", err)
		}
		isFree, err := a.isFree(ctx, on)
		if err != nil {
			return nil, err
		}
		if isFree {
			left = append(left, l)
		}
		if len(left) == most {
			break
		}
	}
	return left, nil
}

// candidates selects the lists with which a conversation that is not certain may go on.
func (a *attempt) candidates() Query {
	return Query{Principal: &a.principal, Client: a.Conversation.Client,
		Workspace: &a.Conversation.Workspace, UpdatedSince: a.now().Add(-CandidateAge), Limit: maxCandidates}
}

// Left returns the newest open list that an earlier session of the same client left in the
// folder of a conversation which may be its next one, and which has no other list than the one
// with an id; revision 0 when there is none.
func (l Lists) Left(ctx context.Context, t Target, but string) (todo.Snapshot, error) {
	a, err := l.choose(ctx, t)
	if PassOver(err) != nil {
		return todo.Snapshot{}, err
	}
	if slices.ContainsFunc(a.known, func(c Seen) bool { return c.Held > 0 && c.List != but }) {
		return todo.Snapshot{}, nil
	}
	left, err := a.leftBehind(ctx, 1)
	return append(left, todo.Snapshot{})[0], err
}

// ownLists yields the lists that the conversation holds or held, the one that became
// current last first. It ends with an error.
func (a *attempt) ownLists(ctx context.Context) iter.Seq2[todo.Snapshot, error] {
	return func(yield func(todo.Snapshot, error) bool) {
		for _, c := range a.known[:min(len(a.known), maxCandidates)] {
			if c.Held == 0 || a.Conversation.Name != "" { // what has a name is one list
				return
			}
			list, err := a.load(ctx, c.List)
			if (err != nil || list.Revision > 0) && !yield(list, err) || err != nil {
				return
			}
		}
	}
}

// checkOnlyOneOpen refuses an empty write by a key that several chats share, if
// they have several open lists.
func (a *attempt) checkOnlyOneOpen(ctx context.Context) error {
	if !a.Conversation.Shared {
		return nil
	}
	var open []string
	for l, err := range a.ownLists(ctx) {
		if err != nil {
			return err
		}
		if l.Open() && !l.Archived && a.now().Sub(l.Updated) <= CandidateAge {
			open = append(open, todo.Excerpt(l.Title()))
		}
	}
	if len(open) < 2 {
		return nil
	}
	unclear := &todo.UnclearError{Titles: open}
	return &todo.InputError{Problems: []todo.Problem{{Message: unclear.Error(), Err: unclear}}}
}

// recognise chooses the unfinished list that a whole-list write continues, with what its
// agents were shown of it; of several the one with the most items of the write. It looks
// among the lists that the conversation held, and then, if it is not certain,
// among the lists of the same client and workspace. It returns false when there is none.
func (a *attempt) recognise(ctx context.Context) (found bool, err error) {
	most := 0
	for l, err := range a.ownLists(ctx) {
		if err == nil {
			most, err = a.compare(ctx, l, most)
		}
		if err != nil {
			return false, err
		}
		if most == len(a.Lines) {
			break // no other list can have more of the lines
		}
	}
	if most > 0 || a.isCertain() {
		return most > 0, nil
	}
	others, err := a.read.Find(ctx, a.candidates())
	if err != nil {
		return false, fmt.Errorf("find unfinished lists: %w", err)
	}
	for _, l := range others {
		if l.List.Name != "" || l.Archived {
			continue
		}
		if most, err = a.compare(ctx, l, most); err != nil {
			return false, err
		}
	}
	return most > 0, nil
}

// compare chooses a list if the write continues it and has more than most of its items.
// It returns how many items it has of the list that is chosen then.
func (a *attempt) compare(ctx context.Context, l todo.Snapshot, most int) (int, error) {
	if !a.mayContinue(l) {
		return most, nil
	}
	certain := a.isCertain()
	mayBeOne := certain || l.List.ID == a.current.List.ID
	if !l.Writer.Person && !a.sent.Continues(l, mayBeOne) { // what is too short for it is not compared
		return most, nil
	}
	n := a.sent.Count(l.Items)
	if n <= most {
		return most, nil
	}
	on, err := a.read.SeenOn(ctx, l.List.Principal, l.List.ID)
	if err != nil {
		return most, fmt.Errorf("find who holds the list: %w", err)
	}
	shown, err := shownToAgents(ctx, a.read, l, on)
	if err != nil || !a.sent.Continues(shown, mayBeOne) {
		return most, err
	}
	if !certain {
		if isFree, err := a.isFree(ctx, on); err != nil || !isFree {
			return most, err
		}
	}
	if a.list, a.shown = l, shown; certain {
		a.shown = todo.Snapshot{} // what it has seen itself counts
	}
	return n, nil
}

// mayContinue reports whether a list is one that the caller may go on with by writing it
// again: open, and if the conversation is not certain, changed lately, of the same agent
// and not of another chat of the host. One that was put away is not, unless its
// conversation put it away itself, for its next plan.
func (a *attempt) mayContinue(l todo.Snapshot) bool {
	if !l.Open() || l.Archived && l.ReplacedBy == "" || a.isElsewhere(l) {
		return false
	}
	if a.isCertain() {
		return l.List.ID != a.current.List.ID
	}
	return a.mayBeOf(l) && a.now().Sub(l.Updated) <= CandidateAge
}

// mayBeOf reports whether a list may be of the caller's agent: of the same sub-agent, not of
// another chat of the host, and none that it cannot write.
func (a *attempt) mayBeOf(l todo.Snapshot) bool {
	chat := a.Conversation.Chat
	otherChat := chat != "" && l.List.Chat != "" && chat != l.List.Chat
	return a.Agent == l.List.Agent && !otherChat && !a.isElsewhere(l)
}

// isFree reports whether the caller holds or held a list that these chats know in this
// connection, or no chat that is there holds it.
func (a *attempt) isFree(ctx context.Context, on []Seen) (bool, error) {
	own := a.Conversation
	isMine := func(s Seen) bool { return s.Held > 0 && s.Chat == own.Key && (own.Shared || s.Process == a.process) }
	if slices.ContainsFunc(on, isMine) {
		return true, nil
	}
	isTheirs, err := a.anyHere(ctx, a.read, on, Seen.holds)
	return !isTheirs, err
}

// revision returns a revision of a list, or the first kept one after it.
func revision(ctx context.Context, read Reader, newest todo.Snapshot, revision int64) (todo.Snapshot, error) {
	if revision >= newest.Revision {
		return newest, nil
	}
	found, err := read.History(ctx, newest.List.ID, revision-1, 1)
	if err != nil {
		return todo.Snapshot{}, fmt.Errorf("load the revision that the writer saw: %w", err)
	}
	return append(found, newest)[0], nil
}

// shownToAgents returns the newest revision of a list that any agent was shown. If no
// chat has seen one, it is the last revision that no person wrote, or a list without
// items if people wrote all of them. If the store no longer keeps a revision, it is the
// one after it.
func shownToAgents(ctx context.Context, read Reader, l todo.Snapshot, on []Seen) (todo.Snapshot, error) {
	seen := int64(0)
	for _, c := range on {
		if c.Chat != todo.PersonChat {
			seen = max(seen, c.Revision)
		}
	}
	if seen = cmp.Or(seen, l.Written()); seen > 0 {
		return revision(ctx, read, l, seen)
	}
	first, err := revision(ctx, read, l, 1)
	if first.Revision == 1 {
		first = todo.Snapshot{List: l.List, Items: []todo.Item{}}
	}
	return first, err
}
