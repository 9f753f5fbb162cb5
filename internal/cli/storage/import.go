package storage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	atOnce   = 50       // revisions saved in one transaction, which blocks other writers
	maxLine  = 32 << 20 // bytes of a line; a list at its hard caps fits
	maxEmpty = 1000     // this many empty lines are an error: a pasted export may have some, endless input has more
)

// Import imports an export. It checks everything before it writes; then only a failing or full store stops the import.
func Import(ctx context.Context, a *app.App, args []string) error {
	from, err := input(ctx, a, args)
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	defer from.Close()
	// The export is copied to a UTF-8 file: a pipe cannot be read twice, and the export may be larger than memory.
	copied, err := os.CreateTemp("", "todo-mcp-import-*.ndjson")
	if err != nil {
		return fmt.Errorf("%w; nothing was imported", err)
	}
	defer os.Remove(copied.Name()) //nolint:errcheck // the system cleans the folder
	defer copied.Close()
	a.Keep.Begun, a.Keep.Abandoned = 0, 0 // imported lists have no limit per chat, and drop no other lists
	return a.OnStore(func(st *store.Opened, _ *board.Board) error {
		i := importer{store: st, lists: make(map[string]*history)}
		missing, err := i.check(ctx, io.TeeReader(asutf8.Reader(from), copied))
		if err != nil {
			return fmt.Errorf("%w; nothing was imported", err)
		}
		if err := i.write(ctx, io.NewSectionReader(copied, 0, math.MaxInt64), missing); err != nil {
			return err
		}
		return a.Say("Imported %d revisions.\n", missing)
	})
}

// input opens the named file, or standard input for "-" or no name.
func input(ctx context.Context, a *app.App, args []string) (io.ReadCloser, error) {
	if len(args) > 0 && args[0] != "-" {
		return os.Open(args[0])
	}
	if app.IsTerminal(a.Stdin) {
		fmt.Fprintln(a.Stderr, "Paste what `todo-mcp export` wrote, and end it with Ctrl-D on a line of its own. Ctrl-C stops. `todo-mcp import FILE` reads a file.")
	}
	return io.NopCloser(a.TypedInput(ctx)), nil
}

type importer struct {
	store board.Store
	lists map[string]*history // the lists that the method check has read, by id
}

// history is the revisions of one list in a file, without gaps. The first may be above 1.
type history struct {
	list   todo.List // as in the list's first line in the file
	here   int64     // the newest revision in the store; 0 for none
	last   int64     // the newest revision in the file
	lastID int       // LastID of the newest revision in the file
}

// check reads a whole export and returns how many of its revisions the store lacks. It fails if a list's histories in
// the file and the store differ or leave a gap between the two. Revisions that the store dropped are not compared.
func (i importer) check(ctx context.Context, in io.Reader) (missing int64, err error) {
	err = eachLine(in, func(s todo.Snapshot) error {
		h := i.lists[s.List.ID]
		if h == nil {
			here, err := i.here(ctx, s.List)
			if err == nil && here.Revision > 0 && (here.List.ID != s.List.ID || here.Revision < s.Revision) {
				err = another(here)
			}
			if err != nil {
				return err
			}
			h = &history{list: s.List, here: here.Revision, last: s.Revision - 1}
			i.lists[s.List.ID] = h
		}
		switch {
		case s.Revision != h.last+1:
			return fmt.Errorf("revision %d follows revision %d of list %s", s.Revision, h.last, s.List.ID)
		case s.LastID < h.lastID:
			return fmt.Errorf("last_id %d is below %d of the revision before: an id would be given twice", s.LastID, h.lastID)
		}
		h.last, h.lastID = s.Revision, s.LastID
		if s.Revision > h.here {
			missing++
			return nil
		}
		ours, err := i.store.Load(ctx, s.List.ID, s.Revision)
		ours.Operation, ours.Workers = todo.Operation{}, nil // see readLine
		if err == nil && !s.Equal(ours) {
			err = another(ours)
		}
		return board.PassOver(err)
	})
	return missing, err
}

// another returns the error for a list whose history in the store differs from the file's.
func another(here todo.Snapshot) error {
	return fmt.Errorf("a list %q is here already, with another history: delete it for good with `todo-mcp delete --purge %s`, or import the file into another store with --store",
		render.Safe(here.Title()), here.List.ID)
}

// here returns the newest stored revision of the list with l's id, else of the list with l's name, else revision 0.
func (i importer) here(ctx context.Context, l todo.List) (todo.Snapshot, error) {
	found, err := i.store.Load(ctx, l.ID, 0)
	if errors.Is(err, board.ErrNotFound) && l.Name != "" {
		var named string
		if named, err = i.store.Named(ctx, l.Principal, l.Name); err == nil && named != "" {
			found, err = i.store.Load(ctx, named, 0)
		}
	}
	return found, board.PassOver(err)
}

// write saves the missing revisions of an export that was checked. An error says how many were saved; a repeated import
// then saves the rest.
func (i importer) write(ctx context.Context, in io.Reader, missing int64) error {
	var some []todo.Snapshot // the next revisions to save, all of one list
	saved := 0
	save := func() error {
		if len(some) == 0 {
			return nil
		}
		if err := i.save(ctx, some); err != nil {
			return fmt.Errorf("list %s, from revision %d on: %w; %d of %d revisions were imported before it: import the file again to go on",
				some[0].List.ID, some[0].Revision, err, saved, missing)
		}
		saved, some = saved+len(some), nil
		return nil
	}
	err := eachLine(in, func(s todo.Snapshot) (err error) {
		h := i.lists[s.List.ID]
		if s.Revision <= h.here {
			return nil
		}
		s.List = h.list // shared by all revisions
		if len(some) == atOnce || len(some) > 0 && some[0].List.ID != s.List.ID {
			err = save()
		}
		some = append(some, s)
		return err
	})
	if err == nil {
		err = save()
	}
	return err
}

// save saves revisions of a list. For a new list it also saves the name.
func (i importer) save(ctx context.Context, some []todo.Snapshot) error {
	l := some[0].List
	return i.store.Update(ctx, board.Key{Principal: l.Principal, Chat: l.ID}, func(tx board.Tx) error {
		_, err := tx.Load(ctx, l.ID, 0)
		begins := errors.Is(err, board.ErrNotFound)
		if err != nil && !begins {
			return err
		}
		for _, s := range some {
			if _, err := tx.Save(ctx, s); err != nil {
				return err
			}
		}
		if begins && l.Name != "" {
			return tx.SetName(ctx, l.Principal, l.Name, l.ID)
		}
		return nil
	})
}

// eachLine calls do with the snapshot in each line of an export. An error names the line.
func eachLine(in io.Reader, do func(todo.Snapshot) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	searched := 0 // bytes of the next line that were searched for a line end; a line may come in parts of 4 kB
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if !atEOF && bytes.IndexByte(data[searched:], '\n') < 0 {
			searched = len(data)
			return 0, nil, nil
		}
		searched = 0
		return bufio.ScanLines(data, atEOF)
	})
	n, empty := 0, 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			if empty++; empty == maxEmpty {
				return fmt.Errorf("line %d: not a line of an export: too many are empty", n)
			}
			continue
		}
		s, err := readLine(lines.Bytes())
		if err == nil {
			err = do(s)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read line %d: %w", n+1, err)
	}
	return nil
}

// readLine parses and checks a line of an export. Duplicate or unknown keys, keys in another case, invalid UTF-8,
// lone surrogates and text after the value are errors (BAD-INPUT 83).
func readLine(line []byte) (s todo.Snapshot, err error) {
	if err = json.Unmarshal(line, &s, json.RejectUnknownMembers(true)); err == nil {
		_, err = json.Marshal(render.Document(s)) // fails for a time whose year in UTC is not from 0 to 9999
	}
	if err != nil {
		return todo.Snapshot{}, fmt.Errorf("not a line of an export: %s", render.Safe(err.Error()))
	}
	s.List.ParentConversation, s.Workers = "", nil // these name chats, which an export lacks; Parent stays
	s.Rest, s.Operation = nil, todo.Operation{}    // Rest is for excerpts, Operation for repeated calls
	if err := errors.Join(s.Check(), checkLabels(s)); err != nil {
		return s, err
	}
	if s.LastID < 0 || s.LastID > todo.MaxID {
		return s, fmt.Errorf("last_id must be 0 to %d, it is %d", todo.MaxID, s.LastID)
	}
	for n, item := range slices.Concat(s.Items, s.Gone, s.Later) {
		if err := checkEdits(item); err != nil {
			return s, fmt.Errorf("item %d: %w", n+1, err)
		}
		isLater := n >= len(s.Items)+len(s.Gone) // items in Later have ids of another form
		if id := todo.ItemNumber(item.ID); !isLater && (id == 0 || id > s.LastID) {
			return s, fmt.Errorf("item %d: id %q must be a number from 1 to last_id, which is %d", n+1, render.Safe(todo.Cut(item.ID, 40)), s.LastID)
		}
	}
	return s, nil
}

// checkLabels checks the length and form of the names, ids and labels of a list and its writer (BAD-INPUT 82).
func checkLabels(s todo.Snapshot) error {
	l, w := s.List, s.Writer
	if l.Name != "" {
		if err := todo.CheckName(l.Name); err != nil {
			return err
		}
	}
	// Ids are used in URLs and messages without escaping.
	if strings.ContainsFunc(l.ID+l.Parent+l.Previous+s.ReplacedBy, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("a list's id must be visible ASCII")
	}
	if len(l.Workspace) > todo.MaxWorkspace {
		return fmt.Errorf("the workspace is longer than %d bytes", todo.MaxWorkspace)
	}
	if len(l.Conversation) > 2*todo.MaxWorkspace {
		return fmt.Errorf("the conversation is longer than %d bytes", 2*todo.MaxWorkspace)
	}
	for _, label := range []string{l.ID, l.Principal, l.Client, l.Parent, l.Previous, l.Chat, l.Branch, s.ReplacedBy, l.Agent, w.Client, w.Variant, w.Agent, w.User, w.Process} {
		if len(label) > todo.MaxLabel {
			return fmt.Errorf("an id, a client, a branch or an agent is longer than %d bytes", todo.MaxLabel)
		}
	}
	if most := todo.MaxItems * (len(strconv.Itoa(todo.MaxID)) + 1); len(s.Order.Replaced) > todo.MaxReplaced*most || len(s.Order.Text) > most {
		return errors.New("the order has too many items")
	}
	return nil
}

// checkEdits checks BegunBy, Holder and PersonEdit of an item. Wordings must be valid: one may become the item's text.
func checkEdits(i todo.Item) error {
	words := strings.SplitN(i.PersonEdit.Replaced, "\n", todo.MaxReplaced+1)
	if len(words) > todo.MaxReplaced || max(len(i.BegunBy), len(i.Holder)) > todo.MaxLabel {
		return errors.New("a person's edit has too much")
	}
	for _, text := range append(words, i.PersonEdit.Text) {
		if err := (todo.Item{Text: text, Status: todo.Pending}).Check(); err != nil && text != "" {
			return fmt.Errorf("a person's edit: %w", err)
		}
	}
	return nil
}
