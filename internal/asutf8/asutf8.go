// Package asutf8 converts text of files, pipes and shells to UTF-8. Windows programs write UTF-16 or byte order marks.
package asutf8

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Reader returns a reader of the text as UTF-8 without marks. Text without a mark is passed on at once, unchanged.
func Reader(from io.Reader) io.Reader { return &reader{from: from} }

// Bytes converts a text as [Reader] does.
func Bytes(text []byte) []byte {
	text, _ = io.ReadAll(Reader(bytes.NewReader(text))) // cannot fail
	return text
}

type reader struct {
	from  io.Reader
	begun bool
}

func (r *reader) Read(p []byte) (int, error) {
	if !r.begun {
		r.from, r.begun = begin(r.from), true
	}
	return r.from.Read(p)
}

// begin skips the marks.
func begin(from io.Reader) io.Reader {
	text := bufio.NewReader(from)
	if first, _ := text.Peek(1); len(first) == 0 || first[0] < utf8.RuneSelf {
		return text
	}
	text = bufio.NewReader(transform.NewReader(text, unicode.BOMOverride(transform.Nop)))
	for mark := "\ufeff"; ; _, _ = text.Discard(len(mark)) {
		if next, _ := text.Peek(len(mark)); string(next) != mark {
			return text
		}
	}
}
