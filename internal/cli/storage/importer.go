package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

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
	keep    todo.Keep
	options importOptions
}

// importPlan is what an import writes, checked to the last revision. Only
// another process or a fault of the store can stop it.
type importPlan struct {
	saves []todo.Snapshot
	notes []string // for the user, when all is saved
}

// plan returns what an import of histories writes, or why it cannot be.
func (i importer) plan(ctx context.Context, histories []history) (importPlan, error) {
	if n := len(histories); i.options.as != "" && n != 1 {
		return importPlan{}, fmt.Errorf("--as takes a file with one list, this one has %d", n)
	}
	var p importPlan
	histories = slices.Clone(histories)
	begun := make(map[string]int)            // new lists, by principal
	known := make([]history, len(histories)) // what is here, for each history
	moved := make(map[string]string)         // ids in the file → here, where they differ
	for n, h := range histories {
		if i.options.as != "" {
			histories[n] = renamed(h, i.options.as)
		}
		here, err := i.here(ctx, histories[n])
		if err != nil {
			return p, err
		}
		if len(here) > 0 {
			moved[h.first().List.ID] = here.first().List.ID
		}
		known[n] = here
	}
	for n, h := range histories {
		here := known[n]
		h = pointed(h, moved)
		if len(here) == 0 {
			begun[h.first().List.Principal]++
		}
		if err := i.planList(&p, h, here); err != nil {
			return p, err
		}
	}
	if err := i.checkQuota(ctx, begun); err != nil {
		return p, err
	}
	return p, i.freeOperations(ctx, p.saves)
}

// renamed returns a history as the history of another list, with a name. The list's
// id follows from the old one and the name, so that a repeated import finds it.
func renamed(h history, name string) history {
	l := h.first().List
	sum := sha256.Sum256([]byte(l.ID + "\x00" + name))
	l.ID, l.Name, l.Conversation, l.Parent, l.ParentConversation, l.Agent = hex.EncodeToString(sum[:16]), name, "", "", "", ""
	l.Previous, l.Chat = "", ""
	out := slices.Clone(h)
	for n := range out {
		out[n].List = l
		out[n].Operation = todo.Operation{} // it made the original, not the copy
		out[n].ReplacedBy = ""
	}
	return out
}

// pointed returns a history whose list names lists by the ids that they have here, given
// those that differ from the ones in the file.
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

// nameKey returns the key whose cursor says which list has the name of a list.
func nameKey(l todo.List) todo.Key {
	return todo.Key{Principal: l.Principal, Conversation: todo.NameKey(l.Name)}
}

// planList adds what the import of one history writes, given the revisions that
// are here.
func (i importer) planList(p *importPlan, h, here history) error {
	if len(here) == 0 {
		shift := h.first().Revision - 1
		p.add(h, shift)
		if shift > 0 {
			p.notes = append(p.notes, fmt.Sprintf("List %s begins with revision %d in the file: its revisions are 1 to %d here.",
				h.title(), h.first().Revision, len(h)))
		}
		return nil
	}
	newest := here.last()
	if shift, ok := align(h, here); ok {
		if fresh := newest.Revision + shift - h.first().Revision + 1; fresh < int64(len(h)) {
			p.add(h[max(fresh, 0):], shift)
			return nil
		}
		if !i.options.replace {
			return nil // all of it is here
		}
	} else if !i.options.replace {
		return fmt.Errorf("a list %s is here already, with another history: import it as another list with --as NAME, or make the one here what the file holds with --replace", here.title())
	}
	return p.replace(newest, h)
}

// add adds revisions, each with a number lower by shift than in the file.
func (p *importPlan) add(revisions history, shift int64) {
	for _, s := range revisions {
		p.saves = append(p.saves, shifted(s, shift))
	}
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

// replace adds the newest items of a history as the revision after newest, made
// by a person, so that the list's agent is told of it. It adds nothing when the
// items are the same.
func (p *importPlan) replace(newest todo.Snapshot, h history) error {
	from := h.last()
	next := newest
	next.Revision++
	next.Items, next.LastID = byPerson(newest, from.Items, next.Revision), max(newest.LastID, from.LastID)
	next.Archived, next.ReplacedBy, next.Order = false, "", todo.Order{}
	next.Updated = time.Now().UTC()
	next.Writer = todo.Writer{Client: "command line", Variant: "import", Person: true}
	next.Operation, next.Report, next.Seq = todo.Operation{}, todo.Report{}, 0
	if len(todo.Diff(newest, next)) == 0 {
		return nil
	}
	next = next.Entitled()
	p.saves = append(p.saves, next)
	p.notes = append(p.notes, fmt.Sprintf("List %s holds what the file holds, as revision %d.", history{next}.title(), next.Revision))
	return nil
}

// byPerson returns items as a person puts them into the revision after newest: what
// they begin the person began, and words of people that are new here are of this
// revision.
func byPerson(newest todo.Snapshot, items []todo.Item, revision int64) []todo.Item {
	items = slices.Clone(items)
	for n, item := range items {
		was, _ := newest.Item(item.ID)
		switch item.Status {
		case was.Status:
			items[n].BegunBy = was.BegunBy
		case todo.InProgress:
			items[n].BegunBy = todo.PersonsHand
		}
		if item.Hand != was.Hand && item.Hand != (todo.Hand{}) {
			items[n].Hand.Revision = revision
		}
	}
	return items
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
		theirs = shifted(theirs, shift)
		if ours.Operation == (todo.Operation{}) {
			theirs.Operation = todo.Operation{} // see freeOperations
		}
		if !theirs.Equal(ours) {
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

// freeOperations removes the operation ids that the store has already: it would
// take a save with one of them for a repeat, and not save it.
func (i importer) freeOperations(ctx context.Context, saves []todo.Snapshot) error {
	used := make(map[string]bool)
	for n := range saves {
		op := saves[n].Operation
		if op.ID == "" {
			continue
		}
		found, err := i.store.Find(ctx, todo.Query{Operation: op.ID})
		if err != nil {
			return err
		}
		if len(found) > 0 || used[op.ID] {
			saves[n].Operation = todo.Operation{}
		}
		used[op.ID] = true
	}
	return nil
}

// write saves what is planned. The error says how much was saved before it; the
// same import then goes on from there.
func (i importer) write(ctx context.Context, p importPlan) error {
	for n, s := range p.saves {
		err := i.save(ctx, s)
		if err == nil {
			continue
		}
		if errors.Is(err, todo.ErrUnknownOutcome) {
			return fmt.Errorf("%w; %d of %d revisions were imported before this one: import the file again to go on", err, n, len(p.saves))
		}
		return fmt.Errorf("list %s, revision %d: %w; %d of %d revisions were imported before it: import the file again to go on",
			s.List.ID, s.Revision, err, n, len(p.saves))
	}
	return nil
}
