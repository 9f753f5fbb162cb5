package panel

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

const (
	// cardsOfGroup and rowsOfGroup are how many lists of a project the board shows
	// as cards, and then as rows; the project's own page shows more.
	cardsOfGroup, rowsOfGroup = 6, 8
	// maxCards is how many cards a page has in all: it stays near a megabyte
	// however long the texts are.
	maxCards = 90
	// maxRows is how many rows a page has of one kind.
	maxRows = 200
	// nowFrom is from how many working agents on the board has a part Now, and
	// nowRows how many rows that has.
	nowFrom, nowRows = 3, 5
	// restRows is how many of the lists that rest the board shows.
	restRows = 8
)

// frame is what every page has around its content.
type frame struct {
	Who    todo.Identity
	Head   string // the page's heading, and its title in the browser
	Sum    string // a summary beside the heading
	Show   string // which filter is on: active, left, finished, past, archived; empty on other pages
	Search string // what was searched for
	Counts counts
	Beyond bool // there are more lists than were counted
	// Projects have something active; Others are the rest.
	Projects, Others []projectLink
	Crumbs           []crumb
	Class            string
	// The rest is for the script. Version tells apart what the page may show,
	// AllSeq is the newest Seq that it shows.
	View, Version, List        string
	AllSeq, AtRevision, Oldest int64
}

// isFor says who reads the page.
func (f *frame) isFor(id todo.Identity) {
	id.User = render.Safe(id.User)
	f.Who = id
}

// counts are how many lists there are of each kind.
type counts struct{ Active, Left, Finished, Past, Archived int }

// projectLink is a project in the rail.
type projectLink struct {
	Name, Href string
	Active     int
	Current    bool
}

// crumb is one step of the path to a page.
type crumb struct{ Name, Href string }

// boardPage is the data of a page with many lists.
type boardPage struct {
	frame
	Now      []listView
	NowMore  int
	Nothing  string // said where no agent works
	Groups   []group
	Clear    int    // how many finished lists can be put away
	NoMatch  bool   // nothing matches the search
	Searched int    // how many lists were searched, when that is not all
	Address  string // URL of the MCP endpoint, on the page of a server without lists
	Older    string // the link to what comes after
}

// group is a part of the board.
type group struct {
	ID, Name, Note, Href string
	Count                string
	Cards, Rows          []listView
	More                 int
	MoreHref             string
	Clear                bool // its lists are finished, and can be put away
}

// board is the families there are, sorted by how they stand.
type board struct {
	account.Board
	now  time.Time
	many bool // there are more lists than were read
	seq  int64
}

// sortLists sorts families, of which there may be more than were read.
func sortLists(all []account.Family, now time.Time) board {
	s := board{Board: account.Sort(all, now), now: now}
	lists := 0
	for _, f := range all {
		lists += len(f.Lists()) + len(f.Away)
		s.seq = max(s.seq, f.Seq())
	}
	s.many = lists >= maxRead
	return s
}

// of returns the board with the lists of one workspace alone.
func (s board) of(workspace string) board {
	s.Board = s.Only(func(f account.Family) bool { return f.Main.List.Workspace == workspace })
	return s
}

// places returns where the lists stand, by the main list's id.
func (s board) places() map[string]string {
	out := make(map[string]string)
	for _, f := range slices.Concat(s.Active, s.Past, s.Archived) {
		out[f.Main.List.ID] = placeOf(f, s.now)
	}
	return out
}

// readBoard reads all lists that a page may show.
func (p *Panel) readBoard(ctx context.Context, lists todo.Lists) (board, error) {
	all, err := readFamilies(ctx, lists)
	return sortLists(all, p.config.Now()), err
}

// frameOf returns the frame of a page; workspace is the project that is shown, or
// nil.
func frameOf(s board, show, query string, workspace *string) frame {
	f := frame{Show: show, Search: query, AllSeq: s.seq, Beyond: s.many, View: "board",
		Counts: counts{len(s.Active), len(s.Left), len(s.Finished), len(s.Past), len(s.Archived)}}
	active := make(map[string]int) // lists by folder
	for _, l := range s.Past {
		active[l.Main.List.Workspace] = 0
	}
	for _, p := range s.Projects() {
		active[p.Folder] = len(p.Families)
	}
	byName := func(a, b string) int { return cmp.Or(cmp.Compare(projectName(a), projectName(b)), cmp.Compare(a, b)) }
	for _, folder := range slices.SortedFunc(maps.Keys(active), byName) {
		link := projectLink{Name: projectName(folder), Href: projectHref(folder), Active: active[folder], Current: workspace != nil && *workspace == folder}
		if link.Active > 0 || link.Current {
			f.Projects = append(f.Projects, link)
		} else if len(f.Others) < maxRows {
			f.Others = append(f.Others, link)
		}
	}
	return f
}

func projectName(folder string) string {
	return cmp.Or(render.Safe((todo.List{Workspace: folder}).Project()), "No folder")
}

func projectHref(folder string) string { return "/?project=" + url.QueryEscape(folder) }

// board serves the pages with many lists: the board, one kind of lists, a
// project, or what matches a search.
func (p *Panel) board(w http.ResponseWriter, r *edge.Request) error {
	s, err := p.readBoard(r.Context(), r.Lists)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	page := boardPage{Address: r.Origin() + "/mcp"}
	switch show := query.Get("show"); {
	case strings.TrimSpace(query.Get("q")) != "":
		page, err = p.search(r, s, strings.TrimSpace(query.Get("q")))
	case query.Has("project"):
		page = projectPage(s, query.Get("project"))
	case show == "left", show == "finished":
		page = restPage(s, show)
	case show == "past", show == "archived":
		page, err = p.pastPage(r, s, show)
	case len(s.Active)+len(s.Past)+len(s.Archived) == 0:
		page.frame = frameOf(s, "active", "", nil)
		page.Head = "Active"
		page.Version = digest(s.places())
		page.isFor(r.Identity)
		return p.page(w, "empty", page)
	default:
		page = activePage(s)
	}
	if err != nil {
		return err
	}
	page.Version = digest(s.places())
	page.isFor(r.Identity)
	return p.page(w, "board", page)
}

// activePage returns the board: what agents do, by project, and then what rests.
func activePage(s board) boardPage {
	page := boardPage{frame: frameOf(s, "active", "", nil)}
	page.Head = "Active"
	page.Sum = summary(s.Active)
	page.Now, page.NowMore = nowList(s)
	page.Groups = projectGroups(s, cardsOfGroup, rowsOfGroup)
	if len(s.Active) == 0 {
		page.Nothing = nothing(s)
	}
	page.addRest(s, restRows)
	if len(s.Active) == 0 && len(s.Finished) == 0 && len(s.Past) > len(s.Left) {
		page.Groups = append(page.Groups, lastDay(s))
	}
	return page
}

// addRest adds what was left open and what was finished today.
func (page *boardPage) addRest(s board, limit int) {
	if len(s.Left) > 0 {
		g := rows(s.Left, s.now, limit)
		g.ID, g.Name, g.Note, g.MoreHref = "left", "Left open", "the agent’s session has ended", "/?show=left"
		page.Groups = append(page.Groups, g)
	}
	if len(s.Finished) > 0 {
		g := rows(s.Finished, s.now, limit)
		g.ID, g.Name, g.Note, g.MoreHref, g.Clear = "finished", "Finished today", s.now.Format("Mon 2 Jan"), "/?show=finished", true
		page.Groups = append(page.Groups, g)
	}
}

// lastDay returns the last day on which something was finished.
func lastDay(s board) group {
	of := account.LastDay(s.Past, s.now)
	g := rows(of, s.now, restRows)
	day, date := dayOf(of[0].Updated(), s.now)
	g.ID, g.Name, g.Note, g.MoreHref = "last", "Finished "+strings.ToLower(day[:1])+day[1:], date, "/?show=past"
	if day[0] >= '0' && day[0] <= '9' || day != "Yesterday" && day != "Today" {
		g.Name = "Finished on " + day
	}
	return g
}

// nothing says that no agent works, and which one was the last.
func nothing(s board) string {
	if len(s.Past) == 0 {
		return "No agent is working."
	}
	worked := func(a, b account.Family) int { return a.Worked().Compare(b.Worked()) }
	last := viewOf(slices.MaxFunc(s.Past, worked), s.now)
	text := "No agent is working. The last one was " + last.Agent.Name
	if last.Project != "" {
		text += " in " + last.Project
	}
	day, _ := dayOf(last.Since, s.now)
	if day != "Today" {
		text += ", " + strings.ToLower(day[:1]) + day[1:]
	}
	return text + " at " + last.Since.In(s.now.Location()).Format("15:04") + "."
}

// summary says how many lists there are and how they stand.
func summary(active []account.Family) string {
	n := account.Counts(active)
	parts := []string{count(len(active), "list")}
	if len(active) == 0 {
		return ""
	}
	for _, part := range []struct {
		state todo.State
		words string
	}{{todo.Working, "working"}, {todo.Idle, "idle"}, {todo.Waiting, "waiting for you"}} {
		if n[part.state] > 0 {
			parts = append(parts, strconv.Itoa(n[part.state])+" "+part.words)
		}
	}
	return strings.Join(parts, ", ")
}

// nowList returns what working agents do, if there are enough of them.
func nowList(s board) (now []listView, more int) {
	for _, f := range s.Active {
		if state := f.State(); state == todo.Working || state == todo.Waiting {
			now = append(now, viewOf(f, s.now))
		}
	}
	if len(now) < nowFrom {
		return nil, 0
	}
	more = max(len(now)-nowRows, 0)
	return now[:len(now)-more], more
}

// projectGroups returns the active lists by project, the project with the newest
// list first.
func projectGroups(s board, cards, rowLimit int) (out []group) {
	room, rowRoom := maxCards, maxRows
	for _, p := range s.Projects() {
		fs, folder := p.Families, p.Folder
		g := group{ID: "p-" + fs[0].Main.List.ID, Name: projectName(folder), Note: render.Safe(shortPath(folder)), Href: projectHref(folder), Count: strconv.Itoa(len(fs)) + " active", MoreHref: projectHref(folder)}
		n := min(len(fs), cards, room)
		for _, f := range fs[:n] {
			g.Cards = append(g.Cards, cardOf(f, s.now))
		}
		m := min(len(fs)-n, rowLimit, rowRoom)
		for _, f := range fs[n : n+m] {
			g.Rows = append(g.Rows, viewOf(f, s.now))
		}
		g.More = len(fs) - n - m
		room, rowRoom = room-n, rowRoom-m
		if n+m == 0 {
			break // the rail leads to the other projects
		}
		out = append(out, g)
	}
	return out
}

// rows returns lists that rest as a group, the last changed first.
func rows(fs []account.Family, now time.Time, limit int) group {
	g := group{Count: strconv.Itoa(len(fs)), More: max(len(fs)-limit, 0)}
	for _, f := range fs[:min(len(fs), limit)] {
		g.Rows = append(g.Rows, viewOf(f, now))
	}
	return g
}

// projectPage returns the page of one project.
func projectPage(s board, workspace string) boardPage {
	page := boardPage{frame: frameOf(s, "", "", &workspace)}
	of := s.of(workspace)
	page.Head = projectName(workspace)
	page.Sum = render.Safe(shortPath(workspace))
	page.Groups = projectGroups(of, maxCards, maxRows)
	for i := range page.Groups {
		page.Groups[i].Name, page.Groups[i].Note, page.Groups[i].Href = "Active", "", ""
	}
	if len(of.Active) == 0 {
		page.Nothing = nothing(of)
	}
	page.addRest(of, maxRows)
	if done := slices.DeleteFunc(slices.Clone(of.Past), func(f account.Family) bool {
		return f.State() == todo.LeftOpen || !f.Updated().Before(todo.Midnight(s.now))
	}); len(done) > 0 {
		g := rows(done, s.now, maxRows)
		g.ID, g.Name, g.MoreHref = "earlier", "Earlier", "/?show=past"
		page.Groups = append(page.Groups, g)
	}
	return page
}

// restPage returns the page with the lists that were left open, or finished today.
func restPage(s board, show string) boardPage {
	page := boardPage{frame: frameOf(s, show, "", nil)}
	page.Head = map[string]string{"left": "Left open", "finished": "Finished today"}[show]
	shown := s
	if shown.Finished = nil; show == "finished" {
		shown.Finished, shown.Left = s.Finished, nil
	}
	page.addRest(shown, maxRows)
	if len(page.Groups) == 0 {
		page.Nothing = map[string]string{"left": "No list was left open.", "finished": "No list was finished today."}[show]
	}
	return page
}
