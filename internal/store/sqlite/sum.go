package sqlite

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"todo-mcp/internal/todo"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf returns the checksum (CRC-32C) of texts, numbers and truths. It is never
// 0, which a row without one has.
//
// Each row has a checksum of the columns before it, which is verified when the row is
// read: SQLite does not notice when a disk returns other bytes than were written
// (BAD-INPUT 78). Not in it are the columns of lists that say which revision is
// the newest, since that revision's row says so, too.
func sumOf(columns ...any) int64 {
	crc := uint32(0)
	number := func(n int64) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // the same 64 bits
		crc = crc32.Update(crc, castagnoli, b[:])
	}
	text := func(b []byte) { // its length keeps it apart from the next one
		number(int64(len(b)))
		crc = crc32.Update(crc, castagnoli, b)
	}
	for _, column := range columns {
		switch v := column.(type) {
		case string:
			text([]byte(v))
		case int64:
			number(v)
		case bool:
			if v {
				number(1)
			} else {
				number(0)
			}
		}
	}
	return int64(crc) + 1
}

// damaged is the error for a row that its checksum does not fit.
func damaged(table string, key ...any) error {
	return fmt.Errorf("%w: a row of %s (%s) is not as it was written; `todo-mcp check` looks for more", errRecord, table,
		strings.TrimSuffix(fmt.Sprintln(key...), "\n"))
}

// errRecord means that one row cannot be used; others are not affected.
var errRecord = fmt.Errorf("read record: %w", todo.ErrCorrupt)
