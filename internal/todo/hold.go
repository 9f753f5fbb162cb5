package todo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CandidateAge is how long after its last update a caller with a hint may
// continue a list by writing most of it again.
const CandidateAge = 7 * 24 * time.Hour

// maxCandidates is how many lists such a write is compared with.
const maxCandidates = 100

// Target is what a call means: who calls, and what the call says about its list.
type Target struct {
	Conversation Conversation
	// List is the id of a list; empty means the one that the conversation holds.
	List string
	// Lines are the lines of a whole-list write, also of an empty one; nil in
	// other calls. If the conversation's key is a hint, the write replaces an
	// unfinished list only if it keeps at least half of that list's open items,
	// and at least two of its items (all, where list or write has fewer).
	// Otherwise it begins a list.
	Lines []Line
	// Item is the id of the item that the call changes; empty in other calls.
	Item string
	// Append is true when the call adds items.
	Append bool
	// Agent is the sub-agent that calls; empty for the main agent.
	Agent string

	principal string // set by [Lists]
	deleted   bool   // List may be a deleted one
}

// wholeOrAppend reports whether the call is one that begins a list where the
// conversation holds none or a settled one.
func (t Target) wholeOrAppend() bool { return t.Lines != nil || t.Append }

// held is the list that a call means.
type held struct {
	list Snapshot // revision 0 when there is none
	seen int64    // the newest revision that the caller's agent was shown; -1 when unknown
	kept bool     // the call keeps so much of the list that its agent must know it
	over string   // the list that the holder held, see [Binding.Over]
}

// finder looks for the list that a call means.
type finder struct {
	*Board
	principal string
	target    Target
	bound     []Binding // of the holder, the one moved last first
	seen      []Binding // of the conversation; those of the holder unless it has a name
}

// find returns the list that a call means, or [ErrNotFound] when it names one
// that its principal does not have. A nil principal is every principal.
func (b *Board) find(ctx context.Context, principal *string, t Target) (held, error) {
	f := finder{Board: b, target: t}
	if principal != nil {
		f.principal = *principal
	}
	if c := t.Conversation; c.Holder() != "" {
		var err error
		if f.bound, err = b.store.Bindings(ctx, f.principal, c.Holder()); err != nil {
			return held{}, fmt.Errorf("find the conversation's list: %w", err)
		}
		f.seen = f.bound
		if c.Key != c.Holder() {
			if f.seen, err = b.store.Bindings(ctx, f.principal, c.Key); err != nil {
				return held{}, fmt.Errorf("find what the conversation has seen: %w", err)
			}
		}
	}
	list, kept, err := f.choose(ctx)
	if err != nil {
		return held{}, err
	}
	if principal != nil && list.Revision > 0 && list.List.Principal != f.principal {
		return held{}, ErrNotFound
	}
	return held{list: list, seen: f.lastSeen(list.List.ID), kept: kept, over: f.current()}, nil
}

// current returns the id of the list that the holder holds, or empty.
func (f *finder) current() string {
	if len(f.bound) == 0 || f.bound[0].Moved == 0 {
		return ""
	}
	return f.bound[0].List
}

// lastSeen returns the newest revision of a list that the caller's agent was
// shown, or -1.
func (f *finder) lastSeen(list string) int64 {
	seen := int64(-1)
	for _, b := range f.seen {
		if b.List == list {
			seen = b.Seen
		}
	}
	if read := f.sight.of(f.principal, f.target.Conversation.Key, list); read > 0 {
		seen = max(seen, read)
	}
	return seen
}

// choose returns the list that the call means, of revision 0 when it means none.
// kept is true when it was recognised by what the call keeps of it.
func (f *finder) choose(ctx context.Context) (list Snapshot, kept bool, err error) {
	t := f.target
	if t.List != "" {
		list, err = f.store.Load(ctx, t.List, 0)
		if errors.Is(err, ErrNotFound) || list.Deleted && !t.deleted {
			list, err = Snapshot{}, ErrNotFound // the same as for another principal's list
		}
		return list, f.knows(list), err
	}
	if f.current() != "" {
		list, err = f.loadHeld(ctx, f.current())
		if err != nil {
			return list, false, err
		}
	}
	hasItem := func(s Snapshot) bool { _, ok := s.Item(t.Item); return ok }
	switch {
	case !t.Conversation.Hint:
		return list, f.knows(list), nil
	case t.Item != "" && !hasItem(list):
		return f.withItem(ctx, list, hasItem)
	case t.Lines == nil:
		return list, false, nil
	case len(t.Lines) == 0:
		return list, false, f.checkOnlyOneOpen(ctx)
	case patches(t.Lines, list) || len(list.Items) == 0 && list.Revision > 0:
		return list, true, nil
	}
	// No other list can have more of the lines, and the one that is held wins a tie.
	if f.mayContinue(list) && shared(t.Lines, list.Items) == len(t.Lines) && keeps(t.Lines, list) {
		return list, true, nil
	}
	if recognised, ok, err := f.recognise(ctx); ok || err != nil || !list.Settled() {
		return recognised, ok, err
	}
	return list, false, nil // a settled list: the write begins the next, or repeats it
}

// knows reports whether a whole-list write keeps so much of a list that its agent
// must know it, although nothing says that it was shown the list.
func (f *finder) knows(list Snapshot) bool {
	return f.target.Lines != nil && f.lastSeen(list.List.ID) < 0 && keeps(f.target.Lines, list)
}

// patches reports whether every line names an item of the list by id.
func patches(lines []Line, list Snapshot) bool {
	return !slices.ContainsFunc(lines, func(l Line) bool {
		_, ok := list.Item(l.ID)
		return !ok
	})
}

// withItem returns the open list that has the item among those that the holder
// held, the last one first; list when none has it.
func (f *finder) withItem(ctx context.Context, list Snapshot, hasItem func(Snapshot) bool) (Snapshot, bool, error) {
	lists, err := f.heldLists(ctx)
	if err != nil {
		return Snapshot{}, false, err
	}
	for _, l := range lists {
		if l.Open() && hasItem(l) {
			return l, false, nil
		}
	}
	return list, false, nil
}

// loadHeld returns a list that the holder holds or held, of revision 0 when there
// is none any more.
func (f *finder) loadHeld(ctx context.Context, id string) (Snapshot, error) {
	list, err := f.store.Load(ctx, id, 0)
	if errors.Is(err, ErrNotFound) || list.Deleted {
		return Snapshot{}, nil
	}
	return list, err
}

// heldLists returns the lists that the holder holds or held, the one moved last
// first.
func (f *finder) heldLists(ctx context.Context) (lists []Snapshot, err error) {
	for i, b := range f.bound {
		if i == maxCandidates {
			break
		}
		if b.List == "" || b.Moved == 0 {
			continue
		}
		list, err := f.loadHeld(ctx, b.List)
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
	lists, err := f.heldLists(ctx)
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

// recognise returns the unfinished list of which a whole-list write keeps enough
// (see [Target.Lines]), and of several the one of which it keeps the most items;
// revision 0 when there is none. It looks among the lists that the holder held,
// and among those of the same client and workspace that no live conversation
// holds.
func (f *finder) recognise(ctx context.Context) (chosen Snapshot, kept bool, err error) {
	own, err := f.heldLists(ctx)
	if err != nil {
		return Snapshot{}, false, err
	}
	c := f.target.Conversation
	others, err := f.store.Find(ctx, Query{Principal: &f.principal, Client: c.Client, Workspace: &c.Workspace,
		UpdatedSince: f.now().Add(-CandidateAge), Limit: maxCandidates})
	if err != nil {
		return Snapshot{}, false, fmt.Errorf("find unfinished lists: %w", err)
	}
	best := 0
	consider := func(l Snapshot, free func() (bool, error)) error {
		n := shared(f.target.Lines, l.Items)
		if n <= best || !f.mayContinue(l) || !keeps(f.target.Lines, l) {
			return nil
		}
		ok, err := free()
		if ok {
			best, chosen = n, l
		}
		return err
	}
	for _, l := range own {
		if err := consider(l, func() (bool, error) { return true, nil }); err != nil {
			return Snapshot{}, false, err
		}
	}
	for _, l := range others {
		if l.List.Name != "" {
			continue // it waits for who says its name
		}
		if err := consider(l, func() (bool, error) { return f.isFree(ctx, l) }); err != nil {
			return Snapshot{}, false, err
		}
	}
	return chosen, chosen.Revision > 0, nil
}

// mayContinue reports whether a list is one that the caller may continue by
// writing it again: unfinished, changed lately, of the same agent and kept here. One
// that was put away is not, unless the caller holds it.
func (f *finder) mayContinue(l Snapshot) bool {
	sameAgent := f.target.Agent == l.List.Agent
	there := !l.Archived || l.List.ID == f.current() && !subAgentEnded(l)
	return l.Open() && there && sameAgent && !l.List.Mirrored && f.now().Sub(l.Updated) <= CandidateAge
}

// isFree reports whether no conversation holds a list, apart from the caller's
// and from those whose process has ended.
func (f *finder) isFree(ctx context.Context, l Snapshot) (bool, error) {
	holders, err := f.store.Holders(ctx, f.principal, l.List.ID)
	if err != nil {
		return false, fmt.Errorf("find who holds the list: %w", err)
	}
	for _, h := range holders {
		if h.Conversation != f.target.Conversation.Key && f.isLive(h) {
			return false, nil
		}
	}
	return true, nil
}

// keeps reports whether a whole-list write keeps enough of a list, see
// [Target.Lines].
func keeps(lines []Line, list Snapshot) bool {
	var open []Item
	for _, item := range list.Items {
		if !item.Status.Settled() {
			open = append(open, item)
		}
	}
	return 2*shared(lines, open) >= len(open) && shared(lines, list.Items) >= min(2, len(lines), len(list.Items))
}

// shared counts the items of which a line has the folded text or active text.
// Each line counts for one item at most.
func shared(lines []Line, items []Item) int {
	unmatched := make(map[string]int, len(lines))
	for _, l := range lines {
		unmatched[Fold(l.Text)]++
	}
	n := 0
	for _, item := range items {
		for _, key := range []string{Fold(item.Text), Fold(item.ActiveText())} {
			if unmatched[key] > 0 {
				unmatched[key]--
				n++
				break
			}
		}
	}
	return n
}
