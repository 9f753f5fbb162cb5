package todo

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxDetail is the maximum length of a priority, due date or owner, in runes.
const MaxDetail = 100

// CoreView returns a view that leaves nothing out: with active texts, and the core statuses as words.
func CoreView() View {
	v := View{Active: true, Words: make(map[Status]string)}
	for _, s := range Statuses() {
		v.Words[s] = string(s)
	}
	return v
}

// Check returns an error unless the item may be stored. It is for items that no tool has checked: the status must be a
// core status, the text not blank, all texts clean (see [CleanText]) and within their maximum lengths, and WaitsFor
// must name items by numbers. Check does not check the item's own id.
func (i Item) Check() error {
	switch {
	case !slices.Contains(Statuses(), i.Status):
		return fmt.Errorf("status must be one of %v, it is %q", Statuses(), i.Status)
	case i.Text == "":
		return errors.New("the text is blank")
	case slices.ContainsFunc(i.Waits(), func(id string) bool { return ItemNumber(id) == 0 }):
		return errors.New("what an item waits for must be numbers of items")
	}
	return cmp.Or(checkTexts("the text", MaxText, i.Text, i.Active, i.Reason, i.Details), checkTexts("an id", MaxKey, i.Key),
		checkTexts("a priority, due date or owner", MaxDetail, i.Priority, i.DueDate, i.Owner))
}

// checkTexts returns an error unless each text is empty or one clean line of at most limit runes.
func checkTexts(what string, limit int, texts ...string) error {
	for _, text := range texts {
		clean, err := CleanText(text)
		switch {
		case !utf8.ValidString(text):
			return fmt.Errorf("%s is not valid UTF-8", what)
		case err != nil:
			return err
		case clean != text:
			return fmt.Errorf("%s must be one line, without white space around it", what)
		case utf8.RuneCountInString(text) > limit:
			return fmt.Errorf("%s has more than %d characters", what, limit)
		}
	}
	return nil
}

// Check returns an error unless a snapshot from outside, such as an import, may be stored: it must have a list id, a
// revision, clean texts, and items within [CheckSize], all valid, with unique ids and, unless mirrored, no cycles.
func (s Snapshot) Check() error {
	err := errors.Join(CheckSize(s.all()), checkTexts("its topic", MaxTitle, s.List.Topic), checkTexts("the explanation", MaxText, s.Explanation))
	waits := checkWaits(s.Items)
	switch {
	case s.List.ID == "" || s.Revision < 1:
		return errors.New("list id or revision is missing")
	case s.Revision > MaxRevision:
		return fmt.Errorf("revision must be 1 to %d, it is %d", int64(MaxRevision), s.Revision)
	case err != nil:
		return err
	case waits != nil && !s.List.Mirrored: // a host's own list may have cycles
		return waits
	case len(s.Gone) > maxGone:
		return fmt.Errorf("at most %d items that are gone are kept, there are %d", maxGone, len(s.Gone))
	}
	for _, item := range s.Gone {
		if err := item.Check(); err != nil {
			return fmt.Errorf("an item that is gone: %w", err)
		}
	}
	seen := make(map[string]bool, len(s.Items))
	for n, item := range s.all() {
		switch err := item.Check(); {
		case err != nil:
			return fmt.Errorf("item %d: %w", n+1, err)
		case item.ID == "" || seen[item.ID]:
			return fmt.Errorf("item %d: id %q is missing or a repeat", n+1, item.ID)
		case n >= len(s.Items) != strings.HasPrefix(item.ID, laterPrefix):
			return fmt.Errorf("item %d: what waits for the end of a turn, and nothing else, has an id as later-1", n+1)
		}
		seen[item.ID] = true
	}
	return nil
}

// Equal reports whether two snapshots are of one list, and have the same JSON but for List, Report, Worked and Other.
func (s Snapshot) Equal(o Snapshot) bool {
	id := s.List.ID
	s.List, s.Report, s.Worked, s.Other = o.List, o.Report, o.Worked, o.Other
	one, err := json.Marshal(s)
	other, err2 := json.Marshal(o)
	return id == o.List.ID && err == nil && err2 == nil && bytes.Equal(one, other)
}

// CheckName returns an error unless name may be the name of a list (BAD-INPUT 42).
func CheckName(name string) error {
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	isOther := func(r rune) bool { return !isWord(r) && !unicode.IsMark(r) && !strings.ContainsRune(" ._-", r) }
	first, _ := utf8.DecodeRuneInString(name)
	if !isWord(first) || strings.ContainsFunc(name, isOther) || strings.HasSuffix(name, " ") || utf8.RuneCountInString(name) > MaxName {
		return fmt.Errorf("list name: must be 1 to %d letters, digits, spaces or . _ - and begin with a letter or digit", MaxName)
	}
	return nil
}

// CleanTitle returns a title in one clean line; an error if it is longer than [MaxTitle] runes, or not clean.
func CleanTitle(title string) (string, error) {
	clean, err := CleanText(title)
	if err = cmp.Or(err, checkTexts("the text", MaxTitle, clean)); err != nil {
		return "", fmt.Errorf("title: %w", err)
	}
	return clean, nil
}

// breaks are the characters that end a line, and tabs.
const breaks = "\t\n\v\f\r\u0085\u2028\u2029"

// CleanText returns the text in one line: each run of line breaks and tabs becomes one space, and
// white space around the text is removed. It returns a [*ControlError] for any other control
// character (docs/spec/variants.md V6). The text may be blank, and of any length.
func CleanText(text string) (string, error) {
	i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(breaks, r) })
	if i >= 0 {
		r, _ := utf8.DecodeRuneInString(text[i:])
		return "", &ControlError{Code: r, Position: utf8.RuneCountInString(text[:i]) + 1}
	}
	if strings.ContainsAny(text, breaks) {
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(breaks, r) }), " ")
	}
	return strings.TrimSpace(text), nil
}

// OneLine returns any text as one clean line of at most limit runes. Invalid UTF-8 becomes question marks. A run of
// control characters and white space becomes one space. Format characters, which change the direction of a text or are
// invisible, are removed, except joiners.
func OneLine(text string, limit int) string {
	const joiners = "\u200c\u200d" // emoji and some scripts need them
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Cf, r) && !strings.ContainsRune(joiners, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.TrimSpace(Cut(strings.Join(strings.Fields(text), " "), limit))
}

// Cut returns the first limit runes of a text, or all when there are fewer. Invalid UTF-8 becomes U+FFFD.
func Cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	n := 0
	for i := range text {
		if n == limit {
			return text[:i]
		}
		n++
	}
	return text
}

// Fold returns a text reduced for loose comparison (docs/spec/variants.md, projection equality): in lower
// case and Unicode's compatibility form, without the mark of a list item ("1. ", "[x] "), spaces,
// punctuation, arrows and symbols such as emoji. Mathematical signs stay ("c" is not "c++"), and so does a
// gap between two digits (1.2 is not 12). A text that would become empty is returned unchanged.
func Fold(text string) string {
	rest := text[len(mark.FindString(text)):]
	if strings.TrimSpace(rest) == "" {
		rest = text
	}
	if strings.ContainsAny(rest, "<>") {
		rest = arrows.Replace(rest)
	}
	rest = norm.NFKC.String(rest)
	var b strings.Builder
	b.Grow(len(rest))
	var last rune // the last kept rune
	gap := false
	for _, r := range rest {
		folded := foldRune(r)
		if folded < 0 {
			gap = true
			continue
		}
		if gap && unicode.IsDigit(last) && unicode.IsDigit(folded) {
			b.WriteByte('.')
		}
		b.WriteRune(folded)
		last, gap = folded, false
	}
	return cmp.Or(b.String(), text)
}

// mark matches the mark before an item of a list: bullets or dashes, a number with a dot or bracket, a box.
var mark = regexp.MustCompile(`^[ \t*•–—-]*(?:[0-9]{1,3}[.)] |\[[ xX]\])?`)

// foldRune returns a rune's form in folded texts, or -1 for a rune that they leave out.
func foldRune(r rune) rune {
	switch {
	case r|0x20 >= 'a' && r|0x20 <= 'z': // the fast path
		return r | 0x20
	case unicode.IsSpace(r), strings.ContainsRune("→←⇒", r),
		unicode.In(r, unicode.Z, unicode.P, unicode.So, unicode.Sk, unicode.Cf, unicode.Me, unicode.Variation_Selector):
		return -1
	case unicode.Is(unicode.Mn, r):
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// arrows replaces typed arrows by spaces.
var arrows = strings.NewReplacer("->", " ", "=>", " ", "<-", " ")
