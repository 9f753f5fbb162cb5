// Package panel serves the web pages on which people watch and edit lists.
//
// Pages can be read without JavaScript; editing needs it. A change appears on an open page within a tenth of a second,
// without moving the text that a person reads or types. Texts of a list cannot run as markup or script (BAD-INPUT 37).
package panel

import (
	"cmp"
	"embed"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/server/card"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/sse"
)

//go:embed *.css *.js icon* manifest.webmanifest
var files embed.FS

// policy is the Content-Security-Policy of all pages: they load only from this server (images also from data: URLs),
// and send forms only to it (BAD-INPUT 37).
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"manifest-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

// Panel serves the pages. The server draws all HTML; the script only inserts it into the page.
type Panel struct {
	process   string
	now       func() time.Time
	began     time.Time
	standings sse.Shared[sharedKey, groups]
	updates   sse.Shared[sharedKey, update]
}

// New returns a panel. process is this process's id: pages reload when it changes. now is the clock; nil is time.Now.
func New(process string, now func() time.Time) *Panel {
	if now == nil {
		now = time.Now
	}
	return &Panel{process: process, now: now, began: time.Now()}
}

// lean removes indentation and comment lines, a seventh of a file. That is safe: no string in the files spans lines.
func lean(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(line, " "); !strings.HasPrefix(line, "//") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Route adds the pages to an edge.
func (p *Panel) Route(e *edge.Edge) {
	e.Handle("GET /{$}", failure("./"), p.board, edge.Page)
	e.Handle("GET /today", failure("./"), p.today, edge.Page)
	e.Handle("GET /today.md", edge.Text, p.today)
	e.Handle("GET /lists/{id}", failure("../"), p.list, edge.Page)
	e.Handle("POST /lists/{id}/edit", edge.JSON, p.edit)
	e.Handle("GET /panel/events", edge.Text, p.events, edge.Stream)
	text := func(name string) string {
		data, _ := files.ReadFile(name) // no error: the file is embedded
		return string(data)
	}
	asset := func(name, content string) {
		e.Handle("GET /"+name, edge.Text, edge.Static(mediaTypes[path.Ext(name)], content), edge.Public)
	}
	asset("panel.css", lean(card.Colours+text("panel.css")))
	asset("panel.js", lean(card.Took+text("notifications.js")+text("tabs.js")+text("panel.js")))
	for _, name := range []string{"viewer.css", "viewer.js", "manifest.webmanifest", "icon.svg", "icon-192.png", "icon-512.png"} {
		asset(name, text(name))
	}
}

// mediaTypes has the assets' media types by extension. The media types in package mime depend on the system.
var mediaTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json"}

// answer calls draw through [edge.InTurn] and sends its text: a page, or markdown if the path ends in .md.
func answer(w http.ResponseWriter, r *edge.Request, draw func() (string, error)) error {
	text, err := edge.InTurn(r, draw)
	switch {
	case err != nil:
		return err
	case strings.HasSuffix(r.URL.Path, ".md"):
		return edge.Write(w, http.StatusOK, "text/markdown; charset=utf-8", []byte(text))
	}
	return edge.WritePage(w, http.StatusOK, policy, text)
}

// failure returns a function that sends a request's error as a page; root is the board's address relative to the page.
func failure(root string) edge.Format {
	return func(w http.ResponseWriter, status int, text string) {
		head := "Not now"
		if status == http.StatusNotFound {
			head, text = "Not found", "There is no such list. It may have been deleted, or its address is not whole."
		}
		page := boardPage{frame: frame{root: root, head: head, view: "none"}, nothing: Group{Text(text), A(Class("link end"), Href("./"), Text("All lists"))}}
		if w.Header().Get("Retry-After") != "" {
			page.list = Group{Data("later", "true")} // the script loads the page again later
		}
		_ = edge.WritePage(w, status, policy, page.draw())
	}
}

// skeleton is the HTML of all pages, with names in braces for the parts that differ.
//
//go:embed page.html
var skeleton string

const (
	viewerLinks = `<link rel="stylesheet" href="viewer.css"><script type="module" src="viewer.js"></script>`
	mark        = `<svg class="mark" viewBox="0 0 18 18" aria-hidden="true"><path d="M3 4h7M3 14h9"/>` +
		`<path class="on" d="M3 9h12"/></svg>`
)

type frame struct {
	board     *groups        // all lists; nil on the pages of a list and of an error, which do not read them
	reader    board.Identity // the person who reads the page
	theme     string         // the reader's choice: light or dark; empty follows the system
	root      string         // the base of the addresses on the page, see [edge.Request.Root]
	here      string         // the page's address relative to root
	workspace *string        // the folder of the project that is shown, or nil
	head      string         // the page's heading and title
	sum       string         // a summary beside the heading
	crumbs    []crumb        // the path to the page, in place of the heading
	show      string         // the show value of the page's [kind]; empty without a kind
	search    string         // the text that was searched for
	// The fields below are for the script. The page loads again if its version is not the server's. seq is the highest
	// Seq on the page. list has attributes: the id and revision of the page's list, or data-later on a failed page.
	view, version string
	seq           int64
	list          Group
}

type crumb struct{ name, href string } // a step of the path to a page

// of sets the fields that depend on the request. s has all lists, or is nil if they were not read.
func (f *frame) of(r *edge.Request, s *groups) {
	f.reader = r.Identity
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") { // panel.js sets the cookie
		f.theme = c.Value
	}
	f.root, f.here = r.Root(), "."+r.URL.RequestURI()
	if f.board = s; s != nil {
		f.seq = s.seq
	}
}

// main returns the page's main element; content may include attributes.
func (f *frame) main(content ...Node) Node {
	return Main(Group(content), ID("main"), TabIndex("-1"), Data("view", f.view), Data("seq", fmt.Sprint(f.seq)),
		Data("version", f.version), f.list, Data("long-after", fmt.Sprint(account.LongAfter.Milliseconds())))
}

// page returns the whole page as HTML; main is its main element.
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
		more := If(lists.many && (k.show == "past" || k.show == "archived"), Text("+")) // older lists were not read
		return Li(A(Href(k.href), If(f.show == k.show, Aria("current", "page")), glyph(k.icon), Text(k.name), span("n", n, more)))
	})
	n := lists.waits // how many lists wait for a person; on a list's page the script sets it
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

// projects draws links to projects: first the current project and those with active lists, then the others, in a fold.
func (f *frame) projects() Node {
	active := make(map[string]int) // the number of active lists by folder
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

// listHref returns the address of a list's page or, if revision is above 0, of that revision in its history.
func listHref(id string, revision int64) string {
	href := "lists/" + url.PathEscape(id)
	if revision > 0 {
		href += fmt.Sprint("?revision=", revision)
	}
	return href
}

// glyph draws an icon that page.html defines.
func glyph(name string, more ...string) Node {
	return SVG(Class(strings.Join(append([]string{"i"}, more...), " ")), Aria("hidden", "true"), El("use", Href("#g-"+name)))
}

func span(class string, content ...Node) Node { return Span(append(content, Class(class))...) }
