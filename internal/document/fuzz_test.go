package document_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"todo-mcp/internal/document"
)

// BAD-INPUT 94: whatever a document holds, setting an object, also as an item of an
// array, is refused or changes nothing else: all the lines that were there are there,
// in their order, but for the one behind which a comma is put, and removing the object,
// or another item of the array, changes no more.
func FuzzSetAndRemove(f *testing.F) {
	formats := []document.Format{document.JSON, document.TOML, document.YAML}
	for _, c := range cases() {
		f.Add(byte(slices.Index(formats, c.format)), []byte(c.before))
	}
	for _, c := range itemCases() {
		f.Add(byte(0), []byte(c.before))
		f.Add(byte(0), []byte(c.after))
	}
	f.Fuzz(func(t *testing.T, n byte, data []byte) {
		format := formats[int(n)%len(formats)]
		root, err := format.Object(data)
		if err != nil {
			return
		}
		if _, there := root[path(format)[0].(string)]; !there { // other tests are about objects that are there
			setAndRemove(t, format, data, path(format))
		}
		if format != document.JSON {
			return
		}
		list := items(root)
		setAndRemove(t, format, data, document.Path{"hooks", "Stop", len(list)})
		for i := range list {
			if less, err := format.Remove(data, document.Path{"hooks", "Stop", i}); err == nil && !isWithin(less, data) {
				t.Errorf("removing item %d makes of\n%q\n%q", i, data, less)
			}
		}
	})
}

// items returns the items of the array of the tests.
func items(root map[string]any) []any {
	hooks, _ := root["hooks"].(map[string]any)
	list, _ := hooks["Stop"].([]any)
	return list
}

// setAndRemove sets an object that is not there, and removes it again.
func setAndRemove(t *testing.T, format document.Format, data []byte, path document.Path) {
	t.Helper()
	set, err := format.Set(data, path, fields())
	if err != nil {
		return
	}
	again, err := format.Set(set, path, fields())
	if err != nil || !bytes.Equal(again, set) {
		t.Errorf("setting twice (%v) makes of\n%q\n%q\nand then\n%q", err, data, set, again)
	}
	if !isWithin(data, set) && !strings.Contains(string(data), "null") {
		t.Errorf("setting makes of\n%q\n%q", data, set)
	}
	back, err := format.Remove(set, path)
	if err != nil {
		t.Fatalf("what was set is not removed: %v\n%q\n%q", err, data, set)
	}
	if !isWithin(back, set) {
		t.Errorf("removing makes of\n%q\n%q", set, back)
	}
	if format != document.JSON && len(bytes.TrimSpace(data)) > 0 && !bytes.Equal(back, data) {
		t.Errorf("setting and removing makes of\n%q\n%q", data, back)
	}
}

// isWithin reports whether all bytes of a document that are no white space are in
// another, in their order.
func isWithin(data, all []byte) bool {
	for _, b := range data {
		if bytes.IndexByte([]byte(" \t\r\n"), b) >= 0 {
			continue
		}
		i := bytes.IndexByte(all, b)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}
