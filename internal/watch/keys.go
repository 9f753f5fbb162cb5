package watch

import (
	"cmp"
	"strings"
	"unicode"

	"github.com/gdamore/tcell/v3"
)

// key is a pressed key: a character, or a name that tcell has for the key, after "Alt+" if
// that was pressed, too. All names are longer than one character.
type key string

const (
	keyUp        key = "Up"
	keyDown      key = "Down"
	keyLeft      key = "Left"
	keyRight     key = "Right"
	keyHome      key = "Home"
	keyEnd       key = "End"
	keyPageUp    key = "PgUp"
	keyPageDown  key = "PgDn"
	keyEnter     key = "Enter"
	keyEscape    key = "Esc"
	keyBackspace key = "Backspace"
	keyDelete    key = "Delete"
	keyTab       key = "Tab"
	keyInterrupt key = "Ctrl-C"
	keySuspend   key = "Ctrl-Z"
	keyRedraw    key = "Ctrl-L"
	keyEraseAll  key = "Ctrl-U"
	keyEraseWord key = "Ctrl-W"
	keyPaste     key = "paste " // before a text that was pasted
)

// other returns the key that another is pressed for.
func other(k tcell.Key) key {
	return map[tcell.Key]key{tcell.KeyCtrlA: keyHome, tcell.KeyCtrlE: keyEnd, tcell.KeyCtrlB: keyPageUp,
		tcell.KeyCtrlF: keyPageDown, tcell.KeyCtrlJ: keyEnter}[k]
}

// maxPaste is how many bytes of one paste are read; more is dropped.
const maxPaste = 64 << 10

// keyReader makes keys of a terminal's events: a pasted text is one key.
type keyReader struct {
	pasting bool
	pasted  strings.Builder
}

// read returns the keys that an event completes.
func (r *keyReader) read(event tcell.Event) []key {
	switch e := event.(type) {
	case *tcell.EventPaste:
		text := strings.TrimSpace(r.pasted.String())
		r.pasted.Reset()
		if r.pasting = e.Start(); !r.pasting {
			return []key{keyPaste + key(text)}
		}
	case *tcell.EventKey:
		if r.pasting && e.Key() != tcell.KeyCtrlC { // whose end may have been lost
			r.paste(e)
			return nil
		}
		return keysOf(e)
	}
	return nil
}

// paste adds a character to a pasted text. Its line breaks become spaces, and what is
// not printable is dropped.
func (r *keyReader) paste(e *tcell.EventKey) {
	text := e.Str()
	switch e.Key() {
	case tcell.KeyRune:
	case tcell.KeyEnter, tcell.KeyCtrlJ, tcell.KeyTab:
		text = " "
	default:
		return
	}
	if !strings.ContainsFunc(text, unicode.IsControl) && r.pasted.Len()+len(text) <= maxPaste {
		r.pasted.WriteString(text)
	}
}

// keysOf returns what a pressed key means to the viewer. A terminal sends Escape and
// then a character, both at once, as it sends that character with Alt.
func keysOf(e *tcell.EventKey) []key {
	alt := e.Modifiers()&(tcell.ModAlt|tcell.ModMeta) != 0
	name, character := cmp.Or(other(e.Key()), key(tcell.KeyNames[e.Key()])), key(e.Str())
	switch {
	case alt && (name == keyUp || name == keyDown):
		return []key{"Alt+" + name}
	case e.Key() != tcell.KeyRune && name != "":
		return []key{name}
	case e.Key() != tcell.KeyRune || strings.ContainsFunc(e.Str(), func(r rune) bool { return !unicode.IsPrint(r) }):
		return nil
	case alt:
		return []key{keyEscape, character}
	}
	return []key{character}
}
