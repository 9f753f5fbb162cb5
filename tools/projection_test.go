package tools_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"todo-mcp/internal/todo"
	"todo-mcp/tools"
)

// variant is a whole-list variant as a model uses it: it encodes a list, as the
// variant shows it, as arguments.
type variant struct {
	tool                *tools.Tool
	field, text, active string // keys of the list and of the texts in the arguments; active "" for none
	words               map[todo.Status]string
	unlisted            bool // it shows an agent the statuses that this sent in other words
	keys                bool // its callers give items their ids
}

// id returns the id by which callers know an item.
func (v variant) id(i todo.Item) string { return todo.View{Keys: v.keys}.ID(i) }

// word returns the word in which the variant shows an item's status; "" for none.
func (v variant) word(i todo.Item) string {
	if word := v.words[i.Status]; word == "" || !v.unlisted || !i.Said {
		return word
	}
	return string(i.Status)
}

// variants returns every whole-list tool, as its schema says how it is called. Those with an
// active text come first.
func variants(t testing.TB) (all []variant) {
	unlimited := func(o *tools.Options) { o.MaxItems, o.MaxContentLength = 0, 0 }
	list := newTools(t, unlimited)
	more := newTools(t, func(o *tools.Options) { unlimited(o); o.Statuses = tools.AllStatuses })
	for _, tool := range append(list, tools.Find(more, "TodoWrite")) {
		for field, l := range compile(t, tool.Name, tool.InputSchema()).Schema().Properties {
			if l.Items == nil || l.Items.Properties["status"] == nil {
				continue
			}
			v := variant{tool: tool, field: field, keys: slices.Contains(l.Items.Required, "id")}
			for key := range l.Items.Properties {
				switch key {
				case "content", "title", "step":
					v.text = key
				case "activeForm", "active_form":
					v.active = key
				}
			}
			listed := l.Items.Properties["status"].Enum
			v.words, v.unlisted = words(listed), tool.Name != "SetTodoList" && len(listed) < len(todo.Statuses())
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(a, b variant) int { return cmp.Compare(b.active, a.active) })
	return all
}

// words returns a tool's word for each status, of those that it lists.
func words(listed []any) map[todo.Status]string {
	word := func(n int) string { return listed[n].(string) }
	w := map[todo.Status]string{todo.Pending: word(0), todo.InProgress: word(1), todo.Completed: word(2), todo.Failed: word(1), todo.Blocked: word(0)}
	switch len(listed) {
	case 4:
		w[todo.Cancelled], w[todo.Failed] = word(3), word(3)
	case len(todo.Statuses()):
		return todo.CoreView().Words
	}
	return w
}

// arguments returns the arguments that write items back as the variant shows
// them.
func (v variant) arguments(items []todo.Item, ids bool) []byte {
	out := []map[string]string{}
	for _, item := range items {
		word := v.word(item)
		if word == "" {
			continue
		}
		m := map[string]string{v.text: item.Text, "status": word}
		if v.active != "" {
			m[v.active] = item.ActiveText()
		} else if word == v.words[todo.InProgress] {
			m[v.text] = item.ActiveText() // the title that the display shows
		}
		if ids || v.keys {
			m["id"] = v.id(item)
		}
		out = append(out, m)
	}
	raw, _ := json.Marshal(map[string]any{v.field: out})
	return raw
}

// apply applies a call with these arguments.
func (v variant) apply(t *rapid.T, before todo.Snapshot, raw []byte) *todo.Draft {
	call, err := v.tool.Read(raw)
	if err != nil {
		t.Fatalf("%s refused %s: %v", v.tool.Name, raw, err)
	}
	d := todo.NewDraft(before, time.Unix(100, 0))
	if err := call.Change(d); err != nil {
		t.Fatalf("%s refused %s: %v", v.tool.Name, raw, err)
	}
	return d
}

// items generates lists of items.
func items() *rapid.Generator[[]todo.Item] {
	return rapid.Custom(func(t *rapid.T) []todo.Item {
		n := rapid.IntRange(0, 8).Draw(t, "n")
		out := make([]todo.Item, n)
		for i := range out {
			// There are few texts, so that equal texts, texts that fold to the
			// same and texts equal to another item's active text are common.
			text := rapid.SampledFrom([]string{"A", "a!", "B", "Doing A", "!", "日本", "C c"}).Draw(t, "text")
			out[i] = todo.Item{ID: fmt.Sprint(i + 1), Text: text, Status: rapid.SampledFrom(todo.Statuses()).Draw(t, "status"), Created: time.Unix(int64(i), 0)}
			if out[i].Status.HasReason() {
				out[i].Said = rapid.Bool().Draw(t, "said")
				out[i].Reason = rapid.SampledFrom([]string{"", "no key"}).Draw(t, "reason")
			}
			if rapid.Bool().Draw(t, "active") {
				out[i].Active = "Doing " + text
			}
			out[i].Key = rapid.SampledFrom([]string{"", "", "k" + fmt.Sprint(i), fmt.Sprint(i + 101)}).Draw(t, "key")
			out[i].Priority = rapid.SampledFrom([]string{"", "high"}).Draw(t, "priority")
			out[i].Details = rapid.SampledFrom([]string{"", "More of it"}).Draw(t, "details")
			out[i].Owner = rapid.SampledFrom([]string{"", "ann"}).Draw(t, "owner")
			if i > 0 && rapid.Bool().Draw(t, "waits") {
				out[i].WaitsFor = fmt.Sprint(rapid.IntRange(1, i).Draw(t, "for"))
			}
		}
		return out
	})
}

// Projection equality (docs/spec/variants.md): writing any list back through any
// variant, as that variant shows it, changes nothing.
func TestWritingBackLosesNothing(t *testing.T) {
	all := variants(t)
	rapid.Check(t, func(t *rapid.T) {
		list := items().Draw(t, "list")
		before := todo.Snapshot{Revision: 1, Items: list, LastID: len(list)}
		v := rapid.SampledFrom(all).Draw(t, "variant")
		raw := v.arguments(list, rapid.Bool().Draw(t, "ids"))
		if d := v.apply(t, before, raw); d.Changed() {
			t.Fatalf("%s wrote back %s and changed (-before +after)\n%s", v.tool.Name, raw, gocmp.Diff(list, d.Items()))
		}
	})
}

// Projection equality after mixed writes: variants change the list in turn, and
// after each change any variant can write the list back without changing it.
func TestMixedUseIsLossless(t *testing.T) {
	all := variants(t)
	rapid.Check(t, func(t *rapid.T) {
		newest := todo.Snapshot{Revision: 1, Items: []todo.Item{}}
		save := func(d *todo.Draft) {
			last := newest.LastID
			for _, item := range d.Items() {
				var n int
				fmt.Sscan(item.ID, &n)
				last = max(last, n)
			}
			newest = todo.Snapshot{Revision: newest.Revision + 1, Items: d.Items(), LastID: last}
		}
		for range rapid.IntRange(1, 6).Draw(t, "writes") {
			v := rapid.SampledFrom(all).Draw(t, "writer")
			var lines []map[string]string
			for _, item := range items().Draw(t, "new") {
				m := map[string]string{v.text: item.Text, "status": rapid.SampledFrom([]string{v.words[todo.Pending], v.words[todo.Completed]}).Draw(t, "word")}
				if v.active != "" {
					m[v.active] = item.ActiveText()
				}
				if v.keys {
					m["id"] = item.ID
				}
				lines = append(lines, m)
			}
			raw, _ := json.Marshal(map[string]any{v.field: lines})
			if lines == nil {
				raw, _ = json.Marshal(map[string]any{v.field: []string{}})
			}
			save(v.apply(t, newest, raw))
			if n := len(newest.Items); n > 0 {
				d := todo.NewDraft(newest, time.Unix(50, 0))
				d.SetStatus(newest.Items[rapid.IntRange(0, n-1).Draw(t, "which")].ID, rapid.SampledFrom(todo.Statuses()).Draw(t, "status"))
				save(d)
			}
			back := rapid.SampledFrom(all).Draw(t, "back")
			if d := back.apply(t, newest, back.arguments(newest.Items, false)); d.Changed() {
				t.Fatalf("%s wrote back what it was shown and changed (-before +after)\n%s", back.tool.Name, gocmp.Diff(newest.Items, d.Items()))
			}
		}
	})
}

// After a whole-list write its variant shows the list that was written, and ids
// are unique.
func TestWriteIsWhatIsShown(t *testing.T) {
	all := variants(t)
	rapid.Check(t, func(t *rapid.T) {
		list := items().Draw(t, "list")
		before := todo.Snapshot{Revision: 1, Items: list, LastID: len(list)}
		written := items().Draw(t, "want")
		v := rapid.SampledFrom(all[:4]).Draw(t, "variant")
		running := 0
		for i := range written {
			if written[i].Status == todo.InProgress || written[i].Status == todo.Failed {
				if running++; running > 1 {
					written[i].Status = todo.Pending
				}
			}
		}
		d := v.apply(t, before, v.arguments(written, false))
		got, want := shown(v, d.Items()), shown(v, written)
		if len(want) > 0 && gocmp.Diff(want, got) != "" {
			t.Fatalf("the list after the write (-want +got)\n%s", gocmp.Diff(want, got))
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

// shown returns text, active text and status of the items that a variant shows.
func shown(v variant, items []todo.Item) (out [][3]string) {
	for _, item := range items {
		if word := v.word(item); word != "" {
			out = append(out, [3]string{item.Text, item.ActiveText(), word})
		}
	}
	return out
}

// T2: lines that are all too long are refused with work that grows with their number, not
// with its square: a thousand allocate at most six times as often as 250. (Each comparison
// of texts allocates, and other programs change nothing of it, as they do of the time.)
func TestLongLinesAreReadOnce(t *testing.T) {
	write := tools.Find(newTools(t, func(o *tools.Options) { o.MaxItems = 0 }), "TodoWrite")
	refusal := func(n int) (allocations float64) {
		plan, items := "", make([]todo.Item, n)
		for i := range items {
			text := strings.Repeat("x ", 100) + fmt.Sprint(i)
			plan += " p:" + text
			items[i] = todo.Item{ID: fmt.Sprint(i + 1), Text: "Mine " + text, Status: todo.Pending}
		}
		call, err := write.Read([]byte(todos(plan)))
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(1, func() {
			err := call.Change(todo.NewDraft(todo.Snapshot{Items: items, LastID: n}, time.Unix(0, 0)))
			if result, _ := write.Failure(err); !strings.HasSuffix(result.Text, fmt.Sprintf("- and %d more", 2*n-50)) {
				t.Fatalf("%d lines: %s", n, result.Text)
			}
		})
	}
	if few, many := refusal(250), refusal(1000); many > 6*few {
		t.Errorf("250 lines allocate %.0f times, 1,000 lines %.0f times", few, many)
	}
}

// For any bytes as arguments, Read returns a call or an error that Failure can
// word, and applying the call leaves only valid items.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[`, `{"todos":[{"content":"A","activeForm":"A","status":"pending"}]}`, `{"todos":"[{\"title\":\"A\",\"status\":\"done\"}]</todos>"}`,
		`{"items":["a","\ud800"]}`, `{"id":"#1","status":"running","list_id":7}`, "\"\\\"", `"[]"`, `{"todos":{"todos":[]}}`, `[[[[`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	list, err := tools.New(tools.Defaults())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, tool := range list {
			call, err := tool.Read(raw)
			if err != nil {
				if result, ok := tool.Failure(err); !ok || !result.IsError || !utf8.ValidString(result.Text) {
					t.Fatalf("%s: Failure does not word %v: %+v", tool.Name, err, result)
				}
				continue
			}
			if call.Change == nil {
				continue
			}
			d := todo.NewDraft(todo.Snapshot{Items: []todo.Item{{ID: "1", Text: "A", Status: todo.Pending}}, LastID: 1}, time.Unix(0, 0))
			if err := call.Change(d); err != nil {
				if _, ok := tool.Failure(err); !ok {
					t.Fatalf("%s: Failure does not word %v", tool.Name, err)
				}
				continue
			}
			for _, item := range d.Items() {
				if err := item.Check(); err != nil {
					t.Fatalf("%s stored %+v: %v", tool.Name, item, err)
				}
			}
		}
	})
}
