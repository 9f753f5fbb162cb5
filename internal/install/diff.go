package install

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff returns the change as a unified diff without context. Of a file it shows only
// what this program writes itself: all else in a line, such as the variables of
// another server that stand in the same one, may be secret and is an ellipsis.
func (c Change) Diff() string {
	var out strings.Builder
	for _, e := range c.edits {
		if !e.isNone() {
			out.WriteString(e.diff())
		}
	}
	return out.String()
}

func (e *edit) diff() string {
	from, to := e.before.path, e.before.path
	if !e.before.exists {
		from = "/dev/null"
	}
	old, new := string(e.before.data), string(e.after)
	if e.removes {
		to, new = "/dev/null", ""
	}
	var masked strings.Builder
	var edits []udiff.Edit
	at := 0
	for _, edit := range udiff.Lines(old, new) {
		masked.WriteString(strings.Repeat("\n", strings.Count(old[at:edit.Start], "\n")))
		start := masked.Len()
		masked.WriteString(e.mask(old[edit.Start:edit.End]))
		edits = append(edits, udiff.Edit{Start: start, End: masked.Len(), New: e.mask(edit.New)})
		at = edit.End
	}
	diff, err := udiff.ToUnified(from, to, masked.String(), edits, 0)
	if err != nil { // the edits are made above, in their order
		return fmt.Sprintf("%s would change: %v\n", e.before.path, err)
	}
	return diff
}

var (
	word   = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s"'{}\[\],=]+`)
	hidden = regexp.MustCompile(`…(?:[ \t{}\[\],:=]*…)+`)
)

// mask returns lines in which all words are hidden that are not of the change.
func (e *edit) mask(lines string) string {
	lines = word.ReplaceAllStringFunc(lines, func(w string) string {
		if e.words[plainWord(w)] {
			return w
		}
		return "…"
	})
	return hidden.ReplaceAllString(lines, "…")
}

// plainWord returns a word of a file without what stands around it.
func plainWord(word string) string {
	plain := strings.Trim(strings.TrimSuffix(word, ":"), "'")
	if text, err := strconv.Unquote(plain); err == nil {
		return text
	}
	return plain
}

// words returns what may be shown of a file: the words of an entry of this server, but
// for arguments and addresses that the user did not just give, in which a password may
// stand.
func (c Client) words(name string, o Options, old, wanted Server) []string {
	s := c.shape
	path := []string{c.servers, name}
	texts := slices.Concat(path, o.Args, []string{strings.Join(path, "."), s.command, s.args, s.url, s.name, o.URL, old.Command, wanted.Command})
	if old.URL == old.String() {
		texts = append(texts, old.URL)
	}
	for _, f := range slices.Concat(s.both, s.stdio, s.http) {
		texts = append(texts, f.Key, strings.Trim(fmt.Sprint(f.Value), "[]"))
	}
	return texts
}
