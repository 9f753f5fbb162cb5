package sqlite

import (
	"sync/atomic"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// recent is what the writer stored or read last, as it is in its transaction. It is
// right as long as no other connection commits: the writer asks SQLite's data_version
// before each transaction, and begins another recent where that has changed or
// something is rolled back.
type recent struct {
	lists   record.Cache[string, recentList]
	cursors record.Cache[todo.Key, []todo.Cursor]
}

// recentList is the newest revision of a list, and how it is stored.
type recentList struct {
	todo.Snapshot
	stored record.Stored
	sum    int64 // of its row in history
}

// memory is the store's newest recent. Only the writer changes what is in it.
type memory struct{ atomic.Pointer[recent] }

// forget begins another recent.
func (m *memory) forget() { m.Store(new(recent)) }

// saved returns the newest revision of a list if this store saved it with the Seq and
// the checksum of a row: in another file, or before something was taken back, the Seq
// alone may be that of another revision.
func (m *memory) saved(r *row) (todo.Snapshot, bool) {
	known, ok := m.Load().lists.Get(r.of.id)
	return known.Snapshot, ok && known.Seq == r.seq.Int64 && known.sum == r.sum.Int64
}

// keepList keeps a revision that was stored in the open transaction, with the checksum
// of its row.
func (st *statements) keepList(s todo.Snapshot, stored record.Stored, sum int64) {
	stored.Body, stored.NewBase = "", ""
	st.memory.Load().lists.Put(s.List.ID, recentList{s, stored, sum}, record.Footprint(s))
}

// keepCursors keeps the cursors of a conversation in the open transaction.
func (st *statements) keepCursors(of todo.Key, all []todo.Cursor) {
	size := 128
	for _, c := range all {
		size += 256 + len(c.Principal) + len(c.Conversation)
	}
	st.memory.Load().cursors.Put(of, all, size)
}
