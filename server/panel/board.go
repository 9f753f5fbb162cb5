package panel

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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

// shelf is the lists there are, sorted by how they stand.
type shelf struct {
	now                              time.Time
	active, left, finished, archived []family
	past                             []family // all that rest, the last changed first
	many                             bool     // there are more lists than were read
	seq                              int64
}

// sortLists sorts families, which come last changed first.
func sortLists(all []family, now time.Time) shelf {
	s := shelf{now: now}
	lists := 0
	for _, f := range all {
		lists += 1 + len(f.subs)
		s.seq = max(s.seq, f.seq())
		switch state := f.state(); {
		case f.main.Archived:
			s.archived = append(s.archived, f)
			continue
		case !state.Rests():
			s.active = append(s.active, f)
			continue
		case state == todo.LeftOpen:
			s.left = append(s.left, f)
		case !f.updated().Before(todo.Midnight(now)):
			s.finished = append(s.finished, f)
		}
		s.past = append(s.past, f)
	}
	s.many = lists >= maxRead
	return s
}

// of returns the shelf with the lists of one workspace alone.
func (s shelf) of(workspace string) shelf {
	only := func(fs []family) []family {
		return slices.DeleteFunc(slices.Clone(fs), func(f family) bool { return f.main.List.Workspace != workspace })
	}
	s.active, s.left, s.finished, s.past, s.archived = only(s.active), only(s.left), only(s.finished), only(s.past), only(s.archived)
	return s
}

// readShelf reads all lists that a page may show.
func (p *Panel) readShelf(ctx context.Context, lists todo.Lists) (shelf, error) {
	all, err := readFamilies(ctx, lists)
	return sortLists(all, p.config.Now()), err
}

// frameOf returns the frame of a page; workspace is the project that is shown, or
// nil.
func frameOf(s shelf, show, query string, workspace *string) frame {
	f := frame{Show: show, Search: query, AllSeq: s.seq, Beyond: s.many, View: "board",
		Counts: counts{len(s.active), len(s.left), len(s.finished), len(s.past), len(s.archived)}}
	byFolder := make(map[string]int)
	var folders []string
	for _, l := range slices.Concat(s.active, s.past) {
		folder := l.main.List.Workspace
		if _, known := byFolder[folder]; !known {
			folders = append(folders, folder)
			byFolder[folder] = 0
		}
		if l.active() {
			byFolder[folder]++
		}
	}
	slices.SortFunc(folders, func(a, b string) int { return cmp.Or(cmp.Compare(projectName(a), projectName(b)), cmp.Compare(a, b)) })
	for _, folder := range folders {
		link := projectLink{Name: projectName(folder), Href: projectHref(folder), Active: byFolder[folder], Current: workspace != nil && *workspace == folder}
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
	s, err := p.readShelf(r.Context(), r.Lists)
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
	case len(s.active)+len(s.past)+len(s.archived) == 0:
		page.frame = frameOf(s, "active", "", nil)
		page.Head = "Active"
		page.Version = digest(s)
		page.isFor(r.Identity)
		return p.page(w, "empty", page)
	default:
		page = activePage(s)
	}
	if err != nil {
		return err
	}
	page.Version = digest(s)
	page.isFor(r.Identity)
	return p.page(w, "board", page)
}

// activePage returns the board: what agents do, by project, and then what rests.
func activePage(s shelf) boardPage {
	page := boardPage{frame: frameOf(s, "active", "", nil)}
	page.Head = "Active"
	page.Sum = summary(s.active)
	page.Now, page.NowMore = nowList(s)
	page.Groups = projectGroups(s, cardsOfGroup, rowsOfGroup)
	if len(s.active) == 0 {
		page.Nothing = nothing(s)
	}
	page.addRest(s, restRows)
	if len(s.active) == 0 && len(s.finished) == 0 && len(s.past) > len(s.left) {
		page.Groups = append(page.Groups, lastDay(s))
	}
	return page
}

// addRest adds what was left open and what was finished today.
func (page *boardPage) addRest(s shelf, limit int) {
	if len(s.left) > 0 {
		g := rows(s.left, s.now, limit)
		g.ID, g.Name, g.Note, g.MoreHref = "left", "Left open", "the agent’s session has ended", "/?show=left"
		page.Groups = append(page.Groups, g)
	}
	if len(s.finished) > 0 {
		g := rows(s.finished, s.now, limit)
		g.ID, g.Name, g.Note, g.MoreHref, g.Clear = "finished", "Finished today", s.now.Format("Mon 2 Jan"), "/?show=finished", true
		page.Groups = append(page.Groups, g)
	}
}

// lastDay returns the last day on which something was finished.
func lastDay(s shelf) group {
	var of []family
	for _, f := range s.past {
		if f.state() == todo.Finished && (len(of) == 0 || todo.Midnight(f.updated()).Equal(todo.Midnight(of[0].updated()))) {
			of = append(of, f)
		}
	}
	g := rows(of, s.now, restRows)
	day, date := dayOf(of[0].updated(), s.now)
	g.ID, g.Name, g.Note, g.MoreHref = "last", "Finished "+strings.ToLower(day[:1])+day[1:], date, "/?show=past"
	if day[0] >= '0' && day[0] <= '9' || day != "Yesterday" && day != "Today" {
		g.Name = "Finished on " + day
	}
	return g
}

// nothing says that no agent works, and which one was the last.
func nothing(s shelf) string {
	if len(s.past) == 0 {
		return "No agent is working."
	}
	last := viewOf(s.past[0], s.now)
	text := "No agent is working. The last one was " + last.Agent.Name
	if last.Project != "" {
		text += " in " + last.Project
	}
	day, _ := dayOf(last.Updated, s.now)
	if day != "Today" {
		text += ", " + strings.ToLower(day[:1]) + day[1:]
	}
	return text + " at " + last.Updated.In(s.now.Location()).Format("15:04") + "."
}

// summary says how many lists there are and how they stand.
func summary(active []family) string {
	n := make(map[todo.State]int)
	for _, f := range active {
		n[f.state()]++
	}
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

// inOrder sorts the lists of a project: those that wait for a person, those that
// work, those that are idle, and each of these by when it began. So nothing moves
// because an agent wrote.
func inOrder(fs []family) []family {
	fs = slices.Clone(fs)
	slices.SortStableFunc(fs, func(a, b family) int {
		return cmp.Or(cmp.Compare(slices.Index(ranks(), a.state()), slices.Index(ranks(), b.state())),
			b.main.List.Created.Compare(a.main.List.Created), cmp.Compare(a.main.List.ID, b.main.List.ID))
	})
	return fs
}

// nowList returns what working agents do, if there are enough of them.
func nowList(s shelf) (now []listView, more int) {
	for _, f := range inOrder(s.active) {
		if state := f.state(); state == todo.Working || state == todo.Waiting {
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
func projectGroups(s shelf, cards, rowLimit int) (out []group) {
	by := make(map[string][]family)
	newest := make(map[string]time.Time)
	var folders []string
	for _, f := range s.active {
		folder := f.main.List.Workspace
		if by[folder] == nil {
			folders = append(folders, folder)
		}
		by[folder] = append(by[folder], f)
		if f.main.List.Created.After(newest[folder]) {
			newest[folder] = f.main.List.Created
		}
	}
	slices.SortStableFunc(folders, func(a, b string) int { return cmp.Or(newest[b].Compare(newest[a]), cmp.Compare(a, b)) })
	room, rowRoom := maxCards, maxRows
	for _, folder := range folders {
		fs := inOrder(by[folder])
		g := group{ID: "p-" + fs[0].main.List.ID, Name: projectName(folder), Note: render.Safe(shortPath(folder)), Href: projectHref(folder), Count: count(len(fs), "list"), MoreHref: projectHref(folder)}
		if len(fs) > 0 {
			g.Count = strconv.Itoa(len(fs)) + " active"
		}
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
func rows(fs []family, now time.Time, limit int) group {
	g := group{Count: strconv.Itoa(len(fs)), More: max(len(fs)-limit, 0)}
	for _, f := range fs[:min(len(fs), limit)] {
		g.Rows = append(g.Rows, viewOf(f, now))
	}
	return g
}

// projectPage returns the page of one project.
func projectPage(s shelf, workspace string) boardPage {
	page := boardPage{frame: frameOf(s, "", "", &workspace)}
	of := s.of(workspace)
	page.Head = projectName(workspace)
	page.Sum = render.Safe(shortPath(workspace))
	page.Groups = projectGroups(of, maxCards, maxRows)
	for i := range page.Groups {
		page.Groups[i].Name, page.Groups[i].Note, page.Groups[i].Href = "Active", "", ""
	}
	if len(of.active) == 0 {
		page.Nothing = nothing(of)
	}
	page.addRest(of, maxRows)
	if done := slices.DeleteFunc(slices.Clone(of.past), func(f family) bool {
		return f.state() == todo.LeftOpen || !f.updated().Before(todo.Midnight(s.now))
	}); len(done) > 0 {
		g := rows(done, s.now, maxRows)
		g.ID, g.Name, g.MoreHref = "earlier", "Earlier", "/?show=past"
		page.Groups = append(page.Groups, g)
	}
	return page
}

// restPage returns the page with the lists that were left open, or finished today.
func restPage(s shelf, show string) boardPage {
	page := boardPage{frame: frameOf(s, show, "", nil)}
	page.Head = map[string]string{"left": "Left open", "finished": "Finished today"}[show]
	shown := s
	if shown.finished = nil; show == "finished" {
		shown.finished, shown.left = s.finished, nil
	}
	page.addRest(shown, maxRows)
	if len(page.Groups) == 0 {
		page.Nothing = map[string]string{"left": "No list was left open.", "finished": "No list was finished today."}[show]
	}
	return page
}
