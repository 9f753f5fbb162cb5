package change

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// A text from the editor is refused with a printable error, or gives items that can be stored. Opened in the editor
// again and left as they are, these items stay the same.
func FuzzEdited(f *testing.F) {
	sample := formatEditable(todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "A <!--2-->", Status: todo.Blocked}, {ID: "2", Text: "- [x] B", Status: todo.Failed}}})
	for _, text := range []string{sample, "- [ ] a\n* [>] b <!-- #7 -->\r\n+ [-] c<!--99999999999999999999-->", "<!--\n- [ ] hidden\n-->\n- [x] seen", "- [ ] a <!--1--> and more", "- [ ] \x1b[2J", "- [é] x", "- [+] a <!--1-->", "no task", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines, later, err := parseEdited(text)
		if err != nil {
			programtest.CheckPrintable(t, err)
			return
		}
		d := todo.NewDraft(todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}, LastID: 1}, time.Unix(0, 0))
		if _, err := (todo.Edit{Do: todo.EditItems, Lines: lines, Later: later}).Clean(); err != nil && len(lines)+len(later) <= todo.MaxItems {
			t.Fatalf("%q is read as %+v: %v", text, lines, err)
		}
		view := todo.CoreView()
		view.Active = false
		d.Replace(view, lines)
		seen := make(map[string]bool)
		for _, item := range d.Items() {
			if err := item.Check(); err != nil || seen[item.ID] {
				t.Fatalf("%+v: %v", item, err)
			}
			seen[item.ID] = true
		}
		again, _, err := parseEdited(formatEditable(todo.Snapshot{Items: d.Items()}))
		if err != nil {
			t.Fatalf("%q is given to the editor as what it refuses: %v", text, err)
		}
		for n, line := range again {
			if item := d.Items()[n]; line.Text != item.Text || line.Status != string(item.Status) || line.ID != item.ID {
				t.Fatalf("%+v comes from the editor as %+v", item, line)
			}
		}
	})
}

// Words typed at the end of a line, after the item's number, belong to the item's text.
func TestTypedBehindNumber(t *testing.T) {
	lines, later, err := parseEdited("- [ ] Ship <!--2--> now\n- [x] Say <!--5--> once <!--3-->  \n- [ ] New  \r\n")
	want := []todo.Line{{ID: "2", Text: "Ship now", Status: "pending"}, {ID: "3", Text: "Say <!--5--> once", Status: "completed"}, {Text: "New", Status: "pending"}}
	if err != nil || !reflect.DeepEqual(lines, want) || len(later) > 0 {
		t.Errorf("%+v, %v", lines, err)
	}
}

// In the editor, texts for the end of the turn follow the items; the edited texts replace the list's texts.
func TestLaterInTheEditor(t *testing.T) {
	list := todo.Snapshot{Revision: 3, Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}, Later: []todo.Item{{ID: "later-1", Text: "X", Status: todo.Pending}}}
	text := formatEditable(list)
	if !strings.HasPrefix(text, "- [ ] A <!--1-->\n- [+] X\n") {
		t.Errorf("the editor is given %s", text)
	}
	e, err := editedItems(list, strings.Replace(text, "- [+] X", "- [ ] X\n- [+] Y", 1))
	want := todo.Edit{Do: todo.EditItems, Seen: 3, Later: []string{"Y"}, Lines: []todo.Line{{ID: "1", Text: "A", Status: "pending"}, {Text: "X", Status: "pending"}}}
	if err != nil || !reflect.DeepEqual(e, want) {
		t.Errorf("%+v, %v", e, err)
	}
}
