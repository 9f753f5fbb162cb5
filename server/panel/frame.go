package panel

import (
	"cmp"
	_ "embed"
	"html"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/account"
	"todo-mcp/internal/board"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// skeleton is what all pages have, with a name in braces for what they do not.
//
//go:embed page.html
var skeleton string

//go:embed glyphs.svg
var glyphs string

const (
	viewerLinks = `<link rel="stylesheet" href="viewer.css"><script type="module" src="viewer.js"></script>`
	mark        = `<svg class="mark" viewBox="0 0 18 18" aria-hidden="true"><path d="M3 4h7M3 14h9"/>` +
		`<path class="on" d="M3 9h12"/></svg>`
)

// frame is what every page has around its content.
type frame struct {
	board     *groups        // all lists that there are; nil on the page of one, which does not read them
	reader    board.Identity // who reads the page
	theme     string         // that the reader chose: light, dark, or empty
	root      string         // where the addresses on the page begin, see [edge.Request.Root]
	here      string         // the address of the page, from there
	workspace *string        // the project that is shown, or nil
	head      string         // the page's heading, and its title in the browser
	sum       string         // a summary beside the heading
	crumbs    []Node         // the path to the page, in the place of the heading
	show      string         // which filter is on: active, left, finished, past, archived; empty on other pages
	search    string         // what was searched for
	class     string
	// The rest is for the script. version differs when the page may show something else,
	// seq is the newest Seq that it shows; list has what is said of the one list shown.
	view, version string
	seq           int64
	list          Group
}

// of says who asked for the page, and from where. s has all lists; nil where they were not read.
func (f *frame) of(r *edge.Request, s *groups) {
	f.reader, f.theme = r.Identity, themeOf(r)
	f.root, f.here = r.Root(), "."+r.URL.RequestURI()
	if f.board = s; s != nil {
		f.seq = s.seq
	}
}

// main returns the page's main element with content, which may have attributes for it.
func (f *frame) main(content ...Node) Node {
	return Main(Group(content), ID("main"), TabIndex("-1"), Data("view", f.view), Data("seq", decimal(f.seq)),
		Data("version", f.version), f.list, Data("long-after", decimal(account.LongAfter.Milliseconds())))
}

// page returns the page around its main element, as HTML.
func (f *frame) page(main Node) string {
	viewer := ""
	if f.reader.ReadOnly {
		viewer = viewerLinks
	}
	return strings.NewReplacer("\n", "", "{{root}}", f.root, "{{here}}", html.EscapeString(f.here), "{{title}}", html.EscapeString(f.head), "{{viewer}}", viewer,
		"{{class}}", f.class, "{{theme}}", f.theme, "{{glyphs}}", glyphs, "{{mark}}", mark,
		"{{search}}", html.EscapeString(f.search),
		"{{kinds}}", drawn(Map(cmp.Or(f.board, &groups{}).kinds(), f.kind)), "{{projects}}", drawn(Iff(f.board != nil, f.projects)),
		"{{reader}}", drawn(Iff(f.reader.User != "", f.signOut)), "{{heading}}", drawn(f.heading()),
		"{{waits}}", drawn(f.waits()), "{{views}}", drawn(f.views()), "{{main}}", drawn(main)).Replace(skeleton)
}

// heading returns the page's heading, or the path to it.
func (f *frame) heading() Node {
	if len(f.crumbs) == 0 {
		return Group{H1(Text(f.head)), If(f.sum != "", P(Class("sum cut"), Text(f.sum)))}
	}
	path := Group{Class("crumb cut"), Aria("label", "Path")}
	for n, crumb := range f.crumbs {
		path = append(path, If(n > 0, Span(Text("/"))), crumb)
	}
	return Nav(path...)
}

// waits says how many lists wait for a person, and leads to where they stand first.
func (f *frame) waits() Node {
	n := 0 // until the page is told
	if f.board != nil {
		n = f.board.waiting()
	}
	return A(ID("waits"), Class("waiting"), Href("./"), Attr("data-keep"), Data("n", decimal(n)),
		If(n == 0, Attr("hidden")), Textf("%d %s for you", n, word(n, "waits", "wait")))
}

// views returns the links to the board and to what was done today.
func (f *frame) views() Node {
	view := func(name, icon, href string, here bool) Node {
		return A(Class("icon"), Href(href), Aria("label", name), TitleAttr(name), If(here, Aria("current", "page")),
			glyph(icon))
	}
	return Nav(ID("views"), Aria("label", "View"), view("Board", "cards", "./", f.view == "board"),
		view("Today", "day", "today", f.view == "today"))
}

// themeOf returns the theme that a person chose in this browser, which panel.js keeps in a
// cookie; empty for the system's.
func themeOf(r *edge.Request) string {
	c, err := r.Cookie("theme")
	if err != nil || c.Value != "light" && c.Value != "dark" {
		return ""
	}
	return c.Value
}

// crumb returns one step of the path to a page.
func crumb(name, href string) Node { return A(Class("cut"), Href(href), bdi(name)) }

// kind returns the link to one kind of lists. There may be more of them than were read.
func (f *frame) kind(k kind) Node {
	href, n := k.href(), ""
	if k.show == "active" {
		href = "./"
	}
	if f.board != nil {
		n = decimal(len(k.lists))
	}
	if f.board != nil && f.board.many && (k.show == "past" || k.show == "archived") {
		n += "+"
	}
	return Li(A(Href(href), If(f.show == k.show, Aria("current", "page")), glyph(k.icon), Text(k.name), span("n", Text(n))))
}

func (f *frame) signOut() Node {
	return Form(ID("who"), Method("post"), Action("signout"), bdi(render.Safe(f.reader.User), Class("cut")),
		If(f.reader.ReadOnly, Text(", may only look")), Text(" "), Button(Class("link"), Text("Sign out")))
}

// projects returns the links to the projects: first those that have something active,
// then the rest, folded.
func (f *frame) projects() Node {
	active := make(map[string]int) // lists by folder
	for _, l := range f.board.Past {
		active[l.Main.List.Workspace] = 0
	}
	for _, p := range f.board.Projects() {
		active[p.Folder] = len(p.Groups)
	}
	if len(active) == 0 {
		return nil
	}
	byName := func(a, b string) int { return cmp.Or(cmp.Compare(projectName(a), projectName(b)), cmp.Compare(a, b)) }
	var busy, others Group
	for _, folder := range slices.SortedFunc(maps.Keys(active), byName) {
		current := f.workspace != nil && *f.workspace == folder
		link := Li(A(Href(projectHref(folder)), If(current, Aria("current", "page")), glyph("folder"),
			bdi(projectName(folder), Class("cut")), span("n", Textf("%d", active[folder]))))
		if active[folder] > 0 || current {
			busy = append(busy, link)
		} else if len(others) < maxRows {
			others = append(others, link)
		}
	}
	return Nav(Aria("label", "Projects"), ID("projects"), H2(Class("label"), Text("Projects")),
		Ul(Class("nav"), busy),
		If(len(others) > 0, Details(ID("others"), If(len(busy) == 0, Attr("open")),
			Summary(Class("small"), Text("All projects")), Ul(Class("nav"), others))))
}

func projectName(folder string) string {
	return cmp.Or(render.Safe((todo.List{Workspace: folder}).Project()), "No folder")
}

func projectHref(folder string) string { return "./?project=" + url.QueryEscape(folder) }

func listHref(id string) string { return "lists/" + url.PathEscape(id) }

func decimal[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// glyph returns one of the signs of glyphs.svg.
func glyph(name string) Node { return glyphOf("i", name) }

func glyphOf(class, name string) Node {
	return SVG(Class(class), Aria("hidden", "true"), El("use", Href("#g-"+name)))
}

// bdi returns a text whose direction changes nothing around it.
func bdi(text string, attributes ...Node) Node { return El("bdi", Group(attributes), Text(text)) }

func span(class string, content ...Node) Node { return Span(append(content, Class(class))...) }
