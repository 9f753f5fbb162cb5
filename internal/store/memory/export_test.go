package memory

import (
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// Put stores the first revision of a list as Save does, which goes through all lists
// when one begins.
func (s *Store) Put(next todo.Snapshot, current todo.Cursor) {
	s.seq++
	next.Seq = s.seq
	s.lists.stored[next.List.ID] = []revision{{next, time.Now()}}
	s.size += int64(record.Footprint(next))
	s.cursors.stored[current.Key], _ = todo.SetCursor(s.cursors.stored[current.Key], current, time.Now())
}
