package sqlite

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"todo-mcp/internal/todo"
)

// sum is a checksum (CRC-32C) of texts and numbers.
//
// Each row has a checksum of its other columns, which is verified when the row is
// read: SQLite does not notice when a disk returns other bytes than were written
// (BAD-INPUT 78). Not in it are the columns of lists that say which revision is
// the newest, since that revision's row says so, too.
type sum struct {
	crc uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (s *sum) number(n int64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // the same 64 bits
	s.crc = crc32.Update(s.crc, castagnoli, b[:])
}

// text adds a text, whose length keeps it apart from the next one.
func (s *sum) text(t string) {
	s.bytes([]byte(t))
}

func (s *sum) bytes(b []byte) {
	s.number(int64(len(b)))
	s.crc = crc32.Update(s.crc, castagnoli, b)
}

// value returns the checksum. It is never 0, which a row without one has.
func (s *sum) value() int64 { return int64(s.crc) + 1 }

// damaged is the error for a row that its checksum does not fit.
func damaged(table string, key ...any) error {
	return fmt.Errorf("%w: a row of %s (%s) is not as it was written; `todo-mcp check` looks for more", errRecord, table,
		strings.TrimSuffix(fmt.Sprintln(key...), "\n"))
}

// errRecord means that one row cannot be used; others are not affected.
var errRecord = fmt.Errorf("read record: %w", todo.ErrCorrupt)
