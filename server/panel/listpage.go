package panel

import (
	"encoding/json"
	"time"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// addFrame adds what is around the list.
func (page *listPage) addFrame() {
	l, title := page.Main, titleOf(page.Main)
	page.view, page.class, page.seq, page.head = "list", "one", page.Seq(), title
	page.workspace, page.crumbs = &l.List.Workspace, page.path()
	page.list = Group{Data("list", l.List.ID), Data("revision", decimal(page.at.Revision)),
		Data("oldest", decimal(page.oldest))}
	if page.past {
		page.view, page.head = "history", "Revision "+decimal(page.at.Revision)+" · "+title
		page.crumbs = append(page.crumbs, crumb(title, listHref(l.List.ID)))
	}
}

func (page *listPage) main() Node {
	if page.past {
		return page.frame.main(Class("two"), page.history(), page.side())
	}
	return page.frame.main(classes{"two": true, "idle": page.State() == todo.Idle}, page.live(), page.side())
}

func (page *listPage) live() Node {
	l := page.Main
	keys := Raw(`<span><kbd>x</kbd> tick</span><span><kbd>e</kbd> reword</span><span><kbd>b</kbd> block</span>` +
		`<span><kbd>Alt ↑</kbd> <kbd>Alt ↓</kbd> reorder</span><span><kbd>a</kbd> add</span>`)
	return Div(page.heading(),
		Ul(page.listClass(), ID("items"), Aria("label", "Items"),
			Li(Class("completed"), ID("fold"), Data("keep", "own"), Attr("hidden"), // the script shows it
				Button(Type("button"), Class("tick"), ID("unfold"), glyph("right")), span("t")),
			Map(page.items, page.item),
			If(len(l.Items) < todo.MaxItems && !l.List.Mirrored, addItem())),
		page.subs(),
		P(Class("keys small"), Raw(`<span><kbd>j</kbd> <kbd>k</kbd> move</span>`), If(!l.List.Mirrored, keys),
			Raw(`<span><kbd>u</kbd> undo</span><span><kbd>?</kbd> all keys</span>`)))
}

// listClass is what the items' list is: of a long one the page lays out what is seen. It is
// said here, and in no selector that counts, for which a page would count all items
// whenever one comes or goes.
func (page *listPage) listClass() Node {
	return classes{"items": true, "list": true, "rev": page.past, "long": len(page.items) >= longList}
}

// longList is how many items a long list has.
const longList = 200

func addItem() Node {
	return Li(Class("add"), ID("add"), Attr("data-keep"), span("tick", glyph("plus")),
		Form(Input(ID("adding"), MaxLength(decimal(todo.MaxText)), Placeholder("Add an item"),
			Aria("label", "Add an item"), AutoComplete("off"))))
}

// button returns a button with which the script sends an edit.
func button(e todo.Edit, content ...Node) Node {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // an edit has a JSON
	}
	return Button(Type("button"), Data("edit", string(data)), Group(content))
}

// heading returns what is above the items.
func (page *listPage) heading() Node {
	l, progress := page.Main, page.Progress()
	return Div(ID("head"), Data("state", string(page.State())), Data("failed", decimal(progress.Failed)),
		H1(Class("title"), ID("title"), Data("title", titleOf(l)), formatted(titleOf(l))),
		P(Class("by"), page.by(&page.Group), If(l.Archived, Group{span("sep"), Span(Text("Archived"))}),
			If(page.hand.Title != "", span("yours", Textf("you renamed, %s", page.hand.Title)))),
		P(Class("prog"), progressOf(progress, " of "), failedOf(progress)),
		Iff(page.unseen() > 0, page.unseenBar),
		Iff(page.hand.Order == account.Overridden, page.orderBar),
		Map(l.LeftOut(), page.leftOutBar),
		If(l.List.Mirrored, P(Class("bar"), ID("mirrored"),
			Text(agentOf(l).Name+" keeps this list in a todo tool of its own. It can only be changed there."))),
		Iff(page.State() == todo.LeftOpen, page.leftBar), question(&page.Group))
}

// unseenBar says that the agent has not seen what people changed.
func (page *listPage) unseenBar() Node {
	changes, all, when := "change", "", "with its next write"
	if n := page.unseen(); n > 1 {
		changes, all = decimal(n)+" changes", " all"
	}
	if page.States[page.Main.List.ID].State.Rests() {
		when = "when it comes back"
	}
	return Div(Class("bar you"), ID("unseen"), glyph("you"),
		Span(Textf("%s will see your %s %s.", agentOf(page.Main).Name, changes, when)),
		button(todo.Edit{Do: todo.EditUndo, From: page.saw, Seen: page.Main.Revision}, Class("link end"), Text("Undo"+all)))
}

// orderBar says that an agent overrode a person's order of the items.
func (page *listPage) orderBar() Node {
	return Div(Class("bar overridden"), ID("order"), glyph("you"), Span(Text("Your order of the items is overridden.")),
		If(!page.Main.List.Mirrored,
			button(todo.Edit{Do: todo.EditBack}, Class("link end back"), Aria("label", "Bring back your order"), Text("Bring back"))))
}

// leftOutBar says that an agent left out what a person added.
func (page *listPage) leftOutBar(i todo.Item) Node {
	text := render.Safe(todo.Cut(i.Text, maxShown))
	return Div(Class("bar overridden"), ID("out-"+i.ID), glyph("you"), Span(Text("The agent left out what you added: "), formatted(text)),
		button(todo.Edit{Do: todo.EditBack, Item: i.ID}, Class("link end back"), Aria("label", "Bring back: "+text), Text("Bring back")))
}

// leftBar says where the work ended on a list that was left open.
func (page *listPage) leftBar() Node {
	where := Group{Text("Left open. ")}
	if stopped := stoppedAt(page.Main); stopped != "" {
		where = Group{Text("Left open, "), formatted(stopped), Text(". ")}
	}
	command, open := takenUp(&page.Group)
	button := func(what, name string) Node {
		return Button(Class("btn"), Type("button"), Data("do", what), Text(name))
	}
	return P(Class("bar"), Data("command", command), Data("open", open), Data("title", titleOf(page.Main)), ID("left"),
		Span(where, Raw("The prompt <code>resume</code> takes it up.")),
		span("end", If(command != "", button("command", "Copy command")), If(open != "", button("finish", "Done"))))
}

// item returns an item: as it stands, or as a revision of the history compares it.
func (page *listPage) item(v itemView) Node {
	tick, to, say := span("tick", glyph(string(v.Status))), todo.Completed, "Tick"
	if v.Status == todo.Completed {
		to, say = todo.Pending, "Back to do"
	}
	if !v.Fixed {
		tick = Group{span("grip", Aria("hidden", "true"), glyph("grip")),
			button(todo.Edit{Do: todo.EditStatus, Item: v.ID, Status: to}, Class("tick"),
				Aria("label", statusWord(v.Status)+". "+say), glyph(string(v.Status)))}
	}
	said := span("t", v.spoken(), If(v.Was != "", span("was", formatted(v.Was))), v.yours(), v.why(),
		If(v.Beside != "", span("why small", formatted(v.Beside))), If(v.Details != "", span("why small details", formatted(v.Details))))
	class := classes{string(v.Status): true, "gone": v.Gone, "hit": v.Change != ""}
	if page.past {
		return Li(class, ID("i-"+v.ID), tick, said, span("small", Text(v.Change)))
	}
	took := span("took", Text(v.Took))
	if !v.Started.IsZero() {
		took = page.run(v)
	}
	return Li(class, ID("i-"+v.ID), Data("item", v.ID), Data("text", v.Text),
		TabIndex("-1"), tick, said, took, If(!v.Fixed, menuOf()))
}

func (v *itemView) why() Node {
	blocked := v.Status == todo.Blocked
	if blocked && v.Reason == "" {
		return span("why", Text("Blocked"))
	}
	return If(v.Reason != "", Span(classes{"why": true, "small": !blocked}, formatted(v.Reason)))
}

// yours says what a person did to the item, and what became of the person's words.
func (v *itemView) yours() Node {
	const gap = "\u2002"
	words := Group{If(v.Yours != "", span("yours", Text(v.Yours)))}
	switch v.Fate {
	case "":
	case account.Seen:
		words = append(words, Text(gap), span("small seen", Text("your words, seen")))
	case account.Overridden:
		what := "your words"
		if v.Person == account.Deleted {
			what = "you deleted it"
		}
		words = append(words, span("yours "+string(v.Fate), Textf("%s, %s", what, v.Fate)))
	default:
		words = append(words, span("yours "+string(v.Fate), Textf("your words, %s", v.Fate)))
	}
	if v.Person == "" || v.Fixed {
		return words
	}
	return append(words, Text(gap), button(todo.Edit{Do: todo.EditBack, Item: v.ID}, Class("link back small"),
		TitleAttr(v.Person), Aria("label", "Bring back: "+v.Person), Text("Bring back")))
}

func (page *listPage) subs() Node {
	return Section(ID("subs"), If(len(page.Subs) > 0, H2(Class("label"), Text("Sub-agents"))), Map(page.Subs, page.sub))
}

func (page *listPage) sub(s todo.Snapshot) Node {
	state := page.States[s.List.ID].State
	more := max(len(s.Items)-maxSubItems, 0)
	item := func(i todo.Item) Node { return page.cardItem(itemOf(i, state.Rests())) }
	return Details(ID("s-"+s.List.ID), Class("subs wide"), Summary(page.subLine(&page.Group, s)),
		Ul(Class("items"), Map(s.Items[:len(s.Items)-more], item),
			If(more > 0, Li(span("t", Textf("%d more", more))))),
		P(Class("small"), A(Class("link"), Href(listHref(s.List.ID)), Text("Open its list"))))
}

// side returns what stands beside the items.
func (page *listPage) side() Node {
	l, label, head, keys := page.Main, "About this list", "History", Node(nil)
	acts, facts := Group(nil), Node(nil)
	if page.past {
		label, head = "What changed", "What changed"
		if !page.at.Deleted {
			acts = Group{exports(l, "?revision="+decimal(page.at.Revision))}
		}
		keys = Raw(`<p class="keys small"><span><kbd>[</kbd> <kbd>]</kbd> step</span><span><kbd>Home</kbd> ` +
			`<kbd>End</kbd> first, live</span><span><kbd>Esc</kbd> back</span></p>`)
	} else {
		acts, facts = page.acts(), Dl(page.facts())
	}
	return Aside(Class("side"), ID("side"), Aria("label", label), facts, Div(Class("acts"), acts),
		H2(Class("label"), Text(head)), page.log(), keys)
}

func (page *listPage) acts() Group {
	l, do, archive := page.Main, todo.EditArchive, "Archive"
	if l.Archived {
		do, archive = todo.EditUnarchive, "Take out of the archive"
	}
	return Group{Button(Type("button"), Data("do", "rename"), action("pen", "Rename", "r")),
		A(Href(page.revisionHref(l.Revision)), action("clock", "Open history", "h")),
		exports(l, ""),
		button(todo.Edit{Do: do}, action("box", archive, "")),
		button(todo.Edit{Do: todo.EditDelete}, Class("risk"), action("bin", "Delete", ""))}
}

func exports(l todo.Snapshot, query string) Node {
	href := listHref(l.List.ID)
	return Group{A(Href(href+".md"+query), Data("do", "copy"), action("copy", "Copy as markdown", "c")),
		A(Href("api/"+href+query), Download(l.List.ID+".json"), action("save", "Download JSON", ""))}
}

func (page *listPage) facts() (facts Group) {
	l, created := page.Main, page.Main.List.Created
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, Dt(Text(name)), Dd(bdi(text)))
		}
	}
	add("Project", projectOf(l))
	if folder := render.Safe(shortPath(l.List.Workspace)); folder != "" {
		facts = append(facts, Dt(Text("Folder")), Dd(Code(Text(folder))))
	}
	add("Agent", agentOf(l).Name)
	add("Sub-agent", render.Safe(l.List.Agent))
	if !created.IsZero() {
		add("Started", created.In(page.now.Location()).Format("Mon 2 Jan, 15:04"))
		until, done := page.now, l.Progress().Done
		if page.States[l.List.ID].State.Rests() {
			until = l.Updated
		}
		took := until.Sub(created)
		text := spaced(render.Roughly(took))
		if each := took / time.Duration(max(done, 1)); done > 1 && each >= time.Second {
			text += ", " + spaced(render.Roughly(each)) + " an item"
		}
		add("Time", text)
	}
	if page.hand.Order != "" {
		add("Order", "yours, "+string(page.hand.Order))
	}
	return facts
}
