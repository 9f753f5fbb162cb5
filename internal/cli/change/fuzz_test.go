package change

import (
	"reflect"
	"testing"
	"time"

	"todo-mcp/internal/programtest"
	"todo-mcp/internal/todo"
)

// A text from the editor is refused with its line, or is items that may be stored
// and that the editor would be given again as they are.
func FuzzEdited(f *testing.F) {
	sample := formatEditable(todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "A <!--2-->", Status: todo.Blocked}, {ID: "2", Text: "- [x] B", Status: todo.Failed}}})
	for _, text := range []string{sample, "- [ ] a\n* [>] b <!-- #7 -->\r\n+ [-] c<!--99999999999999999999-->", "<!--\n- [ ] hidden\n-->\n- [x] seen", "- [ ] a <!--1--> and more", "- [ ] \x1b[2J", "- [é] x", "no task", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := parseEdited(text)
		if err != nil {
			programtest.CheckPrintable(t, err)
			return
		}
		d := todo.NewDraft(todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}, LastID: 1}, time.Unix(0, 0))
		if _, err := (todo.Edit{Do: todo.EditItems, Lines: lines}).Clean(); err != nil && len(lines) <= todo.MaxItems {
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
		again, err := parseEdited(formatEditable(todo.Snapshot{Items: d.Items()}))
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

// What is typed at the end of a line, behind the item's number, is of its text.
func TestTypedBehindNumber(t *testing.T) {
	lines, err := parseEdited("- [ ] Ship <!--2--> now\n- [x] Say <!--5--> once <!--3-->  \n- [ ] New  \r\n")
	want := []todo.Line{{ID: "2", Text: "Ship now", Status: "pending"}, {ID: "3", Text: "Say <!--5--> once", Status: "completed"}, {Text: "New", Status: "pending"}}
	if err != nil || !reflect.DeepEqual(lines, want) {
		t.Errorf("%+v, %v", lines, err)
	}
}
