package todo

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckName returns an error unless name may be the name of a list: 1 to
// [MaxName] letters, digits, spaces and "._-", beginning with a letter or digit
// (BAD-INPUT 42). The error says what is allowed.
func CheckName(name string) error {
	ok := utf8.ValidString(name) && name == strings.TrimSpace(name) && utf8.RuneCountInString(name) <= MaxName
	for i, r := range name {
		word := unicode.IsLetter(r) || unicode.IsDigit(r)
		ok = ok && (word || i > 0 && (unicode.IsMark(r) || strings.ContainsRune(" ._-", r)))
	}
	if !ok || name == "" {
		return fmt.Errorf("list name: must be 1 to %d letters, digits, spaces or . _ - and begin with a letter or digit", MaxName)
	}
	return nil
}

// CleanTitle returns a title as it may be given to a list: one line of at most
// [MaxTitle] runes, or empty to take the title away. The error says what is
// allowed.
func CleanTitle(title string) (string, error) {
	clean, err := CleanText(title)
	switch {
	case !utf8.ValidString(title):
		return "", errors.New("title: the text is not valid UTF-8")
	case err != nil:
		return "", fmt.Errorf("title: %w", err)
	case utf8.RuneCountInString(clean) > MaxTitle:
		return "", fmt.Errorf("title: at most %d characters", MaxTitle)
	}
	return clean, nil
}
