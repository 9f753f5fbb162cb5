//go:build e2e && !race

// This file is built without the race detector, which finds nothing here and makes the test take most of a minute.

package card_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/render"
)

// texts returns the texts on which the two versions of Safe must agree. Some have 64 characters each, every character
// between letters. Others have a character that depends on its neighbours, between neighbours of each kind.
func texts() (out []string) {
	var block strings.Builder
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !unicode.Is(unicode.Cs, r) { // a Go string cannot contain surrogates
			block.WriteString("a" + string(r) + "b")
		}
		if r%64 == 63 {
			out = append(out, block.String())
			block.Reset()
		}
	}
	neighbours := []string{"", "a", "é", "ا", "م", "क", "्", "漢", "ᠠ", "1", "#", "❤", "👍", "👩", "🏽", "🏴", "\u200d", "\ufe0f", "\U000e0067", " ", "!"}
	depends := []string{"\u200c", "\u200d", "\ufe0e", "\ufe0f", "\u180b", "\U000e0100", "🏽", "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"}
	for _, before := range neighbours {
		for _, at := range depends {
			for _, after := range neighbours {
				out = append(out, before+at+after, "x"+before+before+at+at+after)
			}
		}
	}
	return out
}

// BAD-INPUT 37: Safe in Go and safe in JavaScript return the same for each text.
func TestSafeIsTheSameInJavaScript(t *testing.T) {
	in := texts()
	data := checktest.Must(json.Marshal(in))(t)
	const program = `
		const fs = require('fs');
		const safe = new Function(fs.readFileSync('safe.js', 'utf8') + '; return safe')();
		process.stdout.write(JSON.stringify(JSON.parse(fs.readFileSync(0, 'utf8')).map(safe)));`
	node := exec.Command("node", "-e", program)
	node.Stdin = bytes.NewReader(data)
	output := checktest.Must(node.Output())(t)
	var got []string
	if err := json.Unmarshal(output, &got); err != nil || len(got) != len(in) {
		t.Fatalf("%d texts came back of %d: %v", len(got), len(in), err)
	}
	differ := 0
	for i, text := range in {
		if want := render.Safe(text); got[i] != want {
			if differ++; differ <= 20 {
				t.Errorf("%+q: JavaScript %+q, Go %+q", text, got[i], want)
			}
		}
	}
	t.Logf("%d of %d differ", differ, len(in))
}
