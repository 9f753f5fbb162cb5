package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"github.com/todo-mcp/todo-mcp/internal/board"
)

// Any text is stored in a column and read back as it was, and different texts stay
// different.
func TestPlain(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := string(rapid.SliceOf(rapid.SampledFrom([]byte{0, 'a', '\\', 'x', 0xff, '6'})).Draw(r, "text"))
		if got := original(plain(text)); got != text {
			r.Fatalf("%q is read back as %q", text, got)
		}
	})
}

// An error of a save says that it was not applied only if that is known.
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

// Nobody is shown a password.
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
