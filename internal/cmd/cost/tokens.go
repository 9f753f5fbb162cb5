//go:build linux

package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// meter counts how much of a model's context texts take.
type meter struct {
	codec tokenizer.Codec
	err   error // the first failure to count; amounts after it are wrong
}

func newMeter() (*meter, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	return &meter{codec: codec}, err
}

// amount is how much of a model's context texts take.
type amount struct{ tokens, characters int }

// of adds up the amounts of texts. Each text is counted by itself.
func (m *meter) of(texts ...string) (a amount) {
	for _, text := range texts {
		n, err := m.codec.Count(text)
		if err != nil {
			m.err = cmp.Or(m.err, fmt.Errorf("count tokens: %w", err))
		}
		a = a.plus(amount{n, utf8.RuneCountInString(text)})
	}
	return a
}

// calls returns the amounts of calls: of the tools' names with the arguments, and of the answers.
func (m *meter) calls(all []call) (wrote, got amount) {
	for _, c := range all {
		wrote, got = wrote.plus(m.of(c.tool, c.wrote)), got.plus(m.of(c.got))
	}
	return wrote, got
}

// listing returns the amount of the names, descriptions and input schemas of tools.
func (m *meter) listing(tools []listed) (a amount) {
	for _, t := range tools {
		a = a.plus(m.of(t.Name, t.Description, string(t.InputSchema)))
	}
	return a
}

func (a amount) plus(b amount) amount {
	return amount{a.tokens + b.tokens, a.characters + b.characters}
}

// quarter returns a fourth of the characters, the usual estimate of tokens.
func (a amount) quarter() int { return (a.characters + 3) / 4 }

// uuid is the pattern of ids that other servers make.
const uuid = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

// settled returns a text with constants for the parts that differ from run to run: ids, times and the server's folder.
func settled(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "/home/ann/shop")
	for pattern, same := range map[string]string{
		uuid:                                   "7f3571b3-e6e9-44f6-bbef-e18afc04ad26",
		`\b[a-z2-7]{26}\b`:                     "ck4lnpbzy6hauscstn7lmhzt5x",
		`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`: "2026-11-21T12:34:56.789Z",
		`\d{4}-\d\d-\d\d \d\d:\d\d\b`:          "2026-11-21 12:34",
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, same)
	}
	return text
}
