package panel

import (
	"fmt"

	. "maragu.dev/gomponents"

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

// addPast adds a page of the lists that rest, by day, or of the archived ones.
func (page *boardPage) addPast(r *edge.Request, s board, k kind) error {
	page.sum = count(len(k.lists), "list") + ", newest first"
	if s.many {
		page.sum = fmt.Sprintf("more than %d lists, newest first", len(k.lists))
	}
	active := make(map[string]bool)
	for _, f := range s.Active {
		active[f.Main.List.ID] = true
	}
	return page.addFound(r, s, "", func(l todo.Snapshot) bool {
		return l.List.Parent == "" && l.Archived == (k.show == "archived") && !active[l.List.ID]
	})
}

// search returns the lists whose title, items, project or agent match, the last
// changed first.
func search(r *edge.Request, s board, query string) (page boardPage, err error) {
	query = todo.Cut(query, todo.MaxTitle)
	page.head, page.search = "Search", render.Safe(query)
	err = page.addFound(r, s, query, func(l todo.Snapshot) bool {
		return render.Matches(l, agentOf(l).Name, query)
	})
	n := 0
	for _, g := range page.groups {
		n += len(g.rows)
	}
	page.sum = count(n, "list") + ", newest first"
	switch {
	case n == 0 && page.older != "":
		page.nothing = Textf("Nothing matches “%s” among the last %d lists.", page.search, maxScanned)
	case n == 0:
		page.nothing = Group{Text("Nothing matches “"), bdi(page.search), Text("”."), allLists("Clear the search")}
	case page.older != "":
		page.sum = "the last " + page.sum
	}
	return page, err
}

// addFound adds the lists that keep keeps, by day, the last changed first: pastRows of
// those before the Seq that the address names, and the link to the next ones. It holds
// one page of lists and what it keeps, however many there are.
func (page *boardPage) addFound(r *edge.Request, s board, query string, keep func(todo.Snapshot) bool) error {
	before, rows := numberIn(r, "before"), 0
	for looked := 0; looked < maxScanned; looked += scanPage {
		lists, err := r.Lists.Find(r.Context(), todo.Query{BeforeSeq: before, Limit: scanPage})
		if err != nil {
			return err
		}
		states, err := r.Lists.States(r.Context(), lists...)
		if err != nil {
			return err
		}
		for _, l := range lists {
			if keep(l) {
				page.addRow(s, account.Of(l, nil, states), query)
				rows++
			}
			if before = l.Seq; rows == pastRows {
				break
			}
		}
		if rows == pastRows {
			break
		}
		if len(lists) < scanPage {
			return nil
		}
	}
	next := r.URL.Query()
	next.Set("before", decimal(before))
	page.older = "/?" + next.Encode()
	return nil
}

// addRow adds a list to the rows of its day, which is the last one, or a new one. What
// matches a query is marked.
func (page *boardPage) addRow(s board, f account.Family, query string) {
	day := dayOf(f.Updated(), s.now)
	if n := len(page.groups); n == 0 || page.groups[n-1].name != day {
		page.groups = append(page.groups, group{id: "d-" + f.Main.List.ID, name: day})
	}
	g, match := &page.groups[len(page.groups)-1], ""
	if item, ok := render.MatchingItem(f.Main, query); ok && query != "" {
		match = render.Safe(todo.Cut(item.Text, maxShown))
	}
	g.rows = append(g.rows, s.row(&f, query, match))
	g.count = decimal(len(g.rows))
}
