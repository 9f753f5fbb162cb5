package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// A large list's revisions are stored as differences to base items, so that what
// a change writes follows the change and not the list. A list gets new base items
// when the differences to the old ones add up to as much: then no way of choosing
// the moment would have written less than half.

// smallItems is the size of items, in bytes, up to which a revision is stored
// whole: SQLite writes whole pages of 4096 bytes.
const smallItems = 4096

// sizeOf estimates the size of encoded items.
func sizeOf(items []todo.Item) (size int) {
	for _, i := range items {
		size += 120 + len(i.Text) + len(i.Active) + len(i.Reason)
	}
	return size
}

// base is base items as read from the store.
type base struct {
	list  string
	items []todo.Item
	size  int // in bytes, as stored
}

// errBaseGone means that there are no base items of an id: they were deleted since
// the revision was read, or the store is damaged.
var errBaseGone = errors.New("its base items are missing")

const selectBase = `SELECT list, items, sum FROM bases WHERE id = ?`

// readBase reads base items from a row of selectBase.
func readBase(id int64, row *sql.Row) (b base, err error) {
	var data []byte
	var stored int64
	if err := row.Scan(&b.list, &data, &stored); errors.Is(err, sql.ErrNoRows) {
		return base{}, errBaseGone
	} else if err != nil {
		return base{}, err
	}
	if sumOfBase(id, b.list, data) != stored {
		return base{}, damaged("bases", id, b.list)
	}
	b.size = len(data)
	b.items, err = record.BaseItems(data)
	return b, err
}

func sumOfBase(id int64, list string, items []byte) int64 {
	var s sum
	s.number(id)
	s.text(list)
	s.bytes(items)
	return s.value()
}

// maxCachedBases is the size of the base items that a cache keeps, in bytes as
// stored. It keeps one, however large.
const maxCachedBases = 8 << 20

// baseCache keeps base items that were read. They never change, and an id is not
// used again.
type baseCache struct {
	mu    sync.Mutex
	bases map[int64]base
	order []int64 // of the last use
	size  int
}

// get returns base items, which it reads if it does not have them.
func (c *baseCache) get(id int64, read func() (base, error)) (base, error) {
	c.mu.Lock()
	b, ok := c.bases[id]
	if ok {
		i := slices.Index(c.order, id)
		c.order = append(slices.Delete(c.order, i, i+1), id)
	}
	c.mu.Unlock()
	if ok {
		return b, nil
	}
	b, err := read()
	if err == nil {
		c.put(id, b)
	}
	return b, err
}

func (c *baseCache) put(id int64, b base) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.bases[id]; ok {
		return // read twice at the same time
	}
	if c.bases == nil {
		c.bases = make(map[int64]base)
	}
	c.bases[id], c.order, c.size = b, append(c.order, id), c.size+b.size
	for c.size > maxCachedBases && len(c.order) > 1 {
		c.size -= c.bases[c.order[0]].size
		delete(c.bases, c.order[0])
		c.order = c.order[1:]
	}
}

// base returns the base items of a row that was read from the file.
func (f *file) base(ctx context.Context, id int64) (base, error) {
	return f.bases.get(id, func() (base, error) { return readBase(id, f.db.QueryRowContext(ctx, selectBase, id)) })
}

// readBase returns the base items of a row that was read in the open transaction.
func (st *statements) readBase(id int64) (base, error) {
	return st.bases.get(id, func() (base, error) { return readBase(id, st.base.QueryRow(id)) })
}

// stored is a revision as it is stored.
type stored struct {
	seq   int64
	body  string
	base  int64 // id of its base items; 0 when body has all items
	drift int64 // the size of the differences to them so far
}

// encode returns a revision as it is to be stored after one with the given base
// and drift. It stores new base items if the revision needs them.
func (st *statements) encode(next todo.Snapshot, after stored) (stored, error) {
	if after.base > 0 {
		b, err := st.readBase(after.base)
		if err != nil && !errors.Is(err, todo.ErrCorrupt) && !errors.Is(err, errBaseGone) {
			return stored{}, err
		}
		if err == nil {
			body, err := record.Difference(next, b.items)
			drift := after.drift + int64(len(body))
			if err != nil || drift <= int64(b.size) {
				return stored{body: string(body), base: after.base, drift: drift}, err
			}
		}
	}
	id, err := st.addBase(next)
	if err != nil {
		return stored{}, err
	}
	body, err := record.Difference(next, next.Items)
	return stored{body: string(body), base: id, drift: int64(len(body))}, err
}

// addBase stores the items of a snapshot as base items.
func (st *statements) addBase(s todo.Snapshot) (id int64, err error) {
	data, err := record.Items(s.Items)
	if err != nil {
		return 0, err
	}
	if err := st.lastBase.QueryRow().Scan(&id); err != nil {
		return 0, err
	}
	id++
	if _, err := st.insertBase.Exec(id, s.List.ID, string(data), sumOfBase(id, s.List.ID, data)); err != nil {
		return 0, err
	}
	st.bases.put(id, base{list: s.List.ID, items: slices.Clone(s.Items), size: len(data)})
	return id, nil
}
