package todo

import (
	"fmt"
	"strings"
	"unicode"
)

// CleanText makes a text one line: each run of line breaks and tabs becomes one
// space, and white space around the text goes. It refuses other control
// characters, naming the first and its position in runes from 1 (VARIANTS.md
// V6). It does not judge length or blankness.
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
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Cc, r) || isBreak(r) })
}

func isBreak(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// Cut returns the first runes of a text, most at the most.
func Cut(text string, most int) string {
	runes := []rune(text)
	return string(runes[:min(most, len(runes))])
}

// Fold reduces a text to what matters when two are compared loosely: letters,
// digits and symbols, lower case, without spaces and punctuation (VARIANTS.md,
// projection equality). A text of punctuation alone folds to itself.
func Fold(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsPunct(r) {
			continue
		}
		b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
	}
	if b.Len() == 0 {
		return text
	}
	return b.String()
}
