package install

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff returns the change as a unified diff without context. Of the file it shows only
// what this program writes itself: all else in a line, such as the variables of
// another server that stand in the same one, may be secret and is an ellipsis.
func (c Change) Diff() string {
	old, new := string(c.before.data), string(c.after)
	var masked strings.Builder
	var edits []udiff.Edit
	at := 0
	for _, edit := range udiff.Lines(old, new) {
		masked.WriteString(strings.Repeat("\n", strings.Count(old[at:edit.Start], "\n")))
		start := masked.Len()
		masked.WriteString(c.mask(old[edit.Start:edit.End]))
		edits = append(edits, udiff.Edit{Start: start, End: masked.Len(), New: c.mask(edit.New)})
		at = edit.End
	}
	name := c.File
	if !c.before.exists {
		name = "/dev/null"
	}
	diff, err := udiff.ToUnified(name, c.File, masked.String(), edits, 0)
	if err != nil { // the edits are made above, in their order
		return fmt.Sprintf("%s would change: %v\n", c.File, err)
	}
	return diff
}

var (
	word   = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|[^\s"'{}\[\],=]+`)
	hidden = regexp.MustCompile(`…(?:[ \t{}\[\],:=]*…)+`)
)

// mask returns lines in which all words are hidden that are not of the change.
func (c Change) mask(lines string) string {
	lines = word.ReplaceAllStringFunc(lines, func(w string) string {
		plain := strings.Trim(strings.TrimSuffix(w, ":"), "'")
		if text, err := strconv.Unquote(plain); err == nil {
			plain = text
		}
		if c.words[plain] {
			return w
		}
		return "…"
	})
	return hidden.ReplaceAllString(lines, "…")
}

// words returns what may be shown of a file: the words of an entry of this server, but
// for arguments and addresses that the user did not just give, in which a password may
// stand.
func (c Client) words(name string, o Options, old, wanted Server) map[string]bool {
	s := c.shape
	path := []string{c.servers, name}
	texts := slices.Concat(path, o.Args, []string{strings.Join(path, "."), s.command, s.args, s.url, s.name, o.URL, old.Command, wanted.Command})
	if old.URL == old.String() {
		texts = append(texts, old.URL)
	}
	for _, f := range slices.Concat(s.both, s.stdio, s.http) {
		texts = append(texts, f.Key, strings.Trim(fmt.Sprint(f.Value), "[]"))
	}
	out := make(map[string]bool)
	for _, text := range texts {
		for _, w := range append(strings.Fields(text), text) {
			out[w] = true
		}
	}
	return out
}
