package board

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// This file decides which list a call means. No other file guesses (docs/spec/architecture.md, "Who is calling").

// CandidateAge is how long after a list's last change a conversation may continue it by a guess (see isCertain).
const CandidateAge = 7 * 24 * time.Hour

// maxCandidates limits the lists with which a write is compared: both its conversation's earlier lists and candidates.
const maxCandidates = 100

// Target has the conversation of a call, and those parameters of the call that select a list.
type Target struct {
	Conversation Conversation
	List         string // the id of a list; empty means the list that the conversation holds
	// Lines are the items of a whole-list write, in View's words; empty but not nil clears the list. Other calls: nil.
	Lines  []todo.Line
	View   todo.View
	Item   string // the id of the item that the call changes; empty in other calls
	Append bool   // the call adds items

	deleted bool // accept List even if it is deleted
	damaged bool // if the newest revision of List is damaged, take the last good one
}

// attempt is one run of a write in a transaction, or a read. In a read, only the Target of Write is set.
type attempt struct {
	Lists
	Write
	read Reader
	tx   Tx        // nil in a read
	at   time.Time // the time of all that the write saves
	here todo.Here // in a write, the process that serves the conversation

	// These are set by choose.
	key     Key // the conversation's
	sent    todo.Sent
	named   string        // the id of the list that has the conversation's name; empty for none
	known   []Seen        // what the conversation's chat has seen, current list first
	taken   []Seen        // what the chat that is taken over has seen
	current todo.Snapshot // the list that the conversation holds; revision 0 for none
	list    todo.Snapshot // the list that the call means; revision 0 for none
	// shown is the list as the caller's agent was last shown it or, if the write continues the list and isCertain is
	// false, as any agent was last shown it. Its revision is 0 if choose did not read it.
	shown     todo.Snapshot
	begins    bool // the write begins the conversation's next list
	mends     bool // the newest revision of the list is damaged, and an earlier one is used
	putsAway  bool // the write archives the current list, which is open
	continues bool // the list is from an earlier chat or an earlier connection

	branch string // of a list that begins, set by hear
	left   []Seen // the list that the write leaves, as the chat has seen it after the write; see tellOfLeft
}

// choose finds the list that the call means; [ErrNotFound] if the call names a list that its principal does not have.
func (a *attempt) choose(ctx context.Context) (err error) {
	who := a.Conversation
	a.sent, a.key = todo.Sent{Lines: a.Lines, View: a.View}, Key{a.id.Principal, who.Key, who.Mirrors}
	if who.Name != "" {
		a.named, err = a.read.Named(ctx, a.id.Principal, who.Name)
	}
	if err == nil && who.Key != "" {
		a.known, err = a.read.Seen(ctx, a.key)
		if who.Hint && !who.Shared {
			a.known = a.ofConnection(a.known)
		}
		if err == nil && who.Takes != "" && who.Takes != who.Key && who.Name == "" {
			err = a.takeOver(ctx)
		}
	}
	id := a.named
	if who.Name == "" {
		id = Current(a.known)
	}
	if err == nil && id != "" {
		a.current, err = a.load(ctx, id)
	}
	a.list = a.current
	if err == nil {
		err = a.chooseBy(ctx)
	}
	if err != nil {
		return err
	}
	if !a.all && a.list.Revision > 0 && a.list.List.Principal != a.id.Principal {
		return ErrNotFound
	}
	if a.begins {
		a.list = todo.Snapshot{}
	}
	if a.begins || a.putsAway { // item numbers go on: no id may stand for two items of one conversation
		a.list.LastID = max(a.list.LastID, a.current.LastID)
	}
	return nil
}

// takeOver reads what the chat takes over from an earlier chat without a HostID, see [Conversation.Takes].
func (a *attempt) takeOver(ctx context.Context) error {
	who := a.Conversation
	if slices.ContainsFunc(a.known, func(s Seen) bool { return s.Held > 0 }) {
		return nil
	}
	chat, err := a.read.Chat(ctx, who.Takes)
	if err != nil || chat.ID == "" || chat.HostID != "" {
		return err
	}
	if a.taken, err = a.read.Seen(ctx, Key{a.id.Principal, who.Takes, who.Mirrors}); err == nil && len(a.taken) > 0 {
		a.known = a.taken
	}
	return err
}

// lastGood returns the newest readable revision of a damaged list or, if there is none, the error given as damaged.
func (a *attempt) lastGood(ctx context.Context, damaged error) (todo.Snapshot, error) {
	good, err := a.read.History(ctx, a.List, 0, 0)
	if err != nil || len(good) == 0 {
		return todo.Snapshot{}, cmp.Or(err, damaged)
	}
	a.mends = true
	return good[len(good)-1], nil
}

// chooseBy chooses by the kind of call. A call names a list or an item, adds items, reads, or writes a whole list.
func (a *attempt) chooseBy(ctx context.Context) (err error) {
	switch {
	case a.List != "":
		a.list, err = a.read.Load(ctx, a.List, 0)
		if a.damaged && errors.Is(err, ErrDamaged) {
			a.list, err = a.lastGood(ctx, err)
		}
		if errors.Is(err, ErrNotFound) || a.list.Deleted && !a.deleted {
			return ErrNotFound // the same error as for another principal's list
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

// seen returns the revision of a list that the agent was last shown; 0 for none, -1 if its chat does not know the list.
func (a *attempt) seen(list todo.Snapshot) int64 {
	for _, c := range a.known {
		if c.List == list.List.ID {
			return c.Revision
		}
	}
	return -1
}

// lastShown returns the revision of a list that the caller's agent was last shown, or the newest if it was shown none.
func (a *attempt) lastShown(ctx context.Context, list todo.Snapshot) (todo.Snapshot, error) {
	return revision(ctx, a.read, list, cmp.Or(max(a.seen(list), 0), list.Revision))
}

// load returns a list that the conversation holds or held; revision 0 if it is gone, deleted or damaged.
func (a *attempt) load(ctx context.Context, id string) (todo.Snapshot, error) {
	list, err := a.read.Load(ctx, id, 0)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrDamaged) || list.Deleted {
		return todo.Snapshot{}, nil
	}
	return list, err
}

// isCertain reports whether the key is proof, or it is not Shared and this process wrote the chat's current list.
func (a *attempt) isCertain() bool {
	c := a.Conversation
	return !c.Hint || !c.Shared && Current(a.known) != "" && a.known[0].Process == a.board.process
}

// ofConnection returns a chat's entries in a new order: the list that the chat last wrote in this process comes first
// and is the current one. So if two processes serve one chat, each goes on with its own list.
func (a *attempt) ofConnection(held []Seen) []Seen {
	mine := slices.IndexFunc(held, func(h Seen) bool { return h.Held > 0 && h.Process == a.board.process })
	if mine <= 0 {
		return held
	}
	held = slices.Insert(slices.Delete(slices.Clone(held), mine, mine+1), 0, held[mine])
	for i := range held {
		held[i].Current = i == 0
	}
	return held
}

// isElsewhere reports whether the call cannot mean a list: an ended sub-agent's list, or (in our tools) a mirrored one.
func (a *attempt) isElsewhere(s todo.Snapshot) bool {
	return s.Archived && s.ReplacedBy == "" && s.List.Agent != "" || s.List.Mirrored && !a.Conversation.Mirrors
}

// replace chooses if isCertain is true: the current list, unless it is settled or has no item of the write.
func (a *attempt) replace(ctx context.Context) (err error) {
	current := a.current
	if current.Revision == 0 || a.isElsewhere(current) {
		a.begins = true
		return nil
	}
	if len(current.Items) == 0 || a.seen(current) <= 0 {
		return nil
	}
	if a.shown, err = revision(ctx, a.read, current, a.seen(current)); err != nil {
		return err
	}
	if len(a.Lines) == 0 {
		a.begins = current.Settled()
		return nil
	}
	stays := len(a.shown.Items) == 0 || a.sent.HasAny(a.shown)
	if a.shown.Settled() { // since then a person may have added open items
		stays = !current.Settled() || !a.changes(ctx, a.shown, current)
	}
	if !stays {
		err = a.leave(ctx)
	}
	return err
}

// leave chooses for a write that leaves the current list: an earlier list if the write continues it, else a new one.
func (a *attempt) leave(ctx context.Context) error {
	if own := a.Conversation; a.current.Open() {
		isOthers := func(s Seen) bool { return s.Current && s.Chat != own.Key && s.Chat != own.Takes }
		isTheirs, err := a.anyHere(ctx, a.current.List, isOthers)
		if err != nil {
			return err
		}
		a.putsAway = !isTheirs
	}
	found, err := a.recognise(ctx)
	a.begins = !found
	return err
}

// next chooses for a call that adds items: the current list; a new one if there is none or the agent saw it completed.
func (a *attempt) next(ctx context.Context) error {
	a.begins = a.current.Revision == 0 || a.isElsewhere(a.current)
	if a.begins && a.current.Revision == 0 { // item numbers go on from a list that the agent may continue
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

// guess chooses if isCertain is false. If the write has so many of a list's items that the list must be the
// conversation's own, it chooses that list, else a new one.
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
			return c.Held > 0 && c.List == a.list.List.ID && c.Process == a.board.process
		})
		return err
	}
	a.begins = current.Revision == 0 || !current.Settled() || a.changes(ctx, current, current)
	return nil
}

// withItem chooses a list with the item: the current one, else the last held one with it. If there is none, a call that
// adds items uses the current or a new list; other calls use the list that earlier sessions left, if there is only one.
func (a *attempt) withItem(ctx context.Context) error {
	if a.isOn(a.current) {
		return nil
	}
	for l, err := range a.ownLists(ctx) {
		if err != nil || a.isOn(l) {
			a.list = l
			return err
		}
	}
	if a.Append {
		return a.next(ctx)
	}
	left, err := a.leftBehind(ctx, 2)
	if err != nil || len(left) != 1 || !a.isOn(left[0]) {
		return err
	}
	isOther := func(i todo.Item) bool { return todo.ItemNumber(i.ID) <= left[0].LastID } // both lists may have this id
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

// leftBehind returns open lists that a conversation known by a Hint may have written in an earlier session, the last
// changed first; their number is limited to most. They have the same client and folder, belong to no other chat of the
// host, and are held by no agent that is here.
func (a *attempt) leftBehind(ctx context.Context, most int) (left []todo.Snapshot, err error) {
	who := a.Conversation
	if !who.Hint || who.Workspace == "" || who.Client == "" {
		return nil, nil
	}
	found, err := a.candidates(ctx)
	slices.SortStableFunc(found, func(a, b todo.Snapshot) int { return b.Updated.Compare(a.Updated) })
	for _, l := range found {
		isOwn := slices.ContainsFunc(a.known, func(c Seen) bool { return c.List == l.List.ID && c.Held > 0 })
		if err != nil || isOwn || len(left) == most {
			continue
		}
		isFree := false
		if isFree, err = a.isFree(ctx, l.List); isFree {
			left = append(left, l)
		}
	}
	return left, err
}

// candidates returns open lists of the same client and folder, which the call may continue if isCertain is false.
func (a *attempt) candidates(ctx context.Context) ([]todo.Snapshot, error) {
	found, err := a.read.Find(ctx, Query{Principal: &a.id.Principal, Client: a.Conversation.Client,
		Workspace: &a.Conversation.Workspace, UpdatedSince: a.board.now().Add(-CandidateAge), Limit: maxCandidates})
	return slices.DeleteFunc(found, func(l todo.Snapshot) bool {
		return l.List.Name != "" || l.Archived || !l.Open() || !a.mayBeOf(l)
	}), err
}

// Left returns the newest open list that an earlier session of the same client left in the folder of a conversation. It
// returns revision 0 if there is none, if the conversation's key is proof, or if the conversation has held any list
// except the one whose id is the last argument.
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

// ownLists yields up to maxCandidates lists that the conversation holds or held, the last held first, until an error.
func (a *attempt) ownLists(ctx context.Context) iter.Seq2[todo.Snapshot, error] {
	return func(yield func(todo.Snapshot, error) bool) {
		for _, c := range a.known[:min(len(a.known), maxCandidates)] {
			if c.Held == 0 || a.Conversation.Name != "" { // with a Name there is only the current list
				return
			}
			list, err := a.load(ctx, c.List)
			if (err != nil || list.Revision > 0) && !yield(list, err) || err != nil {
				return
			}
		}
	}
}

// checkOnlyOneOpen refuses an empty write by a key that several chats share, if they have several open lists.
func (a *attempt) checkOnlyOneOpen(ctx context.Context) error {
	if !a.Conversation.Shared {
		return nil
	}
	var open []string
	for l, err := range a.ownLists(ctx) {
		if err != nil {
			return err
		}
		if l.Open() && !l.Archived && a.board.now().Sub(l.Updated) <= CandidateAge {
			open = append(open, todo.Excerpt(l.Title()))
		}
	}
	if len(open) < 2 {
		return nil
	}
	unclear := &todo.UnclearError{Titles: open}
	return &todo.InputError{Problems: []todo.Problem{{Message: unclear.Error()}}, Err: unclear}
}

// recognise chooses the open list that a whole-list write continues. If several fit, it chooses the one with the most
// items of the write. It looks among the lists that the conversation held. If none of these fits, and isCertain is
// false, it looks among the candidates. found is false if no list fits.
func (a *attempt) recognise(ctx context.Context) (found bool, err error) {
	most, lists := 0, []todo.Snapshot(nil) // lists: the conversation's lists that lack a text of the write
	compare := func(l todo.Snapshot) {
		if err == nil {
			most, err = a.compare(ctx, l, most)
		}
	}
	for l, failed := range a.ownLists(ctx) {
		if err = failed; err == nil && !a.sent.IsOn(l) {
			lists = append(lists, l)
			continue
		}
		if compare(l); err != nil || most == len(a.Lines) { // no other list can have more of the lines
			return err == nil && most > 0, err
		}
	}
	for _, l := range lists {
		compare(l)
	}
	if err == nil && most == 0 && !a.isCertain() {
		lists, err = a.candidates(ctx)
		for _, l := range lists {
			compare(l)
		}
	}
	return err == nil && most > 0, err
}

// compare chooses list l if the write continues l and has n of its items, with n > most. It then returns n, else most.
func (a *attempt) compare(ctx context.Context, l todo.Snapshot, most int) (int, error) {
	n := a.sent.Count(l.Items)
	if n <= most || !a.mayContinue(l) {
		return most, nil
	}
	on, err := a.read.SeenOn(ctx, l.List.Principal, l.List.ID)
	if err != nil {
		return most, err
	}
	certain := a.isCertain()
	shown, err := shownToAgents(ctx, a.read, l, on)
	isFree := err == nil && a.sent.Continues(shown, certain || l.List.ID == a.current.List.ID)
	if isFree && !certain {
		isFree, err = a.isFree(ctx, l.List)
	}
	if err != nil || !isFree {
		return most, err
	}
	if a.list, a.shown = l, shown; certain {
		a.shown = todo.Snapshot{} // a.saw finds the revision that this agent was shown
	}
	return n, nil
}

// mayContinue reports whether the caller may go on with a list by writing it again. The list must be open; it may be
// archived only if another list replaced it. If isCertain is true, the list must not be the current one. Else it must
// have changed within [CandidateAge] and not be another chat's.
func (a *attempt) mayContinue(l todo.Snapshot) bool {
	if !l.Open() || l.Archived && l.ReplacedBy == "" || a.isElsewhere(l) {
		return false
	}
	if a.isCertain() {
		return l.List.ID != a.current.List.ID
	}
	return a.mayBeOf(l) && a.board.now().Sub(l.Updated) <= CandidateAge
}

// mayBeOf reports whether a list may be the caller's: no other agent or chat began it, and isElsewhere is false.
func (a *attempt) mayBeOf(l todo.Snapshot) bool {
	chat := a.Conversation.Chat
	otherChat := chat != "" && l.List.Chat != "" && chat != l.List.Chat
	return a.Conversation.Agent == l.List.Agent && !otherChat && !a.isElsewhere(l)
}

// isFree reports whether the caller once held a list (in this process, if not Shared), or no present chat may hold it.
func (a *attempt) isFree(ctx context.Context, list todo.List) (bool, error) {
	isMine := func(s Seen) bool {
		return s.List == list.ID && s.Held > 0 && (a.Conversation.Shared || s.Process == a.board.process)
	}
	if slices.ContainsFunc(a.known, isMine) {
		return true, nil
	}
	isTheirs, err := a.anyHere(ctx, list, Seen.holds)
	return !isTheirs, err
}

// anyHere reports whether a chat that knows a list is here. It skips a chat if counts returns false for its [Seen].
func (a *attempt) anyHere(ctx context.Context, list todo.List, counts func(Seen) bool) (bool, error) {
	on, err := a.read.SeenOn(ctx, list.Principal, list.ID)
	if err != nil {
		return false, err
	}
	return anyChat(ctx, a.read, on, counts, a.board.isHere)
}

// revision returns a revision of a list or, if that is not kept, the first kept one after it.
func revision(ctx context.Context, read Reader, newest todo.Snapshot, revision int64) (todo.Snapshot, error) {
	if revision >= newest.Revision {
		return newest, nil
	}
	found, err := read.History(ctx, newest.List.ID, revision-1, 1)
	return append(found, newest)[0], err
}

// shownToAgents returns the newest revision of a list that any agent was shown, or the first kept one after it. If no
// agent was shown any, it returns the last revision that no person wrote, or a list without items if people wrote all
// revisions.
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
