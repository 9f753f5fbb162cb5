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
	if !ok || known.Seq == 0 || known.List.ParentConversation != "" {
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
	if ok {
		basis.Use(r)
	}
	return slices.Clone(known), ok
}

// saved returns the newest revision of a list if this store saved it with a Seq.
func (m *memory) saved(list string, seq int64) (todo.Snapshot, bool) {
	known, ok := m.Load().lists.Get(list)
	return known.Snapshot, ok && known.Seq == seq
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

// keepList keeps a revision that was stored in the open transaction.
func (st *statements) keepList(s todo.Snapshot, stored record.Stored) {
	stored.Body, stored.NewBase = "", ""
	st.memory.Load().lists.Put(s.List.ID, recentList{s, stored}, record.Size(s.Items))
}

// bindingSize is about what a binding takes in memory.
const bindingSize = 400

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
