package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// NUL and invalid UTF-8 are replaced in texts.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{"": "", `\x00 ☃`: `\x00 ☃`, "a\x00b": "a\ufffdb", "\xff\xfe a": "\ufffd a"} {
		if got := plain(text); got != want {
			t.Errorf("%q is stored as %q, want %q", text, got, want)
		}
	}
}

// The outcome of a failed save counts as known only if the save was certainly not applied.
func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		err     error
		unknown bool
	}{
		{nil, false},
		{&pgconn.PgError{Code: "57014"}, false}, // statement timeout
		{&pgconn.PgError{Code: "53100"}, false}, // disk full
		{&pgconn.PgError{Code: "40001"}, false}, // serialization failure
		{&pgconn.PgError{Code: "57P01"}, true},  // admin shutdown
		{&pgconn.PgError{Code: "08006"}, true},  // connection failure
		{&pgconn.PgError{Code: "40003"}, true},  // completion unknown
		{errors.New("unexpected EOF"), true},
	} {
		err := outcome(c.err)
		if got := errors.Is(err, board.ErrUnknownOutcome); got != c.unknown || (c.err != nil && !errors.Is(err, c.err)) {
			t.Errorf("%v: unknown %v: %v", c.err, got, err)
		}
	}
}

// Redacted shows no password.
func TestRedacted(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://u:secret@db.internal:5432/todo?sslmode=require&password=secret": "postgres://u@db.internal:5432/todo",
		"postgresql://db/todo":    "postgresql://db/todo",
		"host=db password=secret": "postgres",
	} {
		if got := Redacted(address); got != want {
			t.Errorf("%s", fmt.Sprint("shown as ", got, ", want ", want))
		}
	}
}
