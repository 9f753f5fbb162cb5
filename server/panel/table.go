package panel

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// tableRows is how many lists one page of the table has.
const tableRows = 200

// tableStates are the states in the order of the column, which is that of the board.
var tableStates = []todo.State{todo.Waiting, todo.Working, todo.Idle, todo.LeftOpen, todo.InVain, todo.Finished,
	todo.Away}

// line is a list as the table shows it.
type line struct {
	*account.Group
	state todo.State
	agent string
	took  time.Duration
}

func lineOf(f *account.Group, now time.Time) line {
	l := line{f, f.State(), agentOf(f.Main).Name, lasted(f.Main, f.States[f.Main.List.ID].State, now)}
	if f.Main.Archived {
		l.state = todo.Away
	}
	return l
}

// lasted returns for how long a list is there, or was until it rested.
func lasted(l todo.Snapshot, state todo.State, now time.Time) time.Duration {
	if state.Rests() {
		now = l.Updated
	}
	if l.List.Created.IsZero() {
		return 0
	}
	return now.Sub(l.List.Created)
}

// column is a column of the table. Its first click brings those first that people look for:
// of times and numbers the greatest.
type column struct {
	name, title string
	greatest    bool
	compare     func(a, b line) int
}

func columns() []column {
	text := func(of func(line) string) func(a, b line) int {
		return func(a, b line) int { return cmp.Compare(strings.ToLower(of(a)), strings.ToLower(of(b))) }
	}
	share := func(l line) float64 {
		p := l.Progress()
		return float64(p.Done) / float64(max(p.Total, 1))
	}
	return []column{
		{"state", "State", false, func(a, b line) int {
			return cmp.Compare(slices.Index(tableStates, a.state), slices.Index(tableStates, b.state))
		}},
		{"title", "List", false, text(func(l line) string { return l.Main.Title() })},
		{"agent", "Agent", false, text(func(l line) string { return l.agent })},
		{"project", "Project", false, text(func(l line) string { return l.Main.List.Project() })},
		{"progress", "Progress", true, func(a, b line) int { return cmp.Compare(share(a), share(b)) }},
		{"changed", "Changed", true, func(a, b line) int { return a.Updated().Compare(b.Updated()) }},
		{"time", "Time", true, func(a, b line) int { return cmp.Compare(a.took, b.took) }},
	}
}

// table is the page on which all lists are lines, sorted and filtered as its address says.
type table struct {
	boardPage
	query  url.Values
	lines  []line   // of this page
	total  int      // on all pages
	first  int      // the index of the first line
	agents []string // of all lists
}

// tablePage returns the table as a request asks for it. Archived lists are there when they
// are asked for.
func tablePage(r *edge.Request, s groups) *table {
	t := &table{query: r.URL.Query()}
	t.frame.of(r, s)
	t.head = "Table"
	t.view, t.version = "table", s.version()
	t.cards, t.table = "./", t.here
	if t.query.Has("project") {
		t.cards = projectHref(t.query.Get("project"))
	}
	state, agent := todo.State(t.query.Get("state")), t.query.Get("agent")
	all := slices.Concat(s.Active, s.Past)
	if state == todo.Away {
		all = s.Archived
	}
	for i := range all {
		l := lineOf(&all[i], s.now)
		if !slices.Contains(t.agents, l.agent) {
			t.agents = append(t.agents, l.agent)
		}
		if (state == "" || l.state == state) && (agent == "" || l.agent == agent) && t.ofProject(l) {
			t.lines = append(t.lines, l)
		}
	}
	slices.Sort(t.agents)
	t.sort()
	t.total = len(t.lines)
	t.first = min(int(min(numberIn(r, "page"), maxRead))*tableRows, t.total/tableRows*tableRows)
	t.lines = t.lines[t.first:min(t.first+tableRows, t.total)]
	t.sum = count(t.total, "list")
	if s.many {
		t.sum += " of the last " + decimal(maxRead)
	}
	return t
}

// tableOf returns the address of the table of the lists that a board's address is of.
func tableOf(board url.Values) string {
	states := map[string]todo.State{"left": todo.LeftOpen, "archived": todo.Away}
	t := table{query: url.Values{"state": {string(states[board.Get("show")])}}}
	if board.Has("project") {
		t.query.Set("project", board.Get("project"))
	}
	return t.address("page", "")
}

func (t *table) ofProject(l line) bool {
	return !t.query.Has("project") || l.Main.List.Workspace == t.query.Get("project")
}

// sort sorts the lines by ?sort=, the name of a column, with a dash before it downwards.
// Without it they stand as on the board.
func (t *table) sort() {
	name, down := strings.CutPrefix(t.query.Get("sort"), "-")
	for _, c := range columns() {
		if c.name == name {
			slices.SortStableFunc(t.lines, func(a, b line) int {
				if down {
					a, b = b, a
				}
				return c.compare(a, b)
			})
		}
	}
}

// address returns the address of the table with a parameter that is another one, or none.
func (t *table) address(name, value string) string {
	query := url.Values{"view": {"table"}}
	for _, kept := range []string{"state", "agent", "project", "sort"} {
		if t.query.Get(kept) != "" || kept == "project" && t.query.Has(kept) {
			query.Set(kept, t.query.Get(kept))
		}
	}
	if query.Set(name, value); value == "" {
		query.Del(name)
	}
	return "./?" + query.Encode()
}

func (t *table) draw() string {
	var nothing Node
	if t.total == 0 {
		nothing = P(Class("bar"), ID("nothing"), Text("There is no such list."), allLists("All lists"))
	}
	page := t.first / tableRows
	return t.page(t.main(t.filters(), nothing,
		If(t.total > 0, Table(Class("table"), ID("table"), Caption(Class("spoken"), Text("Lists")),
			THead(Tr(Map(columns(), t.columnHead), Th(span("spoken", Text("Actions"))))),
			TBody(ID("lines"), Map(t.lines, func(l line) Node { return t.board.line(l.Group) })))),
		If(t.total > tableRows, Nav(Class("pages small"), Aria("label", "Pages"),
			If(page > 0, A(Class("btn"), Href(t.address("page", decimal(page-1))), Text("Previous"))),
			Span(Textf("%d to %d of %d", t.first+1, t.first+len(t.lines), t.total)),
			If(t.first+len(t.lines) < t.total, A(Class("btn"), Href(t.address("page", decimal(page+1))), Text("Next")))))))
}

func (t *table) columnHead(c column) Node {
	next, sorted := c.name, ""
	if c.greatest {
		next = "-" + c.name
	}
	switch t.query.Get("sort") {
	case c.name:
		next, sorted = "-"+c.name, "ascending"
	case "-" + c.name:
		next, sorted = c.name, "descending"
	}
	return Th(Scope("col"), ID("by-"+c.name), Class("c-"+c.name), If(sorted != "", Aria("sort", sorted)),
		A(Href(t.address("sort", next)), Text(c.title)))
}

// filters returns the form in which the lists are chosen. The script sends it by itself.
func (t *table) filters() Node {
	keep := func(name string) Node {
		return If(t.query.Has(name), Input(Type("hidden"), Name(name), Value(t.query.Get(name))))
	}
	choose := func(name, label, all string, values []string, word func(string) string) Node {
		option := func(v string) Node {
			return Option(Value(v), If(v == t.query.Get(name), Selected()), Text(word(v)))
		}
		return Label(span("spoken", Text(label)), Select(Name(name), Option(Value(""), Text(all)), Map(values, option)))
	}
	var states []string
	for _, s := range tableStates {
		states = append(states, string(s))
	}
	return Form(Class("filters"), ID("filters"), Action("./"), Input(Type("hidden"), Name("view"), Value("table")),
		keep("sort"), keep("project"),
		choose("state", "State", "Any state", states, func(s string) string { return stateWord(todo.State(s)) }),
		choose("agent", "Agent", "Any agent", t.agents, strings.Clone),
		If(t.query.Has("project"), A(Class("btn"), Href(t.address("project", "")), bdi(projectName(t.query.Get("project"))),
			span("spoken", Text("every project")), glyph("failed"))),
		NoScript(Button(Class("btn"), Text("Show"))))
}

// line returns a list as the table shows it.
func (d drawing) line(f *account.Group) Node {
	l, progress := lineOf(f, d.now), f.Progress()
	question := asked(f)
	live := l.state == todo.Working || l.state == todo.Waiting
	return Tr(d.standing("line-", f),
		Td(classes{"c-state": true, string(l.state): live}, lampOf(l.state), Text(stateWord(l.state))),
		Th(Scope("row"), A(Href(listHref(f.Main.List.ID)), formatted(titleOf(f.Main))),
			If(question != "", span("asking waiting", formatted(question)))),
		Td(Class("c-agent"), who(agentOf(f.Main))), Td(Class("c-project"), bdi(projectOf(f.Main))),
		Td(Class("c-progress"), span("prog", progressOf(progress, "/"), failedOf(progress))),
		Td(Class("c-changed"), d.ago(f.Updated())), Td(Class("c-time"), Text(spaced(render.Roughly(l.took)))), Td(menuOf()))
}
