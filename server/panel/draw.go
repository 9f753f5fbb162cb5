package panel

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	. "maragu.dev/gomponents"
	"maragu.dev/gomponents/components"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// classes are the classes of an element that are true.
type classes = components.Classes

// drawing draws lists as of a time.
type drawing struct{ now time.Time }

// drawn returns a part of a page as HTML.
func drawn(n Node) string {
	var b strings.Builder
	_ = Group{n}.Render(&b) // a Builder does not fail
	return b.String()
}

// card returns a list as boards show it where an agent works, with what else is to be said
// of it.
func (d drawing) card(f *account.Group, notes ...Node) Node {
	l, progress := f.Main, f.Progress()
	items, more, moreNarrow := cardItems(f)
	return Article(classes{"card": true, "asks": f.State() == todo.Waiting, "idle": f.State() == todo.Idle},
		d.standing("card-", f),
		H3(A(Href(listHref(l.List.ID)), formatted(titleOf(l)))),
		menuOf(),
		P(Class("by"), d.by(f)),
		question(f),
		Group(notes),
		P(Class("prog"), progressOf(progress, "/"), failedOf(progress)),
		If(len(items) > 0, Ul(Class("items"), Map(items, d.cardItem))),
		If(len(f.Subs) > 0, d.cardSubs(f)),
		P(Class("fold small"),
			If(moreNarrow > 0, span("few", Textf("%d more to do", moreNarrow))),
			If(more > 0, span("lots", Textf("%d more to do", more))),
			If(progress.Done > 0, A(Href(listHref(l.List.ID)), Textf("%d done", progress.Done), glyph("right")))))
}

// question is a bar that says what an agent asks.
func question(f *account.Group) Node {
	text := asked(f)
	return If(text != "", P(Class("bar overridden"), ID("asks-"+f.Main.List.ID), formatted(text)))
}

func (d drawing) cardSubs(f *account.Group) Node {
	shown := min(len(f.Subs), subsOnCard)
	more := len(f.Subs) - shown
	return Ul(Class("subs"), Aria("label", "Sub-agents"),
		Map(f.Subs[:shown], func(s todo.Snapshot) Node { return Li(d.subLine(f, s)) }),
		If(more > 0, Li(Span(), span("small", Textf("%d more", more)))))
}

// subLine returns a sub-agent's list as one line.
func (d drawing) subLine(f *account.Group, s todo.Snapshot) Node {
	ended := map[todo.State]string{todo.Finished: "done", todo.InVain: "failed"}[f.States[s.List.ID].State]
	at := cmp.Or(ended, d.at(&account.Group{Main: s, States: f.States}))
	return Group{glyph("sub"), B(bdi(render.Safe(todo.Cut(s.List.Agent, 60)))), formatted(at, Class("cut")),
		progressOf(s.Progress(), "/")}
}

// at says where the work on a list is, or where it ended; empty when it is finished.
func (d drawing) at(f *account.Group) string {
	if text := asked(f); text != "" {
		return text
	}
	if now := nowOf(f); now != nil {
		return now.Title
	}
	if f.State().Ended() {
		return ""
	}
	return stoppedAt(f.Main)
}

func (d drawing) cardItem(v itemView) Node {
	return Li(classes{string(v.Status): true, "beyond": v.Beyond}, Data("item", v.ID), glyph(string(v.Status)),
		span("t", v.spoken(), If(v.Reason != "", span("why", formatted(v.Reason)))),
		d.run(v), If(v.Took != "", span("took", Text(v.Took))))
}

// spoken returns an item's text, after its status for screen readers.
func (v *itemView) spoken() Node {
	return Group{span("spoken", Text(statusWord(v.Status)+": ")), formatted(v.Title)}
}

// row returns a list as one line, with what matches a search marked: query in the title,
// and in match, which stood last in a revision that is not 0 when it has left the list.
func (d drawing) row(f *account.Group, query, match string, revision int64) Node {
	l, progress := f.Main, f.Progress()
	var at Node
	if text := d.at(f); match != "" {
		at = Group{If(revision > 0, Textf("in revision %d: ", revision)), El("bdi", marked(match, query))}
	} else if text != "" {
		at = formatted(text)
	}
	project := projectOf(l)
	href := listHref(l.List.ID)
	if revision > 0 {
		href += "?revision=" + decimal(revision)
	}
	return Li(d.standing("row-", f), A(Href(href), lampOf(f.State()),
		El("bdi", Class("cut"), B(marked(titleOf(l), query))),
		span("at cut", bdi(project), If(project != "" && at != nil, Text(" · ")), at),
		who(agentOf(l)),
		span("prog", progressOf(progress, "/"), failedOf(progress)),
		d.ago(f.Updated())), menuOf())
}

// lampOf returns the sign of a state.
func lampOf(state todo.State) Node {
	lamp, known := map[todo.State]Node{todo.Working: span("lamp beat"), todo.Waiting: glyphOf("i wait", "blocked"),
		todo.Finished: glyphOf("i ok", "tick"), todo.InVain: glyphOf("i bad", "failed")}[state]
	if !known {
		return span("lamp off")
	}
	return lamp
}

// standing returns the attributes that say to the script how a list stands, and what can
// be done with it.
func (d drawing) standing(prefix string, f *account.Group) Node {
	failed := f.Progress().Failed
	command, open := takenUp(f)
	return Group{ID(prefix + f.Main.List.ID), Data("seq", decimal(f.Seq())), Data("place", placeOf(f, d.now)),
		Data("state", string(f.State())), If(failed > 0, Data("failed", decimal(failed))),
		Data("title", titleOf(f.Main)), If(f.Main.Archived, Attr("data-archived")),
		If(command != "", Data("command", command)), If(open != "", Data("open", open))}
}

// takenUp says how a list that was left open goes on: the command that resumes its chat,
// and the ids of the lists in which everything can be ticked. Both may be empty.
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

var inline = regexp.MustCompile("`([^`]+)`|\\*\\*([^*\\s](?:[^*]*[^*\\s])?)\\*\\*")

// rich returns a text with `code` and **bold** drawn as such: models write them. Nothing
// else of Markdown means anything. card.js does the same.
func rich(text string) (parts Group) {
	at := 0
	for _, m := range inline.FindAllStringSubmatchIndex(text, -1) {
		parts = append(parts, Text(text[at:m[0]]))
		if m[2] >= 0 {
			parts = append(parts, Code(Text(text[m[2]:m[3]])))
		} else {
			parts = append(parts, Strong(Text(text[m[4]:m[5]])))
		}
		at = m[1]
	}
	return append(parts, Text(text[at:]))
}

// formatted returns a rich text whose direction changes nothing around it.
func formatted(text string, attributes ...Node) Node {
	return El("bdi", Group(attributes), rich(text))
}

func marked(text, query string) Node {
	if query == "" {
		return rich(text)
	}
	return Map(render.Parts(text, query), func(p render.Part) Node {
		if p.Hit {
			return Mark(Text(p.Text))
		}
		return Text(p.Text)
	})
}

// by says whose list it is, how it stands, and since when.
func (d drawing) by(f *account.Group) Node {
	return Group{who(agentOf(f.Main)), span("sep"), stateOf(f.State()), span("sep"), d.ago(f.Since())}
}

func who(a render.Agent) Node { return span("who", glyph(a.Glyph), Text(a.Name)) }

func stateOf(state todo.State) Node {
	return Span(classes{"state": true, string(state): state == todo.Working || state == todo.Waiting},
		If(state == todo.Working, I(Class("lamp beat"))), Text(stateWord(state)))
}

func progressOf(p todo.Progress, of string) Node {
	label := fmt.Sprintf("%d of %d done", p.Done, p.Total)
	return Group{
		Progress(Max(decimal(p.Total)), Value(decimal(p.Done)), Aria("label", label)),
		span("n", Textf("%d%s%d", p.Done, of, p.Total)),
	}
}

func failedOf(p todo.Progress) Node {
	return If(p.Failed > 0, span("small bad", Textf("%d failed", p.Failed)))
}

func (d drawing) ago(t time.Time) Node {
	return Time(DateTime(stamp(t)), TitleAttr(d.full(t)), Attr("data-ago"), Text(spaced(render.When(t, d.now))))
}

// run returns how long an item has been in progress, if it is.
func (d drawing) run(v itemView) Node {
	if v.Started.IsZero() {
		return nil
	}
	return Time(Class("run"), DateTime(stamp(v.Started)), Attr("data-run"),
		Text(spaced(render.Took(d.now.Sub(v.Started)))))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (d drawing) clock(t time.Time) string { return t.In(d.now.Location()).Format("15:04:05") }

func (d drawing) full(t time.Time) string {
	return t.In(d.now.Location()).Format("Mon 2 Jan 2006, 15:04:05")
}

// actions returns the button of a menu.
func actions(class string, content ...Node) Node {
	return Button(Type("button"), Class(class), Attr("data-menu"), Group(content))
}

// menuOf returns the button of the menu of an item or a list.
func menuOf() Node { return actions("icon more", Aria("label", "Actions"), glyph("more")) }

func action(icon, name, key string) Node {
	return Group{glyph(icon), Text(name), If(key != "", Kbd(Text(key)))}
}
