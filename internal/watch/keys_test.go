package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Keys come out the same however a terminal's bytes are cut into pieces.
func TestKeys(t *testing.T) {
	const bytes = "q\x1b[A\x1bOB\x1b[1;2C\x1b[D\x1b[H\x1b[4~\x1b[5~\x1b[6~ä漢\r\x7f\x03\x1a\x15\x0c\x01\x1b[200~\xffj"
	want := []key{"q", keyUp, keyDown, keyRight, keyLeft, keyHome, keyEnd, keyPageUp, keyPageDown, "ä", "漢",
		keyEnter, keyBackspace, keyInterrupt, keySuspend, keyEraseAll, keyRedraw, "j"}
	for size := 1; size <= len(bytes); size++ {
		var r keyReader
		var got []key
		for at := 0; at < len(bytes); at += size {
			got = append(got, r.feed([]byte(bytes[at:min(at+size, len(bytes))]))...)
		}
		if diff := cmp.Diff(want, got); diff != "" || r.waiting() {
			t.Fatalf("pieces of %d: (-want +got)\n%s", size, diff)
		}
	}
}

// An Escape is a key of its own when nothing follows.
func TestEscapeKey(t *testing.T) {
	var r keyReader
	if got := r.feed([]byte{escape}); got != nil || !r.waiting() {
		t.Errorf("at once %q", got)
	}
	if got := r.flush(); len(got) != 1 || got[0] != keyEscape || r.waiting() {
		t.Errorf("in the end %q", got)
	}
	if got := r.feed([]byte{escape, 'q'}); cmp.Diff([]key{keyEscape, "q"}, got) != "" {
		t.Errorf("before another key %q", got)
	}
	if got := r.feed([]byte("\x1b[" + string(make([]byte, 64)))); got != nil || r.waiting() {
		t.Errorf("an endless sequence gives %q", got)
	}
}
