package render_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// genTime generates the times that items can have: zero, or in UTC.
func genTime() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "none") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(1, 4e9).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond")).UTC()
	})
}

func genItem() *rapid.Generator[todo.Item] {
	text := rapid.String()
	return rapid.Custom(func(t *rapid.T) todo.Item {
		return todo.Item{ID: text.Draw(t, "id"), Text: text.Draw(t, "text"), Active: text.Draw(t, "active"),
			Status: rapid.SampledFrom(todo.Statuses()).Draw(t, "status"), Reason: text.Draw(t, "reason"),
			Priority: text.Draw(t, "priority"), DueDate: text.Draw(t, "due"), Owner: text.Draw(t, "owner"), WaitsFor: rapid.SampledFrom([]string{"", "1", "1,20"}).Draw(t, "waits"),
			Created: genTime().Draw(t, "created"), Started: genTime().Draw(t, "started"), Ended: genTime().Draw(t, "ended")}
	})
}

// A snapshot converted to a document, to JSON and back is unchanged in all that
// people see of it.
func TestDocumentRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String()
		want := todo.Snapshot{
			List: todo.List{ID: rapid.StringN(1, 30, -1).Draw(r, "list"), Parent: text.Draw(r, "parent"), Agent: text.Draw(r, "agent"),
				Workspace: text.Draw(r, "workspace"), Name: text.Draw(r, "name"), Mirrored: rapid.Bool().Draw(r, "mirrored")},
			Revision: rapid.Int64Range(1, 1e6).Draw(r, "revision"), Seq: rapid.Int64Range(0, 1e6).Draw(r, "seq"),
			Updated: time.Unix(rapid.Int64Range(1, 4e9).Draw(r, "updated"), 0).UTC(),
			Writer:  todo.Writer{Client: text.Draw(r, "client"), Variant: text.Draw(r, "variant"), Person: rapid.Bool().Draw(r, "person")},
			Order:   todo.Order{Was: text.Draw(r, "was"), Person: text.Draw(r, "order"), Repeats: 1, Revision: 2},
			Items:   rapid.SliceOfN(genItem(), 0, 5).Draw(r, "items"), Archived: rapid.Bool().Draw(r, "archived"),
			ReplacedBy: text.Draw(r, "replaced by"),
		}
		if want.List.Name == "" {
			want.First = rapid.StringN(1, 30, -1).Draw(r, "first")
		}
		data, err := json.Marshal(render.Document(want))
		if err != nil {
			r.Fatal(err)
		}
		var d render.ListDocument
		if err := json.Unmarshal(data, &d); err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(want, d.Snapshot()); diff != "" {
			r.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// Document and Snapshot keep every field of an item: the test sets each field
// alone, so that a field added later cannot be forgotten. Left out on purpose are
// BegunBy and ByPerson, which the server alone needs. TestExportKeepsHands has them in
// exports.
func TestDocumentKeepsEveryFieldOfAnItem(t *testing.T) {
	fields := reflect.TypeFor[todo.Item]()
	leftOut := map[string]bool{"BegunBy": true, "ByPerson": true}
	for i := range fields.NumField() {
		t.Run(fields.Field(i).Name, func(t *testing.T) {
			var item todo.Item
			field := reflect.ValueOf(&item).Elem().Field(i)
			switch field.Interface().(type) {
			case string, todo.Status:
				field.SetString("x")
			case bool:
				field.SetBool(true)
			case time.Time:
				field.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
			case todo.Hand:
				field.Set(reflect.ValueOf(todo.Hand{Text: "x", Replaced: "y\nz", Repeats: 1, Revision: 2}))
			default:
				t.Fatalf("field of type %s: add a case that sets it", field.Type())
			}
			got := render.Document(todo.Snapshot{Items: []todo.Item{item}}).Snapshot().Items[0]
			if leftOut[fields.Field(i).Name] {
				item = todo.Item{}
			}
			if diff := cmp.Diff(item, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// P5: a document says whether every item is completed. Who reads it asks the
// items, so a document that says otherwise changes nothing.
func TestDocumentSaysAllCompleted(t *testing.T) {
	item := func(s todo.Status) todo.Item { return todo.Item{ID: "1", Text: "A", Status: s} }
	for name, c := range map[string]struct {
		items []todo.Item
		want  bool
	}{
		"empty": {nil, false}, "completed": {[]todo.Item{item(todo.Completed)}, true},
		"failed": {[]todo.Item{item(todo.Completed), item(todo.Failed)}, false},
		"open":   {[]todo.Item{item(todo.Completed), item(todo.Pending)}, false},
	} {
		data, err := json.Marshal(render.Document(todo.Snapshot{Items: c.items}))
		var said map[string]any
		if err := errors.Join(err, json.Unmarshal(data, &said)); err != nil || said["all_completed"] != c.want {
			t.Errorf("P5: %s: %v, %s", name, err, data)
		}
	}
	lie := render.ListDocument{AllCompleted: true, Items: []render.ItemDocument{{ID: "1", Text: "A", Status: todo.Pending}}}
	if lie.Snapshot().AllCompleted() {
		t.Error("P5: the document was believed")
	}
}

// A document says when an agent wrote where a person did since; else it is when the
// revision was written.
func TestDocumentWorked(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, person := range []bool{false, true} {
		d := render.Document(todo.Snapshot{Revision: 2, Updated: at.Add(time.Hour), Worked: at, Writer: todo.Writer{Person: person}})
		if s := d.Snapshot(); (d.Worked != nil) != person || s.Worked.Equal(at) != person || s.Worked.IsZero() {
			t.Errorf("by a person %v: %v, read as %s", person, d.Worked, s.Worked)
		}
	}
}
