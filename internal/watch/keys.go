package watch

import (
	"strings"
	"time"
	"unicode"

	"github.com/gdamore/tcell/v3"
)

// key is a pressed key: a character, or the name that tcell has for the key, which is
// longer than one character.
type key string

// readKeys returns the keys of a terminal's event, which are answered at once. What is
// pasted is typed into the search, and means nothing elsewhere.
func (v *viewer) readKeys(event tcell.Event) []key {
	switch e := event.(type) {
	case *tcell.EventPaste:
		v.pasting = e.Start()
	case *tcell.EventKey:
		switch {
		case !v.pasting:
			v.drawn = time.Time{}
			return keysOf(e)
		case e.Key() == tcell.KeyCtrlC: // the end of the paste may have been lost
			return []key{"Ctrl-C"}
		case e.Key() == tcell.KeyRune && v.searching && len(v.filter) < maxSearch:
			return keysOf(e)
		}
	}
	return nil
}

// maxSearch is how many bytes of a paste the search takes.
const maxSearch = 1000

// keysOf returns what a pressed key means to the viewer. A terminal sends Escape and
// then a character, both at once, as it sends that character with Alt.
func keysOf(e *tcell.EventKey) []key {
	name, character := key(tcell.KeyNames[e.Key()]), key(e.Str())
	switch {
	case e.Key() == tcell.KeyCtrlJ:
		return []key{"Enter"}
	case e.Key() != tcell.KeyRune && name != "":
		return []key{name}
	case e.Key() != tcell.KeyRune || strings.ContainsFunc(e.Str(), func(r rune) bool { return !unicode.IsPrint(r) }):
		return nil
	case e.Modifiers()&(tcell.ModAlt|tcell.ModMeta) != 0:
		return []key{"Esc", character}
	}
	return []key{character}
}
