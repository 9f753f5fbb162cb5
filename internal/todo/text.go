package todo

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// breaks are the characters that end a line, and tabs.
const breaks = "\t\n\v\f\r\u0085\u2028\u2029"

// CleanText returns the text in one line: each run of line breaks and tabs
// becomes one space, and white space around the text is removed. For any other
// control character it returns an error that names the first and its position
// in runes, from 1 (docs/spec/variants.md V6). It does not check length or
// blankness.
func CleanText(text string) (string, error) {
	i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(breaks, r) })
	if i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		return "", fmt.Errorf("control character U+%04X at position %d is not allowed", r, utf8.RuneCountInString(text[:i])+1)
	}
	if strings.ContainsAny(text, breaks) {
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(breaks, r) }), " ")
	}
	return strings.TrimSpace(text), nil
}

// Cut returns the first limit runes of a text, or all when there are fewer.
func Cut(text string, limit int) string {
	if len(text) <= limit && utf8.ValidString(text) {
		return text
	}
	runes := []rune(text)
	return string(runes[:min(limit, len(runes))])
}

// Fold returns a text reduced for loose comparison: in lower case and without
// spaces and punctuation (docs/spec/variants.md, projection equality). A text
// of nothing but these is returned unchanged.
func Fold(text string) string {
	folded := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsPunct(r) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, text)
	return cmp.Or(folded, text)
}
