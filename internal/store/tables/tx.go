package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// DB is a database transaction, as a [Saver] uses it. Until it ends, nobody else changes rows of its principal that it
// has read. Its SQL has a question mark for each argument.
type DB interface {
	// Exec runs a statement that changes something, perhaps later, but before the next read or the commit.
	Exec(sql string, args ...any) error

	// Remove is Exec for statements that may remove rows which are in the [Memory].
	Remove(sql string, args ...any) error

	// Scan reads the only row of a query. It returns [sql.ErrNoRows] when there is none.
	Scan(ctx context.Context, sql string, args []any, into ...any) error

	// NextSeq returns a new Seq, for the next revision or chat to be stored.
	NextSeq() (int64, error)
}

// Memory holds the rows that a transaction read or stored, as they are now.
type Memory struct {
	Lists map[string]todo.Snapshot // newest revisions; zero for a list that does not exist
	Seen  map[board.Key][]board.Seen
	Chats map[string]todo.Chat // zero for a chat that does not exist
	Put   int                  // bytes put in: of texts, and [rowSize] for each row
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{Lists: make(map[string]todo.Snapshot), Seen: make(map[board.Key][]board.Seen), Chats: make(map[string]todo.Chat)}
}

// SetSeen sets what a chat has seen.
func (m *Memory) SetSeen(of board.Key, all []board.Seen) {
	m.Put += (len(all) + 1) * (rowSize + len(of.Principal) + len(of.Chat))
	m.Seen[of] = all
}

// Saver stores and reads lists and chats in a transaction. It remembers what it read or stored.
type Saver struct {
	Reader
	Memory *Memory
	DB     DB
	Keep   board.Keep
	Used   *Used
	Alive  func(process string) bool // see [board.Store]
	// Wrap adds the name of the failed operation to an error.
	Wrap func(ctx context.Context, what string, err error) error
	// Failed is the first error of the database, after which no method does anything.
	Failed error
}

// Do calls run, unless Failed is set, and wraps its error. It sets Failed, except for a refusal or a damaged row.
func (s *Saver) Do(ctx context.Context, what string, run func() error) error {
	if s.Failed != nil {
		return s.Failed
	}
	err := run()
	if err == nil {
		return nil
	}
	err = s.Wrap(ctx, what, err)
	if s.Failed == nil && !board.IsRefusal(err) && !errors.Is(err, board.ErrDamaged) {
		s.Failed = err
	}
	return err
}

// Load implements [board.Tx].
func (s *Saver) Load(ctx context.Context, list string, revision int64) (found todo.Snapshot, err error) {
	found, isKnown := s.Memory.Lists[list]
	if revision != 0 && found.Revision != revision {
		return s.Reader.Load(ctx, list, revision)
	}
	if !isKnown {
		if found, err = s.Reader.Load(ctx, list, 0); err != nil && !errors.Is(err, board.ErrNotFound) {
			return found, err
		}
		s.Memory.Put += rowSize + todo.Size(found.Items) + todo.Size(found.Report.Dropped)
		s.Memory.Lists[list] = found
	}
	if found.Revision == 0 {
		return found, fmt.Errorf("read snapshot: %w", board.ErrNotFound)
	}
	if l := &found.List; l.ParentConversation != "" {
		if all, isKnown := s.Memory.Seen[board.Key{Principal: l.Principal, Chat: l.ParentConversation, Mirrors: l.Mirrored}]; isKnown {
			l.Parent = board.Current(all) // the parent may have changed since the list was read
		}
	}
	return found, nil
}

// Chat implements [board.Tx].
func (s *Saver) Chat(ctx context.Context, id string) (c todo.Chat, err error) {
	c, isKnown := s.Memory.Chats[id]
	if !isKnown {
		if c, err = s.Reader.Chat(ctx, id); err == nil {
			s.Memory.Put += rowSize + len(id)
			s.Memory.Chats[id] = c
		}
	}
	return c, err
}

// Seen implements [board.Tx].
func (s *Saver) Seen(ctx context.Context, of board.Key) ([]board.Seen, error) {
	all, _, err := s.seenBy(ctx, of)
	return slices.Clone(all), err
}

// seenBy returns what a chat has seen, and how many of its rows are damaged. If a row is damaged, it remembers none.
func (s *Saver) seenBy(ctx context.Context, of board.Key) (all []board.Seen, damaged int, err error) {
	all, isKnown := s.Memory.Seen[of]
	if !isKnown {
		all, damaged, err = good(ctx, s.Reader, "read what chats have seen", s.sql.SeenBy, ScanSeen, of.Principal, of.Chat, of.Mirrors)
		if err == nil && damaged == 0 {
			s.Memory.SetSeen(of, all)
		}
	}
	return all, damaged, err
}
