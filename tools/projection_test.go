package tools_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/tools"
)

// variant is a whole-list tool as a model uses it: v.arguments encodes a list as the tool shows it.
type variant struct {
	tool                *tools.Tool
	field, text, active string // keys of the list and of its texts in the arguments; active is "" for none
	words               map[todo.Status]string
	unlisted            bool // a status that an agent sent by its core name is shown by that name
	keys                bool // callers of the tool give items their ids
}

func (v variant) id(i todo.Item) string { return todo.View{Keys: v.keys}.IDs([]todo.Item{i})[0] }

// word returns the word in which the variant shows an item's status; "" for none.
func (v variant) word(i todo.Item) string {
	if word := v.words[i.Status]; word == "" || !v.unlisted || !i.Said {
		return word
	}
	return string(i.Status)
}

// variants returns every whole-list tool, with argument names from its schema. Tools with an active text come first.
func variants(t testing.TB) (all []variant) {
	unlimited := func(o *tools.Options) { o.MaxItems, o.MaxContentLength = 0, 0 }
	list := newTools(t, unlimited)
	more := newTools(t, func(o *tools.Options) { unlimited(o); o.Statuses = tools.AllStatuses })
	for _, tool := range append(list, tools.Find(more, "TodoWrite")) {
		for field, l := range compile(t, tool.InputSchema()).Schema().Properties {
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

func words(listed []any) map[todo.Status]string {
	word := func(n int) string { return listed[n].(string) }
	w := todo.NewView(map[todo.Status]string{todo.Pending: word(0), todo.InProgress: word(1), todo.Completed: word(2)}).Words
	switch len(listed) {
	case 4:
		w[todo.Cancelled], w[todo.Failed] = word(3), word(3)
	case len(todo.Statuses()):
		return todo.CoreView().Words
	}
	return w
}

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

// T2: refusing a list of too long lines takes work that grows with their number, not with its square: 1,000 lines
// allocate at most six times as often as 250. (Each comparison of texts allocates; unlike times, allocations do not
// depend on other programs.)
func TestLongLinesAreReadOnce(t *testing.T) {
	write := tools.Find(newTools(t, func(o *tools.Options) { o.MaxItems = 0 }), "TodoWrite")
	refusal := func(n int) (allocations float64) {
		plan, items := "", make([]todo.Item, n)
		for i := range items {
			text := strings.Repeat("x ", 100) + fmt.Sprint(i)
			plan += " p:" + text
			items[i] = todo.Item{ID: fmt.Sprint(i + 1), Text: "Mine " + text, Status: todo.Pending}
		}
		call := checktest.Must(write.Read([]byte(todos(plan))))(t)
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
