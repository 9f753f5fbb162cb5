package memory

import (
	"time"

	"todo-mcp/internal/store/record"
	"todo-mcp/internal/todo"
)

// Put stores the first revision of a list as Save does, which goes through all lists
// when one begins.
func (s *Store) Put(next todo.Snapshot, current todo.Cursor) {
	now := s.now.Load()
	now.seq++
	next.Seq = now.seq
	now.lists[next.List.ID] = list{[]todo.Snapshot{next}, time.Now()}
	now.size += int64(record.Footprint(next))
	now.cursors[current.Key], _ = todo.SetCursor(now.cursors[current.Key], current, time.Now())
}
