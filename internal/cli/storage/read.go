package storage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// maxLine is the most bytes of a line that import reads. A list at its hard caps fits.
const maxLine = 32 << 20

// maxEmpty is how many lines may be empty, as where an export was pasted: they could go on
// without end.
const maxEmpty = 1000

// file is an export, which is read several times: to check all of it, to compare it with what
// is here, and to import it. It may be larger than the memory.
type file interface {
	io.Reader
	io.ReaderAt
}

// history is the revisions of one list in a file, without gaps. The first is above 1 when the
// start of the history was not kept.
type history struct {
	list        todo.List // as its first line has it
	first, last int64     // revisions
	lastID      int       // of the last revision
	from        int64     // the first revision that is not here; see importer.plan
}

// eachLine calls do with the snapshot in each line of an export. The error names the line.
func eachLine(in io.Reader, do func(todo.Snapshot) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n, empty := 0, 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			if empty++; empty == maxEmpty {
				return fmt.Errorf("line %d: not a line of an export: so many are empty", n)
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

// readExport reads and checks what export wrote, and returns a history for each list, by its id.
func readExport(in io.Reader) (map[string]*history, error) {
	lists := make(map[string]*history)
	return lists, eachLine(in, func(s todo.Snapshot) error {
		h := lists[s.List.ID]
		if h == nil {
			h = &history{list: s.List, first: s.Revision, last: s.Revision - 1}
			lists[s.List.ID] = h
		}
		switch {
		case s.Revision != h.last+1:
			return fmt.Errorf("revision %d follows revision %d of list %s", s.Revision, h.last, s.List.ID)
		case s.LastID < h.lastID:
			return fmt.Errorf("last_id %d is below %d of the revision before: an id would be given twice", s.LastID, h.lastID)
		}
		h.last, h.lastID = s.Revision, s.LastID
		return nil
	})
}

// readLine reads and checks the snapshot in a line of an export. Each key comes once, in
// its very case, and there are no others, no invalid UTF-8, no lone surrogates and no
// text behind the value (BAD-INPUT 83).
func readLine(line []byte) (s todo.Snapshot, err error) {
	if err = json.Unmarshal(line, &s, json.RejectUnknownMembers(true)); err != nil {
		return todo.Snapshot{}, fmt.Errorf("not a line of an export: %s", render.Safe(err.Error()))
	}
	s.List.ParentConversation, s.Workers = "", nil // chats are not in the file; Parent is
	s.Rest = nil                                   // it is no excerpt
	s.Operation = todo.Operation{}                 // as export writes it: who may repeat it is not in the file
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
		isLater := n >= len(s.Items)+len(s.Gone) // whose id has another form
		if id := todo.ItemNumber(item.ID); !isLater && (id == 0 || id > s.LastID) {
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

// maxReplaced is how many of a person's replaced wordings a file may have of an item.
const maxReplaced = 16

// checkEdits returns an error unless what a person made of an item may be stored: its
// words may come back as the item's text.
func checkEdits(i todo.Item) error {
	words := strings.SplitN(i.PersonEdit.Replaced, "\n", maxReplaced+1)
	if len(words) > maxReplaced || max(len(i.BegunBy), len(i.Holder)) > todo.MaxLabel {
		return errors.New("a person's edit has too much")
	}
	for _, text := range append(words, i.PersonEdit.Text) {
		if err := (todo.Item{Text: text, Status: todo.Pending}).Check(); err != nil && text != "" {
			return fmt.Errorf("a person's edit: %w", err)
		}
	}
	return nil
}
