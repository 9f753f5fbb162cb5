// Package record encodes snapshots and chats as JSON, the same in every store on disk, so that lists can move between
// stores. Each revision is encoded with all its items: a list is small, see [todo.MaxSize]. Seq, which belongs to one
// store, is not encoded. Later versions must decode the records of earlier ones: fields are added, never renamed.
package record

import (
	"errors"
	"fmt"
	"math"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	json "github.com/go-json-experiment/json/v1"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// format is the format of version 1 of encoding/json, but with <, > and & unescaped.
var format = jsonv2.JoinOptions(json.DefaultOptionsV1(), jsontext.EscapeForHTML(false))

// Body encodes a snapshot, but not List, Seq, or a Worked that equals Updated in an agent's write. Nil Items become [].
func Body(s todo.Snapshot) ([]byte, error) {
	s.List = todo.List{}
	if s.Items == nil {
		s.Items = []todo.Item{}
	}
	if !s.Writer.Person && s.Worked.Equal(s.Updated) {
		s.Worked = time.Time{}
	}
	return jsonv2.Marshal(&s, format)
}

// Encode encodes a list (the fields that all its revisions share), or a chat without its Seq.
func Encode[T todo.List | todo.Chat](v T) ([]byte, error) { return jsonv2.Marshal(&v, format) }

// Chat decodes a chat that [Encode] encoded, and sets its Seq. An error wraps [board.ErrDamaged].
func Chat(body []byte, seq int64) (c todo.Chat, err error) {
	if err := json.Unmarshal(body, &c); err != nil {
		return todo.Chat{}, fmt.Errorf("chat %d: %w: %w", seq, board.ErrDamaged, err)
	}
	c.Seq = seq
	return c, nil
}

// Snapshot decodes a body and a list into a snapshot, and sets its Seq. An error wraps [board.ErrDamaged].
func Snapshot(body, list []byte, seq int64) (todo.Snapshot, error) {
	var s todo.Snapshot
	if err := errors.Join(json.Unmarshal(body, &s), json.Unmarshal(list, &s.List)); err != nil {
		return todo.Snapshot{}, fmt.Errorf("record %d: %w: %w", seq, board.ErrDamaged, err)
	}
	if !s.Writer.Person && s.Worked.IsZero() {
		s.Worked = s.Updated
	}
	s.Seq = seq
	return s, nil
}

// Purged returns the revision after the newest one. It is empty, and replaces the history of a purged list.
func Purged(id, principal string, newest int64, begun time.Time, by todo.Writer, now time.Time) todo.Snapshot {
	return todo.Snapshot{List: todo.List{ID: id, Principal: principal, Created: begun.UTC()}, Revision: newest + 1, Items: []todo.Item{},
		Updated: now.UTC(), Deleted: true, Writer: by}
}

// UnixNano returns t in Unix nanoseconds. A time before 1678 or after 2262 becomes the nearest time that fits in int64.
func UnixNano(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}
