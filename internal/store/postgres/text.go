package postgres

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// plain returns a text as it is stored in a column: PostgreSQL stores no NUL and no
// invalid UTF-8, which a client may send.
func plain(text string) string {
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") && !strings.HasPrefix(text, escape) {
		return text
	}
	return escape + hex.EncodeToString([]byte(text))
}

// escape begins a text that is stored in hexadecimal.
const escape = `\x`

// original is the inverse of plain.
func original(stored string) string {
	if encoded, ok := strings.CutPrefix(stored, escape); ok {
		if text, err := hex.DecodeString(encoded); err == nil {
			return string(text)
		}
	}
	return stored
}

// stored returns the arguments of a statement with texts as they are stored.
func stored(args []any) []any {
	for i, arg := range args {
		switch v := arg.(type) {
		case string:
			args[i] = plain(v)
		case []string:
			texts := make([]string, len(v))
			for n, text := range v {
				texts[n] = plain(text)
			}
			args[i] = texts
		}
	}
	return args
}

// rows are rows with texts as they were before they were stored.
type rows struct{ pgx.Rows }

// Scan implements [tables.Rows].
func (r rows) Scan(into ...any) error {
	err := r.Rows.Scan(into...)
	for _, to := range into {
		if text, ok := to.(*string); ok {
			*text = original(*text)
		}
	}
	return err
}

// numbered returns SQL with a number for each question mark.
func numbered(sql string) string {
	for n := 1; strings.Contains(sql, "?"); n++ {
		sql = strings.Replace(sql, "?", fmt.Sprint("$", n), 1)
	}
	return sql
}
