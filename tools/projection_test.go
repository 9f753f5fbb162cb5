package tools_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// writer is a whole-list variant as a model uses it: it can say what the list
// looks like through the variant, as arguments.
type writer struct {
	tool *tools.Tool
	// whole words the list as the variant's arguments carry it; display is what
	// it can know from a result's display block alone.
	text, active string
	words        map[todo.Status]string
}

func writers(t testing.TB) []writer {
	list := newTools(t, func(o *tools.Options) { o.MaxItems, o.MaxContentLength = 0, 0 })
	three := map[todo.Status]string{todo.Pending: "pending", todo.InProgress: "in_progress", todo.Completed: "completed", todo.Failed: "in_progress", todo.Blocked: "pending"}
	done := map[todo.Status]string{todo.Pending: "pending", todo.InProgress: "in_progress", todo.Completed: "done", todo.Failed: "in_progress", todo.Blocked: "pending"}
	return []writer{
		{tools.Find(list, "TodoWrite"), "content", "activeForm", three},
		{tools.Find(list, "write_todos"), "content", "activeForm", three},
		{tools.Find(list, "SetTodoList"), "title", "", done},
	}
}

// arguments writes the list back as the variant showed it.
func (w writer) arguments(items []todo.Item, ids bool) []byte {
	out := []map[string]string{}
	for _, item := range items {
		word, shown := w.words[item.Status]
		if !shown {
			continue
		}
		m := map[string]string{w.text: item.Text, "status": word}
		if w.active != "" {
			m[w.active] = item.ActiveText()
		} else if word == "in_progress" {
			m[w.text] = item.ActiveText() // the title its display shows
		}
		if ids {
			m["id"] = item.ID
		}
		out = append(out, m)
	}
	raw, _ := json.Marshal(map[string]any{"todos": out})
	return raw
}

func (w writer) apply(t *rapid.T, before todo.Snapshot, raw []byte) *todo.Draft {
	call, err := w.tool.Read(raw)
	if err != nil {
		t.Fatalf("%s refused %s: %v", w.tool.Name, raw, err)
	}
	d := todo.NewDraft(before, time.Unix(100, 0))
	if err := call.Change(d); err != nil {
		t.Fatalf("%s refused %s: %v", w.tool.Name, raw, err)
	}
	return d
}

func items() *rapid.Generator[[]todo.Item] {
	return rapid.Custom(func(t *rapid.T) []todo.Item {
		n := rapid.IntRange(0, 8).Draw(t, "n")
		out := make([]todo.Item, n)
		for i := range out {
			// Few texts, so that repeats, folded repeats and texts that equal
			// another item's active text are common.
			text := rapid.SampledFrom([]string{"A", "a!", "B", "Doing A", "!", "日本", "C c"}).Draw(t, "text")
			out[i] = todo.Item{ID: fmt.Sprint(i + 1), Text: text, Status: rapid.SampledFrom(todo.Statuses()).Draw(t, "status"), Created: time.Unix(int64(i), 0)}
			if rapid.Bool().Draw(t, "active") {
				out[i].Active = "Doing " + text
			}
		}
		return out
	})
}

// Projection equality (VARIANTS.md, "One model under all variants"): whatever a
// list holds, writing it back through any variant as that variant showed it
// changes nothing.
func TestWritingBackLosesNothing(t *testing.T) {
	all := writers(t)
	rapid.Check(t, func(t *rapid.T) {
		list := items().Draw(t, "list")
		before := todo.Snapshot{Revision: 1, Items: list, LastID: len(list)}
		w := rapid.SampledFrom(all).Draw(t, "variant")
		raw := w.arguments(list, rapid.Bool().Draw(t, "ids"))
		if d := w.apply(t, before, raw); d.Changed() {
			t.Fatalf("%s wrote back %s and changed (-was +is)\n%s", w.tool.Name, raw, cmp.Diff(list, d.Items()))
		}
	})
}

// The same after any history of mixed writes: variants change the list in turn,
// and between two changes any other variant writes back what it was shown.
func TestMixedUseIsLossless(t *testing.T) {
	all := writers(t)
	rapid.Check(t, func(t *rapid.T) {
		now := todo.Snapshot{Revision: 1, Items: []todo.Item{}}
		step := func(d *todo.Draft) {
			last := now.LastID
			for _, item := range d.Items() {
				var n int
				fmt.Sscan(item.ID, &n)
				last = max(last, n)
			}
			now = todo.Snapshot{Revision: now.Revision + 1, Items: d.Items(), LastID: last}
		}
		for range rapid.IntRange(1, 6).Draw(t, "writes") {
			w := rapid.SampledFrom(all).Draw(t, "writer")
			var lines []map[string]string
			for _, item := range items().Draw(t, "new") {
				m := map[string]string{w.text: item.Text, "status": rapid.SampledFrom([]string{"pending", w.words[todo.Completed]}).Draw(t, "word")}
				if w.active != "" {
					m[w.active] = item.ActiveText()
				}
				lines = append(lines, m)
			}
			raw, _ := json.Marshal(map[string]any{"todos": lines})
			if lines == nil {
				raw = []byte(`{"todos":[]}`)
			}
			step(w.apply(t, now, raw))
			if n := len(now.Items); n > 0 {
				d := todo.NewDraft(now, time.Unix(50, 0))
				d.SetStatus(now.Items[rapid.IntRange(0, n-1).Draw(t, "which")].ID, rapid.SampledFrom(todo.Statuses()).Draw(t, "status"))
				step(d)
			}
			back := rapid.SampledFrom(all).Draw(t, "back")
			if d := back.apply(t, now, back.arguments(now.Items, false)); d.Changed() {
				t.Fatalf("%s wrote back what it was shown and changed (-was +is)\n%s", back.tool.Name, cmp.Diff(now.Items, d.Items()))
			}
		}
	})
}

// A whole-list write always ends in the list it asked for, as its variant shows
// it, and ids stay unique.
func TestWriteIsWhatIsShown(t *testing.T) {
	all := writers(t)
	rapid.Check(t, func(t *rapid.T) {
		list := items().Draw(t, "list")
		before := todo.Snapshot{Revision: 1, Items: list, LastID: len(list)}
		want := items().Draw(t, "want")
		w := rapid.SampledFrom(all[:2]).Draw(t, "variant")
		running := 0
		for i := range want {
			if want[i].Status == todo.InProgress || want[i].Status == todo.Failed {
				if running++; running > 1 {
					want[i].Status = todo.Pending
				}
			}
		}
		d := w.apply(t, before, w.arguments(want, false))
		got, asked := shown(w, d.Items()), shown(w, want)
		if len(asked) > 0 && cmp.Diff(asked, got) != "" {
			t.Fatalf("asked for, got (-want +got)\n%s", cmp.Diff(asked, got))
		}
		seen := map[string]bool{}
		for _, item := range d.Items() {
			if seen[item.ID] {
				t.Fatalf("id %s twice in %v", item.ID, d.Items())
			}
			seen[item.ID] = true
		}
	})
}

func shown(w writer, items []todo.Item) (out [][3]string) {
	for _, item := range items {
		if word, ok := w.words[item.Status]; ok {
			out = append(out, [3]string{item.Text, item.ActiveText(), word})
		}
	}
	return out
}
