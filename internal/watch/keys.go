package watch

import (
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
)

const escape = 0x1b

// keyDecoder decodes keys from a terminal's bytes, which may arrive in pieces of
// any size.
type keyDecoder struct{ rest []byte }

// feed adds bytes and returns the keys that are complete.
func (r *keyDecoder) feed(data []byte) (keys []key) {
	r.rest = append(r.rest, data...)
	for len(r.rest) > 0 {
		k, n := decodeKey(r.rest)
		if n == 0 {
			break
		}
		r.rest = r.rest[n:]
		if k != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// waiting reports whether an escape sequence has begun and not ended. If no more
// bytes follow soon, it was the Escape key: the caller then calls flush.
func (r *keyDecoder) waiting() bool { return len(r.rest) > 0 && r.rest[0] == escape }

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
	}
	return "", b < ' '
}

// decodeEscape decodes ESC [ parameters final, ESC O final, or the Escape key
// followed by something else.
func decodeEscape(b []byte) (key, int) {
	switch {
	case len(b) == 1:
		return "", 0
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

func sequenceKey(parameters string, final byte) key {
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
		return map[string]key{"1": keyHome, "7": keyHome, "4": keyEnd, "8": keyEnd, "5": keyPageUp, "6": keyPageDown}[number]
	}
	return ""
}
