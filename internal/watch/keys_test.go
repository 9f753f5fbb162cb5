package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The decoder returns the same keys however the bytes are split into pieces.
func TestKeys(t *testing.T) {
	const bytes = "q\x1b[A\x1bOB\x1b[1;2C\x1b[D\x1b[H\x1b[4~\x1b[5~\x1b[6~ä漢\r\x7f\x03\x1a\x15\x0c\x01\x1b[3~\t\x17\x1b[1;3A\x1b[1;3B\x1b[200~two\x1b[A\nlines\x1b[201~\x1b]11;rgb:ff/ff/ff\x1b\\\x1b]11;rgb:0/0/0\a\x1b]52;c;x\a\xffj"
	want := []key{"q", keyUp, keyDown, keyRight, keyLeft, keyHome, keyEnd, keyPageUp, keyPageDown, "ä", "漢",
		keyEnter, keyBackspace, keyInterrupt, keySuspend, keyEraseAll, keyRedraw, keyHome, keyDelete, keyTab, keyEraseWord, keyAltUp, keyAltDown,
		keyPaste + "two[A lines", keyBackground + "rgb:ff/ff/ff", keyBackground + "rgb:0/0/0", "j"}
	for size := 1; size <= len(bytes); size++ {
		var r keyDecoder
		var got []key
		for offset := 0; offset < len(bytes); offset += size {
			got = append(got, r.feed([]byte(bytes[offset:min(offset+size, len(bytes))]))...)
		}
		if diff := cmp.Diff(want, got); diff != "" || r.waiting() {
			t.Fatalf("pieces of %d: (-want +got)\n%s", size, diff)
		}
	}
}

// An ESC byte is the Escape key unless a sequence follows.
func TestEscapeKey(t *testing.T) {
	var r keyDecoder
	if got := r.feed([]byte{escape}); got != nil || !r.waiting() {
		t.Errorf("after ESC alone: %q", got)
	}
	if got := r.flush(); len(got) != 1 || got[0] != keyEscape || r.waiting() {
		t.Errorf("after flush: %q", got)
	}
	if got := r.feed([]byte{escape, 'q'}); cmp.Diff([]key{keyEscape, "q"}, got) != "" {
		t.Errorf("before another key: %q", got)
	}
	if got := r.feed([]byte("\x1b[" + string(make([]byte, 64)))); got != nil || r.waiting() {
		t.Errorf("an endless sequence is decoded as %q", got)
	}
}
