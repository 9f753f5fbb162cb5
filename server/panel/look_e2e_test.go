//go:build e2e

package panel_test

import (
	"testing"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/store/storetest"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// W4: what each status looks like on the panel. Completed: a filled green tick, the
// text grey. In progress: a blue half disc and the active text on a tint. Pending:
// a grey ring, the text. An unknown status looks pending.
func TestStatusesLookAsTheyShould(t *testing.T) {
	store := memory.New()
	item := func(id string, status todo.Status) todo.Item {
		return todo.Item{ID: id, Text: "Text " + id, Active: "Active " + id, Status: status}
	}
	saved, err := storetest.Save(t.Context(), store, todo.Snapshot{
		List: todo.List{ID: "looks"}, Revision: 1,
		Items: []todo.Item{item("1", todo.Completed), item("2", todo.InProgress), item("3", todo.Pending), item("4", "from the future")},
	})
	if err != nil {
		t.Fatal(err)
	}
	site := servertest.Serve(t, servertest.New(t, store, nil), nil)
	ctx := servertest.Open(t, site.URL+"/lists/"+saved.List.ID)
	type look struct {
		Text, Sign, SignColor, Ink, Tint, Word string
	}
	looks := servertest.Eval[[]look](t, ctx, `(() => {
		const color = (name) => { const p = document.createElement('p'); p.style.color = 'var(' + name + ')'; document.body.append(p); const c = getComputedStyle(p).color; p.remove(); return c; };
		const names = { [color('--done')]: 'green', [color('--accent')]: 'blue', [color('--faint')]: 'grey', [color('--ink')]: 'black', [color('--wash')]: 'wash', 'rgba(0, 0, 0, 0)': 'none' };
		const say = (c) => names[c] ?? c;
		return [...document.querySelectorAll('#items > li[data-item]')].map((li) => ({
			Text: li.querySelector('bdi').textContent, Sign: li.querySelector('.tick use').getAttribute('href'), SignColor: say(getComputedStyle(li.querySelector('.tick .i')).stroke),
			Ink: say(getComputedStyle(li.querySelector('.t')).color), Tint: say(getComputedStyle(li).backgroundColor), Word: li.querySelector('.spoken').textContent,
		}));
	})()`)
	if len(looks) != 4 {
		t.Fatalf("%d items: %+v", len(looks), looks)
	}
	done, running, open, unknown := looks[0], looks[1], looks[2], looks[3]
	for name, c := range map[string]struct{ got, want look }{
		"completed":   {done, look{"Text 1", "#g-completed", "green", "grey", "none", "Done: "}},
		"in progress": {running, look{"Active 2", "#g-in_progress", "blue", "black", "wash", "In progress: "}},
		"pending":     {open, look{"Text 3", "#g-pending", "grey", "black", "none", "To do: "}},
		"unknown":     {unknown, look{"Text 4", "#g-pending", "grey", "black", "none", "To do: "}},
	} {
		if c.got != c.want {
			t.Errorf("%s looks %+v, should look %+v", name, c.got, c.want)
		}
	}
}
