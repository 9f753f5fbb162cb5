// Package page writes the measured parts of documents.
package page

import (
	"fmt"
	"os"
	"strings"
)

// Section is a part of a document that is not written by hand. It stands between marks with its name.
type Section struct{ Name, Text string }

func (s Section) marks() (begin, end string) {
	return "<!-- " + s.Name + " -->\n", "<!-- /" + s.Name + " -->\n"
}

// Put returns a document with the section's text put between its marks, and the text that stood there before.
func (s Section) Put(document string) (changed, was string, err error) {
	begin, end := s.marks()
	before, rest, ok := strings.Cut(document, begin)
	was, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", "", fmt.Errorf("the document has no %s and %s", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + s.Text + end + after, was, nil
}

// Write replaces sections of a document.
func Write(path string, sections []Section) error {
	data, err := os.ReadFile(path)
	document := string(data)
	for _, s := range sections {
		if err == nil {
			document, _, err = s.Put(document)
		}
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(document), 0o644)
}

// Table returns a table in Markdown. A column whose head ends in a colon is aligned right, for numbers.
func Table(head []string, rows [][]string) string {
	rule := make([]string, len(head))
	for i, name := range head {
		rule[i] = "---"
		if strings.HasSuffix(name, ":") {
			rule[i], head[i] = "---:", strings.TrimSuffix(name, ":")
		}
	}
	text := ""
	for _, cells := range append([][]string{head, rule}, rows...) {
		text += "| " + strings.Join(cells, " | ") + " |\n"
	}
	return text
}

// Number returns a number with commas between groups of three digits.
func Number(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Number(n/1000), n%1000)
}
