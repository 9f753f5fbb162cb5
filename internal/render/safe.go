package render

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe makes a text harmless to show: control characters, bidirectional
// controls, invisible characters, line separators and invalid bytes appear as
// Go escapes (`\x1b`, `\u202e`), so that a person sees what is there. Kept are
// joiners inside words and emoji, variation selectors behind what they can
// vary, skin tones, and flags made of tags: whatever shows in honest text.
//
// The result is one line of valid UTF-8, and Safe leaves it as it is. A
// backslash is not escaped: the result is for reading, not for parsing.
func Safe(text string) string {
	if isPlainASCII(text) {
		return text
	}
	var b strings.Builder
	var prev rune // the last rune kept; 0 at the start and after an escape
	for len(text) > 0 {
		r, n := decode(text)
		next, _ := decode(text[n:])
		flag := flagLen(text)
		switch {
		case r < 0:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0]), 16))
			prev = 0
		case flag > 0:
			b.WriteString(text[:flag])
			prev, n = r, flag
		case shows(prev, r, next):
			b.WriteRune(r)
			prev = r
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			prev = 0
		}
		text = text[n:]
	}
	return b.String()
}

// decode returns the first rune of a text and its length; -1 for an invalid
// byte, which is not the same as U+FFFD written out, and at the end.
func decode(text string) (rune, int) {
	r, n := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && n <= 1 {
		return -1, n
	}
	return r, n
}

func isPlainASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// shows reports whether a rune may stand between two others.
func shows(prev, r, next rune) bool {
	switch {
	case unicode.Is(unicode.Join_Control, r):
		return joins(prev, next)
	case unicode.Is(unicode.Variation_Selector, r):
		return varies(prev, r)
	case isSkinTone(r):
		return unicode.Is(unicode.So, prev)
	}
	return visible(r)
}

// visible reports whether a rune shows, or is a space, wherever it stands.
// Unassigned ones are: an emoji newer than our tables must not become a number.
func visible(r rune) bool {
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return true // of category Cf, but drawn
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// joins reports whether a zero-width joiner or non-joiner has work to do:
// behind a mark (Indic viramas, also at the end of a word; emoji with a
// variation selector), or inside a word or emoji. Latin needs none, and there
// it only makes one word look like another.
func joins(prev, next rune) bool {
	return unicode.Is(unicode.M, prev) || (joinable(prev) || isSkinTone(prev)) && joinable(next)
}

func joinable(r rune) bool {
	return r > unicode.MaxASCII && visible(r) && !isSkinTone(r) && unicode.In(r, unicode.L, unicode.M, unicode.S) && !unicode.Is(unicode.Latin, r)
}

// varies reports whether a variation selector has something to vary; runs of
// them are a way to hide data.
func varies(prev, selector rune) bool {
	switch {
	case unicode.Is(unicode.Variation_Selector, prev):
		return false
	case selector == 0xFE0E || selector == 0xFE0F: // as text, as emoji
		return strings.ContainsRune("0123456789#*ℹ", prev) || prev > unicode.MaxASCII && unicode.In(prev, unicode.S, unicode.P)
	case selector >= 0xE0100:
		return unicode.Is(unicode.Han, prev)
	case selector < 0x2000:
		return unicode.Is(unicode.Mongolian, prev)
	}
	return prev > unicode.MaxASCII && !unicode.IsSpace(prev)
}

func isSkinTone(r rune) bool { return r >= 0x1F3FB && r <= 0x1F3FF }

// flagLen is the length of a flag of tags that a text begins with (England is a
// black flag, the tags "gbeng" and a cancel tag), or 0.
func flagLen(text string) int {
	const flag, cancel = "\U0001F3F4", "\U000E007F"
	rest, ok := strings.CutPrefix(text, flag)
	if !ok {
		return 0
	}
	for tags := range 7 {
		if tags >= 3 && strings.HasPrefix(rest, cancel) {
			return len(text) - len(rest) + len(cancel)
		}
		r, n := utf8.DecodeRuneInString(rest)
		if r -= 0xE0000; !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') {
			return 0
		}
		rest = rest[n:]
	}
	return 0
}
