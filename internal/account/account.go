// Package account sums up lists in the same way for all front ends: which lists belong together, their states, their
// parts of the board and their order, which agents wait for a person, and which changes agents have not seen.
//
// It reads no store. Its input is snapshots, the standing of each list ([board.Lists.States]), and the revision of each
// list that its agents saw last ([board.Lists.Saw]).
package account

import (
	"cmp"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// LongAfter is how long an item is in progress before front ends mark its time.
const LongAfter = 20 * time.Minute

// Group is a main list with its sub-agents' lists. Main may be a chat without an open list, see [todo.Chat.AsList].
type Group struct {
	Main   todo.Snapshot
	Subs   []todo.Snapshot          // sub-agents' lists that are not archived, oldest first
	Away   []todo.Snapshot          // sub-agents' lists that are archived
	States map[string]todo.Standing // the standing of each list alone, by list id
}

// Of returns a main list with its sub-agents' lists as a group.
func Of(main todo.Snapshot, subs []todo.Snapshot, states map[string]todo.Standing) Group {
	f := Group{Main: main, States: states}
	for _, s := range subs {
		if s.Archived {
			f.Away = append(f.Away, s)
		} else {
			f.Subs = append(f.Subs, s)
		}
	}
	slices.SortStableFunc(f.Subs, func(a, b todo.Snapshot) int {
		return cmp.Or(a.List.Created.Compare(b.List.Created), cmp.Compare(a.List.Agent, b.List.Agent), cmp.Compare(a.List.ID, b.List.ID))
	})
	return f
}

// Groups returns the groups of lists, in the order of their main lists. A sub-agent's list counts as a main list if its
// parent is not among the lists, or if its parent's parent is among them, too.
func Groups(lists []todo.Snapshot, states map[string]todo.Standing) (out []Group) {
	parents := make(map[string]string, len(lists))
	for i := range lists {
		parents[lists[i].List.ID] = lists[i].List.Parent
	}
	subs := make(map[string][]todo.Snapshot)
	isSub := func(l todo.List) bool {
		above, ok := parents[l.Parent]
		_, beyond := parents[above]
		return ok && !beyond
	}
	for _, l := range lists {
		if isSub(l.List) {
			subs[l.List.Parent] = append(subs[l.List.Parent], l)
		}
	}
	out = make([]Group, 0, len(lists)) // a group is large to copy
	for _, l := range lists {
		if !isSub(l.List) {
			out = append(out, Of(l, subs[l.List.ID], states))
		}
	}
	return out
}

// Lists returns the main list and then the sub-agents' lists that are not archived.
func (f *Group) Lists() []todo.Snapshot { return append([]todo.Snapshot{f.Main}, f.Subs...) }

// Bare reports whether the lists have no items, and no agent that may be about to add some.
func (f *Group) Bare() bool {
	return f.State().Rests() && !slices.ContainsFunc(f.Lists(), func(l todo.Snapshot) bool { return len(l.Items) > 0 })
}

// rank orders states: states that need a person first, finished ones last.
func rank(s todo.State) int {
	return slices.Index([]todo.State{todo.Waiting, todo.Working, todo.Idle, todo.LeftOpen, todo.Away, todo.InVain, todo.Finished}, s)
}

// State returns an archived Main's own state, else the first state by rank of the lists with items (if none, of all).
func (f *Group) State() todo.State {
	own := f.States[f.Main.List.ID].State
	if f.Main.Archived || len(f.Subs) == 0 {
		return own
	}
	var state todo.State
	some := slices.ContainsFunc(f.Lists(), func(s todo.Snapshot) bool { return len(s.Items) > 0 })
	for _, l := range f.Lists() {
		if s := f.States[l.List.ID].State; (len(l.Items) > 0 || !some) && (state == "" || rank(s) < rank(state)) {
			state = s
		}
	}
	return state
}

// Asks returns the first list whose agent asks a person something, and the question; ok is false if no agent asks.
func (f *Group) Asks() (list todo.Snapshot, asks string, ok bool) {
	if f.State() != todo.Waiting {
		return list, "", false
	}
	for _, l := range f.Lists() {
		if asks := f.States[l.List.ID].Asks; asks != "" {
			return l, asks, true
		}
	}
	return list, "", false
}

// Waits returns the first blocked item of a waiting list in a waiting group; ok is false if there is none.
func (f *Group) Waits() (item todo.Item, ok bool) {
	if f.State() != todo.Waiting {
		return item, false
	}
	for _, l := range f.Lists() {
		i := slices.IndexFunc(l.Items, func(i todo.Item) bool { return i.Status == todo.Blocked })
		if f.States[l.List.ID].State == todo.Waiting && i >= 0 {
			return l.Items[i], true
		}
	}
	return item, false
}

// Seq returns the highest Seq of the lists.
func (f *Group) Seq() int64 {
	seq := f.Main.Seq
	for i := range f.Subs {
		seq = max(seq, f.Subs[i].Seq)
	}
	return seq
}

// Updated returns when the lists last changed.
func (f *Group) Updated() time.Time {
	return f.latest(func(l *todo.Snapshot) time.Time { return l.Updated })
}

// latest calls its function parameter for each list and returns the latest time.
func (f *Group) latest(of func(*todo.Snapshot) time.Time) time.Time {
	at := of(&f.Main)
	for i := range f.Subs {
		if t := of(&f.Subs[i]); t.After(at) {
			at = t
		}
	}
	return at
}

// Since returns when an agent began to ask or, if none asks, last wrote; Updated if that is unknown or the group ended.
func (f *Group) Since() time.Time {
	if l, _, ok := f.Asks(); ok && !f.States[l.List.ID].Since.IsZero() {
		return f.States[l.List.ID].Since
	}
	at := f.latest(func(l *todo.Snapshot) time.Time { return l.Worked })
	if !at.IsZero() && !f.State().Ended() {
		return at
	}
	return f.Updated()
}

// Progress returns the progress of the main list or, if that has no items, of the sub-agents' lists.
func (f *Group) Progress() todo.Progress {
	p := f.Main.Progress()
	if len(f.Main.Items) == 0 {
		for _, s := range f.Subs {
			p = p.Plus(s.Progress())
		}
	}
	return p
}

// Client returns the client that wrote a list last or, after a person's write, began the list; empty if not known.
func Client(s todo.Snapshot) string {
	if s.Writer.Person {
		return s.List.Client
	}
	return cmp.Or(s.Writer.Client, s.List.Client)
}

// Board has the groups of each part of the board. Every part except Active is sorted by last change, newest first.
type Board struct {
	Active   []Group // an agent is present; by state, then by start time, newest first: a write alone moves no group
	Quiet    []Group // idle chats without a list
	Left     []Group // left open, except sub-agents' lists without their main list
	Finished []Group // finished today
	Past     []Group // left open, or finished on any day; not archived
	Archived []Group // put away
}

// Sort sorts groups into the parts of the board. Today begins at midnight in now's time zone.
func Sort(all []Group, now time.Time) (b Board) {
	lastFirst := make([]*Group, len(all)) // a group is large to copy
	for i := range all {
		lastFirst[i] = &all[i]
	}
	slices.SortStableFunc(lastFirst, func(a, b *Group) int {
		return cmp.Or(b.Updated().Compare(a.Updated()), cmp.Compare(b.Seq(), a.Seq()), cmp.Compare(a.Main.List.ID, b.Main.List.ID))
	})
	b.Past = make([]Group, 0, len(all))
	for _, f := range lastFirst {
		state, isChat := f.State(), f.Main.IsChat()
		switch {
		case isChat && state.Ended(): // left out: the chat is gone
		case isChat && state == todo.Idle:
			b.Quiet = append(b.Quiet, *f)
		case f.Main.Archived:
			b.Archived = append(b.Archived, *f)
		case !state.Rests():
			b.Active = append(b.Active, *f)
		case state == todo.LeftOpen && f.Main.List.Agent == "":
			b.Left = append(b.Left, *f)
		case state != todo.LeftOpen && !f.Updated().Before(todo.Midnight(now)):
			b.Finished = append(b.Finished, *f)
		}
		if state.Rests() && !isChat && !f.Main.Archived {
			b.Past = append(b.Past, *f)
		}
	}
	slices.SortStableFunc(b.Active, func(a, b Group) int {
		return cmp.Or(cmp.Compare(rank(a.State()), rank(b.State())), b.Main.List.Created.Compare(a.Main.List.Created), cmp.Compare(a.Main.List.ID, b.Main.List.ID))
	})
	return b
}

// Lapsed returns how many groups became [todo.Snapshot.Lapsed] today.
func (b Board) Lapsed(now time.Time) (n int) {
	for _, f := range b.Archived {
		if f.Main.Lapsed && !f.Main.Updated.Add(todo.LapseAfter).Before(todo.Midnight(now)) {
			n++
		}
	}
	return n
}

// Only returns the board with only the groups for which keep is true.
func (b Board) Only(keep func(Group) bool) Board {
	only := func(fs []Group) []Group {
		return slices.DeleteFunc(slices.Clone(fs), func(f Group) bool { return !keep(f) })
	}
	return Board{only(b.Active), only(b.Quiet), only(b.Left), only(b.Finished), only(b.Past), only(b.Archived)}
}

// Project is the groups that work in one folder.
type Project struct {
	Folder string // its path; empty when unknown
	Groups []Group
}

// Projects returns the active groups by folder, within a folder in the order of the board. Folders with a group
// that waits for a person come first; otherwise the folder with the newest list comes first.
func (b Board) Projects() (out []Project) {
	newest := make(map[string]time.Time)
	for _, f := range b.Active {
		folder := f.Main.List.Workspace
		i := slices.IndexFunc(out, func(p Project) bool { return p.Folder == folder })
		if i < 0 {
			i, out = len(out), append(out, Project{Folder: folder})
		}
		out[i].Groups = append(out[i].Groups, f)
		if at := f.Main.List.Created; at.After(newest[folder]) {
			newest[folder] = at
		}
	}
	waits := func(p Project) int { return min(rank(p.Groups[0].State()), 1) } // 0 if one waits: these come first
	slices.SortStableFunc(out, func(a, b Project) int {
		return cmp.Or(waits(a)-waits(b), newest[b.Folder].Compare(newest[a.Folder]), cmp.Compare(a.Folder, b.Folder))
	})
	return out
}

// LastDay returns the ended groups of the last day that has any. lists must be in order of last change, newest first.
func LastDay(lists []Group, now time.Time) (of []Group) {
	for _, f := range lists {
		if len(of) > 0 && f.Updated().Before(todo.Midnight(of[0].Updated().In(now.Location()))) {
			break
		}
		if f.State().Ended() {
			of = append(of, f)
		}
	}
	return of
}

// Counts returns how many groups are in each state.
func Counts(fs []Group) map[todo.State]int {
	n := make(map[todo.State]int)
	for _, f := range fs {
		n[f.State()]++
	}
	return n
}

// Fate is the outcome of a person's change. It is empty if there is no change, or no agent that could see it.
type Fate string

// The outcomes of a person's change.
const (
	Waits      Fate = "waits to be seen" // no agent has been told of the change yet
	Seen       Fate = "seen"             // agents know the change, and it stands
	Overridden Fate = "overridden"       // an agent insisted on the version that the person had replaced
)

// Edits has the fates of people's changes in a list. It is a part of the answer of /api/states.
type Edits struct {
	Unseen []string `json:"unseen,omitempty"` // ids of items with people's changes that wait to be seen
	// Seen has the ids of the items with a person's text that agents have seen. Overridden has, by item
	// id, the person's text that an agent replaced, or [Deleted].
	Seen       []string          `json:"seen,omitempty"`
	Overridden map[string]string `json:"overridden,omitempty"`
	Order      Fate              `json:"order,omitempty"` // the fate of the person's order of the items
	Title      Fate              `json:"title,omitempty"` // [Waits] until an agent saw the list's title; else empty
	Saw        int64             `json:"saw,omitempty"`   // the revision that agents last saw; 0 for none
	Lost       []int64           `json:"lost,omitempty"`  // people's revisions that agents overrode, at least in part
}

// EditsOf returns the edits of a list; saw is the result of [board.Lists.Saw].
func EditsOf(saw, list todo.Snapshot) Edits {
	e := Edits{Saw: saw.Revision, Overridden: make(map[string]string)}
	for _, d := range todo.Diff(saw, list) {
		e.Unseen = append(e.Unseen, cmp.Or(d.After.ID, d.Before.ID))
	}
	if list.Writer.Person && list.Worked.IsZero() && saw.Revision == list.Revision {
		e.Saw = 0
	}
	find := todo.Near(saw.Items)
	for n, i := range list.Items {
		before, _ := find(n, i.ID)
		switch {
		case i.Overridden():
			if e.Overridden[i.ID] = i.PersonEdit.Text; i.Deleted {
				e.Overridden[i.ID] = Deleted
			}
			e.Lost = append(e.Lost, i.PersonEdit.Revision)
		case i.PersonEdit.Text != "" && before.PersonEdit.Text == i.PersonEdit.Text && e.Saw > 0 && !slices.Contains(e.Unseen, i.ID):
			e.Seen = append(e.Seen, i.ID)
		}
	}
	for _, i := range list.LeftOut() {
		e.Lost = append(e.Lost, i.PersonEdit.Revision)
	}
	if saw.GivenTitle != list.GivenTitle {
		e.Title = Waits
	}
	switch order := list.Order; {
	case order.Text == "":
	case list.OrderOverridden():
		e.Order = Overridden
		e.Lost = append(e.Lost, order.Revision)
	case !todo.InSameOrder(saw.Items, list.Items):
		e.Order = Waits
	case e.Saw > 0:
		e.Order = Seen
	}
	return e
}

// Deleted stands in [Edits.Overridden] for an item that a person deleted and an agent put back.
const Deleted = "deleted"

// Of returns the fate of people's changes of an item.
func (e Edits) Of(id string) Fate {
	switch _, overridden := e.Overridden[id]; {
	case overridden:
		return Overridden
	case slices.Contains(e.Unseen, id):
		return Waits
	case slices.Contains(e.Seen, id):
		return Seen
	}
	return ""
}

// OfRevision returns the fate of a person's revision, for which [Told] must be true.
func (e Edits) OfRevision(revision int64) Fate {
	switch {
	case slices.Contains(e.Lost, revision):
		return Overridden
	case e.Saw == 0:
		return ""
	case revision > e.Saw:
		return Waits
	}
	return Seen
}

// Told reports whether agents are told of a revision: a person made it and changed items, their order or the title.
func Told(before, revision todo.Snapshot) bool {
	return revision.Writer.Person && (before.GivenTitle != revision.GivenTitle || len(todo.Diff(before, revision)) > 0)
}

// ListState is the standing of a list, as an element of the answer of /api/states.
type ListState struct {
	List string `json:"list"`
	todo.Standing
	Group  todo.State `json:"group,omitempty"`  // only for a main list: the group's state, if it differs
	Client string     `json:"client,omitempty"` // see the function Client
	Edits             // what became of people's changes
}

// ListStates returns the standings of the lists of groups, without the lists in [Group.Away]. saw is [board.Lists.Saw].
func ListStates(groups []Group, saw func(todo.Snapshot) (todo.Snapshot, error)) ([]ListState, error) {
	out := make([]ListState, 0, len(groups))
	for _, f := range groups {
		for n, l := range f.Lists() {
			seen, err := saw(l)
			if err != nil {
				return nil, err
			}
			s := ListState{List: l.List.ID, Standing: f.States[l.List.ID], Client: Client(l), Edits: EditsOf(seen, l)}
			if group := f.State(); n == 0 && group != s.State {
				s.Group = group
			}
			out = append(out, s)
		}
	}
	return out, nil
}
