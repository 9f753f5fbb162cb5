// Package asutf8 reads what comes from files, pipes and shells. Editors and shells of
// Windows put a byte order mark before a text, or write it as UTF-16 behind one; some
// programs put a second mark before that.
package asutf8

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Reader returns a reader of a text as UTF-8, without the marks that it begins with. What
// has no mark is passed on as it is, as soon as it is there.
func Reader(from io.Reader) io.Reader { return &reader{from: from} }

// Bytes returns a text as [Reader] reads it.
func Bytes(text []byte) []byte {
	text, _ = io.ReadAll(Reader(bytes.NewReader(text))) // reading it cannot fail
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

// begin reads the marks.
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
