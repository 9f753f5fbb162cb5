package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// errBaseGone means that there are no base items of an id: they were deleted since
// the revision was read, or the store is damaged.
var errBaseGone = errors.New("its base items are missing")

// errEncode means that a revision cannot be stored, as one with a time after the year
// 9999; others are not affected.
var errEncode = errors.New("it has no stored form")

const selectBase = `SELECT list, items, sum FROM bases WHERE id = ?`

// readBase reads base items from a row of selectBase.
func readBase(id int64, row *sql.Row) (b record.Base, err error) {
	var data []byte
	var stored int64
	if err := row.Scan(&b.List, &data, &stored); errors.Is(err, sql.ErrNoRows) {
		return record.Base{}, errBaseGone
	} else if err != nil {
		return record.Base{}, damagedType(err)
	}
	if sumOfBase(id, b.List, data) != stored {
		return record.Base{}, damaged("bases", id, b.List)
	}
	b.Size = len(data)
	b.Items, err = record.BaseItems(data)
	return b, err
}

func sumOfBase(id int64, list string, items []byte) int64 {
	var s sum
	s.number(id)
	s.text(list)
	s.bytes(items)
	return s.value()
}

// base returns the base items of a row that was read from the file.
func (f *file) base(ctx context.Context, id int64) (record.Base, error) {
	return f.bases.Get(id, func() (record.Base, error) { return readBase(id, f.db.QueryRowContext(ctx, selectBase, id)) })
}

// readBase returns the base items of a row that was read in the open transaction.
func (st *statements) readBase(id int64) (record.Base, error) {
	return st.bases.Get(id, func() (record.Base, error) { return readBase(id, st.base.QueryRow(id)) })
}

// encode returns a revision as it is to be stored after one with the given base
// and drift. It stores new base items if the revision needs them.
func (st *statements) encode(next todo.Snapshot, after record.Stored) (record.Stored, error) {
	var failed error
	now, err := record.Next(next, after.Base, after.Drift, func(id int64) (record.Base, error) {
		b, err := st.readBase(id)
		if err != nil && !errors.Is(err, todo.ErrCorrupt) && !errors.Is(err, errBaseGone) {
			failed = err
		}
		return b, err
	})
	if failed == nil && err != nil {
		err = fmt.Errorf("%w: %w", errEncode, err)
	}
	if err = firstError(failed, err); err != nil || now.NewBase == "" {
		return now, err
	}
	var id int64
	if err := st.lastBase.QueryRow().Scan(&id); err != nil {
		return now, err
	}
	now.Base = id + 1
	_, err = st.insertBase.Exec(now.Base, next.List.ID, now.NewBase, sumOfBase(now.Base, next.List.ID, []byte(now.NewBase)))
	return now, err
}
