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

const (
	// hasHeld selects rows k of seen for lists that the chat held. holdsList sets chats.held if a chat has such rows.
	hasHeld   = `k.principal = chats.principal AND k.chat = chats.id AND k.held > 0`
	holdsList = `UPDATE main.chats SET held = TRUE WHERE id = ? AND NOT held AND EXISTS (SELECT 1 FROM main.seen k WHERE ` + hasHeld + `)`
)

// moreChats and moreKeys delete surplus rows of a user: the least recently used chats without a list, the oldest keys.
var (
	moreChats = beyond(`main.chats`, `principal = ? AND member = ? AND NOT held AND id <> ?`, `used`, board.MaxChats-1)
	moreKeys  = beyond(`main.keys`, `principal = ? AND member = ? AND kind = ?`, `until`, board.MaxKeys)
)

func beyond(table, where, by string, most int) string {
	return fmt.Sprintf(`DELETE FROM %s WHERE %s AND %[3]s < (SELECT %[3]s FROM %[1]s WHERE %[2]s ORDER BY %[3]s DESC LIMIT 1 OFFSET %[4]d)`, table, where, by, most-1)
}

// ScanChat reads a row of chats. An error wraps [board.ErrDamaged] if the row is not as it was written.
func ScanChat(rows Rows) (c todo.Chat, err error) {
	var id, principal, member string
	var seq, used, ended int64
	var body []byte
	isWhole, err := scan(rows, &seq, &id, &principal, &member, &used, &ended, &body)
	if err == nil && !isWhole {
		err = Damaged("chats", id)
	}
	if err == nil {
		c, err = record.Chat(body, seq)
		c.ID, c.Principal, c.User = id, principal, member // JSON cannot hold invalid UTF-8
	}
	return c, err
}

// Chat implements [board.Reader].
func (r Reader) Chat(ctx context.Context, id string) (todo.Chat, error) {
	found, _, err := good(ctx, r, "read chat", r.sql.ChatOf, ScanChat, id)
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
	found, _, err := good(ctx, r, "read chats", r.sql.allChats+` WHERE `+strings.Join(where, " AND ")+` ORDER BY `+order, ScanChat, args...)
	return found, err
}

// Named implements [board.Reader].
func (r Reader) Named(ctx context.Context, principal, name string) (string, error) {
	return Value[string](ctx, r, "read name", `SELECT list FROM main.names WHERE principal = ? AND name = ?`, principal, name)
}

// SetName implements [board.Tx].
func (s *Saver) SetName(ctx context.Context, principal, name, list string) error {
	return s.Do(ctx, "save name", func() error {
		return s.addRow(ctx, principal, `INSERT INTO main.names (principal, name, list) VALUES (?, ?, ?)
			ON CONFLICT (principal, name) DO UPDATE SET list = excluded.list`, principal, name, list)
	})
}

// Keyed implements [board.Reader].
func (r Reader) Keyed(ctx context.Context, k board.ChatKey) (string, error) {
	return Value[string](ctx, r, "read key", `SELECT chat FROM main.keys WHERE principal = ? AND member = ? AND kind = ? AND text = ?
		AND CAST(until AS bigint) > ?`, append(keyValues(k), record.UnixNano(time.Now()))...)
}

func keyValues(k board.ChatKey) []any { return []any{k.Principal, k.User, string(k.Kind), k.Text} }

// SaveChat implements [board.Tx].
func (s *Saver) SaveChat(ctx context.Context, c todo.Chat) (todo.Chat, error) {
	err := s.Do(ctx, "save chat", func() error {
		was, err := s.Chat(ctx, c.ID)
		if err != nil {
			return err
		}
		body, err := record.Encode(c)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrEncode, err)
		}
		isNew, store, ended := was.ID == "", s.sql.saveChat, int64(0)
		if !c.Ended.IsZero() {
			ended = record.UnixNano(c.Ended)
		}
		if isNew { // also if the stored chat is damaged
			err = s.checkRoom(ctx, c.Principal)
		} else if was.Used.Equal(c.Used) && was.Ended.Equal(c.Ended) && was.Principal == c.Principal && was.User == c.User {
			store = s.sql.sayChat // writes no indexed column but seq
		}
		if err == nil {
			c.Seq, err = s.DB.NextSeq()
		}
		if err == nil {
			err = s.DB.Exec(store, c.ID, c.Principal, c.User, record.UnixNano(c.Used), ended, string(body), c.Seq)
		}
		if err == nil && isNew {
			s.Used.add(c.Principal, len(body))
			if err = s.DB.Exec(holdsList, c.ID); err == nil {
				err = s.DB.Remove(moreChats, c.Principal, c.User, c.ID, c.Principal, c.User, c.ID)
			}
		}
		if err == nil {
			s.Memory.Chats[c.ID] = c
		}
		return err
	})
	return c, err
}

// addRow stores a row of names or keys for a principal, if there is room.
func (s *Saver) addRow(ctx context.Context, principal, sql string, args ...any) error {
	err := s.checkRoom(ctx, principal)
	if err == nil {
		s.Used.add(principal, 0)
		err = s.DB.Exec(sql, args...)
	}
	return err
}

// SetKey implements [board.Tx].
func (s *Saver) SetKey(ctx context.Context, k board.ChatKey, to string, until time.Time) error {
	return s.Do(ctx, "save key", func() error {
		of := keyValues(k)[:3]
		return errors.Join(s.DB.Exec(s.sql.oldKeys, record.UnixNano(time.Now())),
			s.addRow(ctx, k.Principal, `INSERT INTO main.keys (principal, member, kind, text, chat, until) VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT (principal, member, kind, text) DO UPDATE SET chat = excluded.chat, until = excluded.until`,
				append(keyValues(k), to, record.UnixNano(until))...),
			s.DB.Exec(moreKeys, append(of, of...)...))
	})
}
