package memory

import (
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// Put stores the first revision of a list as Save does, which goes through all lists
// when one begins.
func (s *Store) Put(next todo.Snapshot, holder todo.Cursor) {
	s.seq++
	next.Seq = s.seq
	s.lists[next.List.ID], s.begun[next.List.ID] = []todo.Snapshot{next}, time.Now()
	s.size += int64(record.Footprint(next))
	s.cursors[holder.Key], _ = todo.SetCursor(s.cursors[holder.Key], holder, time.Now())
}
