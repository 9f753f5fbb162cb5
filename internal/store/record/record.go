// Package record encodes and decodes snapshots as JSON. Every backend on disk
// stores this format, so that lists can move between backends without loss.
//
// Decoding returns what was encoded, except [todo.Snapshot.Seq], which belongs
// to one store and is not part of the format. Later versions must be able to
// decode what earlier ones stored: fields are added, never renamed.
package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"todo-mcp/internal/todo"
)

// body is a snapshot without its list, which is the same in every revision.
type body struct {
	Revision  int64          `json:"revision"`
	Items     []todo.Item    `json:"items"`
	LastID    int            `json:"last_id"`
	Updated   time.Time      `json:"updated"`
	Archived  bool           `json:"archived,omitempty"`
	Writer    todo.Writer    `json:"writer,omitzero"`
	Operation todo.Operation `json:"operation,omitzero"`
	Report    todo.Report    `json:"report,omitzero"`
}

// Body encodes everything of a snapshot except its List and Seq. Nil Items are
// encoded as an empty array.
func Body(s todo.Snapshot) ([]byte, error) {
	items := s.Items
	if items == nil {
		items = []todo.Item{}
	}
	data, err := json.Marshal(body{s.Revision, items, s.LastID, s.Updated, s.Archived, s.Writer, s.Operation, s.Report})
	if err != nil {
		return nil, fmt.Errorf("encode revision: %w", err)
	}
	return data, nil
}

// List encodes the part of a snapshot that is the same in all revisions of a
// list.
func List(l todo.List) ([]byte, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encode list: %w", err)
	}
	return data, nil
}

// Snapshot decodes what [Body] and [List] returned into one snapshot and sets
// its Seq. An error wraps [todo.ErrCorrupt].
func Snapshot(bodyData, listData []byte, seq int64) (todo.Snapshot, error) {
	var b body
	var l todo.List
	if err := errors.Join(json.Unmarshal(bodyData, &b), json.Unmarshal(listData, &l)); err != nil {
		return todo.Snapshot{}, fmt.Errorf("record %d: %w: %w", seq, todo.ErrCorrupt, err)
	}
	return todo.Snapshot{List: l, Revision: b.Revision, Items: b.Items, LastID: b.LastID,
		Updated: b.Updated, Archived: b.Archived, Writer: b.Writer, Operation: b.Operation, Report: b.Report, Seq: seq}, nil
}
