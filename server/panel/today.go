package panel

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

const maxDayItems = 12 // how many items of a list the page of a day shows

type dayPage struct {
	frame
	drawing
	day account.Day
}

// today serves the page of the day in ?day=2006-01-02, by default of today. At today.md, it serves markdown.
func (p *Panel) today(w http.ResponseWriter, r *edge.Request) error {
	return answer(w, r, func() (string, error) {
		now := p.now()
		at, err := account.ParseDay(r.URL.Query().Get("day"), now)
		if err != nil {
			return "", edge.BadRequest("%s", err)
		}
		day, err := account.DayOf(r.Context(), r.Lists.During, at, at, now)
		if err != nil || strings.HasSuffix(r.URL.Path, ".md") {
			return render.DayMarkdown(day), err
		}
		s, err := p.readBoard(r.Context(), r)
		if err != nil {
			return "", err
		}
		page := dayPage{frame{view: "day"}, s.drawing, day}
		page.frame.of(r, &s)
		page.head = dayOf(day.From, s.now)
		if page.isToday() {
			page.view, page.version = "today", s.version
		}
		return page.draw(), nil
	})
}

func (page *dayPage) isToday() bool { return page.day.Date == page.now.Format(time.DateOnly) }

func (page *dayPage) draw() string {
	noon := page.day.From.Add(12 * time.Hour)
	at := func(days int) string { return "today?day=" + noon.AddDate(0, 0, days).Format(time.DateOnly) }
	return page.page(page.main(
		Form(Class("filters"), ID("filters"), Action("today"),
			A(Class("icon"), Href(at(-1)), Aria("label", "The day before"), glyph("left")),
			Label(span("spoken", Text("Day")), Input(Type("date"), Name("day"), Value(page.day.Date), Max(page.now.Format(time.DateOnly)))),
			If(!page.isToday(), A(Class("icon"), Href(at(1)), Aria("label", "The day after"), glyph("right"))),
			NoScript(Button(Class("btn"), Text("Show"))),
			span("end", A(Class("btn"), Href("today.md?day="+page.day.Date), Data("do", "copy"), action("copy", "Copy as markdown", "")))),
		Div(ID("day"), P(Class("tally"), tally(page.day.Tally)),
			If(len(page.day.Projects) == 0, P(Class("bar"), ID("nothing"), Text("Nothing was done on this day."))),
			g.Map(page.day.Projects, page.project),
			If(page.day.More, P(Class("bar"), Text("There was more on this day than is shown here."))))))
}

// tally draws a day's numbers, such as lists and completed items, without those that are 0.
func tally(t account.Tally) Node {
	number := func(n int, class, one, many string) Node {
		_, word, _ := strings.Cut(render.Count(n, one, many), " ")
		return If(n > 0, Span(Class(class), B(Text(fmt.Sprint(n))), Text(" "+word)))
	}
	return Group{number(t.Lists, "", "list", "lists"), number(t.Completed, "", "done", "done"), number(t.Failed, "bad", "failed", "failed"),
		number(t.Waiting, "waiting", "waits", "wait"), number(t.Open, "", "open", "open"),
		If(t.Worked > 0, Span(B(Text(spaced(render.Took(t.Took())))), Text(" worked")))}
}

func (page *dayPage) project(p account.DayProject) Node {
	name, path, href := projectOf(p.Folder)
	return Section(Class("group"), ID("p-"+todo.Digest(p.Folder)[:12]),
		Header(H2(A(Href(href), El("bdi", Text(name)))), span("path cut", Text(path)), span("n tally", tally(p.Tally))),
		Ul(Class("rows days"), g.Map(p.Lists, page.list)))
}

func (page *dayPage) list(l account.DayList) Node {
	items := slices.Concat(l.FailedItems, l.WaitingItems, l.CompletedItems, l.OpenItems)
	shown := min(len(items), maxDayItems)
	agent, sub := render.AgentOf(l.Client), Group(nil)
	if l.Agent != "" {
		sub = Group{El("bdi", Text(render.Safe(todo.Cut(l.Agent, 60)))), Text(": ")}
	}
	href := listHref(l.ID, 0)
	if todo.IsChatID(l.ID) { // a chat without a list
		href = "./"
	}
	return Li(ID("day-"+l.ID),
		Div(Class("by"), lamps[l.State],
			H3(A(Href(href), sub, formatted(short(l.Title)), If(l.Apart != "", span("small", Text(" "+render.Safe(l.Apart)))))),
			who(agent), span("sep"), Span(Class("state "+string(l.State)), Text(stateWords[l.State])),
			If(l.Worked > 0, Group{span("sep"), Span(Text(spaced(render.Took(l.Took()))))})),
		If(l.Asks != "", P(Class("bar overridden"), formatted(agent.Name+" asks: "+render.Safe(l.Asks)))),
		Ul(Class("items"), g.Map(items[:shown], func(i todo.Item) Node { return page.cardItem(itemView{Item: i, rests: true}) })),
		If(len(items) > shown, P(Class("small"), Textf("%d more", len(items)-shown))))
}
