package account

import (
	"cmp"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Board has all groups by the parts of the board. Groups that rest are in the order of their last change, newest first.
type Board struct {
	Active   []Group // an agent is there; by state, then the newest first, so that a write alone moves none
	Quiet    []Group // chats that are idle, without a list
	Left     []Group // left open, and no sub-agent's list without its main list
	Finished []Group // today
	Past     []Group // all that rest: those left open, and those finished on any day
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
		case isChat && state.Ended(): // the chat is gone
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
	waits := func(p Project) int { return min(rank(p.Groups[0].State()), 1) } // 0 if a group waits, which then is the first
	slices.SortStableFunc(out, func(a, b Project) int {
		return cmp.Or(waits(a)-waits(b), newest[b.Folder].Compare(newest[a.Folder]), cmp.Compare(a.Folder, b.Folder))
	})
	return out
}

// LastDay returns the ended groups of the last day that has any. lists must be in order of last change, newest first.
func LastDay(lists []Group, now time.Time) (of []Group) {
	var day time.Time
	for i := range lists {
		f := &lists[i]
		if len(of) == 0 {
			day = todo.Midnight(f.Updated().In(now.Location()))
		}
		if f.Updated().Before(day) {
			break
		}
		if f.State().Ended() {
			of = append(of, *f)
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
