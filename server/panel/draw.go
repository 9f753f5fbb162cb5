package panel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/components"
	h "maragu.dev/gomponents/html"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

type classes = components.Classes

// drawing draws lists as of a time.
type drawing struct {
	now   time.Time
	apart map[string]string // start times by list id, see [render.Apart]; nil if only one list was read
}

func drawn(n Node) string {
	var b strings.Builder
	_ = Group{n}.Render(&b) // a Builder returns no error
	return b.String()
}

// card draws an active list as a card of a board, with notes on the card.
func (d drawing) card(f *account.Group, notes ...Node) Node {
	l, progress := f.Main, f.Progress()
	items, more := cardItems(f)
	shown := min(len(f.Subs), subsOnCard)
	return Article(classes{"card": true, "asks": f.State() == todo.Waiting, "idle": f.State() == todo.Idle},
		d.standing("card-"+l.List.ID, f), H3(A(Href(hrefOf(l, 0)), formatted(titleOf(l)))), If(!l.IsChat(), menu),
		P(Class("by"), d.by(f), d.apartFrom(l)), question(f), Group(notes),
		If(!l.IsChat(), P(Class("prog"), progressOf(progress, "/"))),
		If(len(items) > 0, Ul(Class("items"), g.Map(items, d.cardItem))),
		If(len(f.Subs) > 0, Ul(Class("subs"), Aria("label", "Sub-agents"),
			g.Map(f.Subs[:shown], func(s todo.Snapshot) Node { return Li(d.subLine(f, s)) }),
			If(len(f.Subs) > shown, Li(Span(), span("small", Textf("%d more", len(f.Subs)-shown)))))),
		P(Class("fold small"),
			If(more > 0, Span(Textf("%d more to do", more))),
			If(progress.Done > 0, A(Href(listHref(l.List.ID, 0)), Textf("%d done", progress.Done), glyph("right")))))
}

// apartFrom draws a list's start time, if d.apart has one. If d.apart is nil, the script keeps the time already shown.
func (d drawing) apartFrom(l todo.Snapshot) Node {
	return Span(ID("apart-"+l.List.ID), Class("small"), If(d.apart == nil, Attr("data-keep")), Text(strings.TrimRight(" "+d.apart[l.List.ID], " ")))
}

func question(f *account.Group) Node {
	text := asked(f)
	return If(text != "", P(Class("bar overridden"), ID("asks-"+f.Main.List.ID), formatted(text)))
}

func (d drawing) subLine(f *account.Group, s todo.Snapshot) Node {
	progress, at := s.Progress(), d.at(&account.Group{Main: s, States: f.States})
	if f.States[s.List.ID].State == todo.Finished {
		at = "done"
	}
	// Failed items are shown here, since the card's progress may leave sub-agents out.
	failed := If(progress.Failed > 0, Group{span("bad", Textf("%d failed", progress.Failed)), If(at != "", Text(" · "))})
	progress.Failed = 0
	agent := El("bdi", Text(render.Safe(todo.Cut(s.List.Agent, 60))))
	return Group{glyph("sub"), B(agent), span("cut", failed, formatted(at)), progressOf(progress, "/")}
}

// at returns the agent's question or, without one, the list's current item; empty if no item is open.
func (d drawing) at(f *account.Group) string {
	if text := asked(f); text != "" {
		return text
	}
	switch item, isOpen := f.Main.At(); {
	case !isOpen:
		return ""
	case item.Status == todo.Pending:
		return "next: " + short(item.Text)
	case f.States[f.Main.List.ID].State.Rests():
		return "stopped at: " + short(item.Text)
	default:
		return short(item.Title())
	}
}

func (d drawing) cardItem(v itemView) Node {
	return Li(Class(string(v.Status)), Data("item", v.ID), glyph(string(v.Status)),
		span("t", span("spoken", Text(statusWords[v.Status]+": ")), formatted(short(v.Title())),
			If(v.yours != "", span("yours", Text(v.yours))), If(v.Reason != "", span("why", formatted(short(v.Reason)))),
			If(v.beside != "", span("why small", formatted(v.beside)))), d.took(v))
}

// row draws a list as a line with query marked in the title and in match, a text of the given revision (0: newest).
func (d drawing) row(f *account.Group, query, match string, revision int64) Node {
	l, progress := f.Main, f.Progress()
	var at Node
	if text := d.at(f); match != "" {
		at = Group{If(revision > 0, Textf("in revision %d: ", revision)), El("bdi", rich(match, query))}
	} else if text != "" {
		at = formatted(text)
	}
	project := render.Safe(l.List.Place())
	return Li(d.standing("row-"+l.List.ID, f), A(Href(hrefOf(l, revision)), lamps[f.State()],
		span("name", El("bdi", Class("cut"), B(rich(titleOf(l), query))), d.apartFrom(l)),
		span("at cut", El("bdi", Text(project)), If(project != "" && at != nil, Text(" · ")), at),
		who(agentOf(l)), If(!l.IsChat(), span("prog", progressOf(progress, "/"))), d.ago(f.Updated())), If(!l.IsChat(), menu))
}

// hrefOf returns the address of a list's page. For a chat without a list, it returns the address of its project.
func hrefOf(l todo.Snapshot, revision int64) string {
	if l.IsChat() {
		_, _, href := projectOf(l.List.Workspace)
		return href
	}
	return listHref(l.List.ID, revision)
}

var lamps = map[todo.State]Node{todo.Working: span("lamp beat"), todo.Waiting: glyph("blocked", "wait"),
	todo.Finished: glyph("tick", "ok"), todo.InVain: glyph("failed", "bad"),
	todo.Idle: span("lamp off"), todo.LeftOpen: span("lamp off"), todo.Away: span("lamp off")}

// standing returns an element's attributes: its id, the list's state, and data for the script's actions on the list.
func (d drawing) standing(id string, f *account.Group) Node {
	failed := f.Progress().Failed
	command, open := takenUp(f)
	return Group{ID(id), Data("seq", fmt.Sprint(f.Seq())), Data("place", placeOf(f, d.now)),
		Data("state", string(f.State())), If(failed > 0, Data("failed", fmt.Sprint(failed))),
		Data("title", titleOf(f.Main)), If(f.Main.Archived, Attr("data-archived")),
		If(command != "", Data("command", command)), If(open != "", Data("open", open))}
}

// takenUp returns, for a group that was left open, the command that resumes its chat and the ids of its open lists that
// a person can finish on the panel. Either may be empty. For other groups, both are empty.
func takenUp(f *account.Group) (command, open string) {
	if f.State() != todo.LeftOpen {
		return "", ""
	}
	var ids []string
	for _, l := range f.Lists() {
		if l.Open() && !l.List.Mirrored {
			ids = append(ids, l.List.ID)
		}
	}
	return render.ResumeCommand(f.Main), strings.Join(ids, " ")
}

// inline matches `code` and **bold** as models write them; card.js matches the same.
var inline = regexp.MustCompile("`([^`]+)`|\\*\\*([^*\\s](?:[^*]*[^*\\s])?)\\*\\*")

// rich draws a text with query marked. If query is empty, it draws the text's `code` and **bold** instead.
func rich(text, query string) (parts Group) {
	pattern, elements := inline, []func(...Node) Node{Code, Strong} // an element for each capture group of pattern
	if query != "" {
		pattern, elements = regexp.MustCompile("(?i)("+regexp.QuoteMeta(render.Safe(query))+")"), []func(...Node) Node{Mark}
	}
	end := 0
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		parts = append(parts, Text(text[end:m[0]]))
		for n, element := range elements {
			if from, to := m[2*n+2], m[2*n+3]; from >= 0 {
				parts = append(parts, element(Text(text[from:to])))
			}
		}
		end = m[1]
	}
	return append(parts, Text(text[end:]))
}

// formatted draws a text as [rich] does, in a bdi element, which isolates its direction.
func formatted(text string, attributes ...Node) Node {
	return El("bdi", Group(attributes), rich(text, ""))
}

func (d drawing) by(f *account.Group) Node {
	state := f.State()
	word := stateWords[state]
	if _, _, asks := f.Asks(); asks {
		word = "Asked" // not "Waiting": some hosts do not report that the question was answered
	}
	branch := render.Safe(todo.Cut(f.Main.List.OffMain(), 40))
	class := classes{"state": true, string(state): state == todo.Working || state == todo.Waiting}
	return Group{who(agentOf(f.Main)), If(branch != "", Group{span("sep"), El("bdi", Class("cut"), Text(branch))}), span("sep"),
		Span(class, If(state == todo.Working, I(Class("lamp beat"))), Text(word)), span("sep"), d.ago(f.Since())}
}

func who(a render.Agent) Node { return span("who", glyph(a.Glyph), Text(a.Name)) }

func progressOf(p todo.Progress, of string) Node {
	label := fmt.Sprintf("%d of %d done", p.Done, p.Total)
	return Group{Progress(Max(fmt.Sprint(p.Total)), Value(fmt.Sprint(p.Done)), Aria("label", label)),
		span("n", Textf("%d%s%d", p.Done, of, p.Total)), If(p.Failed > 0, span("small bad", Textf("%d failed", p.Failed)))}
}

const clock, full = "15:04:05", "Mon 2 Jan 2006, 15:04:05" // the formats of a revision's time

func (d drawing) ago(t time.Time) Node {
	full := t.In(d.now.Location()).Format(full)
	return Time(DateTime(t.UTC().Format(time.RFC3339)), Title(full), Attr("data-ago"), Text(spaced(render.When(t, d.now))))
}

// took draws how long an item has been, or was, in progress; an empty element if that is not known.
func (d drawing) took(v itemView) Node {
	switch {
	case v.Started.IsZero():
	case v.Status == todo.InProgress && !v.rests:
		return Time(Class("run"), DateTime(v.Started.UTC().Format(time.RFC3339)), Attr("data-run"), Text(spaced(render.Took(d.now.Sub(v.Started)))))
	case !v.Ended.IsZero():
		return span("took", Text(spaced(render.Took(v.Ended.Sub(v.Started)))))
	}
	return span("took")
}

// button draws a button; when a person clicks it, the script sends the edit.
func button(e todo.Edit, content ...Node) Node {
	data, _ := json.Marshal(e) // an edit can always be encoded
	return Button(Type("button"), Data("edit", string(data)), Group(content))
}

var menu = Button(Type("button"), Class("icon more"), Attr("data-menu"), Aria("label", "Actions"), glyph("more"))

func action(icon, name, key string) Node {
	return Group{glyph(icon), Text(name), If(key != "", Kbd(Text(key)))}
}

// The elements and attributes of gomponents. The functions are variables so that the compiler does not inline
// them: inlined functions would make the program a megabyte larger.
type (
	Node  = g.Node
	Group = g.Group
)

var (
	Text, Textf, Raw  = g.Text, g.Textf, g.Raw
	El, Attr, If, Iff = g.El, g.Attr, g.If, g.Iff

	A, Article, Aside, B, Button, Code, Dd  = h.A, h.Article, h.Aside, h.B, h.Button, h.Code, h.Dd
	Details, Div, Dl, Dt, Form, H1, H2, H3  = h.Details, h.Div, h.Dl, h.Dt, h.Form, h.H1, h.H2, h.H3
	Header, I, Input, Kbd, Label, Li, Main  = h.Header, h.I, h.Input, h.Kbd, h.Label, h.Li, h.Main
	Mark, Nav, NoScript, Ol, P, Progress    = h.Mark, h.Nav, h.NoScript, h.Ol, h.P, h.Progress
	Section, Span, Strong, Summary, SVG     = h.Section, h.Span, h.Strong, h.Summary, h.SVG
	Time, Ul                                = h.Time, h.Ul
	Action, Aria, AutoComplete, Class       = h.Action, h.Aria, h.AutoComplete, h.Class
	Content, Data, DateTime, Download, Href = h.Content, h.Data, h.DateTime, h.Download, h.Href
	ID, Max, MaxLength, Method, Name        = h.ID, h.Max, h.MaxLength, h.Method, h.Name
	Placeholder, Role, TabIndex, Title      = h.Placeholder, h.Role, h.TabIndex, h.Title
	Type, Value                             = h.Type, h.Value
)

const (
	maxRead       = 2000 // how many lists the board reads, the last changed first
	maxShown      = 300  // how many characters of a text a card or row shows
	openOnCard    = 4    // how many pending items a card shows
	troubleOnCard = 3    // how many a card shows of each: failed or blocked, further in-progress, later items
	subsOnCard    = 3    // how many sub-agents a card shows
)

// readGroup reads a main list, or a chat that has no list, with its sub-agents' lists, and the states of all these.
func readGroup(ctx context.Context, lists board.Lists, id string) (account.Group, error) {
	main, err := lists.Load(ctx, id, 0)
	if errors.Is(err, board.ErrNotFound) && todo.IsChatID(id) {
		main, err = lists.ChatAsList(ctx, id)
	}
	if err != nil {
		return account.Group{}, err
	}
	subs, states, err := lists.Together(ctx, main)
	return account.Of(main, subs, states), err
}

// placeOf returns a digest of the facts that decide a group's place on the board. When it changes, the group moves.
func placeOf(f *account.Group, now time.Time) string {
	state := f.State()
	today := state.Ended() && !f.Updated().Before(todo.Midnight(now))
	return todo.Digest(fmt.Sprint(state, f.Main.Archived, today, f.Main.List.Workspace))[:12]
}

// itemView is an item with the texts that are drawn beside it.
type itemView struct {
	todo.Item
	rests       bool   // the item's time does not run, as when no agent works on the list
	later       bool   // the item waits for the end of the turn
	beside      string // its priority, due date, owner and the items that it waits for, safe to show
	yours       string // a person's edits that the agent has not seen
	change, was string // the item's change in a revision, and its text before the change
}

// short returns the beginning of a text, safe to show on a card or row.
func short(text string) string { return render.Safe(todo.Cut(text, maxShown)) }

func titleOf(l todo.Snapshot) string { return short(l.Title()) }

func agentOf(l todo.Snapshot) render.Agent { return render.AgentOf(account.Client(l)) }

// asked returns the question that an agent of the group asks; empty if none asks.
func asked(f *account.Group) string {
	l, asks, ok := f.Asks()
	if !ok {
		return ""
	}
	return agentOf(l).Name + " asks: " + render.Safe(asks)
}

func laterOf(i todo.Item) itemView {
	return itemView{Item: i, rests: true, later: true, yours: "after this turn"}
}

// cardItems returns the items on a list's card in this order: in progress; failed or blocked; ready; waiting for other
// items; waiting for the end of the turn. more is how many open items it leaves out.
func cardItems(f *account.Group) (items []itemView, more int) {
	at, _ := f.Main.At()
	rests := f.States[f.Main.List.ID].State.Rests()
	var now, also, trouble, next, waits, later []itemView
	waiting := todo.OpenWaits(f.Main.Items)
	for _, i := range f.Main.Items {
		part, most := &next, openOnCard
		switch {
		case i.ID == at.ID && i.Status != todo.Pending && !rests:
			part = &now
		case i.Status == todo.InProgress:
			part, most = &also, troubleOnCard
		case i.Status == todo.Failed, i.Status == todo.Blocked:
			part, most = &trouble, troubleOnCard
		case i.Status.Settled():
			continue
		case len(waiting(i)) > 0:
			part = &waits
		}
		if len(*part) < most {
			*part = append(*part, itemView{Item: i, rests: rests, beside: todo.Cut(render.Beside(f.Main, i), maxShown)})
		} else if !i.Status.Settled() {
			more++
		}
	}
	kept := min(len(waits), openOnCard-len(next))
	more += len(waits) - kept
	for _, i := range f.Main.Later[:min(len(f.Main.Later), troubleOnCard)] {
		later = append(later, laterOf(i))
	}
	return slices.Concat(now, also, trouble, next, waits[:kept], later), more + len(f.Main.Later) - len(later)
}

var unit = regexp.MustCompile(`(\d)([smhd])\b`)

// spaced puts a narrow no-break space before each unit of a duration, as panel.js does.
func spaced(text string) string { return unit.ReplaceAllString(text, "$1\u202f$2") }

func dayOf(t, now time.Time) string {
	t = t.In(now.Location())
	switch days := render.DaysAgo(t, now); {
	case days <= 0:
		return "Today"
	case days == 1:
		return "Yesterday"
	case t.Year() == now.Year():
		return t.Format("Monday, 2 January")
	}
	return t.Format("Monday, 2 January 2006")
}

var homeFolder = regexp.MustCompile(`^(/home/[^/]+|/Users/[^/]+|/root)(/|$)`)

// projectOf returns the name of a folder's project, the folder's path to show, and the address of the project's page.
func projectOf(folder string) (name, path, href string) {
	name = cmp.Or(render.Safe((todo.List{Workspace: folder}).Project()), "No folder")
	return name, render.Safe(homeFolder.ReplaceAllString(folder, "~$2")), "./?project=" + url.QueryEscape(folder)
}

var (
	// statusWords are read by screen readers before an item's text.
	statusWords = map[todo.Status]string{todo.Pending: "To do", todo.InProgress: "In progress", todo.Completed: "Done",
		todo.Failed: "Failed", todo.Cancelled: "Cancelled", todo.Blocked: "Blocked"}
	stateWords = map[todo.State]string{todo.Working: "Working", todo.Idle: "Idle", todo.Waiting: "Waiting for you",
		todo.LeftOpen: "Left open", todo.Away: "Archived", todo.Finished: "Finished", todo.InVain: "Failed"}
)

func count(n int, noun string) string { return render.Count(n, noun, noun+"s") }
