package panel

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// foldFrom is how many done items must lead a list before all but the last of
// them fold.
const foldFrom = 3

// listPage is what a list's own page shows.
type listPage struct {
	account.Family
	drawing
	version string // differs when the page may show something else
	items   []itemView
	unseen  unseen
	hand    account.Hand
	log     []logEntry
	rename  bool // drawn with a field for the title
}

// list serves a list's page; with ?revision= its history at that revision. If
// the id ends in .md or .json it serves the list itself, as markdown or JSON.
func (p *Panel) list(w http.ResponseWriter, r *edge.Request) error {
	id, form := r.PathValue("id"), ""
	for _, f := range []string{"md", "json"} {
		if before, found := strings.CutSuffix(id, "."+f); found {
			id, form = before, f
		}
	}
	if form != "" || r.URL.Query().Has("done") {
		return p.plain(w, r, id, form)
	}
	f, err := readFamily(r.Context(), r.Lists, id)
	if err != nil {
		return err
	}
	r.Lists.Look(r.Context(), f.Main)
	s, err := p.readBoard(r.Context(), r.Lists)
	if err != nil {
		return err
	}
	if revision := numberIn(r, "revision"); revision > 0 {
		page, err := p.historyOf(r.Context(), r.Lists, f, revision)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, page.draw(s, r.Identity))
	}
	page, err := p.pageOf(r.Context(), r.Lists, f)
	if err != nil {
		return err
	}
	page.edit(r.URL.Query().Get("item"))
	page.rename = r.URL.Query().Has("rename")
	return answer(w, http.StatusOK, page.draw(s, r.Identity))
}

// plain serves a list itself, as markdown or JSON, or the done items that unfold on
// its card, as HTML.
func (p *Panel) plain(w http.ResponseWriter, r *edge.Request, id, form string) error {
	l, err := r.Lists.Load(r.Context(), id, numberIn(r, "revision"))
	if err != nil {
		return err
	}
	switch form {
	case "":
		r.Lists.Look(r.Context(), l)
		now := p.config.Now()
		return answer(w, http.StatusOK, Map(doneItems(l, now), drawing{now}.cardItem))
	case "md":
		r.Lists.Look(r.Context(), l)
		w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
		_, _ = w.Write([]byte(render.Markdown(l)))
		return nil
	case "json":
		r.Lists.Look(r.Context(), l)
		w.Header().Set("Content-Disposition", `attachment; filename="`+l.List.ID+`.json"`)
		return edge.WriteJSON(w, http.StatusOK, render.Document(l))
	}
	return todo.ErrNotFound
}

// maxDone is how many done items unfold on a card.
const maxDone = 200

func doneItems(l todo.Snapshot, now time.Time) (items []itemView) {
	for _, i := range l.Items {
		if i.Status == todo.Completed || i.Status == todo.Cancelled {
			items = append(items, cutItem(itemOf(i, now, true)))
		}
	}
	return items[max(len(items)-maxDone, 0):]
}

// numberIn returns a number of the query; 0 when there is none.
func numberIn(r *edge.Request, name string) int64 {
	n, _ := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	return max(n, 0)
}

// crumbs returns the path to the page.
func (page *listPage) crumbs() []Node {
	kind := crumb("Active", "/")
	switch state := page.State(); {
	case page.Main.Archived:
		kind = crumb("Archived", "/?show=archived")
	case state == todo.LeftOpen:
		kind = crumb("Left open", "/?show=left")
	case state == todo.Finished:
		kind = crumb("Past lists", "/?show=past")
	}
	folder := page.Main.List.Workspace
	return []Node{kind, crumb(projectName(folder), projectHref(folder))}
}

// frame returns what is around the page.
func (page *listPage) frame() *frame {
	l := page.Main
	return &frame{workspace: &l.List.Workspace, head: titleOf(l), crumbs: page.crumbs(), class: "one",
		view: "list", version: page.version, seq: page.Seq(), list: listData(l.List.ID, l.Revision, 0)}
}

// listData returns the attributes that say to the script which list a page shows.
func listData(id string, revision, oldest int64) Group {
	return Group{Data("list", id), Data("revision", decimal(revision)), Data("oldest", decimal(oldest))}
}

// edit draws an item with fields, for pages without script.
func (page *listPage) edit(item string) {
	for i := range page.items {
		page.items[i].Editing = page.items[i].ID == item && !page.Main.List.Mirrored
	}
}

// listPage reads the content of a list's page.
func (p *Panel) listPage(ctx context.Context, lists todo.Lists, id string) (*listPage, error) {
	f, err := readFamily(ctx, lists, id)
	if err != nil {
		return nil, err
	}
	return p.pageOf(ctx, lists, f)
}

// pageOf returns the content of the page of lists that were read.
func (p *Panel) pageOf(ctx context.Context, lists todo.Lists, f account.Family) (page *listPage, err error) {
	now, l := p.config.Now(), f.Main
	page = &listPage{Family: f, drawing: drawing{now}}
	if page.unseen, page.hand, err = unseenOf(ctx, lists, f); err != nil {
		return nil, err
	}
	rests := f.States[l.List.ID].Rests()
	for _, i := range l.Items {
		v := itemOf(i, now, rests)
		v.mark(page.unseen, page.hand)
		v.Fixed = l.List.Mirrored
		v.Reason = cmp.Or(v.Reason, render.Work(l, i))
		page.items = append(page.items, v)
	}
	page.log, err = p.log(ctx, lists, l, l.Revision, page.hand)
	page.version = fmt.Sprint(f.Seq(), ".", f.State(), ".", page.unseen.Since)
	return page, err
}

// manyItems is from how many items on a browser draws only those in view.
const manyItems = 200

// folded returns how many leading done items fold, all of them but the last one if there
// are enough, and how long they took.
func folded(items []todo.Item) (n int, took string) {
	for n < len(items) && (items[n].Status == todo.Completed || items[n].Status == todo.Cancelled) {
		n++
	}
	if n <= foldFrom {
		return 0, ""
	}
	var sum time.Duration
	for _, i := range items[:n-1] {
		if !i.Started.IsZero() && !i.Ended.IsZero() {
			sum += i.Ended.Sub(i.Started)
		}
	}
	if sum > 0 {
		took = spaced(render.Took(sum))
	}
	return n - 1, took
}

// maxSubItems is how many items of a sub-agent's list its main list's page shows.
const maxSubItems = 50
