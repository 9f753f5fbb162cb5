package panel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

const (
	cardsOfGroup, rowsOfGroup = 6, 8 // how many lists of a section the board shows as cards, and how many more as rows
	cardsOfBoard              = 24   // how many cards the board has at most
	maxCards                  = 90   // how many cards a project's page has at most: about a megabyte
	maxRows                   = 200  // how many rows a section of a page has at most
)

type boardPage struct {
	frame
	warning  string // the store's problems, each on a line
	nothing  Node   // a text in place of lists
	sections []section
	quiet    Node   // the idle chats without a list
	older    string // the address of the page with earlier lists
	more     Node   // a link to lists archived for their age, or to a search in earlier revisions
}

type section struct {
	id, name, note, href string
	unit                 string // the text after the section's number of lists
	cards, rows          Group
	more                 int // how many lists are left out; the page at moreHref shows them
	moreHref             string
	act                  Node // a button that acts on all lists of the section
}

func (page *boardPage) draw() string {
	return page.page(page.main(
		If(page.warning != "", Div(ID("warnings"), Role("alert"), g.Map(strings.Split(page.warning, "\n"), func(line string) Node {
			return P(Class("bar lost"), Text(line))
		}))),
		If(page.nothing != nil, P(Class("bar"), ID("nothing"), page.nothing)),
		Div(ID("groups"), g.Map(page.sections, section.draw)), page.quiet,
		If(page.older != "", P(A(Class("btn older"), Href(page.older), Text("Show earlier")))),
		If(page.more != nil, P(Class("more"), page.more))))
}

func (g section) draw() Node {
	name := Text(g.name)
	if g.href != "" {
		name = A(Href(g.href), El("bdi", Text(g.name)))
	}
	others, n := len(g.rows)+g.more, len(g.cards)
	narrow := others == 0 // narrow sections may share a row
	return Section(classes{"group": true, "solo": narrow && n == 1, "duo": narrow && n == 2}, ID(g.id),
		Header(H2(name), If(g.note != "", span("path cut", Text(g.note))), span("n", Textf("%d%s", n+others, g.unit)), g.act),
		If(len(g.cards) > 0, Div(Class("cards"), ID(g.id+"-c"), g.cards)),
		If(!narrow, Ul(Class("rows"), ID(g.id+"-r"), g.rows,
			If(g.more > 0, Li(A(Class("all"), Href(g.moreHref), Textf("Show %d more", g.more)))))))
}

// groups has all groups of lists that a page may show, sorted into the parts of the board.
type groups struct {
	account.Board
	drawing
	many    bool          // there may be more lists than were read
	seq     int64         // the highest Seq of the lists
	version string        // equal on all servers: a digest of places and questions or, on an empty board, of greeting
	waits   int           // how many lists wait for a person
	took    time.Duration // how long it took to read the groups
}

// readBoard reads the groups that a page may show.
func (p *Panel) readBoard(ctx context.Context, r *edge.Request) (groups, error) {
	began := time.Now()
	read, err := r.Lists.Find(ctx, board.Query{Limit: maxRead, Excerpt: true})
	if err != nil {
		return groups{}, err
	}
	s := groups{drawing: drawing{now: p.now()}, many: len(read) == maxRead}
	for i := range read {
		s.seq = max(s.seq, read[i].Seq)
	}
	read, states, err := r.Lists.WithChats(ctx, read)
	if err != nil {
		return groups{}, err
	}
	s.apart = render.Apart(read, s.now)
	// A sub-agent's list whose main list was not read is left out; the main list's page shows it.
	all := slices.DeleteFunc(account.Groups(read, states), func(f account.Group) bool { return f.Main.List.Parent != "" })
	s.Board = account.Sort(all, s.now)
	places := make(map[string]string) // by the main list's id
	for i := range all {
		places[all[i].Main.List.ID] = placeOf(&all[i], s.now) + asked(&all[i])
	}
	if s.version = todo.Digest(fmt.Sprint(places))[:12]; len(all) == 0 {
		s.version = todo.Digest(greeting(r))[:12]
	}
	s.waits, s.took = account.Counts(s.Active)[todo.Waiting], time.Since(began)
	return s, nil
}

// kind is a part of the board, such as the lists left open, with a page of its own.
type kind struct {
	show, icon, name, href string
	note                   string // a text beside the name
	empty                  string // the text if the kind has no lists
	lists                  []account.Group
}

// kinds returns all kinds. The first kind has the active lists; its page is the board.
func (s groups) kinds() []kind {
	return []kind{
		{"active", "play", "Active", "./", "", "", s.Active},
		{"left", "pause", "Left open", "./?show=left", "the agent’s session has ended", "No list was left open.", s.Left},
		{"finished", "tick", "Finished today", "./?show=finished", s.now.Format("Mon 2 Jan"), "No list was finished today.", s.Finished},
		{"past", "clock", "Past lists", "./?show=past", "", "No list rests yet.", s.Past},
		{"archived", "box", "Archived", "./?show=archived", "", "No list was archived.", s.Archived},
	}
}

// board serves the pages with many lists: the board, a kind, a project, or the results of a search.
func (p *Panel) board(w http.ResponseWriter, r *edge.Request) error {
	return answer(w, r, func() (string, error) {
		s, err := p.readBoard(r.Context(), r)
		if err != nil {
			return "", err
		}
		var page boardPage
		query := r.URL.Query()
		q, project := strings.TrimSpace(query.Get("q")), query.Get("project")
		switch {
		case q != "":
			page, err = search(r, s, q)
		case query.Has("project"):
			page, err = activePage(r, s, &project)
		default:
			page, err = kindPage(r, s, query.Get("show"))
		}
		if err != nil {
			return "", err
		}
		page.frame.of(r, &s)
		page.view, page.version = "board", s.version
		if !r.ReadOnly {
			page.warning = r.Warning()
		}
		if page.show == "active" && len(s.Active)+len(s.Quiet)+len(s.Past)+len(s.Archived) == 0 {
			return page.page(page.main(firstSteps(r))), nil
		}
		return page.draw(), nil
	})
}

func kindPage(r *edge.Request, s groups, show string) (page boardPage, err error) {
	n := slices.IndexFunc(s.kinds(), func(k kind) bool { return k.show == show })
	if n <= 0 {
		return activePage(r, s, nil)
	}
	k := s.kinds()[n]
	page.head, page.show = k.name, show
	if show == "left" || show == "finished" {
		page.add(s, k, maxRows)
	} else {
		page.sum = count(len(k.lists), "list") + ", newest first"
		if s.many {
			page.sum = "more than " + page.sum
		}
		_, err = page.addFound(r, s, "", false, func(l todo.Snapshot) bool {
			return l.List.Parent == "" && l.Archived == (show == "archived") &&
				!slices.ContainsFunc(s.Active, func(f account.Group) bool { return f.Main.List.ID == l.List.ID })
		})
	}
	if len(page.sections) == 0 {
		page.nothing = Text(k.empty)
	}
	return page, err
}

// activePage returns the page of a project or, if project is nil, the board. Its sections have active lists, lists left
// open and lists finished today; a project's page ends with earlier lists.
func activePage(r *edge.Request, s groups, project *string) (page boardPage, err error) {
	page = boardPage{frame: frame{head: "Active", sum: summary(s.Active), show: "active"}}
	room, cards, rows := cardsOfBoard, cardsOfGroup, rowsOfGroup
	if project != nil {
		s.Board = s.Only(func(f account.Group) bool { return f.Main.List.Workspace == *project })
		room, cards, rows = maxCards, maxCards, maxRows
		page.frame = frame{workspace: project}
		page.head, page.sum, _ = projectOf(*project)
	}
	if len(s.Active) == 0 {
		page.nothing = Text("No agent is working.")
	}
	if page.sections, err = projectSections(r, s, room, cards, rows); err != nil {
		return page, err
	}
	if len(s.Quiet) > 0 {
		page.quiet = Details(ID("quiet"), Attr("data-keep", "open"), Summary(Class("small"), Text(render.Quiet(s.Quiet))),
			Ul(Class("rows"), s.rows(s.Quiet[:min(len(s.Quiet), maxRows)])))
	}
	page.add(s, s.kinds()[1], rows)
	page.add(s, s.kinds()[2], rows)
	if lapsed := render.Lapsed(s.Lapsed(s.now)); lapsed != "" {
		page.more = A(Class("link"), Href("./?show=archived"), Text(lapsed))
	}
	if project != nil {
		if len(s.Active) > 0 {
			g := &page.sections[0]
			g.name, g.note, g.href = "Active", "", ""
		}
		earlier := slices.DeleteFunc(s.Past, func(f account.Group) bool {
			return f.State() == todo.LeftOpen || !f.Updated().Before(todo.Midnight(s.now))
		})
		page.add(s, kind{show: "past", href: "./?show=past", name: "Earlier", lists: earlier}, rows)
	} else if last := account.LastDay(s.Past, s.now); len(s.Active)+len(s.Finished) == 0 && len(last) > 0 {
		// Without this section the board would be blank in the morning.
		day := dayOf(last[0].Updated(), s.now)
		page.add(s, kind{show: "past", href: "./?show=past", name: "Last finished", note: day, lists: last}, rows)
	}
	return page, nil
}

// add adds a section for k's lists, if any, the last changed first: at most limit rows. No agent works on these lists.
func (page *boardPage) add(s groups, k kind, limit int) {
	n := len(k.lists)
	if n == 0 {
		return
	}
	rows := s.rows(k.lists[:min(n, limit)])
	g := section{id: k.show, name: k.name, note: k.note, rows: rows, more: max(n-limit, 0), moreHref: k.href}
	hasOld := k.lists[n-1].Updated().Before(s.now.AddDate(0, 0, -1))
	switch isWhole := g.more == 0 || page.show == k.show; { // both buttons act only on rows of the page
	case k.show == "finished" && isWhole:
		g.act = Button(Class("link small"), Attr("data-clear"), Text("Clear finished"))
	case k.show == "left" && isWhole && hasOld:
		g.act = Button(Type("button"), Class("link small"), Attr("data-menu"), Attr("data-older"), Text("Archive older…"))
	}
	page.sections = append(page.sections, g)
}

func (d drawing) rows(fs []account.Group) Group {
	return g.Map(fs, func(f account.Group) Node { return d.row(&f, "", "", 0) })
}

// summary counts lists, chats and states, as "2 lists, 1 chat, 1 working".
func summary(active []account.Group) string {
	chats := len(slices.DeleteFunc(slices.Clone(active), func(f account.Group) bool { return !f.Main.IsChat() }))
	n := account.Counts(active)
	return render.Joined(", ", render.Some(len(active)-chats, "list", "lists"), render.Some(chats, "chat", "chats"),
		render.Some(n[todo.Waiting], "waiting for you", "waiting for you"), render.Some(n[todo.Working], "working", "working"), render.Some(n[todo.Idle], "idle", "idle"))
}

// projectSections returns a section for each project with active lists, in the order of [account.Board.Projects].
// The parameter room limits the cards of all sections together; cards and rows limit those of each section.
func projectSections(r *edge.Request, s groups, room, cards, rows int) (out []section, err error) {
	for _, p := range s.Projects() {
		fs := p.Groups
		g := section{id: "p-" + todo.Digest(p.Folder)[:12], unit: " active"}
		g.name, g.note, g.href = projectOf(p.Folder)
		g.moreHref = g.href
		n := min(len(fs), cards, room)
		for i := range fs[:n] {
			isDamaged, err := complete(r, &fs[i])
			if err != nil {
				return nil, err
			}
			lost := If(isDamaged, P(Class("bar lost"), Text("Damaged in the store: it cannot be read whole.")))
			g.cards = append(g.cards, s.card(&fs[i], lost))
		}
		m := min(len(fs)-n, rows)
		g.rows, g.more = s.rows(fs[n:n+m]), len(fs)-n-m
		room -= n
		out = append(out, g)
	}
	return out, nil
}

// complete replaces the excerpts in a group by whole lists. Only lists that were deleted meanwhile or are damaged stay
// excerpts; isDamaged reports whether any list is damaged (BAD-INPUT 130).
func complete(r *edge.Request, f *account.Group) (isDamaged bool, err error) {
	lists := f.Lists()
	for i := range lists {
		switch whole, err := r.Lists.Load(r.Context(), lists[i].List.ID, 0); {
		case err == nil:
			lists[i] = whole
		case errors.Is(err, board.ErrDamaged):
			isDamaged = true
		case !errors.Is(err, board.ErrNotFound):
			return false, err
		}
	}
	f.Main, f.Subs = lists[0], lists[1:]
	return isDamaged, nil
}

// firstSteps draws the page of a server without lists: how to connect a client by the server's address and, for a
// reader on the server's own machine, by this program's commands.
func firstSteps(r *edge.Request) Node {
	address, here := r.Site()+"/mcp", edge.IsLoopback(r.Host)
	return Div(Class("start"), ID("empty"), Raw(mark), H2(Class("title"), Text("Connect your first agent")),
		P(Text("Add todo-mcp to a client and ask its agent to plan something. Its list shows here at once.")),
		If(here, toType("The clients on this machine:", program()+" install")),
		toType("Claude Code alone, with this server:", "claude mcp add --transport http --scope user todo "+address),
		toType("Another client, by its address as an MCP server:", address),
		toType("Then say to its agent:", "Plan the next steps in your todo list."),
		P(Class("live"), span("lamp beat"), Span(ID("greeting"), Text(greeting(r)))),
		If(here, toType("Or see it move first:", program()+" demo")))
}

func greeting(r *edge.Request) string {
	if client, any := r.Greeted(); any {
		return render.AgentOf(client).Name + " is connected. Waiting for its first list"
	}
	return "Waiting for the first list"
}

// program returns the path of this program, quoted for a shell.
func program() string {
	path, _ := os.Executable()
	if path = cmp.Or(path, "todo-mcp"); strings.ContainsAny(path, " '()&;") {
		return `"` + path + `"`
	}
	return path
}

func toType(purpose, text string) Node {
	return Group{P(Class("label"), Text(purpose)), Div(Class("cmd"), Code(Text(text)),
		Button(Class("btn"), Type("button"), Attr("data-copy"), Attr("hidden"), action("copy", "Copy", "")))}
}

const (
	pastRows   = 60   // how many lists a page of past lists or of a search has at most
	scanPage   = 200  // how many lists are read at a time
	maxScanned = 4000 // how many lists one request looks through; then the page links to earlier lists
)

// search returns the page of lists whose title, items, project or agent contain query, the last changed first.
func search(r *edge.Request, s groups, query string) (page boardPage, err error) {
	query = todo.Cut(query, todo.MaxTitle)
	page.head, page.search = "Search", render.Safe(query)
	history := r.URL.Query().Get("history") == "true"
	n, err := page.addFound(r, s, query, history, func(l todo.Snapshot) bool {
		_, ok := render.Found(l, query)
		return ok
	})
	page.sum = count(n, "list") + ", newest first"
	if !history {
		page.more = A(Class("link"), Href("./?history=true&q="+url.QueryEscape(query)), Text("Look in earlier revisions, too"))
	}
	switch {
	case n == 0 && page.older != "":
		page.nothing = Textf("Nothing matches “%s” among the last %d lists.", page.search, maxScanned)
	case n == 0:
		page.nothing = Group{Span(Text("Nothing matches “"), El("bdi", Text(page.search)), Text("”.")), A(Class("link end"), Href("./"), Text("Clear the search"))}
	case page.older != "":
		page.sum = "the last " + page.sum
	}
	return page, err
}

// addFound adds at most pastRows lists for which keep(list) is true, the last changed first, in a section for each day.
// It begins below the Seq in ?before=, and links to the next lists. If history is true, it also adds lists that contain
// query only in earlier revisions. It reads only scanPage lists at a time, and returns how many lists it added.
func (page *boardPage) addFound(r *edge.Request, s groups, query string, history bool, keep func(todo.Snapshot) bool) (rows int, err error) {
	before, err := r.QueryNumber("before", 0)
	if err != nil {
		return 0, err
	}
	before = cmp.Or(before, math.MaxInt64) // Find sorts by Seq only with a BeforeSeq
	for looked := 0; looked < maxScanned && rows < pastRows; looked += scanPage {
		lists, err := r.Lists.Find(r.Context(), board.Query{BeforeSeq: before, Limit: scanPage, Excerpt: query == ""})
		if err != nil {
			return rows, err
		}
		states, err := r.Lists.States(r.Context(), lists...)
		if err != nil {
			return rows, err
		}
		said := make(map[string]todo.Said)
		if history {
			if said, err = r.Lists.Said(r.Context(), query, lists...); err != nil {
				return rows, err
			}
		}
		for i := 0; i < len(lists) && rows < pastRows; i++ {
			before = lists[i].Seq
			where := said[lists[i].List.ID]
			if keep(lists[i]) {
				where = todo.Said{}
			} else if !where.Left {
				continue
			}
			page.addRow(s, account.Of(lists[i], nil, states), query, where)
			rows++
		}
		if rows < pastRows && len(lists) < scanPage {
			return rows, nil
		}
	}
	next := r.URL.Query()
	next.Set("before", fmt.Sprint(before))
	page.older = "./?" + next.Encode()
	return rows, nil
}

// addRow adds a list to the last section or, if that section is of another day, to a new section. It marks query in the
// row. If only an earlier revision contains query, left has that revision and its text; otherwise left is zero.
func (page *boardPage) addRow(s groups, f account.Group, query string, left todo.Said) {
	day := dayOf(f.Updated(), s.now)
	if n := len(page.sections); n == 0 || page.sections[n-1].name != day {
		page.sections = append(page.sections, section{id: "d-" + f.Main.List.ID, name: day})
	}
	g, match := &page.sections[len(page.sections)-1], ""
	if text := f.Main.Saying(query); left.Left {
		match = render.Safe(left.Text)
	} else if text != "" && query != "" && text != f.Main.GivenTitle {
		match = short(text)
	}
	g.rows = append(g.rows, s.row(&f, query, match, left.Revision))
}
