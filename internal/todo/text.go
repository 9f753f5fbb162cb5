package todo

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText returns the text in one line: each run of line breaks and tabs
// becomes one space, and white space around the text is removed. For any other
// control character it returns an error that names the first and its position
// in runes, from 1 (docs/spec/variants.md V6). It does not check length or
// blankness.
func CleanText(text string) (string, error) {
	if !needsCleaning(text) {
		return text, nil
	}
	var b strings.Builder
	pos, gap := 0, false
	for _, r := range text {
		pos++
		if isBreak(r) {
			gap = true
			continue
		}
		if unicode.Is(unicode.Cc, r) {
			return "", fmt.Errorf("control character U+%04X at position %d is not allowed", r, pos)
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String()), nil
}

func needsCleaning(text string) bool {
	if strings.TrimSpace(text) != text {
		return true
	}
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || isBreak(r) })
}

func isBreak(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// Cut returns the first limit runes of a text, or all when there are fewer.
func Cut(text string, limit int) string {
	if len(text) <= limit && utf8.ValidString(text) {
		return text
	}
	runes := []rune(text)
	return string(runes[:min(limit, len(runes))])
}

// foldedASCII is what [Fold] makes of each ASCII character; 0 is nothing. NUL, which
// no text has, is nothing too.
var foldedASCII = func() (table [utf8.RuneSelf]byte) {
	for r := range rune(utf8.RuneSelf) {
		if !unicode.IsSpace(r) && !unicode.IsPunct(r) {
			table[r] = byte(unicode.ToLower(unicode.ToUpper(r)))
		}
	}
	return table
}()

// Fold returns a text reduced for loose comparison: in lower case and without
// spaces and punctuation (docs/spec/variants.md, projection equality). A text
// of nothing but these is returned unchanged.
func Fold(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if folded := foldedASCII[r]; folded != 0 {
				b.WriteByte(folded)
			}
		case !unicode.IsSpace(r) && !unicode.IsPunct(r):
			b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
		}
	}
	if b.Len() == 0 {
		return text
	}
	return b.String()
}
