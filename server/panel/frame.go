package panel

import (
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strings"

	g "maragu.dev/gomponents"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

// skeleton is the HTML of all pages, with names in braces for what differs.
//
//go:embed page.html
var skeleton string

const (
	viewerLinks = `<link rel="stylesheet" href="viewer.css"><script type="module" src="viewer.js"></script>`
	mark        = `<svg class="mark" viewBox="0 0 18 18" aria-hidden="true"><path d="M3 4h7M3 14h9"/>` +
		`<path class="on" d="M3 9h12"/></svg>`
)

type frame struct {
	board     *groups        // all lists; nil on the page of one, which does not read them
	reader    board.Identity // who reads the page
	theme     string         // the reader's choice: light or dark; empty follows the system
	root      string         // where the addresses on the page begin, see [edge.Request.Root]
	here      string         // the page's address, from root
	workspace *string        // the folder of the project that is shown, or nil
	head      string         // the page's heading and title
	sum       string         // a summary beside the heading
	crumbs    []crumb        // the path to the page, in place of the heading
	show      string         // the [kind] that is shown, or empty
	search    string         // what was searched for
	// The fields below are for the script. version changes with what the page may show. seq is the newest Seq on the
	// page. list has attributes: those of the list on its page, or one by which the script loads a failed page again.
	view, version string
	seq           int64
	list          Group
}

type crumb struct{ name, href string } // a step of the path to a page

// of sets the fields that depend on the request. s has all lists; nil if they were not read.
func (f *frame) of(r *edge.Request, s *groups) {
	f.reader = r.Identity
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") { // panel.js sets it
		f.theme = c.Value
	}
	f.root, f.here = r.Root(), "."+r.URL.RequestURI()
	if f.board = s; s != nil {
		f.seq = s.seq
	}
}

// main returns the page's main element; content may have attributes.
func (f *frame) main(content ...Node) Node {
	return Main(Group(content), ID("main"), TabIndex("-1"), Data("view", f.view), Data("seq", fmt.Sprint(f.seq)),
		Data("version", f.version), f.list, Data("long-after", fmt.Sprint(account.LongAfter.Milliseconds())))
}

// page returns the page around its main element, as HTML.
func (f *frame) page(main Node) string {
	viewer, lists := "", cmp.Or(f.board, &groups{})
	if f.reader.ReadOnly {
		viewer = viewerLinks
	}
	heading := Node(Group{H1(Text(f.head)), If(f.sum != "", P(Class("sum cut"), Text(f.sum)))})
	if len(f.crumbs) > 0 {
		heading = Nav(Class("crumb cut"), Aria("label", "Path"), g.Map(f.crumbs, func(c crumb) Node {
			return A(Class("cut"), Href(c.href), El("bdi", Text(c.name)))
		}))
	}
	kinds := g.Map(lists.kinds(), func(k kind) Node {
		n := If(f.board != nil, Text(fmt.Sprint(len(k.lists))))
		more := If(lists.many && (k.show == "past" || k.show == "archived"), Text("+")) // older ones were not read
		return Li(A(Href(k.href), If(f.show == k.show, Aria("current", "page")), glyph(k.icon), Text(k.name), span("n", n, more)))
	})
	n := lists.waits // how many wait for a person; on the page of one list the script sets it
	waits := A(ID("waits"), Class("waiting"), Href("./"), Attr("data-keep"), Data("n", fmt.Sprint(n)),
		If(n == 0, Attr("hidden")), Text(render.Count(n, "waits", "wait")+" for you"))
	reader := If(f.reader.User != "", Form(ID("who"), Method("post"), Action("signout"),
		El("bdi", Class("cut"), Text(render.Safe(f.reader.User))), If(f.reader.ReadOnly, Text(", may only look")), Text(" "),
		Button(Class("link"), Text("Sign out"))))
	current := map[string]string{f.view: ` aria-current="page"`}
	return strings.NewReplacer("\n", "", "{{root}}", f.root, "{{here}}", html.EscapeString(f.here), "{{theme}}", f.theme, "{{viewer}}", viewer,
		"{{title}}", html.EscapeString(f.head), "{{search}}", html.EscapeString(f.search), "{{mark}}", mark,
		"{{kinds}}", drawn(kinds), "{{projects}}", drawn(Iff(f.board != nil, f.projects)), "{{reader}}", drawn(reader),
		"{{heading}}", drawn(heading), "{{waits}}", drawn(waits), "{{board}}", current["board"], "{{today}}", current["today"],
		"{{main}}", drawn(main)).Replace(skeleton)
}

// projects draws links to projects: first those with active lists, then the others, folded.
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
	byName := func(a, b string) int {
		nameA, _, _ := projectOf(a)
		nameB, _, _ := projectOf(b)
		return cmp.Or(cmp.Compare(nameA, nameB), cmp.Compare(a, b))
	}
	var busy, others Group
	for _, folder := range slices.SortedFunc(maps.Keys(active), byName) {
		current := f.workspace != nil && *f.workspace == folder
		name, _, href := projectOf(folder)
		link := Li(A(Href(href), If(current, Aria("current", "page")), glyph("folder"),
			El("bdi", Class("cut"), Text(name)), span("n", Textf("%d", active[folder]))))
		if active[folder] > 0 || current {
			busy = append(busy, link)
		} else if len(others) < maxRows {
			others = append(others, link)
		}
	}
	return Nav(Aria("label", "Projects"), ID("projects"), H2(Class("label"), Text("Projects")), Ul(Class("nav"), busy),
		If(len(others) > 0, Details(ID("others"), If(len(busy) == 0, Attr("open")),
			Summary(Class("small"), Text("All projects")), Ul(Class("nav"), others))))
}

// listHref returns the address of a list's page, or of its history at a revision above 0.
func listHref(id string, revision int64) string {
	href := "lists/" + url.PathEscape(id)
	if revision > 0 {
		href += fmt.Sprint("?revision=", revision)
	}
	return href
}

// glyph draws an icon of page.html.
func glyph(name string, more ...string) Node {
	return SVG(Class(strings.Join(append([]string{"i"}, more...), " ")), Aria("hidden", "true"), El("use", Href("#g-"+name)))
}

func span(class string, content ...Node) Node { return Span(append(content, Class(class))...) }
