package watch

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// key is a pressed key: a character, or one of the names below, which are all
// longer than one character.
type key string

const (
	keyUp        key = "up"
	keyDown      key = "down"
	keyLeft      key = "left"
	keyRight     key = "right"
	keyHome      key = "home"
	keyEnd       key = "end"
	keyPageUp    key = "page up"
	keyPageDown  key = "page down"
	keyEnter     key = "enter"
	keyEscape    key = "escape"
	keyBackspace key = "backspace"
	keyInterrupt key = "ctrl-c"
	keySuspend   key = "ctrl-z"
	keyEraseAll  key = "ctrl-u"
	keyRedraw    key = "ctrl-l"
	keyEraseWord key = "ctrl-w"
	keyDelete    key = "delete"
	keyTab       key = "tab"
	keyAltUp     key = "alt-up"
	keyAltDown   key = "alt-down"
	// keyPaste comes before a text that was pasted.
	keyPaste key = "paste "
	// keyBackground comes before what the terminal answers its background is.
	keyBackground key = "background "
)

const escape = 0x1b

// keyDecoder decodes keys from a terminal's bytes, which may arrive in pieces of
// any size.
type keyDecoder struct {
	rest     []byte
	dropping bool // the rest of a paste that is too long
}

// feed adds bytes and returns the keys that are complete.
func (r *keyDecoder) feed(data []byte) (keys []key) {
	r.rest = append(r.rest, data...)
	for len(r.rest) > 0 {
		if r.dropping {
			if r.dropPaste(); r.dropping {
				break
			}
			continue
		}
		k, n := decodeKey(r.rest)
		if n == 0 {
			break
		}
		r.dropping = bytes.HasPrefix(r.rest, []byte(pasteBegin)) && !bytes.HasSuffix(r.rest[:n], []byte(pasteEnd))
		r.rest = r.rest[n:]
		if k != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// waiting reports whether an escape sequence has begun and not ended. If no more
// bytes follow soon, it was the Escape key: the caller then calls flush.
func (r *keyDecoder) waiting() bool {
	return len(r.rest) > 0 && r.rest[0] == escape && !bytes.HasPrefix(r.rest, []byte(pasteBegin)) && !r.dropping
}

// flush returns the Escape key and drops the incomplete sequence.
func (r *keyDecoder) flush() []key {
	r.rest = nil
	return []key{keyEscape}
}

// decodeKey returns the first key and its length in bytes; length 0 if more bytes
// are needed. The key is empty for bytes that mean nothing to the viewer.
func decodeKey(b []byte) (key, int) {
	if b[0] == escape {
		return decodeEscape(b)
	}
	if k, ok := controlKey(b[0]); ok {
		return k, 1
	}
	if !utf8.FullRune(b) {
		return "", 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return "", n
	}
	return key(r), n
}

// controlKey returns the key of a control character, empty if it means nothing
// to the viewer. ok is false if b is not one.
func controlKey(b byte) (k key, ok bool) {
	switch b {
	case '\r', '\n':
		return keyEnter, true
	case 0x7f, '\b':
		return keyBackspace, true
	case 'C' - '@':
		return keyInterrupt, true
	case 'L' - '@':
		return keyRedraw, true
	case 'U' - '@':
		return keyEraseAll, true
	case 'Z' - '@':
		return keySuspend, true
	case 'W' - '@':
		return keyEraseWord, true
	case 'A' - '@':
		return keyHome, true
	case 'E' - '@':
		return keyEnd, true
	case 'B' - '@':
		return "ctrl-b", true
	case 'F' - '@':
		return "ctrl-f", true
	case '\t':
		return keyTab, true
	}
	return "", b < ' '
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	// maxPaste is how many bytes of one paste are read; more is dropped.
	maxPaste = 64 << 10
)

// decodeEscape decodes ESC [ parameters final, ESC O final, a paste, an answer of
// the terminal, or the Escape key followed by something else.
func decodeEscape(b []byte) (key, int) {
	switch {
	case len(b) == 1:
		return "", 0
	case b[1] == ']':
		return decodeAnswer(b)
	case bytes.HasPrefix(b, []byte(pasteBegin)):
		return decodePaste(b)
	case b[1] != '[' && b[1] != 'O':
		return keyEscape, 1
	}
	for i := 2; i < min(len(b), maxSequence); i++ {
		if b[i] >= '@' && b[i] <= '~' {
			return sequenceKey(string(b[2:i]), b[i]), i + 1
		}
	}
	if len(b) >= maxSequence {
		return "", maxSequence // no terminal sends this
	}
	return "", 0
}

// maxSequence is how many bytes an escape sequence may have. The bound is the
// same for what comes in pieces and what comes at once.
const maxSequence = 32

// decodePaste decodes a pasted text. Its line breaks become spaces, and what is
// not printable is dropped.
func decodePaste(b []byte) (key, int) {
	text, _, ended := bytes.Cut(b[:min(len(b), maxPaste)], []byte(pasteEnd))
	n := len(text) + len(pasteEnd)
	switch {
	case !ended && len(b) < maxPaste:
		return "", 0
	case !ended:
		n = maxPaste // feed drops the rest
	}
	printable := strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r == utf8.RuneError || unicode.Is(unicode.Cc, r):
			return -1
		}
		return r
	}, string(text[len(pasteBegin):]))
	return keyPaste + key(strings.TrimSpace(printable)), n
}

// dropPaste drops what remains of a paste that is too long: it must not be taken
// for keys.
func (r *keyDecoder) dropPaste() {
	if i := bytes.Index(r.rest, []byte(pasteEnd)); i >= 0 {
		r.rest, r.dropping = r.rest[i+len(pasteEnd):], false
		return
	}
	r.rest = r.rest[max(len(r.rest)-len(pasteEnd)+1, 0):] // the end may have begun
}

// decodeAnswer decodes what a terminal answers to a question for its colours:
// ESC ] 11 ; colour, ended by BEL or ESC \.
func decodeAnswer(b []byte) (key, int) {
	end := bytes.IndexAny(b[2:min(len(b), maxSequence)], "\a\x1b")
	switch {
	case end < 0 && len(b) >= maxSequence:
		return "", maxSequence
	case end < 0:
		return "", 0
	}
	text, n := string(b[2:2+end]), 2+end+1
	if b[n-1] == escape {
		switch {
		case len(b) == n:
			return "", 0
		case b[n] != '\\':
			return "", n - 1 // another sequence begins
		}
		n++
	}
	if colour, ok := strings.CutPrefix(text, "11;"); ok {
		return keyBackground + key(colour), n
	}
	return "", n
}

func sequenceKey(parameters string, final byte) key {
	if parameters == "1;3" || parameters == "1;9" { // Alt
		switch final {
		case 'A':
			return keyAltUp
		case 'B':
			return keyAltDown
		}
	}
	switch final {
	case 'A':
		return keyUp
	case 'B':
		return keyDown
	case 'C':
		return keyRight
	case 'D':
		return keyLeft
	case 'H':
		return keyHome
	case 'F':
		return keyEnd
	case '~':
		number, _, _ := strings.Cut(parameters, ";")
		return map[string]key{"1": keyHome, "7": keyHome, "4": keyEnd, "8": keyEnd, "5": keyPageUp, "6": keyPageDown, "3": keyDelete}[number]
	}
	return ""
}
