package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// maxLine is the maximum length in bytes of a line that import reads. A list at
// its hard caps fits in it.
const maxLine = 32 << 20

// importOptions say what becomes of lists that are here already. The zero value
// refuses them.
type importOptions struct {
	as      string // import the one list of the file under this name
	replace bool   // make the lists that are here what the file holds
}

// history is the revisions of one list in a file, without gaps, not empty. The
// first is above 1 when the start of the history was not kept.
type history []todo.Snapshot

func (h history) first() todo.Snapshot { return h[0] }
func (h history) last() todo.Snapshot  { return h[len(h)-1] }

// title is how messages name the list: in quotes, and safe to print.
func (h history) title() string { return fmt.Sprintf("%q", render.Safe(h.last().Title())) }

// readExport reads and checks what export wrote, one history for each list in
// the order of the file. The error names the line.
func readExport(in io.Reader) ([]history, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	var out []history
	index := make(map[string]int) // of a list in out, by its id
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		s, err := readLine(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		i, known := index[s.List.ID]
		if !known {
			index[s.List.ID] = len(out)
			out = append(out, history{s})
			continue
		}
		if before := out[i].last(); s.Revision != before.Revision+1 {
			return nil, fmt.Errorf("line %d: revision %d follows revision %d of list %s", n, s.Revision, before.Revision, s.List.ID)
		}
		if before := out[i].last(); s.LastID < before.LastID {
			return nil, fmt.Errorf("line %d: last_id %d is below %d of the revision before: an id would be given twice", n, s.LastID, before.LastID)
		}
		s.List = out[i].first().List // the same in all revisions
		out[i] = append(out[i], s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read line %d: %w", n+1, err)
	}
	return out, nil
}

// readLine reads and checks the snapshot in a line of an export.
func readLine(line []byte) (s todo.Snapshot, err error) {
	err = decodeStrict(line, &s)
	if err == nil {
		err = checkListKeys(line)
	}
	if err != nil {
		return s, fmt.Errorf("not a line of an export: %s", render.Safe(err.Error()))
	}
	s.List.ParentConversation = "" // its bindings are not in the file; Parent is
	s.List = s.List.Begun(s.Items) // exports of older versions lack First
	if err := errors.Join(s.Check(), checkLabels(s)); err != nil {
		return s, err
	}
	if s.LastID < 0 || s.LastID > todo.MaxID {
		return s, fmt.Errorf("last_id must be 0 to %d, it is %d", todo.MaxID, s.LastID)
	}
	for n, item := range s.Items {
		if err := item.CheckDetails(); err != nil {
			return s, fmt.Errorf("item %d: %w", n+1, err)
		}
		if id, err := strconv.Atoi(item.ID); err != nil || id < 1 || id > s.LastID || strconv.Itoa(id) != item.ID {
			return s, fmt.Errorf("item %d: id %q must be a number from 1 to last_id, which is %d", n+1, render.Safe(todo.Cut(item.ID, 40)), s.LastID)
		}
	}
	return s, nil
}

// checkLabels returns an error unless what names a list and its writer may be
// stored: what a program writes there is bounded (BAD-INPUT 82).
func checkLabels(s todo.Snapshot) error {
	l, w := s.List, s.Writer
	if l.Name != "" {
		if err := todo.CheckName(l.Name); err != nil {
			return err
		}
	}
	// A list's id stands in addresses and messages as it is.
	if strings.ContainsFunc(l.ID+l.Parent, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("a list's id must be visible ASCII")
	}
	if len(l.Workspace) > todo.MaxWorkspace {
		return fmt.Errorf("the workspace is longer than %d bytes", todo.MaxWorkspace)
	}
	if len(l.Conversation) > 2*todo.MaxWorkspace {
		return fmt.Errorf("the conversation is longer than %d bytes", 2*todo.MaxWorkspace)
	}
	for _, label := range []string{l.ID, l.Principal, l.Client, l.Parent, l.Agent, w.Client, w.Variant, w.Agent, w.User, w.Process, s.Operation.ID, s.Operation.Digest} {
		if len(label) > todo.MaxLabel {
			return fmt.Errorf("an id, a client or an agent is longer than %d bytes", todo.MaxLabel)
		}
	}
	return nil
}

// decodeStrict decodes JSON into what has its keys, each once and in this very
// case. It refuses other keys, invalid UTF-8, lone surrogates and text behind the
// value (BAD-INPUT 83).
func decodeStrict(data []byte, into any) error {
	return json.Unmarshal(data, into, json.RejectUnknownMembers(true))
}

// checkListKeys refuses what decodeStrict does in the list of a line, which
// decodes itself because older versions wrote it differently.
func checkListKeys(line []byte) error {
	var outer struct {
		List jsontext.Value `json:"list"`
	}
	if err := json.Unmarshal(line, &outer); err != nil || outer.List == nil {
		return err
	}
	type List todo.List // has no UnmarshalJSON
	return decodeStrict(outer.List, &struct {
		List  `json:",inline"`
		Scope jsontext.Value `json:"scope"` // of older versions
	}{})
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
		if parent, ok := moved[h.first().List.Parent]; ok {
			h = under(h, parent)
		}
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

// renamed returns a history as that of a list of its own with a name. The list's
// id follows from the old one and the name, so that a repeated import finds it.
func renamed(h history, name string) history {
	l := h.first().List
	sum := sha256.Sum256([]byte(l.ID + "\x00" + name))
	l.ID, l.Name, l.Conversation, l.Parent, l.ParentConversation, l.Agent = hex.EncodeToString(sum[:16]), name, "", "", "", ""
	out := slices.Clone(h)
	for n := range out {
		out[n].List = l
		out[n].Operation = todo.Operation{} // it made the original, not the copy
	}
	return out
}

// under returns a sub-agent's history as that of a list below another main list.
func under(h history, parent string) history {
	out := slices.Clone(h)
	for n := range out {
		out[n].List.Parent = parent
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
	named, err := i.named(ctx, l)
	if err != nil || named == "" {
		return nil, err
	}
	return i.store.History(ctx, named, 0, 0)
}

// named returns the id of the list that has the name of a list; empty when there
// is none.
func (i importer) named(ctx context.Context, l todo.List) (string, error) {
	bound, err := i.store.Bindings(ctx, l.Principal, todo.NameKey(l.Name))
	if err != nil || len(bound) == 0 {
		return "", err
	}
	return bound[0].List, nil
}

// save saves one snapshot. The first of a list with a name gets the name.
func (i importer) save(ctx context.Context, s todo.Snapshot) error {
	var bindings []todo.Binding
	if l := s.List; s.Revision == 1 && l.Name != "" {
		over, err := i.named(ctx, l)
		if err != nil {
			return err
		}
		bindings = []todo.Binding{{Principal: l.Principal, Conversation: todo.NameKey(l.Name), Moves: true, Over: over}}
	}
	_, err := i.store.Save(ctx, s, bindings...)
	return err
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

// add adds revisions, each numbered lower by shift than in the file.
func (p *importPlan) add(revisions history, shift int64) {
	for _, s := range revisions {
		s.Revision -= shift
		p.saves = append(p.saves, s)
	}
}

// replace adds the newest items of a history as the revision after newest, made
// by a person, so that the list's agent is told of it. It adds nothing when the
// items are the same.
func (p *importPlan) replace(newest todo.Snapshot, h history) error {
	from := h.last()
	next := newest
	next.Revision++
	next.Items, next.LastID = from.Items, max(newest.LastID, from.LastID)
	next.Updated = time.Now().UTC()
	next.Writer = todo.Writer{Client: "command line", Variant: "import", Person: true}
	next.Operation, next.Report, next.Seq = todo.Operation{}, todo.Report{}, 0
	if len(todo.Diff(newest, next)) == 0 {
		return nil
	}
	p.saves = append(p.saves, next)
	p.notes = append(p.notes, fmt.Sprintf("List %s holds what the file holds, as revision %d.", history{next}.title(), next.Revision))
	return nil
}

// align finds by how much the numbers of a history in a file are above those of
// the same history here: not 0 when its start was not kept where it comes from.
// ok is false when it is another history. Revisions that only one side still
// has are not compared.
func align(file, here history) (shift int64, ok bool) {
	if file.last().Revision < here.first().Revision && file.first().List.ID == here.first().List.ID {
		return 0, true // all of the file was here, and is kept no more
	}
	for _, s := range here {
		if shift = file.first().Revision - s.Revision; agree(file, here, shift) {
			return shift, true
		}
	}
	for _, s := range file {
		if shift = s.Revision - here.first().Revision; agree(file, here, shift) {
			return shift, true
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
		theirs.Revision -= shift
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
