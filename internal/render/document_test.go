package render_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// moments draws a time as the model has them: UTC, or none.
func moments() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "none") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(1, 4e9).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond")).UTC()
	})
}

func items() *rapid.Generator[todo.Item] {
	text := rapid.String()
	return rapid.Custom(func(t *rapid.T) todo.Item {
		return todo.Item{ID: text.Draw(t, "id"), Text: text.Draw(t, "text"), Active: text.Draw(t, "active"),
			Status: rapid.SampledFrom(todo.Statuses()).Draw(t, "status"), Reason: text.Draw(t, "reason"),
			Created: moments().Draw(t, "created"), Started: moments().Draw(t, "started"), Ended: moments().Draw(t, "ended")}
	})
}

// A snapshot that goes out as a document comes back with all that people see of
// it, through JSON.
func TestDocumentRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.String()
		want := todo.Snapshot{
			List: todo.List{ID: rapid.StringN(1, 30, -1).Draw(r, "list"), Parent: text.Draw(r, "parent"), Agent: text.Draw(r, "agent"),
				Workspace: text.Draw(r, "workspace"), Name: text.Draw(r, "name")},
			Revision: rapid.Int64Range(1, 1e6).Draw(r, "revision"), Seq: rapid.Int64Range(0, 1e6).Draw(r, "seq"),
			Updated: time.Unix(rapid.Int64Range(1, 4e9).Draw(r, "updated"), 0).UTC(),
			Writer:  todo.Writer{Client: text.Draw(r, "client"), Variant: text.Draw(r, "variant")},
			Items:   rapid.SliceOfN(items(), 0, 5).Draw(r, "items"),
		}
		if want.List.Name == "" {
			want.List.First = rapid.StringN(1, 30, -1).Draw(r, "first")
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

// No field of an item may be forgotten on the way: each is set alone and must
// come back.
func TestDocumentKeepsEveryFieldOfAnItem(t *testing.T) {
	fields := reflect.TypeFor[todo.Item]()
	for i := range fields.NumField() {
		t.Run(fields.Field(i).Name, func(t *testing.T) {
			var item todo.Item
			field := reflect.ValueOf(&item).Elem().Field(i)
			switch field.Interface().(type) {
			case string, todo.Status:
				field.SetString("x")
			case time.Time:
				field.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
			default:
				t.Fatalf("a field of type %s: say here how it is set", field.Type())
			}
			got := render.Document(todo.Snapshot{Items: []todo.Item{item}}).Snapshot().Items[0]
			if diff := cmp.Diff(item, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
