package panel

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// foldFrom is how many done items must lead a list before all but the last of
// them fold.
const foldFrom = 3

// listPage is the data of a list's own page.
type listPage struct {
	frame
	listView
	AllItems []itemView
	Folded   int    // how many leading done items fold
	FoldTook string // how long they took
	Facts    []fact
	Unseen   unseen
	Hand     account.Hand
	Log      []logEntry
	Adding   bool // items can be added
	Rename   bool // drawn with a field for the title
	SubItems []subView
}

// fact is one line about a list.
type fact struct {
	Name, Text string
	Code       bool
}

// list serves a list's page; with ?revision= its history at that revision. If
// the id ends in .md or .json it serves the list itself, as markdown or JSON.
func (p *Panel) list(w http.ResponseWriter, r *edge.Request) error {
	id, form, _ := strings.Cut(r.PathValue("id"), ".")
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
		page.inFrame(s, r.Identity)
		return p.page(w, "history", page)
	}
	page, err := p.pageOf(r.Context(), r.Lists, f)
	if err != nil {
		return err
	}
	page.inFrame(s, r.Identity)
	page.edit(r.URL.Query().Get("item"))
	page.Rename = r.URL.Query().Has("rename")
	return p.page(w, "list", page)
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
		return p.page(w, "done", doneItems(l, p.config.Now()))
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

// inFrame puts the page among the other lists.
func (page *listPage) inFrame(s board, reader todo.Identity) {
	page.View, page.Class, page.Head, page.List, page.AtRevision = "list", "one", page.Title, page.ID, page.Revision
	page.Crumbs = crumbsOf(page.listView)
	page.fill(s, reader, &page.Folder)
	page.AllSeq = page.Seq
}

// crumbsOf returns the path to a list's page.
func crumbsOf(v listView) []crumb {
	kind := crumb{"Active", "/"}
	switch {
	case v.Archived:
		kind = crumb{"Archived", "/?show=archived"}
	case v.State == todo.LeftOpen:
		kind = crumb{"Left open", "/?show=left"}
	case v.State == todo.Finished:
		kind = crumb{"Past lists", "/?show=past"}
	}
	return []crumb{kind, {cmp.Or(v.Project, "No folder"), projectHref(v.Folder)}}
}

// edit draws an item with fields, for pages without script.
func (page *listPage) edit(item string) {
	for i := range page.AllItems {
		page.AllItems[i].Editing = page.AllItems[i].ID == item && !page.Mirrored
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
	now := p.config.Now()
	page = &listPage{listView: viewOf(f, now), Adding: len(f.Main.Items) < todo.MaxItems && !f.Main.List.Mirrored}
	if page.Unseen, page.Hand, err = unseenOf(ctx, lists, f); err != nil {
		return nil, err
	}
	rests := f.States[f.Main.List.ID].Rests()
	for _, i := range f.Main.Items {
		v := itemOf(i, now, rests)
		v.mark(page.Unseen, page.Hand)
		v.Fixed = page.Mirrored
		v.Reason = cmp.Or(v.Reason, render.Work(f.Main, i))
		page.AllItems = append(page.AllItems, v)
	}
	page.fold(f.Main.Items)
	for _, s := range f.Subs {
		page.SubItems = append(page.SubItems, subOf(s, f.States[s.List.ID]).withItems(s, now))
	}
	page.Facts = factsOf(f.Main, now)
	if fate := page.Hand.Order; fate != "" {
		page.Facts = append(page.Facts, fact{Name: "Order", Text: "yours, " + string(fate)})
	}
	page.Log, err = p.log(ctx, lists, f.Main, f.Main.Revision, page.Hand)
	page.Version = fmt.Sprint(page.Seq, ".", page.State, ".", page.Unseen.Since)
	return page, err
}

// manyItems is from how many items on a browser draws only those in view.
const manyItems = 200

// Many reports whether the list is long.
func (page *listPage) Many() bool { return len(page.AllItems) >= manyItems }

// fold folds the leading done items but the last one, if there are enough.
func (page *listPage) fold(items []todo.Item) {
	n := 0
	for n < len(items) && (items[n].Status == todo.Completed || items[n].Status == todo.Cancelled) {
		n++
	}
	if n <= foldFrom {
		return
	}
	page.Folded = n - 1
	var sum time.Duration
	for _, i := range items[:n-1] {
		if !i.Started.IsZero() && !i.Ended.IsZero() {
			sum += i.Ended.Sub(i.Started)
		}
	}
	if sum > 0 {
		page.FoldTook = spaced(render.Took(sum))
	}
}

// maxSubItems is how many items of a sub-agent's list its main list's page shows.
const maxSubItems = 50

// withItems returns a sub-agent's list with its items.
func (v subView) withItems(s todo.Snapshot, now time.Time) subView {
	v.More = max(len(s.Items)-maxSubItems, 0)
	for _, i := range s.Items[:len(s.Items)-v.More] {
		v.Items = append(v.Items, itemOf(i, now, v.State.Rests()))
	}
	return v
}

// factsOf returns what stands beside a list.
func factsOf(l todo.Snapshot, now time.Time) (facts []fact) {
	add := func(name, text string, code bool) {
		if text != "" {
			facts = append(facts, fact{name, text, code})
		}
	}
	add("Project", render.Safe(l.List.Project()), false)
	add("Folder", render.Safe(shortPath(l.List.Workspace)), true)
	add("Agent", agentOf(l).Name, false)
	add("Sub-agent", render.Safe(l.List.Agent), false)
	if !l.List.Created.IsZero() {
		add("Started", l.List.Created.In(now.Location()).Format("Mon 2 Jan, 15:04"), false)
		end := now
		if l.Settled() {
			end = l.Updated
		}
		text := spaced(render.Roughly(end.Sub(l.List.Created)))
		if done := l.Progress().Done; done > 1 {
			text += ", " + spaced(render.Roughly(l.Updated.Sub(l.List.Created)/time.Duration(done))) + " an item"
		}
		add("Time", text, false)
	}
	return facts
}
