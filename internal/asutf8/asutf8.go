// Package asutf8 converts text of files, pipes and shells to UTF-8. Windows programs write UTF-16 or byte order marks.
package asutf8

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// marks is how many byte order marks are removed from the start of a text. PowerShell adds one to a text that has one.
const marks = 3

// Reader returns a reader of the text as UTF-8 without marks. It waits for the first three bytes, and then passes on
// text as it comes. Text without a mark is not changed.
func Reader(from io.Reader) io.Reader {
	for range marks {
		from = transform.NewReader(from, unicode.BOMOverride(transform.Nop))
	}
	return from
}

// Bytes converts a text as [Reader] does.
func Bytes(text []byte) []byte {
	text, _ = io.ReadAll(Reader(bytes.NewReader(text))) // cannot fail
	return text
}
