package panel

import (
	"context"
	"fmt"
	"strconv"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

const (
	// pastRows is how many lists one page of past lists or of a search has.
	pastRows = 60
	// scanPage is how many lists are read at a time, and maxScanned how many one
	// request looks through: then the page leads to the earlier ones.
	scanPage, maxScanned = 200, 4000
)

// scanned are lists found from the newest backwards.
type scanned struct {
	lists  []account.Family
	before int64 // where the next page begins; 0 at the end
	looked int
}

// scan reads lists from the one that changed last before a Seq (0: the newest)
// backwards, and returns the first ones that keep keeps. It holds one page of
// lists and what it keeps, however many there are.
func scan(ctx context.Context, lists todo.Lists, before int64, keep func(todo.Snapshot) bool) (s scanned, err error) {
	s.before = before
	for s.looked < maxScanned {
		page, err := lists.Find(ctx, todo.Query{BeforeSeq: s.before, Limit: scanPage})
		if err != nil {
			return s, err
		}
		states, err := lists.States(ctx, page...)
		if err != nil {
			return s, err
		}
		for _, l := range page {
			s.before = l.Seq
			s.looked++
			if !keep(l) {
				continue
			}
			if s.lists = append(s.lists, account.Of(l, nil, states)); len(s.lists) == pastRows {
				return s, nil
			}
		}
		if len(page) < scanPage {
			s.before = 0
			break
		}
	}
	return s, nil
}

// olderLink returns the link to the page after a scan, empty when there is none.
func olderLink(r *edge.Request, found scanned) string {
	if found.before == 0 {
		return ""
	}
	query := r.URL.Query()
	query.Set("before", strconv.FormatInt(found.before, 10))
	return "/?" + query.Encode()
}

// pastPage returns a page of the lists that rest, by day, or of the archived
// ones.
func pastPage(r *edge.Request, s board, show string) (boardPage, error) {
	page := boardPage{frame: frame{head: "Past lists", show: show}, empty: "No list rests yet."}
	n := len(s.Past)
	if show == "archived" {
		page.head, page.empty, n = "Archived", "No list was archived.", len(s.Archived)
	}
	page.sum = count(n, "list") + ", newest first"
	if s.many {
		page.sum = fmt.Sprintf("more than %d lists, newest first", n)
	}
	busy := make(map[string]bool)
	for _, f := range s.Active {
		busy[f.Main.List.ID] = true
	}
	found, err := scan(r.Context(), r.Lists, numberIn(r, "before"), func(l todo.Snapshot) bool {
		return l.List.Parent == "" && l.Archived == (show == "archived") && !busy[l.List.ID]
	})
	page.older = olderLink(r, found)
	page.groups = byDay(found.lists, s, "")
	return page, err
}

// byDay returns lists as groups of rows, one for each day.
func byDay(fs []account.Family, s board, query string) (out []group) {
	for _, f := range fs {
		day, date := dayOf(f.Updated(), s.now)
		if len(out) == 0 || out[len(out)-1].name != day {
			out = append(out, group{id: "d-" + f.Main.List.ID, name: day, note: date})
		}
		g := &out[len(out)-1]
		match := ""
		if item, ok := render.MatchingItem(f.Main, query); ok && query != "" {
			match = render.Safe(todo.Cut(item.Text, maxShown))
		}
		g.rows = append(g.rows, s.row(&f, query, match))
		g.count = decimal(len(g.rows))
	}
	return out
}

// search returns the lists whose title, items, project or agent match, the last
// changed first.
func search(r *edge.Request, s board, query string) (boardPage, error) {
	query = todo.Cut(query, todo.MaxTitle)
	found, err := scan(r.Context(), r.Lists, numberIn(r, "before"), func(l todo.Snapshot) bool {
		return render.Matches(l, agentOf(l).Name, query)
	})
	page := boardPage{groups: byDay(found.lists, s, query), older: olderLink(r, found)}
	page.head, page.search, page.sum = "Search", render.Safe(query), count(len(found.lists), "list")+", newest first"
	switch {
	case len(found.lists) == 0 && found.before > 0:
		page.nothing = fmt.Sprintf("Nothing matches “%s” among the last %d lists.", render.Safe(query), found.looked)
	case len(found.lists) == 0:
		page.noMatch = true
	case found.before > 0:
		page.sum = "the last " + page.sum
	}
	return page, err
}
