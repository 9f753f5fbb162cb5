package tables

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// ErrEncode means that a revision or chat has no stored form, for example because it has a time after the year 9999.
var ErrEncode = errors.New("it has no stored form")

// Save implements [board.Tx]. It deletes the revisions that [board.Keep] drops.
func (s *Saver) Save(ctx context.Context, next todo.Snapshot) (saved todo.Snapshot, err error) {
	err = s.Do(ctx, "save snapshot", func() error {
		if err := s.save(ctx, next); err != nil {
			return err
		}
		saved, err = s.Load(ctx, next.List.ID, 0)
		return err
	})
	return saved, err
}

func (s *Saver) save(ctx context.Context, next todo.Snapshot) error {
	before, err := s.Load(ctx, next.List.ID, 0)
	if errors.Is(err, board.ErrDamaged) {
		before = todo.Snapshot{List: next.List}
		err = s.DB.Scan(ctx, s.sql.listRow, []any{next.List.ID}, &before.List.Principal, &before.Revision, new(int64), &before.Deleted)
		next.Revision = before.Revision + 1
	}
	if err != nil && !errors.Is(err, board.ErrNotFound) {
		return err
	}
	if !next.Follows(before) {
		return fmt.Errorf("revision %d of list %s, which is at %d: %w", next.Revision, next.List.ID, before.Revision, board.ErrNotFound)
	}
	next.Items = append([]todo.Item{}, next.Items...)
	if before.Revision == 0 {
		return s.begin(ctx, next, time.Now())
	}
	next.List = before.List
	use, err := s.usage(ctx, next.List, false, time.Time{})
	if err == nil && use.isTight && !next.Leaves(before) {
		_, err = s.makeRoom(ctx, next.List, false, time.Now())
	}
	if err != nil {
		return err
	}
	bytes, excerpt, err := s.addRevision(&next)
	if err != nil {
		return err
	}
	id := next.List.ID
	err = s.DB.Exec(`UPDATE main.lists SET revision = ?, seq = ?, updated = ?, bytes = bytes + ?, spare = ?, excerpt = ? WHERE id = ?`,
		next.Revision, next.Seq, record.UnixNano(next.Updated), bytes, int(next.Spare()), excerpt, id)
	if err == nil && next.Deleted != before.Deleted { // a statement of its own, since many indexes have this column
		err = s.DB.Exec(`UPDATE main.lists SET deleted = ? WHERE id = ?`, next.Deleted, id)
	}
	if first := s.Keep.First(next.Revision); first > 1 && err == nil {
		err = errors.Join(s.DB.Exec(`UPDATE main.lists SET bytes = bytes - (SELECT coalesce(sum(octet_length(body)), 0) FROM main.history
			WHERE list = ? AND revision < ?) WHERE id = ?`, id, first, id), s.DB.Exec(`DELETE FROM main.history WHERE list = ? AND revision < ?`, id, first))
	}
	s.Memory.Lists[id] = next
	return err
}

// begin stores the first revision of a list, if there is room, and removes old rows. It computes ages at the previous
// save's time if that is earlier than now: a clock that is wrong for one save makes no list old.
func (s *Saver) begin(ctx context.Context, first todo.Snapshot, now time.Time) error {
	use, err := s.makeRoom(ctx, first.List, true, now)
	if err == nil {
		err = s.addList(ctx, first, now)
	}
	old := time.Unix(0, min(use.saved, record.UnixNano(now)))
	if err == nil {
		err = s.forget(s.sql.oldLists, first.List, record.UnixNano(old.Add(-board.TrashAge)), maxTrash)
	}
	if err == nil {
		err = s.DB.Remove(s.sql.oldSeen, record.UnixNano(old.Add(-board.SeenAge)), maxOldSeen)
	}
	if err == nil && s.Used.mayExpire(first.List.Principal, min(expireEvery, s.Keep.Finished), now) {
		err = s.DB.Remove(s.sql.oldChats, record.UnixNano(old.Add(-board.SeenAge)), record.UnixNano(old.Add(-board.BareChatAge)))
		if err == nil && s.Keep.Finished > 0 {
			err = s.evict(ctx, first.List, todo.SpareFinished, old.Add(-s.Keep.Finished), false, now)
		}
	}
	return err
}

// addList stores two rows: one of a list, with the time at which it began, and one of its only revision.
func (s *Saver) addList(ctx context.Context, first todo.Snapshot, begun time.Time) (err error) {
	l := first.List
	if l.ParentConversation != "" {
		l.Parent = "" // reads look the parent up, as the next lines do
		held, err := s.Seen(ctx, board.Key{Principal: l.Principal, Chat: l.ParentConversation, Mirrors: l.Mirrored})
		if err != nil {
			return err
		}
		first.List.Parent = board.Current(held)
	}
	meta, err := record.Encode(l)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEncode, err)
	}
	bytes, excerpt, err := s.addRevision(&first)
	if err != nil {
		return err
	}
	s.Memory.Lists[l.ID] = first
	return s.DB.Exec(s.sql.addList, l.ID, l.Principal, l.Client, l.Workspace, l.Parent, l.ParentConversation, l.Mirrored, l.Conversation,
		record.UnixNano(begun), string(meta), first.Revision, first.Seq, record.UnixNano(first.Updated), first.Deleted,
		bytes, int(first.Spare()), excerpt)
}

// addRevision stores a revision and sets its Seq. It returns the body's size in bytes, and the excerpt for the list.
func (s *Saver) addRevision(next *todo.Snapshot) (bytes int, excerpt string, err error) {
	body, err := record.Body(*next)
	short, err2 := record.Body(next.Excerpt())
	if err = errors.Join(err, err2); err != nil {
		return 0, "", fmt.Errorf("%w: %w", ErrEncode, err)
	}
	if next.Seq, err = s.DB.NextSeq(); err != nil {
		return 0, "", err
	}
	s.Used.add(next.List.Principal, len(body))
	s.Memory.Put += rowSize + len(body)
	err = s.DB.Exec(s.sql.addRevision, next.List.ID, next.Revision, next.Operation.ID, record.UnixNano(next.Updated), string(body), next.Seq)
	return len(body), string(short), err
}

// forget removes the lists that a query selects, and their rows in other tables. It also removes the chats that held
// these lists and no other ones, except the chat of forList.
func (s *Saver) forget(lists string, forList todo.List, args ...any) error {
	chats := fmt.Sprintf(`WITH gone (id) AS (%s) DELETE FROM main.chats WHERE id IN (SELECT k.chat FROM gone JOIN main.seen k ON k.list = gone.id WHERE k.held > 0)
		AND id <> ? AND NOT EXISTS (SELECT 1 FROM main.seen k WHERE `+hasHeld+` AND k.list NOT IN (SELECT id FROM gone))`, lists)
	err := s.DB.Remove(chats, append(slices.Clone(args), forList.Conversation)...)
	for _, statement := range s.sql.of.Forget {
		if err == nil {
			err = s.DB.Remove(fmt.Sprintf(statement, lists), slices.Clone(args)...)
		}
	}
	return err
}

// When a list begins, at most maxTrash lists deleted long ago and maxOldSeen old rows of seen are removed.
const maxTrash, maxOldSeen = 4, 100

// Purge implements [board.Tx]. It replaces all revisions by one without content.
func (s *Saver) Purge(ctx context.Context, list string, by todo.Writer, now time.Time) error {
	clear(s.Memory.Seen) // the purge removes rows that these two maps may hold
	clear(s.Memory.Chats)
	return s.Do(ctx, "purge list", func() error { return s.purge(ctx, list, todo.List{}, by, now) })
}

// purge does what [Saver.Purge] does, to make room for forList unless forList is zero.
func (s *Saver) purge(ctx context.Context, list string, forList todo.List, by todo.Writer, now time.Time) error {
	var principal string
	var newest, begun int64
	if err := s.DB.Scan(ctx, s.sql.listRow, []any{list}, &principal, &newest, &begun, new(bool)); errors.Is(err, sql.ErrNoRows) {
		return board.ErrNotFound
	} else if err != nil {
		return err
	}
	if err := s.forget(oneList, forList, list); err != nil {
		return err
	}
	last := record.Purged(list, principal, newest, time.Unix(0, begun), by, now)
	return s.addList(ctx, last, time.Unix(0, begun))
}

// See implements [board.Tx]. If rows of the chat are damaged, it replaces all rows of the chat. For a list that is new
// to the chat, it makes room, and removes the list's oldest rows so that at most [board.MaxHolders] remain.
func (s *Saver) See(ctx context.Context, c board.Seen) error {
	return s.Do(ctx, "save what a chat has seen", func() error {
		others, damaged, err := s.seenBy(ctx, c.Key)
		if err == nil && damaged > 0 {
			err = s.DB.Exec(`DELETE FROM main.seen WHERE principal = ? AND chat = ? AND mirrors = ?`, c.Principal, c.Chat, c.Mirrors)
		}
		after, set := board.See(others, c, time.Now())
		if err == nil && len(after) > len(others) {
			if _, err = s.makeRoom(ctx, todo.List{ID: c.List, Principal: c.Principal}, false, set.At); err == nil {
				s.Used.add(c.Principal, 0)
				err = s.DB.Remove(`DELETE FROM main.seen WHERE (principal, chat, mirrors, list) IN (SELECT principal, chat, mirrors, list
					FROM main.seen WHERE list = ? AND principal = ? ORDER BY at DESC`+limited+` OFFSET ?)`, c.List, c.Principal, math.MaxInt32, board.MaxHolders-1)
			}
		}
		for _, now := range slices.Backward(after) { // backward: when the first row is stored, no other is current
			if err != nil || damaged == 0 && slices.Contains(others, now) {
				continue
			}
			store := s.sql.setSeen
			isOlder := func(o board.Seen) bool {
				o.Revision, o.Process = now.Revision, now.Process
				return o == now
			}
			if damaged == 0 && slices.ContainsFunc(others, isOlder) { // as after most tool calls
				store = s.sql.sawMore // writes no column that is in an index
			}
			err = s.DB.Exec(store, now.Principal, now.Chat, now.Mirrors, now.List, now.Revision, now.Process, now.Held, now.Current, record.UnixNano(now.At))
		}
		isHeld := func(o board.Seen) bool { return o.List == set.List && o.Held > 0 }
		if err == nil && set.Held > 0 && !slices.ContainsFunc(others, isHeld) {
			err = s.DB.Exec(holdsList, c.Chat)
		}
		if err == nil {
			s.Memory.SetSeen(c.Key, after)
		}
		return err
	})
}
