package render_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// fill sets all fields of a value, each to a different value, except that booleans are all true.
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

// A document as JSON keeps every field of a snapshot and its items, including fields added in future, except fields
// that only the server needs. Exports keep the server's fields, too: TestExportKeepsHands.
func TestDocumentKeepsEveryField(t *testing.T) {
	var want todo.Snapshot
	n := 0
	fill(reflect.ValueOf(&want).Elem(), &n)
	data, err := json.Marshal(render.Document(want))
	var d render.ListDocument
	checktest.Check(t, errors.Join(err, json.Unmarshal(data, &d)))
	l := want.List
	want.List = todo.List{ID: l.ID, Name: l.Name, Parent: l.Parent, Agent: l.Agent, Workspace: l.Workspace, Mirrored: true, Client: l.Client}
	want.Stood, want.LastID, want.Operation, want.Report = 0, 0, todo.Operation{}, todo.Report{}
	want.Writer.Agent, want.Writer.Process, want.Workers = "", "", nil
	for _, i := range []*todo.Item{&want.Items[0], &want.Gone[0]} {
		i.BegunBy, i.ByPerson, i.Said, i.Holder = "", false, false, ""
	}
	checktest.Same(t, "-want +got", cmp.Diff(want, d.Snapshot()), "")
}

// A document has Worked only if a person wrote the revision; else reading it back sets Worked to Updated.
func TestDocumentWorked(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, person := range []bool{false, true} {
		d := render.Document(todo.Snapshot{Revision: 2, Updated: at.Add(time.Hour), Worked: at, Writer: todo.Writer{Person: person}})
		if s := d.Snapshot(); d.Worked.IsZero() == person || s.Worked.Equal(at) != person || s.Worked.IsZero() {
			t.Errorf("by a person %v: %v, read as %s", person, d.Worked, s.Worked)
		}
	}
}

// ResumeCommand returns each client's command to resume a chat. It is empty if the chat is not known, the client has no
// such command, or another client wrote the list last.
func TestResumeCommand(t *testing.T) {
	for _, c := range []struct {
		list   todo.List
		writer todo.Writer
		want   string
	}{
		{todo.List{Client: "claude-code", Chat: "4f1c-2", Workspace: "/src/it's"}, todo.Writer{Client: "claude-code"}, `cd '/src/it'\''s' && claude --resume 4f1c-2`},
		{todo.List{Client: "codex-mcp-client", Chat: "a"}, todo.Writer{Client: "codex-mcp-client"}, "codex resume a"},
		{todo.List{Client: "gemini-cli", Chat: "a"}, todo.Writer{Person: true}, "gemini --resume a"},
		{todo.List{Client: "qwen-cli", Chat: "a"}, todo.Writer{Person: true}, "qwen --resume a"},
		{todo.List{Client: "opencode", Chat: "ses_1"}, todo.Writer{Person: true}, "opencode --session ses_1"},
		{todo.List{Client: "copilot", Chat: "a"}, todo.Writer{Person: true}, "copilot --resume a"},
		{todo.List{Client: "claude-code", Chat: "4f1c", Mirrored: true}, todo.Writer{Client: "claude-code"}, "claude --resume 4f1c"},
		{todo.List{Client: "claude-code", Conversation: "process:4f1c"}, todo.Writer{Client: "claude-code"}, ""},
		{todo.List{Client: "claude-code", Chat: "4f1c"}, todo.Writer{Client: "codex"}, ""},
		{todo.List{Client: "Visual Studio Code", Chat: "4f1c"}, todo.Writer{Person: true}, ""},
	} {
		checktest.Same(t, c.list, render.ResumeCommand(todo.Snapshot{List: c.list, Writer: c.writer}), c.want)
	}
}

// BAD-INPUT 125: A folder or a chat's id with quotes, `$(…)`, a dash, line ends, in a command to
// copy → One shell word; with control characters no command
func TestResumeCommandIsQuoted(t *testing.T) {
	parent := t.TempDir()
	for _, name := range []string{"a b", "it's", `"x"`, "$(touch hit)", "`touch hit`", "a;touch hit", "-x", "a&&b", "ünï", `back\slash`} {
		folder := filepath.Join(parent, name)
		checktest.Check(t, os.MkdirAll(filepath.Join(folder), 0o755))
		for _, workspace := range []string{folder, name} {
			command := render.ResumeCommand(todo.Snapshot{List: todo.List{Client: "claude-code", Chat: "id", Workspace: workspace}, Writer: todo.Writer{Person: true}})
			shell := exec.CommandContext(t.Context(), "sh", "-c", `claude() { printf '%s|' "$PWD" "$@"; }; `+command)
			shell.Dir = parent
			checktest.Same(t, fmt.Sprintf("125: %q", command), string(checktest.Must(shell.CombinedOutput())(t)), folder+"|--resume|id|")
		}
	}
	for workspace, want := range map[string]string{
		`C:\src\it's`:       `cd -LiteralPath 'C:\src\it''s' -ErrorAction Stop; claude --resume id`,
		`C:/src/[x] $(hit)`: `cd -LiteralPath 'C:/src/[x] $(hit)' -ErrorAction Stop; claude --resume id`,
		`\\host\src`:        `cd -LiteralPath '\\host\src' -ErrorAction Stop; claude --resume id`,
		"D:\\a\u2019; hit":  "cd -LiteralPath 'D:\\a\u2019\u2019; hit' -ErrorAction Stop; claude --resume id",
	} {
		if got := render.ResumeCommand(todo.Snapshot{List: todo.List{Client: "claude-code", Chat: "id", Workspace: workspace}, Writer: todo.Writer{Person: true}}); got != want {
			t.Errorf("125: %q, want %q", got, want)
		}
	}
	for _, l := range []todo.List{{Workspace: "/a\nb", Chat: "id"}, {Workspace: "/a\x1b[201~b", Chat: "id"}, {Workspace: "/a\u202eb", Chat: "id"},
		{Chat: "$(x)"}, {Chat: "a b"}, {Chat: "--help"}, {Chat: "a\nb"}} {
		l.Client = "claude-code"
		checktest.Same(t, fmt.Sprintf("125: %+v", l), render.ResumeCommand(todo.Snapshot{List: l, Writer: todo.Writer{Person: true}}), "")
	}
}
