package render_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// fill sets all fields of a value, each to a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("x", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	}
}

// A document as JSON keeps every field of a snapshot and its items, so that a field added
// later cannot be forgotten, but for what the server alone needs. Exports have that:
// TestExportKeepsHands.
func TestDocumentKeepsEveryField(t *testing.T) {
	var want todo.Snapshot
	n := 0
	fill(reflect.ValueOf(&want).Elem(), &n)
	data, err := json.Marshal(render.Document(want))
	var d render.ListDocument
	if err := errors.Join(err, json.Unmarshal(data, &d)); err != nil {
		t.Fatal(err)
	}
	l := want.List
	want.List = todo.List{ID: l.ID, Name: l.Name, Parent: l.Parent, Agent: l.Agent, Workspace: l.Workspace, Mirrored: true, Client: l.Client}
	want.Stood, want.LastID, want.Operation, want.Report = 0, 0, todo.Operation{}, todo.Report{}
	want.Writer.Agent, want.Writer.Process, want.Workers = "", "", nil
	for _, i := range []*todo.Item{&want.Items[0], &want.Gone[0]} {
		i.BegunBy, i.ByPerson, i.Said, i.Holder = "", false, false, ""
	}
	if diff := cmp.Diff(want, d.Snapshot()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A document says when an agent wrote where a person did since; else it is when the
// revision was written.
func TestDocumentWorked(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, person := range []bool{false, true} {
		d := render.Document(todo.Snapshot{Revision: 2, Updated: at.Add(time.Hour), Worked: at, Writer: todo.Writer{Person: person}})
		if s := d.Snapshot(); d.Worked.IsZero() == person || s.Worked.Equal(at) != person || s.Worked.IsZero() {
			t.Errorf("by a person %v: %v, read as %s", person, d.Worked, s.Worked)
		}
	}
}
