package account

import (
	"cmp"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Board is groups in the parts of the board. The lists that rest stand in the order
// in which they changed, the last one first.
type Board struct {
	Active   []Group // an agent is there; see [Projects] for their order
	Quiet    []Group // chats that are idle, without a list
	Left     []Group // left open, no sub-agent's alone
	Finished []Group // today
	Past     []Group // all that rest: those left open, and those finished on any day
	Archived []Group // put away
}

// Sort sorts groups into the parts of the board. Today begins at midnight in now's
// time zone.
func Sort(all []Group, now time.Time) (b Board) {
	lastFirst := make([]*Group, len(all)) // a group is large to move
	for i := range all {
		lastFirst[i] = &all[i]
	}
	slices.SortFunc(lastFirst, compareResting)
	b.Past = make([]Group, 0, len(all))
	for _, f := range lastFirst {
		switch state := f.State(); {
		case f.Main.IsChat() && state.Ended(): // it is gone
			continue
		case f.Main.IsChat() && state == todo.Idle:
			b.Quiet = append(b.Quiet, *f)
			continue
		case f.Main.Archived:
			b.Archived = append(b.Archived, *f)
			continue
		case !state.Rests():
			b.Active = append(b.Active, *f)
			continue
		case state == todo.LeftOpen:
			if f.Main.List.Agent == "" { // else a sub-agent outlived its chat
				b.Left = append(b.Left, *f)
			}
		case !f.Updated().Before(todo.Midnight(now)):
			b.Finished = append(b.Finished, *f)
		}
		b.Past = append(b.Past, *f)
	}
	slices.SortFunc(b.Active, compareActive)
	return b
}

// Lapsed returns how many groups are archived since today because nobody changed them.
func (b Board) Lapsed(now time.Time) (n int) {
	for _, f := range b.Archived {
		if f.Main.Lapsed && !f.Main.Updated.Add(todo.LapseAfter).Before(todo.Midnight(now)) {
			n++
		}
	}
	return n
}

// compareActive orders lists with an agent: those that wait for a person, those that
// work, those that are idle, and each of these by when it began, the newest first. So
// nothing moves because an agent wrote.
func compareActive(a, b Group) int {
	return cmp.Or(cmp.Compare(rank(a.State()), rank(b.State())), b.Main.List.Created.Compare(a.Main.List.Created), cmp.Compare(a.Main.List.ID, b.Main.List.ID))
}

// compareResting orders lists by when they changed, the last one first.
func compareResting(a, b *Group) int {
	return cmp.Or(b.Updated().Compare(a.Updated()), cmp.Compare(b.Seq(), a.Seq()), cmp.Compare(a.Main.List.ID, b.Main.List.ID))
}

// Only returns the board with the groups alone for which keep is true.
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

// Projects returns the active groups by folder, each in the order of the board: first
// the folders where one waits for a person, and of these and of the others the one with
// the newest list.
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
	waits := func(p Project) int { return min(rank(p.Groups[0].State()), 1) } // 0 if one does, which is the first then
	slices.SortFunc(out, func(a, b Project) int {
		return cmp.Or(waits(a)-waits(b), newest[b.Folder].Compare(newest[a.Folder]), cmp.Compare(a.Folder, b.Folder))
	})
	return out
}

// LastDay returns of lists, the last changed first, those that were finished on the
// last day on which any was: for a board that would be blank the morning after.
func LastDay(lists []Group, now time.Time) (of []Group) {
	var day time.Time
	for i := range lists {
		f := &lists[i]
		switch {
		case !f.State().Ended():
		case len(of) == 0:
			of, day = append(of, *f), todo.Midnight(f.Updated().In(now.Location()))
		case f.Updated().Before(day):
			return of
		default:
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
