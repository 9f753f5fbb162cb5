//go:build e2e

package panel_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"todo-mcp/internal/store/memory"
	"todo-mcp/internal/todo"
	"todo-mcp/server/servertest"
)

// W4: what each status looks like on the panel. Completed: a green tick, the text
// struck through. In progress: a blue dot, the active text, heavier. Pending: an
// outlined circle, the text. An unknown status looks pending.
func TestStatusesLookAsTheyShould(t *testing.T) {
	store := memory.New()
	item := func(id string, status todo.Status) todo.Item {
		return todo.Item{ID: id, Text: "Text " + id, Active: "Active " + id, Status: status}
	}
	saved, err := store.Save(t.Context(), todo.Snapshot{
		List: todo.List{ID: "looks"}, Revision: 1,
		Items: []todo.Item{item("1", todo.Completed), item("2", todo.InProgress), item("3", todo.Pending), item("4", "from the future")},
	})
	if err != nil {
		t.Fatal(err)
	}
	site := servertest.Serve(t, servertest.New(t, store, nil), nil)
	ctx := servertest.Tab(t)
	servertest.Do(t, ctx, chromedp.Navigate(site.URL+"/lists/"+saved.List.ID))
	servertest.Until(t, ctx, servertest.IsLive)
	type look struct {
		Text, Line, Sign, SignColor, Dot, Ring string
		Weight                                 int
	}
	looks := servertest.Eval[[]look](t, ctx, `(() => {
		const color = (name) => { const p = document.createElement('p'); p.style.color = 'var(' + name + ')'; document.body.append(p); const c = getComputedStyle(p).color; p.remove(); return c; };
		const names = { [color('--green')]: 'green', [color('--accent')]: 'blue', [color('--faint')]: 'grey', 'rgba(0, 0, 0, 0)': 'none' };
		const say = (c) => names[c] ?? c;
		return [...document.querySelectorAll('.items > li')].map((li) => {
			const text = getComputedStyle(li.querySelector('.text')), sign = getComputedStyle(li.querySelector('.sign'), '::before');
			return { Text: li.querySelector('bdi').textContent, Line: text.textDecorationLine, Weight: Number(text.fontWeight), Sign: sign.content,
				SignColor: say(sign.color), Dot: say(sign.backgroundColor), Ring: sign.borderTopStyle === 'solid' ? say(sign.borderTopColor) : 'none' };
		});
	})()`)
	if len(looks) != 4 {
		t.Fatalf("%d items: %+v", len(looks), looks)
	}
	done, running, open, unknown := looks[0], looks[1], looks[2], looks[3]
	if done.Text != "Text 1" || done.Line != "line-through" || !strings.Contains(done.Sign, "✓") || done.SignColor != "green" {
		t.Errorf("completed: %+v", done)
	}
	if running.Text != "Active 2" || running.Dot != "blue" || running.Weight <= open.Weight || running.Line != "none" {
		t.Errorf("in progress: %+v", running)
	}
	if open.Text != "Text 3" || open.Dot != "none" || open.Ring != "grey" || open.Line != "none" {
		t.Errorf("pending: %+v", open)
	}
	if unknown.Text = "Text 3"; unknown != open {
		t.Errorf("an unknown status: %+v, a pending one %+v", looks[3], open)
	}
}
