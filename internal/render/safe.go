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

// Safe replaces control characters, bidirectional controls, invisible characters, line separators and invalid bytes by
// Go escapes (`\x1b`, `\u202e`). It keeps invisible characters that ordinary text needs: joiners inside words and
// emoji, variation selectors after characters that they can vary, skin tones, and flags made of tags.
//
// The result is one line of valid UTF-8; Safe does not change it again. Backslashes are not escaped, so the result
// cannot be parsed.
func Safe(text string) string {
	return replaceUnsafe(text, func(part string) string { return strings.Trim(strconv.QuoteToASCII(part), `"`) })
}

// SafeJSON returns JSON of the same value with an escape (`\u009b`) for each character that [Safe] replaces, so that it
// cannot control a terminal. data must be valid UTF-8, as encoding/json writes.
func SafeJSON(data []byte) []byte {
	return []byte(replaceUnsafe(string(data), func(part string) string {
		if strings.Contains("\n\t\r", part) { // white space between values; in strings it is escaped
			return part
		}
		var b strings.Builder
		for _, unit := range utf16.Encode([]rune(part)) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
		return b.String()
	}))
}

// replaceUnsafe replaces each unsafe rune, and each byte of invalid UTF-8, by the result of the function escape.
func replaceUnsafe(text string, escape func(part string) string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return text
	}
	var b strings.Builder
	var prev rune // the last rune written unescaped; 0 at the start and after an escape
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == '\U0001F3F4' {
			n = max(n, len(tagFlag.FindString(text)))
		}
		isByte := r == utf8.RuneError && n == 1
		if part := text[:n]; !isByte && isAllowed(prev, r) {
			b.WriteString(part)
			prev = r
		} else {
			b.WriteString(escape(part))
			prev = 0
		}
		text = text[n:]
	}
	return b.String()
}

// isAllowed reports whether a rune may be shown after prev: a visible rune, a space, or an invisible rune that changes
// how prev is drawn. A series of invisible runes could hide data; after Latin letters they would only make different
// words look the same. Unassigned runes count as visible: they may be emoji newer than Go's tables.
func isAllowed(prev, r rune) bool {
	switch {
	case r >= ' ' && r <= '~':
		return true
	case r == 0xFE0E || r == 0xFE0F: // text style, emoji style
		return strings.ContainsRune("0123456789#*ℹ", prev) || prev > unicode.MaxASCII && unicode.In(prev, unicode.S, unicode.P)
	case unicode.Is(unicode.Variation_Selector, r):
		return isShaped(prev) && !unicode.Is(unicode.Variation_Selector, prev) && (r < 0xE0100 || unicode.Is(unicode.Han, prev))
	case unicode.Is(unicode.Join_Control, r): // in words, Indic viramas, and emoji
		return isShaped(prev)
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return true // of category Cf, but visible
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// isShaped reports whether an invisible rune after r can change how r is drawn.
func isShaped(r rune) bool {
	return r > unicode.MaxASCII && unicode.In(r, unicode.L, unicode.M, unicode.S) && !unicode.Is(unicode.Latin, r)
}

// tagFlag matches a flag emoji made of tags: England's is a black flag, the tags "gbeng" and a cancel tag.
var tagFlag = regexp.MustCompile(`^\x{1F3F4}[\x{E0061}-\x{E007A}\x{E0030}-\x{E0039}]{3,6}\x{E007F}`)

// Cells returns the display width of a text.
func Cells(text string) int { return displaywidth.String(text) }

// Cut shortens a text to a width and ends it with "…" if anything was cut. It returns "" for a width below 1.
func Cut(text string, width int) string {
	if width < 1 {
		return ""
	}
	return displaywidth.TruncateString(text, width, "…")
}

// Pad appends spaces up to a width.
func Pad(text string, width int) string { return text + strings.Repeat(" ", max(width-Cells(text), 0)) }
