package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/todo"
)

// importOptions say what becomes of lists that are here already. The zero value
// refuses them.
type importOptions struct {
	as      string // import the one list of the file under this name
	replace bool   // make the lists that are here what the file holds
}

// importer writes histories to a store.
type importer struct {
	store   todo.Store
	lists   todo.Lists // in the store
	keep    todo.Keep
	options importOptions
}

// importPlan is what an import writes, checked to the last revision. Only
// another process or a fault of the store can stop it.
type importPlan struct {
	steps []importStep
	notes []string // for the user, when all is saved
}

// importStep is one revision that an import writes.
type importStep struct {
	todo.Snapshot
	edits bool // a person's edit makes the items these, rather than that the snapshot is saved as it is
}

// plan returns what an import of histories writes, or why it cannot be. A list comes
// after the lists that it names, as in an export.
func (i importer) plan(ctx context.Context, histories []history) (p importPlan, err error) {
	if n := len(histories); i.options.as != "" && n != 1 {
		return p, fmt.Errorf("--as takes a file with one list, this one has %d", n)
	}
	begun := make(map[string]int)    // new lists, by principal
	moved := make(map[string]string) // ids in the file → here, where the list is here
	for _, h := range histories {
		if i.options.as != "" {
			h = renamed(h, i.options.as)
		}
		h = pointed(h, moved)
		here, err := i.here(ctx, h)
		if err != nil {
			return p, err
		}
		if len(here) > 0 {
			moved[h.first().List.ID] = here.first().List.ID
		} else {
			begun[h.first().List.Principal]++
		}
		if err := p.add(h, here, i.options.replace); err != nil {
			return p, err
		}
	}
	return p, i.checkQuota(ctx, begun)
}

// renamed returns a history as the history of another list, with a name. The list's
// id follows from the old one and the name, so that a repeated import finds it.
func renamed(h history, name string) history {
	was := h.first().List
	sum := sha256.Sum256([]byte(was.ID + "\x00" + name))
	l := todo.List{ID: hex.EncodeToString(sum[:16]), Name: name, Principal: was.Principal, Client: was.Client,
		Workspace: was.Workspace, Mirrored: was.Mirrored, Created: was.Created}
	out := slices.Clone(h)
	for n := range out {
		out[n].List, out[n].ReplacedBy = l, ""
	}
	return out
}

// pointed returns a history whose list names lists by the ids that they have here.
func pointed(h history, moved map[string]string) history {
	out := slices.Clone(h)
	for n := range out {
		for _, id := range []*string{&out[n].List.Parent, &out[n].List.Previous, &out[n].ReplacedBy} {
			if here, ok := moved[*id]; ok {
				*id = here
			}
		}
	}
	return out
}

// here returns the revisions of the list that a history belongs to or collides
// with: the one with its id, else the one that has its name. It is empty when
// there is none.
func (i importer) here(ctx context.Context, h history) (history, error) {
	l := h.first().List
	here, err := i.store.History(ctx, l.ID, 0, 0)
	if err != nil || len(here) > 0 || l.Name == "" {
		return here, err
	}
	cursors, err := i.store.Cursors(ctx, nameKey(l))
	if err != nil || len(cursors) == 0 {
		return nil, err
	}
	return i.store.History(ctx, cursors[0].List, 0, 0)
}

// nameKey returns the key whose cursor says which list has the name of a list.
func nameKey(l todo.List) todo.Key {
	return todo.Key{Principal: l.Principal, Conversation: todo.NameKey(l.Name)}
}

// add adds what the import of one history writes, given the revisions that are here.
func (p *importPlan) add(h, here history, replace bool) error {
	shift, isSame, newest := h.first().Revision-1, true, int64(0)
	if len(here) > 0 {
		newest = here.last().Revision
		shift, isSame = align(h, here)
	}
	known := newest + shift + 1 - h.first().Revision
	switch {
	case isSame && known < int64(len(h)):
		for _, s := range h[known:] {
			p.steps = append(p.steps, importStep{Snapshot: shifted(s, shift)})
		}
		if newest == 0 && shift > 0 {
			p.note("List %s begins with revision %d in the file: its revisions are 1 to %d here.", h.title(), shift+1, len(h))
		}
	case replace:
		return p.replace(here.last(), h.last())
	case !isSame:
		return fmt.Errorf("a list %s is here already, with another history: import it as another list with --as NAME, or make the one here what the file holds with --replace", here.title())
	}
	return nil
}

func (p *importPlan) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// replace adds a person's edit that makes the items of a list here the items in the
// file, so that the list's agent is told of it. It adds nothing when they are the same.
func (p *importPlan) replace(here, file todo.Snapshot) error {
	next := here
	next.Revision++
	next.Items = slices.Clone(file.Items)
	for n := range next.Items {
		next.Items[n].Hand = todo.Hand{} // of revisions that are not here
	}
	if len(todo.Diff(here, next)) == 0 {
		return nil
	}
	if here.List.Mirrored {
		return fmt.Errorf("list %s: %w", history{here}.title(), todo.ErrMirrored)
	}
	p.steps = append(p.steps, importStep{next, true})
	p.note("List %s holds what the file holds, as revision %d.", history{next}.title(), next.Revision)
	return nil
}

// shifted returns a snapshot with numbers of revisions lower by shift. What a person did
// before the first of them counts as done in it.
func shifted(s todo.Snapshot, shift int64) todo.Snapshot {
	s.Revision -= shift
	if shift == 0 {
		return s
	}
	lower := func(revision *int64) {
		if *revision > 0 {
			*revision = max(*revision-shift, 1)
		}
	}
	lower(&s.Order.Revision)
	s.Items = slices.Clone(s.Items)
	for n := range s.Items {
		lower(&s.Items[n].Hand.Revision)
	}
	return s
}

// align finds by how much the numbers of a history in a file are above the numbers of
// the same history here: not 0 when its start was not kept where it comes from.
// ok is false when it is another history. Revisions that only one side still
// has are not compared.
func align(file, here history) (shift int64, ok bool) {
	if file.last().Revision < here.first().Revision && file.first().List.ID == here.first().List.ID {
		return 0, true // all of the file was here, and is kept no more
	}
	start := file.first().Revision - here.first().Revision
	for distance := range int64(max(len(file), len(here))) { // the longest overlap first
		for _, shift := range []int64{start - distance, start + distance} {
			if agree(file, here, shift) {
				return shift, true
			}
		}
	}
	return 0, false
}

// agree reports whether two histories have revisions in common, numbered higher
// in the file by shift, and are equal in all of them.
func agree(file, here history, shift int64) bool {
	from := max(file.first().Revision, here.first().Revision+shift)
	to := min(file.last().Revision, here.last().Revision+shift)
	for n := from; n <= to; n++ {
		theirs, ours := file[n-file.first().Revision], here[n-shift-here.first().Revision]
		ours.Operation = todo.Operation{} // a file has none, see readLine
		if !shifted(theirs, shift).Equal(ours) {
			return false
		}
	}
	return from <= to
}

// checkQuota returns [todo.ErrTooManyLists] when the new lists of a principal
// would exceed the limit.
func (i importer) checkQuota(ctx context.Context, begun map[string]int) error {
	if i.keep.Lists <= 0 {
		return nil
	}
	for principal, n := range begun {
		lists, err := i.store.Find(ctx, todo.Query{Principal: &principal})
		if err != nil {
			return err
		}
		if err := i.keep.CheckLists(len(lists) + n - 1); err != nil {
			return err
		}
	}
	return nil
}

// write saves what is planned. The error says how much was saved before it; the
// same import then goes on from there.
func (i importer) write(ctx context.Context, p importPlan) error {
	for n, s := range p.steps {
		save := i.save
		if s.edits {
			save = i.edit
		}
		if err := save(ctx, s.Snapshot); err != nil {
			return fmt.Errorf("list %s, revision %d: %w; %d of %d revisions were imported before it: import the file again to go on",
				s.List.ID, s.Revision, err, n, len(p.steps))
		}
	}
	return nil
}

// save saves one snapshot. The first of a list with a name gets the name.
func (i importer) save(ctx context.Context, s todo.Snapshot) error {
	key := todo.Key{Principal: s.List.Principal, Conversation: s.List.ID}
	if s.List.Name != "" {
		key = nameKey(s.List)
	}
	return i.store.Update(ctx, key, func(tx todo.Tx) error {
		if _, err := tx.Save(ctx, s); err != nil {
			return err
		}
		if s.Revision == 1 && s.List.Name != "" {
			return tx.SetCursor(ctx, todo.Cursor{Key: key, List: s.List.ID, Current: true})
		}
		return nil
	})
}

// edit makes the items of a list the items of a snapshot, by a person's hand.
func (i importer) edit(ctx context.Context, s todo.Snapshot) error {
	_, err := i.lists.Apply(ctx, todo.Write{
		Target: todo.Target{List: s.List.ID}, Writer: app.CommandLine("import"),
		Change: func(d *todo.Draft) error { d.Restore(s.Items); return nil },
	})
	return err
}
