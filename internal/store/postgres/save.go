package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// newBinding is the database's type of the same name.
type newBinding struct {
	Principal, Conversation, List string
	Seen                          int64
	Process                       string
	Moves                         bool
	Server                        string
	Until                         int64
}

func newBindings(bindings []todo.Binding) []newBinding {
	out := make([]newBinding, len(bindings))
	for i, b := range bindings {
		out[i] = newBinding{plain(b.Principal), plain(b.Conversation), b.List, b.Seen, plain(b.Process), b.Moves, plain(b.Server), 0}
		if !b.Until.IsZero() {
			out[i].Until = record.UnixNano(b.Until)
		}
	}
	return out
}

// keep is the database's type of the same name.
type keep struct{ Revisions, Age, Lists, Begun, Abandoned, Trash, Bindings int64 }

func newKeep(k todo.Keep) keep {
	return keep{int64(k.Revisions), int64(k.Age), int64(k.Lists), int64(k.Begun), int64(k.Abandoned), int64(todo.TrashAge), int64(todo.BindingAge)}
}

// saved is the database's type of the same name.
type saved struct {
	Status   string
	Seq      int64
	List     string
	Revision int64
	Meta     []byte
	Parent   *string
}

const saveStatement = `SELECT (s).* FROM todo_mcp.save($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21) AS s`

// Save implements todo.Store.
func (s *Store) Save(ctx context.Context, next todo.Snapshot, bindings ...todo.Binding) (after todo.Snapshot, err error) {
	next.Items = append([]todo.Item{}, next.Items...)
	err = s.call(ctx, "save snapshot", func() error {
		after, err = s.save(ctx, next, bindings)
		return err
	})
	if err != nil {
		return todo.Snapshot{}, err
	}
	return after, nil
}

func (s *Store) save(ctx context.Context, next todo.Snapshot, bindings []todo.Binding) (todo.Snapshot, error) {
	row, err := s.encode(ctx, next)
	if err != nil {
		return todo.Snapshot{}, err
	}
	var meta *string
	if next.Revision == 1 {
		data, err := record.List(next.List)
		if err != nil {
			return todo.Snapshot{}, err
		}
		text := string(data)
		meta = &text
		if err := s.checkSize(ctx, len(row.Body)+len(row.NewBase), true); err != nil {
			return todo.Snapshot{}, err
		}
	} else if err := s.checkSize(ctx, len(row.Body)+len(row.NewBase), false); err != nil && !next.Deleted {
		return todo.Snapshot{}, err
	}
	over := ""
	if len(bindings) > 0 {
		over = bindings[0].Over
	}
	var newBase *string
	if row.NewBase != "" {
		newBase = &row.NewBase
	}
	l := next.List
	var done saved
	err = s.pool.QueryRow(ctx, saveStatement,
		l.ID, next.Revision, plain(next.Operation.ID), next.Writer.Person, row.Body, record.UnixNano(next.Updated), next.Deleted,
		row.Base, row.Drift, newBase, meta, plain(l.Principal), plain(l.Client), plain(l.Workspace), plain(l.Parent), plain(l.ParentConversation), plain(l.Conversation),
		record.UnixNano(time.Now()), newBindings(bindings), over, newKeep(s.keep),
	).Scan(&done.Status, &done.Seq, &done.List, &done.Revision, &done.Meta, &done.Parent)
	if taken := (*pgconn.PgError)(nil); errors.As(err, &taken) && taken.Code == uniqueViolation {
		return s.raced(ctx, next)
	}
	if err = outcome(err); err != nil {
		return todo.Snapshot{}, err
	}
	if done.Status == "saved" && anyMoves(bindings, done.List) {
		s.notices.send(sessions)
	}
	return s.finish(ctx, next, done)
}

const uniqueViolation = "23505"

// encode returns a revision as it is to be stored.
func (s *Store) encode(ctx context.Context, next todo.Snapshot) (record.Stored, error) {
	var base, drift int64
	if next.Revision > 1 && record.Size(next.Items) > record.SmallItems {
		// Base and drift belong to the revision before; save checks that it is.
		err := s.pool.QueryRow(ctx, `SELECT base, drift FROM todo_mcp.lists WHERE id = $1`, next.List.ID).Scan(&base, &drift)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return record.Stored{}, err
		}
	}
	return record.Next(next, base, drift, func(id int64) (record.Base, error) { return s.base(ctx, id) })
}

// finish returns what Save returns for what the statement did.
func (s *Store) finish(ctx context.Context, next todo.Snapshot, done saved) (todo.Snapshot, error) {
	switch done.Status {
	case "saved":
		s.notices.send(saves)
		return asStored(next, done)
	case "repeated":
		earlier, err := s.load(ctx, done.List, done.Revision)
		switch {
		case err != nil:
			return todo.Snapshot{}, unread(err)
		case earlier.Operation != next.Operation:
			return todo.Snapshot{}, todo.ErrOperationReused
		}
		return earlier, nil
	case "conflict":
		current, err := s.load(ctx, done.List, 0)
		if err != nil && !errors.Is(err, todo.ErrNotFound) {
			return todo.Snapshot{}, err
		}
		return todo.Snapshot{}, &todo.ConflictError{Current: current}
	case "missing":
		return todo.Snapshot{}, fmt.Errorf("revision %d: %w", next.Revision, todo.ErrNotFound)
	case "lists":
		return todo.Snapshot{}, s.keep.CheckLists(int(done.Revision))
	case "begun":
		return todo.Snapshot{}, s.keep.CheckBegun(int(done.Revision))
	}
	return todo.Snapshot{}, fmt.Errorf("the database answered %q", done.Status)
}

// asStored returns a snapshot that was saved with what the database says of it.
func asStored(next todo.Snapshot, done saved) (_ todo.Snapshot, err error) {
	next.Seq = done.Seq
	if next.List, err = decodeList(done.Meta, done.Parent); err != nil {
		return todo.Snapshot{}, unread(err)
	}
	return next, nil
}

// unread is the error when what was saved cannot be read.
func unread(err error) error {
	return fmt.Errorf("%w: the list could not be read after it was saved (%w)", todo.ErrUnknownOutcome, err)
}

// raced is called when another save stored the same list or operation at the same
// time.
func (s *Store) raced(ctx context.Context, next todo.Snapshot) (todo.Snapshot, error) {
	if next.Operation.ID != "" {
		found, err := s.query(ctx, selectRecord+` WHERE h.operation = $1`, plain(next.Operation.ID))
		switch {
		case err != nil:
			return todo.Snapshot{}, unread(err)
		case len(found) > 0 && found[0].Operation == next.Operation:
			return found[0], nil
		case len(found) > 0:
			return todo.Snapshot{}, todo.ErrOperationReused
		}
	}
	current, err := s.load(ctx, next.List.ID, 0)
	if err != nil {
		return todo.Snapshot{}, err
	}
	return todo.Snapshot{}, &todo.ConflictError{Current: current}
}

// sizeAge is for how long the size of all lists is taken as it was, but for what
// this server added.
const sizeAge = 5 * time.Second

// checkSize returns todo.ErrStoreFull when the lists are as large as they may be
// together. What was trimmed and purged does not count, although its space is free
// only when PostgreSQL has vacuumed it.
func (s *Store) checkSize(ctx context.Context, added int, begins bool) error {
	if s.keep.Bytes <= 0 {
		return nil
	}
	s.size.mu.Lock()
	defer s.size.mu.Unlock()
	if time.Since(s.size.at) > sizeAge {
		err := s.pool.QueryRow(ctx, `SELECT coalesce(sum(bytes), 0)::bigint FROM todo_mcp.lists`).Scan(&s.size.bytes)
		if err != nil {
			return err
		}
		s.size.at = time.Now()
	}
	if err := s.keep.CheckBytes(s.size.bytes, begins); err != nil {
		s.size.at = time.Time{} // somebody may make room
		return err
	}
	s.size.bytes += int64(added)
	return nil
}

// purgeBatch is how many lists are purged in one transaction.
const purgeBatch = 50

// Purge implements todo.Store.
func (s *Store) Purge(ctx context.Context, by todo.Writer, now time.Time, lists ...string) (purged []string, err error) {
	err = s.call(ctx, "purge lists", func() error {
		for batch := range slices.Chunk(lists, purgeBatch) {
			some, err := s.purge(ctx, by, now, batch)
			if err != nil {
				return outcome(err)
			}
			purged = append(purged, some...)
			s.notices.send(saves)
		}
		return nil
	})
	return purged, err
}

// purge purges lists in one transaction and returns the ids of those there were.
func (s *Store) purge(ctx context.Context, by todo.Writer, now time.Time, lists []string) (purged []string, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, id := range lists {
			var last todo.Snapshot
			var begun int64
			var principal string
			err := tx.QueryRow(ctx, `SELECT revision, principal, begun FROM todo_mcp.lists WHERE id = $1 FOR UPDATE`, id).Scan(&last.Revision, &principal, &begun)
			if errors.Is(err, pgx.ErrNoRows) {
				continue
			}
			if err != nil {
				return err
			}
			last = todo.Snapshot{List: todo.List{ID: id, Principal: original(principal), Created: time.Unix(0, begun).UTC()}, Revision: last.Revision + 1,
				Updated: now.UTC(), Deleted: true, Writer: by}
			body, err1 := record.Body(last)
			meta, err2 := record.List(last.List)
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `SELECT todo_mcp.purge($1, $2, $3, $4, $5)`, id, last.Revision, string(meta), string(body), record.UnixNano(now)); err != nil {
				return err
			}
			purged = append(purged, id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return purged, nil
}
