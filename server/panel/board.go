package panel

import (
	"cmp"
	"context"
	"fmt"
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
	// The rest is for the script. Version differs when the page may show something else,
	// AllSeq is the newest Seq that it shows.
	View, Version, List        string
	AllSeq, AtRevision, Oldest int64
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
	Now     []listView
	NowMore int
	Nothing string // said where no agent works
	Empty   string // said where there are no groups
	Groups  []group
	NoMatch bool   // nothing matches the search
	Address string // URL of the MCP endpoint, on the page of a server without lists
	Older   string // the link to what comes after
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

// fill says what the page shows of all lists, and who reads it; workspace is the
// project that is shown, or nil.
func (f *frame) fill(s board, reader todo.Identity, workspace *string) {
	reader.User = render.Safe(reader.User)
	f.Who, f.AllSeq, f.Beyond = reader, s.seq, s.many
	f.Counts = counts{len(s.Active), len(s.Left), len(s.Finished), len(s.Past), len(s.Archived)}
	active := make(map[string]int) // lists by folder
	for _, l := range s.Past {
		active[l.Main.List.Workspace] = 0
	}
	for _, p := range s.Projects() {
		active[p.Folder] = len(p.Families)
	}
	byName := func(a, b string) int { return cmp.Or(cmp.Compare(projectName(a), projectName(b)), cmp.Compare(a, b)) }
	for _, folder := range slices.SortedFunc(maps.Keys(active), byName) {
		link := projectLink{projectName(folder), projectHref(folder), active[folder], false}
		link.Current = workspace != nil && *workspace == folder
		if link.Active > 0 || link.Current {
			f.Projects = append(f.Projects, link)
		} else if len(f.Others) < maxRows {
			f.Others = append(f.Others, link)
		}
	}
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
	query, template := r.URL.Query(), "board"
	var workspace *string
	var page boardPage
	switch show := query.Get("show"); {
	case strings.TrimSpace(query.Get("q")) != "":
		page, err = search(r, s, strings.TrimSpace(query.Get("q")))
	case query.Has("project"):
		workspace = new(query.Get("project"))
		page = projectPage(s, *workspace)
	case show == "left":
		page = boardPage{frame: frame{Head: "Left open", Show: show}, Empty: "No list was left open."}
		page.addLeft(s, maxRows)
	case show == "finished":
		page = boardPage{frame: frame{Head: "Finished today", Show: show}, Empty: "No list was finished today."}
		page.addFinished(s, maxRows)
	case show == "past", show == "archived":
		page, err = pastPage(r, s, show)
	case len(s.Active)+len(s.Past)+len(s.Archived) == 0:
		template, page.Address = "empty", r.Origin()+"/mcp"
		page.Head, page.Show = "Active", "active"
	default:
		page = activePage(s)
	}
	if err != nil {
		return err
	}
	page.View, page.Version = "board", digest(s.places())
	page.fill(s, r.Identity, workspace)
	return p.page(w, template, page)
}

// activePage returns the board: what agents do, by project, and then what rests.
func activePage(s board) boardPage {
	page := boardPage{frame: frame{Head: "Active", Sum: summary(s.Active), Show: "active"}, Nothing: nothing(s)}
	page.Now, page.NowMore = nowList(s)
	page.Groups = projectGroups(s, cardsOfGroup, rowsOfGroup)
	page.addLeft(s, restRows)
	page.addFinished(s, restRows)
	if len(s.Active) == 0 && len(s.Finished) == 0 && len(s.Past) > len(s.Left) {
		page.addLastDay(s)
	}
	return page
}

// projectPage returns the page of one project.
func projectPage(s board, workspace string) boardPage {
	of := s.of(workspace)
	page := boardPage{Nothing: nothing(of)}
	page.Head, page.Sum = projectName(workspace), render.Safe(shortPath(workspace))
	page.Groups = projectGroups(of, maxCards, maxRows)
	for i := range page.Groups {
		page.Groups[i].Name, page.Groups[i].Note, page.Groups[i].Href = "Active", "", ""
	}
	page.addLeft(of, maxRows)
	page.addFinished(of, maxRows)
	earlier := slices.DeleteFunc(of.Past, func(f account.Family) bool {
		return f.State() == todo.LeftOpen || !f.Updated().Before(todo.Midnight(s.now))
	})
	page.add(group{ID: "earlier", Name: "Earlier", MoreHref: "/?show=past"}, s, earlier, maxRows)
	return page
}

// add adds lists that rest, the last changed first, if there are any.
func (page *boardPage) add(g group, s board, fs []account.Family, limit int) {
	if len(fs) == 0 {
		return
	}
	g.Count, g.More = strconv.Itoa(len(fs)), max(len(fs)-limit, 0)
	for _, f := range fs[:min(len(fs), limit)] {
		g.Rows = append(g.Rows, viewOf(f, s.now))
	}
	page.Groups = append(page.Groups, g)
}

func (page *boardPage) addLeft(s board, limit int) {
	g := group{ID: "left", Name: "Left open", Note: "the agent’s session has ended", MoreHref: "/?show=left"}
	page.add(g, s, s.Left, limit)
}

func (page *boardPage) addFinished(s board, limit int) {
	g := group{ID: "finished", Name: "Finished today", Note: s.now.Format("Mon 2 Jan"), MoreHref: "/?show=finished"}
	g.Clear = true
	page.add(g, s, s.Finished, limit)
}

// addLastDay adds the last day on which something was finished.
func (page *boardPage) addLastDay(s board) {
	of := account.LastDay(s.Past, s.now)
	day, date := dayOf(of[0].Updated(), s.now)
	name := "Finished on " + day
	if day == "Today" || day == "Yesterday" {
		name = "Finished " + strings.ToLower(day)
	}
	page.add(group{ID: "last", Name: name, Note: date, MoreHref: "/?show=past"}, s, of, restRows)
}

// nothing says that no agent works, and which one was the last; empty while one works.
func nothing(s board) string {
	if len(s.Active) > 0 {
		return ""
	}
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
	if len(active) == 0 {
		return ""
	}
	n, parts := account.Counts(active), []string{count(len(active), "list")}
	for _, state := range []todo.State{todo.Working, todo.Idle, todo.Waiting} {
		if n[state] > 0 {
			parts = append(parts, fmt.Sprint(n[state], " ", strings.ToLower(stateWord(state))))
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
		fs, href := p.Families, projectHref(p.Folder)
		g := group{ID: "p-" + fs[0].Main.List.ID, Name: projectName(p.Folder), Note: render.Safe(shortPath(p.Folder)),
			Href: href, MoreHref: href, Count: strconv.Itoa(len(fs)) + " active"}
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
