package watch

import (
	"strings"
	"unicode"

	"github.com/gdamore/tcell/v3"
)

// key is a pressed key: a character, or one of the names below, which are all
// longer than one character.
type key string

const (
	keyUp        key = "up"
	keyDown      key = "down"
	keyLeft      key = "left"
	keyRight     key = "right"
	keyHome      key = "home"
	keyEnd       key = "end"
	keyPageUp    key = "page up"
	keyPageDown  key = "page down"
	keyEnter     key = "enter"
	keyEscape    key = "escape"
	keyBackspace key = "backspace"
	keyInterrupt key = "ctrl-c"
	keySuspend   key = "ctrl-z"
	keyEraseAll  key = "ctrl-u"
	keyRedraw    key = "ctrl-l"
	keyEraseWord key = "ctrl-w"
	keyDelete    key = "delete"
	keyTab       key = "tab"
	keyAltUp     key = "alt-up"
	keyAltDown   key = "alt-down"
	// keyPaste comes before a text that was pasted.
	keyPaste key = "paste "
)

// named are the keys that are no characters, by their names in tcell.
func named() map[tcell.Key]key {
	return map[tcell.Key]key{
		tcell.KeyUp: keyUp, tcell.KeyDown: keyDown, tcell.KeyLeft: keyLeft, tcell.KeyRight: keyRight,
		tcell.KeyHome: keyHome, tcell.KeyCtrlA: keyHome, tcell.KeyEnd: keyEnd, tcell.KeyCtrlE: keyEnd,
		tcell.KeyPgUp: keyPageUp, tcell.KeyCtrlB: keyPageUp, tcell.KeyPgDn: keyPageDown, tcell.KeyCtrlF: keyPageDown,
		tcell.KeyEnter: keyEnter, tcell.KeyCtrlJ: keyEnter, tcell.KeyEscape: keyEscape, tcell.KeyTab: keyTab,
		tcell.KeyBackspace: keyBackspace, tcell.KeyDelete: keyDelete, tcell.KeyCtrlU: keyEraseAll, tcell.KeyCtrlW: keyEraseWord,
		tcell.KeyCtrlC: keyInterrupt, tcell.KeyCtrlZ: keySuspend, tcell.KeyCtrlL: keyRedraw,
	}
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
func keysOf(e *tcell.EventKey) (keys []key) {
	alt := e.Modifiers()&(tcell.ModAlt|tcell.ModMeta) != 0
	switch k, ok := named()[e.Key()]; {
	case alt && k == keyUp:
		return []key{keyAltUp}
	case alt && k == keyDown:
		return []key{keyAltDown}
	case ok:
		return []key{k}
	case e.Key() != tcell.KeyRune || strings.ContainsFunc(e.Str(), func(r rune) bool { return !unicode.IsPrint(r) }):
		return nil
	case alt:
		keys = []key{keyEscape}
	}
	return append(keys, key(e.Str()))
}
