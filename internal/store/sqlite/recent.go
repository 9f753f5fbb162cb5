package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// recent is what the writer stored last, as it is in its transaction or in the file.
// It is right as long as no other connection commits: the writer asks SQLite's
// data_version before each transaction, and begins another recent where that has
// changed or a transaction fails. So what is read here may be older than the file, or
// not be committed yet, and a save that is based on it is refused unless the recent is
// still the same (see [todo.Basis]).
type recent struct {
	lists    record.Cache[string, recentList]
	bindings record.Cache[conversation, []todo.Binding]
}

// recentList is the newest revision of a list, with its items if there is a Seq, and
// how it is stored.
type recentList struct {
	todo.Snapshot
	stored record.Stored
	sum    int64 // of its row in history
}

// conversation is whose bindings are kept.
type conversation struct{ principal, key string }

// memory is the store's newest recent. Only the writer changes what is in it.
type memory struct{ atomic.Pointer[recent] }

// forget begins another recent.
func (m *memory) forget() { m.Store(new(recent)) }

// list returns the newest revision of a list from memory, if the caller's context
// allows it. A list whose parent may change without it is not in memory.
func (m *memory) list(ctx context.Context, id string) (todo.Snapshot, bool) {
	basis, r := todo.BasisOf(ctx), m.Load()
	if basis == nil {
		return todo.Snapshot{}, false
	}
	known, ok := r.lists.Get(id)
	if !ok || !known.isWhole() {
		return todo.Snapshot{}, false
	}
	basis.Use(r)
	return known.Snapshot, true
}

// bound returns a conversation's bindings from memory, if the caller's context allows
// it.
func (m *memory) bound(ctx context.Context, c conversation) ([]todo.Binding, bool) {
	basis, r := todo.BasisOf(ctx), m.Load()
	if basis == nil {
		return nil, false
	}
	known, ok := r.bindings.Get(c)
	if !ok || !r.hasHeld(known) {
		return nil, false
	}
	basis.Use(r)
	return slices.Clone(known), true
}

// hasHeld reports whether the list that a conversation holds is in memory, too: read
// from the file it may be older than the binding.
func (r *recent) hasHeld(bound []todo.Binding) bool {
	if len(bound) == 0 || bound[0].Moved == 0 || bound[0].List == "" {
		return true
	}
	list, ok := r.lists.Get(bound[0].List)
	return ok && list.isWhole()
}

// isWhole reports whether the list is in memory with its items, and no other change
// can change it.
func (l recentList) isWhole() bool { return l.Seq > 0 && l.List.ParentConversation == "" }

// saved returns the newest revision of a list if this store saved it with the Seq and
// the checksum of a row: in another file the Seq alone may be that of another revision.
func (m *memory) saved(r *row) (todo.Snapshot, bool) {
	known, ok := m.Load().lists.Get(r.of.id)
	return known.Snapshot, ok && known.Seq == r.seq.Int64 && known.sum == r.sum.Int64
}

// newestOf returns the newest revision of a list in the open transaction, without its
// items unless they are in memory, or sql.ErrNoRows.
func (st *statements) newestOf(list string) (known recentList, err error) {
	if known, ok := st.memory.Load().lists.Get(list); ok {
		return known, nil
	}
	var meta []byte
	if err = st.list.QueryRow(list).Scan(&known.Revision, &meta, &known.stored.Base, &known.stored.Drift); err != nil {
		return known, err
	}
	if err = json.Unmarshal(meta, &known.List); err != nil {
		err = fmt.Errorf("%w: list %s: %w", errRecord, list, err)
	}
	return known, err
}

// keepList keeps a revision that was stored in the open transaction, with the checksum
// of its row.
func (st *statements) keepList(s todo.Snapshot, stored record.Stored, sum int64) {
	stored.Body, stored.NewBase = "", ""
	st.memory.Load().lists.Put(s.List.ID, recentList{s, stored, sum}, record.Footprint(s))
}

// keepBindings keeps the bindings of a conversation that were stored in the open
// transaction.
func (st *statements) keepBindings(of conversation, bound []todo.Binding) {
	size := 128
	for _, b := range bound {
		size += 256 + len(b.Principal) + len(b.Conversation)
	}
	st.memory.Load().bindings.Put(of, bound, size)
}

// bindingsOf returns the bindings of a conversation in the open transaction.
func (st *statements) bindingsOf(c conversation) ([]todo.Binding, error) {
	if known, ok := st.memory.Load().bindings.Get(c); ok {
		return known, nil
	}
	rows, err := st.bindings.Query(c.principal, c.key)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []todo.Binding
	for rows.Next() {
		b, err := scanBinding(rows)
		if errors.Is(err, errRecord) {
			continue // it is damaged, and is written anew if it is this one
		}
		if err != nil {
			return nil, err
		}
		found = append(found, b)
	}
	return found, rows.Err()
}
