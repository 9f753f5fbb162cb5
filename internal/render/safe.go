package render

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Safe makes a text safe to display: it replaces control characters,
// bidirectional controls, invisible characters, line separators and invalid
// bytes with Go escapes (`\x1b`, `\u202e`), so that a person sees what is there.
// It keeps what is visible in honest text: joiners inside words and emoji,
// variation selectors after characters they can vary, skin tones, and flags made
// of tags.
//
// The result is one line of valid UTF-8, and applying Safe again does not change
// it. A backslash is not escaped, so the result cannot be parsed back.
func Safe(text string) string {
	return replaceUnsafe(text, func(r rune, raw byte) string {
		if r < 0 {
			return `\x` + strconv.FormatUint(uint64(raw), 16)
		}
		return strings.Trim(strconv.QuoteRuneToASCII(r), "'")
	})
}

// SafeJSON returns JSON with an escape (`\u009b`) for each character that [Safe]
// replaces, so that a terminal that shows it is not commanded by it and a person
// sees what is there. The result is JSON of the same value: outside its strings
// JSON has no such character. data must be valid UTF-8, as encoding/json writes.
func SafeJSON(data []byte) []byte {
	return []byte(replaceUnsafe(string(data), func(r rune, _ byte) string {
		if r == '\n' || r == '\t' || r == '\r' { // between values; strings have them escaped
			return string(r)
		}
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
		return b.String()
	}))
}

// replaceUnsafe returns a text with an escape for each rune that is not safe to
// display. Of an invalid byte it escapes the byte, with rune -1.
func replaceUnsafe(text string, with func(r rune, raw byte) string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	var b strings.Builder
	var prev rune // the last rune written unescaped; 0 at the start and after an escape
	for len(text) > 0 {
		r, n := decode(text)
		next, _ := decode(text[n:])
		switch {
		case r < 0:
			b.WriteString(with(r, text[0]))
			prev = 0
		case r == '\U0001F3F4' && tagFlag.MatchString(text):
			n = len(tagFlag.FindString(text))
			b.WriteString(text[:n])
			prev = r
		case isAllowed(prev, r, next):
			b.WriteRune(r)
			prev = r
		default:
			b.WriteString(with(r, 0))
			prev = 0
		}
		text = text[n:]
	}
	return b.String()
}

// decode returns the first rune of a text and its length in bytes. The rune is
// -1 for an invalid byte, as distinct from a valid U+FFFD, and for an empty text.
func decode(text string) (rune, int) {
	r, n := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && n <= 1 {
		return -1, n
	}
	return r, n
}

// isAllowed reports whether a rune may be shown between prev and next.
func isAllowed(prev, r, next rune) bool {
	switch {
	case unicode.Is(unicode.Join_Control, r):
		return joinerAllowed(prev, next)
	case unicode.Is(unicode.Variation_Selector, r):
		return selectorAllowed(prev, r)
	case isSkinTone(r):
		return unicode.Is(unicode.So, prev)
	}
	return isVisible(r)
}

// isVisible reports whether a rune is visible, or a space, in any context.
// Unassigned runes count as visible: an emoji newer than Go's Unicode tables must
// not be escaped.
func isVisible(r rune) bool {
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return true // of category Cf, but visible
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// joinerAllowed reports whether a zero-width joiner or non-joiner can have an
// effect between two runes: after a mark (Indic viramas, also at the end of a
// word; emoji with a variation selector), or inside a word or emoji. Latin needs
// none: there it would only make different words look the same.
func joinerAllowed(prev, next rune) bool {
	return unicode.Is(unicode.M, prev) || (isJoinable(prev) || isSkinTone(prev)) && isJoinable(next)
}

func isJoinable(r rune) bool {
	return r > unicode.MaxASCII && isVisible(r) && !isSkinTone(r) && unicode.In(r, unicode.L, unicode.M, unicode.S) && !unicode.Is(unicode.Latin, r)
}

// selectorAllowed reports whether a variation selector applies to the rune
// before it. Several in a row are not allowed: they can hide data.
func selectorAllowed(prev, selector rune) bool {
	switch {
	case unicode.Is(unicode.Variation_Selector, prev):
		return false
	case selector == 0xFE0E || selector == 0xFE0F: // text style, emoji style
		return strings.ContainsRune("0123456789#*ℹ", prev) || prev > unicode.MaxASCII && unicode.In(prev, unicode.S, unicode.P)
	case selector >= 0xE0100:
		return unicode.Is(unicode.Han, prev)
	case selector < 0x2000:
		return unicode.Is(unicode.Mongolian, prev)
	}
	return prev > unicode.MaxASCII && !unicode.IsSpace(prev)
}

func isSkinTone(r rune) bool { return r >= 0x1F3FB && r <= 0x1F3FF }

// tagFlag matches a flag emoji made of tags: England's is a black flag, the tags "gbeng" and
// a cancel tag.
var tagFlag = regexp.MustCompile(`^\x{1F3F4}[\x{E0061}-\x{E007A}\x{E0030}-\x{E0039}]{3,6}\x{E007F}`)

// Cells returns the display width of a text.
func Cells(text string) int { return displaywidth.String(text) }

// Cut shortens a text to a width and ends it with "…" if anything was cut. It
// never splits a character, and returns "" for a width below 1.
func Cut(text string, width int) string {
	if width < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}

// Pad appends spaces to a text up to a width.
func Pad(text string, width int) string { return text + fill(" ", width-Cells(text)) }

func fill(with string, n int) string { return strings.Repeat(with, max(n, 0)) }
