package asutf8_test

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
)

const text = "{\"a\": \"Tür 🚪\"}\r\n"

// utf16Of returns a text as UTF-16 with a mark.
func utf16Of(order binary.AppendByteOrder, text string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// Reader returns the same text for UTF-8 with up to three marks and for UTF-16, in pieces of any
// size. Bytes that are no UTF-8 pass unchanged: the code that parses them reports the error.
func TestMarks(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"no mark":            {text, text},
		"a mark":             {"\ufeff" + text, text},
		"three marks":        {strings.Repeat("\ufeff", 3) + text, text},
		"little-endian":      {utf16Of(binary.LittleEndian, text), text},
		"big-endian":         {utf16Of(binary.BigEndian, text), text},
		"a mark in UTF-16":   {utf16Of(binary.LittleEndian, "\ufeff"+text), text},
		"half of a pair":     {utf16Of(binary.LittleEndian, "x") + "\x3d\xd8", "x\ufffd"},
		"half of a unit":     {utf16Of(binary.LittleEndian, "x") + "y", "x\ufffd"},
		"a mark alone":       {"\ufeff", ""},
		"a part of a mark":   {"\xef\xbb", "\xef\xbb"},
		"nothing":            {"", ""},
		"no UTF-8":           {"\xef\xbb\xbf\xff\x80", "\xff\x80"},
		"Latin-1":            {"\xfcber", "\xfcber"},
		"a mark in the text": {"a\ufeffb", "a\ufeffb"},
	} {
		if got := string(asutf8.Bytes([]byte(c.in))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got, err := io.ReadAll(asutf8.Reader(iotest.OneByteReader(strings.NewReader(c.in)))); string(got) != c.want || err != nil {
			t.Errorf("%s byte by byte: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// Text is passed on at once, even if its writer neither closes the pipe nor writes more.
func TestPassedOnAtOnce(t *testing.T) {
	for _, in := range []string{text, "\ufeff\ufeff" + text, utf16Of(binary.LittleEndian, text)} {
		from, to := io.Pipe()
		go io.WriteString(to, in)
		got := make([]byte, len(text))
		if _, err := io.ReadFull(asutf8.Reader(from), got); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
		from.Close()
	}
}
