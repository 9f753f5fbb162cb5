package todo

import (
	"testing"
	"unicode"
)

// Fold makes of every character what Unicode says of it, among others.
func TestFoldEveryCharacter(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		want := "ab"
		if !unicode.IsSpace(r) && !unicode.IsPunct(r) {
			want = "a" + string(unicode.ToLower(unicode.ToUpper(r))) + "b"
		}
		if got := Fold("A" + string(r) + "B"); got != want {
			t.Fatalf("%U: %q, want %q", r, got, want)
		}
	}
}

func BenchmarkFold(b *testing.B) {
	for b.Loop() {
		Fold("Write the tests of the parser, and run them")
	}
}
