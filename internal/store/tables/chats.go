package tables

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/record"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// chatSQL are the statements about chats, keys and notices.
type chatSQL struct {
	// ChatOf selects the chat with an id, for [SQL.ScanChat].
	ChatOf string

	allChats                                                   string
	saveChat, sayChat, holdsList, moreChats, oldChats, chatsOf string
	keyed, setKey, oldKeys, moreKeys                           string
	notice, claim, oldNotices, moreNotices                     string
}

func (d Dialect) chatQueries(insert func(table, columns, more string) string) (q chatSQL) {
	chats, keys, notices, seen := d.Schema+"chats", d.Schema+"keys", d.Schema+"notices", d.Schema+"seen"
	q.allChats = `SELECT seq, id, principal, member, used, ended, body` + d.ifSummed(`, sum`) + ` FROM ` + chats
	q.ChatOf = q.allChats + ` WHERE id = ?`
	q.sayChat = insert(chats, `id, principal, member, used, ended, body`, `, seq`) + ` ON CONFLICT (id) DO UPDATE SET body = excluded.body, seq = excluded.seq` + d.ifSummed(`, sum = excluded.sum`)
	q.saveChat = q.sayChat + `, principal = excluded.principal, member = excluded.member, used = excluded.used, ended = excluded.ended`
	its := `k.principal = chats.principal AND k.chat = chats.id AND k.held > 0`
	q.holdsList = `UPDATE ` + chats + ` SET held = TRUE WHERE id = ? AND NOT held AND EXISTS (SELECT 1 FROM ` + seen + ` k WHERE ` + its + `)`
	// beyond keeps, of the rows that a condition selects, the most ones with the highest value of a column.
	beyond := func(table, where, by string, most int) string {
		return fmt.Sprintf(`DELETE FROM %s WHERE %s AND %[3]s < (SELECT %[3]s FROM %[1]s WHERE %[2]s ORDER BY %[3]s DESC LIMIT 1 OFFSET %[4]d)`, table, where, by, most-1)
	}
	q.moreChats = beyond(chats, `principal = ? AND member = ? AND NOT held AND id <> ?`, `used`, board.MaxChats-1)
	q.oldChats = `DELETE FROM ` + chats + ` WHERE used < ? OR ended > 0 AND NOT held AND ended < ?`
	q.chatsOf = `WITH gone (id) AS (%s) DELETE FROM ` + chats + ` WHERE id IN (SELECT k.chat FROM gone JOIN ` + seen + ` k ON k.list = gone.id WHERE k.held > 0)
		AND id <> ? AND NOT EXISTS (SELECT 1 FROM ` + seen + ` k WHERE ` + its + ` AND k.list NOT IN (SELECT id FROM gone))`
	q.keyed = `SELECT chat FROM ` + keys + ` WHERE principal = ? AND member = ? AND kind = ? AND text = ? AND CAST(until AS bigint) > ?`
	q.setKey = `INSERT INTO ` + keys + ` (principal, member, kind, text, chat, until) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (principal, member, kind, text) DO UPDATE SET chat = excluded.chat, until = excluded.until`
	q.oldKeys = `DELETE FROM ` + keys + ` WHERE until < ?`
	q.moreKeys = beyond(keys, `principal = ? AND member = ? AND kind = ?`, `until`, board.MaxKeys)
	// SQLite orders a value of another type, which is damage, after all numbers: so this finds none.
	q.notice = `SELECT at FROM ` + notices + ` WHERE principal = ? AND what = ? AND at > ? AND at < ?`
	q.claim = `INSERT INTO ` + notices + ` (principal, what, at) VALUES (?, ?, ?) ON CONFLICT (principal, what) DO UPDATE SET at = excluded.at`
	q.oldNotices = `DELETE FROM ` + notices + ` WHERE at < ?`
	q.moreNotices = beyond(notices, `principal = ?`, `at`, board.MaxNotices)
	return q
}

// ScanChat reads a row of chats. An error wraps [board.ErrDamaged] if the row is not as it was written.
func (s *SQL) ScanChat(rows Rows) (c todo.Chat, err error) {
	var id, principal, member string
	var seq, used, ended int64
	var body []byte
	sum, err := s.scan(rows, &seq, &id, &principal, &member, &used, &ended, &body)
	if err == nil && s.of.Sum != nil && s.of.Sum(id, principal, member, used, ended, string(body)) != sum {
		err = Damaged("chats", id)
	}
	if err == nil {
		c, err = record.Chat(body, seq)
		c.ID, c.Principal, c.User = id, principal, member // JSON has no invalid UTF-8
	}
	return c, err
}

// Chat implements [board.Reader].
func (r Reader) Chat(ctx context.Context, id string) (todo.Chat, error) {
	found, _, err := good(ctx, r, "read chat", r.sql.ChatOf, r.sql.ScanChat, id)
	return append(found, todo.Chat{})[0], err
}

// Chats implements [board.Reader]. With AfterSeq it leaves out chats with a Seq of [Dialect.Settled] or above.
func (r Reader) Chats(ctx context.Context, q board.ChatQuery) ([]todo.Chat, error) {
	where, args := []string{"TRUE"}, []any{}
	add := func(condition string, value any) { where, args = append(where, condition), append(args, value) }
	order := "seq + 0" // prevents the use of the index of seq, which would scan all chats
	switch {
	case q.Principal != nil && q.User == nil && !q.UsedSince.IsZero():
		add("principal || '' = ?", *q.Principal) // so that the index of used is chosen
	case q.Principal != nil:
		add("principal = ?", *q.Principal)
	}
	if q.User != nil {
		add("member = ?", *q.User)
	}
	if !q.UsedSince.IsZero() {
		add("used >= ?", record.UnixNano(q.UsedSince))
	}
	if q.AfterSeq > 0 {
		order = "seq"
		add("seq > ?", q.AfterSeq)
		if r.sql.of.Settled != "" {
			where = append(where, "seq < "+r.sql.of.Settled)
		}
	}
	found, _, err := good(ctx, r, "read chats", r.sql.allChats+` WHERE `+strings.Join(where, " AND ")+` ORDER BY `+order, r.sql.ScanChat, args...)
	return found, err
}

// Named implements [board.Reader].
func (r Reader) Named(ctx context.Context, principal, name string) (string, error) {
	return value[string](ctx, r, "read name", r.sql.named, principal, name)
}

// SetName implements [board.Tx].
func (s *Saver) SetName(ctx context.Context, principal, name, list string) error {
	return s.Do(ctx, "save name", func() error { return s.addRow(ctx, principal, s.sql.setName, principal, name, list) })
}

// Keyed implements [board.Reader].
func (r Reader) Keyed(ctx context.Context, k board.ChatKey) (string, error) {
	return value[string](ctx, r, "read key", r.sql.keyed, append(keyValues(k), record.UnixNano(time.Now()))...)
}

func keyValues(k board.ChatKey) []any { return []any{k.Principal, k.User, string(k.Kind), k.Text} }

// SaveChat implements [board.Tx].
func (s *Saver) SaveChat(ctx context.Context, c todo.Chat) (saved todo.Chat, err error) {
	err = s.Do(ctx, "save chat", func() error {
		was, err := s.DB.LockChat(ctx, c.ID)
		if err == nil {
			saved, err = s.saveChat(ctx, was, c)
		}
		return err
	})
	return saved, err
}

// saveChat stores a chat in the place of was, which is zero for none. A new chat needs room; others may be removed for
// it.
func (s *Saver) saveChat(ctx context.Context, was, c todo.Chat) (todo.Chat, error) {
	body, err := record.Encode(c)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrEncode, err)
	}
	isNew, store, ended := was.ID == "", s.sql.saveChat, int64(0)
	if !c.Ended.IsZero() {
		ended = record.UnixNano(c.Ended)
	}
	if isNew {
		err = s.checkRoom(ctx, c.Principal)
	} else if was.Used.Equal(c.Used) && was.Ended.Equal(c.Ended) && was.Principal == c.Principal && was.User == c.User {
		store = s.sql.sayChat // writes no column that is in an index
	}
	if err == nil {
		c.Seq, err = s.DB.NextSeq()
	}
	if err == nil {
		values := s.sql.summed([]any{c.ID, c.Principal, c.User, record.UnixNano(c.Used), ended, string(body)})
		err = s.DB.Exec(store, append(values, c.Seq)...)
	}
	if err == nil && isNew {
		s.Used.Add(c.Principal, RowSize+len(body))
		if err = s.DB.Exec(s.sql.holdsList, c.ID); err == nil {
			err = s.DB.Remove(s.sql.moreChats, c.Principal, c.User, c.ID, c.Principal, c.User, c.ID)
		}
	}
	if err == nil {
		s.Memory.Chats[c.ID] = c
	}
	return c, err
}

// addRow stores a row of a principal that belongs to no list, if there is room.
func (s *Saver) addRow(ctx context.Context, principal, sql string, args ...any) error {
	err := s.checkRoom(ctx, principal)
	if err == nil {
		s.Used.Add(principal, RowSize)
		err = s.DB.Exec(sql, args...)
	}
	return err
}

// checkRoom returns [board.ErrStoreFull] if no list of a principal can be written. It removes no list to make room.
func (s *Saver) checkRoom(ctx context.Context, principal string) error {
	used, err := s.usage(ctx, principal)
	if err != nil {
		return err
	}
	return s.Keep.CheckBytes(used, false)
}

// SetKey implements [board.Tx].
func (s *Saver) SetKey(ctx context.Context, k board.ChatKey, chat string, until time.Time) error {
	return s.Do(ctx, "save key", func() error {
		of := keyValues(k)[:3]
		return errors.Join(s.DB.Exec(s.sql.oldKeys, record.UnixNano(time.Now())),
			s.addRow(ctx, k.Principal, s.sql.setKey, append(keyValues(k), chat, record.UnixNano(until))...),
			s.DB.Exec(s.sql.moreKeys, append(of, of...)...))
	})
}

// Claim implements [board.Tx].
func (s *Saver) Claim(ctx context.Context, n board.Notice, at time.Time, within time.Duration) (earlier time.Time, err error) {
	return earlier, s.Do(ctx, "save notice", func() error {
		before, err := value[int64](ctx, s.Reader, "read notice", s.sql.notice, n.Principal, n.What, record.UnixNano(at.Add(-within)), record.UnixNano(at.Add(within)))
		if err != nil {
			return err
		}
		if before != 0 {
			earlier = time.Unix(0, before)
			return nil
		}
		return errors.Join(s.DB.Exec(s.sql.oldNotices, record.UnixNano(at.Add(-board.NoticeAge))), s.DB.Exec(s.sql.oldKeys, record.UnixNano(time.Now())),
			s.addRow(ctx, n.Principal, s.sql.claim, n.Principal, n.What, record.UnixNano(at)),
			s.DB.Exec(s.sql.moreNotices, n.Principal, n.Principal))
	})
}
