package panel

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	g "maragu.dev/gomponents"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

// listPage is the page of one list, as it stands or at one revision of its history.
type listPage struct {
	frame
	account.Group
	drawing
	items   []itemView
	at      todo.Snapshot // the revision that is shown
	changes []revision    // the shown revision and those around it, with their changes, oldest first
	shown   int           // the index of at in changes
	edits   account.Edits
	unseen  int  // how many of a person's edits the agent has not seen
	past    bool // the page shows a revision of the history
	inTurn  bool // the agent's turn runs, so a new item may wait for its end
}

// list serves a list's page; with ?revision=, a page of its history; with .md after the id, the list as markdown.
func (p *Panel) list(w http.ResponseWriter, r *edge.Request) error {
	id, isMarkdown := strings.CutSuffix(r.PathValue("id"), ".md")
	revision, err := r.QueryNumber("revision", 0)
	if err != nil {
		return err
	}
	return answer(w, r, func() (string, error) {
		if isMarkdown {
			l, err := r.Lists.Load(r.Context(), id, revision)
			return render.Markdown(l), err
		}
		f, err := readGroup(r.Context(), r.Lists, id)
		if err != nil {
			return "", err
		}
		page, err := p.pageOf(r.Context(), r.Lists, f, revision)
		if err != nil {
			return "", err
		}
		page.frame.of(r, nil)
		return page.page(page.main()), nil
	})
}

// edit applies an edit. It accepts only strict JSON, which pages of other sites cannot send (BAD-INPUT 83).
func (p *Panel) edit(w http.ResponseWriter, r *edge.Request) error {
	raw, unread := r.ReadJSON(w)
	if unread != nil {
		return unread
	}
	var edit todo.Edit
	if json.Unmarshal(raw, &edit, json.RejectUnknownMembers(true)) != nil {
		return edge.BadRequest("not an edit")
	}
	out, err := r.Lists.Edit(r.Context(), r.PathValue("id"), edit, todo.Writer{Client: "panel", Variant: string(edit.Do)})
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, struct {
		render.ListDocument
		Changed bool `json:"changed"`
	}{render.Document(out.After), out.Changed})
}

// pageOf returns the page of a list as it stands or, if revision is above 0, at that revision of its history. If that
// revision is not kept any more, the page shows the next kept revision.
func (p *Panel) pageOf(ctx context.Context, lists board.Lists, f account.Group, revision int64) (*listPage, error) {
	l := f.Main
	page := &listPage{Group: f, drawing: drawing{now: p.now()}, past: revision > 0}
	saw, err := lists.Saw(ctx, l)
	if err != nil {
		return nil, err
	}
	page.edits = account.EditsOf(saw, l)
	if page.unseen = len(page.edits.Unseen); page.edits.Title == account.Waits {
		page.unseen++
	}
	if page.past {
		page.version = fmt.Sprint(l.Revision)
	} else {
		page.at, revision = l, l.Revision
		if page.inTurn, err = lists.InTurn(ctx, l); err != nil {
			return nil, err
		}
		page.addItems(saw)
	}
	err = page.addHistory(ctx, lists, min(revision, l.Revision))
	page.addFrame()
	return page, err
}

// addItems adds the items as they stand, with a person's edits since saw, the list that the agent saw last.
func (page *listPage) addItems(saw todo.Snapshot) {
	l, state := page.Main, page.States[page.Main.List.ID].State
	page.version = fmt.Sprint(page.Seq(), ".", page.edits.Saw, ".", todo.Digest(fmt.Sprint(page.States, page.inTurn))[:12])
	yours := make(map[string]string)
	for _, d := range todo.Diff(saw, l) {
		yours[d.After.ID] = "you: " + todo.Cut(render.What(d, l), maxShown) + ", " + string(account.Waits)
	}
	for _, i := range l.Items {
		page.items = append(page.items, itemView{Item: i, rests: state.Rests(), yours: yours[i.ID], beside: render.Beside(l, i)})
	}
	for _, i := range l.Later {
		page.items = append(page.items, laterOf(i))
	}
}

const maxSubItems = 50 // how many items of a sub-agent's list the page of its main list shows

// longList is the least number of items at which browsers lay out only the visible items. The page marks a long list
// with a class, since a CSS selector that counts items would count all of them at each change.
const longList = 200

func (page *listPage) addFrame() {
	l, title := page.Main, titleOf(page.Main)
	page.view, page.seq, page.head = "list", page.Seq(), title
	kind := crumb{"Active", "./"}
	switch state := page.State(); {
	case l.Archived:
		kind = crumb{"Archived", "./?show=archived"}
	case state == todo.LeftOpen:
		kind = crumb{"Left open", "./?show=left"}
	case state.Ended():
		kind = crumb{"Past lists", "./?show=past"}
	}
	project, _, href := projectOf(l.List.Workspace)
	page.crumbs = []crumb{kind, {project, href}}
	page.list = Group{Data("list", l.List.ID), Data("revision", fmt.Sprint(page.at.Revision))}
	if page.past {
		page.view, page.head = "history", fmt.Sprintf("Revision %d · %s", page.at.Revision, title)
		page.crumbs = append(page.crumbs, crumb{title, listHref(l.List.ID, 0)})
	}
}

func (page *listPage) main() Node {
	if page.past {
		return page.frame.main(Class("two"), page.history(), page.side())
	}
	return page.frame.main(classes{"two": true, "idle": page.State() == todo.Idle, "in-turn": page.inTurn}, page.live(), page.side())
}

func (page *listPage) live() Node {
	l, progress, state, isOurs := page.Main, page.Progress(), page.State(), !page.Main.List.Mirrored
	keys := Raw(`<span><kbd>x</kbd> tick</span><span><kbd>e</kbd> reword</span><span><kbd>b</kbd> block</span>` +
		`<span><kbd>Alt ↑</kbd> <kbd>Alt ↓</kbd> reorder</span><span><kbd>a</kbd> add</span>`)
	return Div(
		Div(page.standing("head", &page.Group), H1(Class("title"), ID("title"), formatted(titleOf(l))),
			P(Class("by"), page.by(&page.Group), If(l.Archived, Group{span("sep"), Span(Text("Archived"))}),
				If(page.edits.Title != "", span("yours", Textf("you renamed, %s", page.edits.Title)))),
			P(Class("prog"), progressOf(progress, " of ")),
			Iff(page.unseen > 0, page.unseenBar),
			Iff(page.edits.Order == account.Overridden, func() Node {
				return overridden("order", "", " your order", Text("Your order of the items is overridden."), isOurs)
			}),
			g.Map(l.LeftOut(), func(i todo.Item) Node {
				return overridden("out-"+i.ID, i.ID, ": "+short(i.Text), Group{Text("The agent left out what you added: "), formatted(short(i.Text))}, true)
			}),
			If(!isOurs, P(Class("bar"), ID("mirrored"),
				Text(agentOf(l).Name+" keeps this list in its own todo tool. It can only be changed there."))),
			Iff(state == todo.LeftOpen, page.leftBar), question(&page.Group)),
		Ul(classes{"items": true, "list": true, "long": len(page.items) >= longList}, ID("items"), Aria("label", "Items"),
			Li(Class("completed"), ID("fold"), Data("keep", "own"), Attr("hidden"), // the script shows it
				Button(Type("button"), Class("tick"), ID("unfold"), glyph("right")), span("t")),
			g.Map(page.items, page.item),
			If(len(l.Items) < todo.MaxItems && isOurs, Li(Class("add"), ID("add"), Attr("data-keep"), span("tick", glyph("plus")),
				Form(Input(ID("adding"), MaxLength(fmt.Sprint(todo.MaxText)), Placeholder("Add an item"),
					Aria("label", "Add an item"), AutoComplete("off"))),
				Button(Type("button"), Class("after link small"), ID("after"), Aria("pressed", "false"),
					Title("The agent is told when its turn ends (Shift Enter)"), Text("after this turn"))))),
		Section(ID("subs"), If(len(page.Subs) > 0, H2(Class("label"), Text("Sub-agents"))), g.Map(page.Subs, page.sub)),
		P(Class("keys small"), Raw(`<span><kbd>j</kbd> <kbd>k</kbd> move</span>`), If(isOurs, keys),
			Raw(`<span><kbd>u</kbd> undo</span><span><kbd>?</kbd> all keys</span>`)))
}

func (page *listPage) unseenBar() Node {
	changes, all, when := "change", "", "with its next write"
	if page.unseen > 1 {
		changes, all = fmt.Sprint(page.unseen, " changes"), " all"
	}
	if page.States[page.Main.List.ID].State.Rests() {
		when = "when it comes back"
	}
	return Div(Class("bar you"), ID("unseen"), glyph("you"),
		Span(Textf("%s will see your %s %s.", agentOf(page.Main).Name, changes, when)),
		button(todo.Edit{Do: todo.EditUndo, From: page.edits.Saw, Seen: page.Main.Revision}, Class("link end"), Text("Undo"+all)))
}

// overridden draws a bar about an overridden edit of a person: an edit of the item or, if item is empty, of the order.
func overridden(id, item, name string, text Node, mayComeBack bool) Node {
	return Div(Class("bar overridden"), ID(id), glyph("you"), Span(text), If(mayComeBack,
		button(todo.Edit{Do: todo.EditBack, Item: item}, Class("link end back"), Aria("label", "Bring back"+name), Text("Bring back"))))
}

// leftBar draws the bar of a list that was left open: where its work ended, and how to resume it.
func (page *listPage) leftBar() Node {
	where := Group{Text("Left open. ")}
	if at := page.drawing.at(&page.Group); at != "" {
		where = Group{Text("Left open, "), formatted(at), Text(". ")}
	}
	command, open := takenUp(&page.Group)
	button := func(what, name string) Node {
		return Button(Class("btn"), Type("button"), Data("do", what), Text(name))
	}
	return P(Class("bar"), ID("left"), Span(where, Raw("The prompt <code>resume</code> takes it up.")),
		span("end", If(command != "", button("command", "Copy command")), If(open != "", button("finish", "Done"))))
}

// item draws an item as it stands, or with its change in a revision.
func (page *listPage) item(v itemView) Node {
	title, isFixed := render.Safe(v.Title()), page.past || v.later || page.Main.List.Mirrored
	tick, to, say := span("tick", glyph(string(v.Status))), todo.Completed, "Tick"
	if v.Status == todo.Completed {
		to, say = todo.Pending, "Back to do"
	}
	if !isFixed {
		tick = Group{span("grip", Aria("hidden", "true"), glyph("grip")),
			button(todo.Edit{Do: todo.EditStatus, Item: v.ID, Status: to}, Class("tick"),
				Aria("label", statusWords[v.Status]+". "+say), glyph(string(v.Status)))}
	}
	why, isBlocked := Node(nil), v.Status == todo.Blocked
	if v.Reason != "" {
		why = Span(classes{"why": true, "small": !isBlocked}, formatted(render.Safe(v.Reason)))
	} else if isBlocked {
		why = span("why", Text("Blocked"))
	}
	said := Group{Class("t"), span("spoken", Text(statusWords[v.Status]+": ")), formatted(title)}
	if page.past {
		return Li(classes{string(v.Status): true, "gone": v.change == string(todo.Removed), "hit": v.change != ""}, ID("i-"+v.ID), tick,
			Span(said, If(v.was != "", span("was", formatted(render.Safe(v.was)))), why), span("small", Text(v.change)))
	}
	return Li(Class(string(v.Status)), ID("i-"+v.ID), Data("item", v.ID), Data("text", render.Safe(v.Text)), TabIndex("-1"), tick,
		Span(said, page.yours(v), why, If(v.beside != "", span("why small", formatted(v.beside))),
			If(v.Details != "", span("why small details", formatted(render.Safe(v.Details))))),
		page.took(v), If(!isFixed, menu), If(v.later, span("after end",
			button(todo.Edit{Do: todo.EditNow, Item: v.ID}, Class("link small"), Aria("label", "Tell now: "+title), Text("Now")),
			button(todo.Edit{Do: todo.EditRemove, Item: v.ID}, Class("link small"), Aria("label", "Delete: "+title), Text("Delete")))))
}

// yours draws a person's edits of the item, and whether the agent saw or overrode the person's text.
func (page *listPage) yours(v itemView) Node {
	const gap = "\u2002"
	fate, text, what := page.edits.Of(v.ID), render.Safe(page.edits.Overridden[v.ID]), "your words"
	words := Group{If(v.yours != "", span("yours", Text(v.yours)))}
	if fate == account.Seen {
		words = append(words, Text(gap), span("small seen", Text("your words, seen")))
	}
	if fate != account.Overridden {
		return words
	}
	if text == account.Deleted {
		what = "you deleted it"
	}
	words = append(words, span("yours overridden", Text(what+", overridden")))
	if page.Main.List.Mirrored {
		return words
	}
	return append(words, Text(gap), button(todo.Edit{Do: todo.EditBack, Item: v.ID}, Class("link back small"),
		Title(text), Aria("label", "Bring back: "+text), Text("Bring back")))
}

func (page *listPage) sub(s todo.Snapshot) Node {
	state := page.States[s.List.ID].State
	more := max(len(s.Items)-maxSubItems, 0)
	item := func(i todo.Item) Node { return page.cardItem(itemView{Item: i, rests: state.Rests()}) }
	return Details(ID("s-"+s.List.ID), Class("subs wide"), Summary(page.subLine(&page.Group, s)),
		Ul(Class("items"), g.Map(s.Items[:len(s.Items)-more], item), If(more > 0, Li(span("t", Textf("%d more", more))))),
		P(Class("small"), A(Class("link"), Href(listHref(s.List.ID, 0)), Text("Open its list"))))
}

// side draws the column beside the items: facts, actions, and the log of revisions, the newest first.
func (page *listPage) side() Node {
	l, href := page.Main, listHref(page.Main.List.ID, 0)
	label, head, query, keys := "About this list", "History", "", Node(nil)
	do, archive := todo.EditArchive, "Archive"
	if l.Archived {
		do, archive = todo.EditUnarchive, "Take out of the archive"
	}
	if page.past {
		label, head, query = "What changed", "What changed", fmt.Sprint("?revision=", page.at.Revision)
		keys = Raw(`<p class="keys small"><span><kbd>[</kbd> <kbd>]</kbd> step</span><span><kbd>Home</kbd> ` +
			`<kbd>End</kbd> first, live</span><span><kbd>Esc</kbd> back</span></p>`)
	}
	log, end := Group{Class("log")}, min(len(page.changes), max(page.shown+logRows/2+1, logRows))
	for _, r := range slices.Backward(page.changes[max(end-logRows, 0):end]) {
		log = append(log, Li(classes{"you": r.Person, "now": r.N == page.at.Revision},
			A(Href(listHref(l.List.ID, r.N)), If(r.N == page.at.Revision, Aria("current", "true")), Text(r.Words),
				span("small", Span(Text(r.By.Name)),
					Time(DateTime(r.At.UTC().Format(time.RFC3339)), Title(r.At.Format(full)), Text(r.At.Format(clock))),
					Span(Textf("rev. %d", r.N)), If(r.Fate != "", Span(Text(string(r.Fate))))))))
	}
	return Aside(Class("side"), ID("side"), Aria("label", label), Iff(!page.past, page.facts),
		Div(Class("acts"),
			If(!page.past, Group{Button(Type("button"), Data("do", "rename"), action("pen", "Rename", "r")),
				A(Href(listHref(l.List.ID, l.Revision)), action("clock", "Open history", "h"))}),
			If(!page.at.Deleted, Group{A(Href(href+".md"+query), Data("do", "copy"), action("copy", "Copy as markdown", "c")),
				A(Href("api/"+href+query), Download(l.List.ID+".json"), action("save", "Download JSON", ""))}),
			If(!page.past, Group{button(todo.Edit{Do: do}, action("box", archive, "")),
				button(todo.Edit{Do: todo.EditDelete}, Class("risk"), action("bin", "Delete", ""))})),
		H2(Class("label"), Text(head)), Ol(log...), keys)
}

func (page *listPage) facts() Node {
	var facts Group
	l, created := page.Main, page.Main.List.Created
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, Dt(Text(name)), Dd(El("bdi", Text(text))))
		}
	}
	add("Project", render.Safe(l.List.Project()))
	if _, folder, _ := projectOf(l.List.Workspace); folder != "" {
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
	if page.edits.Order != "" {
		add("Order", "yours, "+string(page.edits.Order))
	}
	return Dl(facts)
}

const maxTicks, logRows = 120, 7 // how many revisions the timeline shows, and how many the log beside a list

// revision describes the change that a revision made to its list.
type revision struct {
	N      int64
	Words  string
	Size   int // 1 to 5: how much changed
	By     render.Agent
	Person bool
	At     time.Time
	Fate   account.Fate // whether agents saw or overrode a person's changes; empty if agents are not told of them
}

// revisionOf describes the changes that the revision in at made. The earlier revision is in before, which is zero if
// there is none. If another list replaced this list, by is that other list.
func (page *listPage) revisionOf(before, at, by todo.Snapshot) revision {
	r := revision{N: at.Revision, By: agentOf(at), Person: at.Writer.Person, At: at.Updated.In(page.now.Location())}
	r.By.Name = render.Writer(at.Writer, r.By.Name, "You")
	if r.Person {
		r.By.Glyph = "you"
	}
	if account.Told(before, at) {
		r.Fate = page.edits.OfRevision(r.N)
	}
	changes := render.Besides(before, at, by)
	for _, d := range todo.Diff(before, at) {
		changes = append(changes, render.Change(d, at))
	}
	r.Words = cmp.Or(todo.Cut(strings.Join(changes, ", "), maxShown), "nothing changed")
	r.Size = min(bits.Len(uint(max(len(changes), 1)-1))+1, 5)
	switch before.Revision {
	case 0:
		r.Words = "began with " + render.Count(len(at.Items), "item", "items")
	case at.Revision:
		r.Words = "earlier revisions are not kept"
	}
	return r
}

// addHistory adds the changes of the shown revision and of revisions around it, oldest first. A page of the history
// also gets the items at the shown revision or, if it is not kept any more, at the next kept revision.
func (page *listPage) addHistory(ctx context.Context, lists board.Lists, shown int64) error {
	n, newest := int64(logRows), page.Main.Revision
	if page.past {
		n = maxTicks
	}
	last := min(newest, max(shown+n/2, n))
	first := max(1, last-n+1)
	var before todo.Snapshot
	for at, err := range lists.Revisions(ctx, page.Main.List.ID, max(first-2, 0)) {
		if err != nil {
			return err
		}
		if before.Revision == 0 && at.Revision > 1 {
			before = at // so that revisionOf says "earlier revisions are not kept"
			last = min(newest, max(last, at.Revision+n-1))
		}
		if at.Revision >= first {
			var by todo.Snapshot
			if at.ReplacedBy != "" && before.ReplacedBy != at.ReplacedBy {
				by, _ = lists.Load(ctx, at.ReplacedBy, 0) // if this fails, the list is named by its id
			}
			page.changes = append(page.changes, page.revisionOf(before, at, by))
		}
		if page.at.Revision == 0 && at.Revision >= shown {
			page.compare(before, at)
		}
		if at.Revision == page.at.Revision {
			page.shown = len(page.changes) - 1
		}
		if before = at; at.Revision >= last {
			return nil
		}
	}
	return board.ErrNotFound // deleted meanwhile
}

// compare adds the items of the later revision with changes since the earlier one. Removed items keep their places.
func (page *listPage) compare(before, at todo.Snapshot) {
	page.at = at
	changed := make(map[string]todo.Difference)
	for _, d := range todo.Diff(before, at) {
		changed[cmp.Or(d.After.ID, d.Before.ID)] = d
	}
	for _, i := range todo.WithMissing(at.Items, before.Items, func(todo.Item) bool { return true }) {
		v := itemView{Item: i}
		if d, isChanged := changed[i.ID]; isChanged {
			v.change = todo.Cut(render.What(d, at), maxShown)
			if d.Kind == todo.Changed && d.Before.Text != d.After.Text {
				v.was = d.Before.Text
			}
		}
		page.items = append(page.items, v)
	}
}

// history draws the list at a revision, below the timeline of the revisions around it.
func (page *listPage) history() Node {
	at, shown, ticks := page.at, page.changes[page.shown], page.changes
	isNewest := at.Revision == page.Main.Revision
	where := fmt.Sprintf("Revision %d of %d", at.Revision, page.Main.Revision)
	text, back := "An old revision. Items cannot be changed here.", "Back to live"
	if isNewest {
		text, back = "The newest revision.", "Back to the list"
	}
	step := func(id, icon, label string, revision int64, isKept bool) Node {
		if !isKept {
			return span("icon", glyph(icon))
		}
		return A(Class("icon"), ID(id), Href(listHref(at.List.ID, revision)), Aria("label", label), glyph(icon))
	}
	tick := func(r revision) Node {
		return Li(A(Href(listHref(at.List.ID, r.N)), If(r.N == at.Revision, Aria("current", "true")),
			classes{fmt.Sprint("s", r.Size): true, "you": r.Person}, Title(r.By.Name+", "+r.At.Format(clock)+": "+r.Words),
			Aria("label", fmt.Sprintf("Revision %d, %s, %s", r.N, r.By.Name, r.Words))))
	}
	return Div(H1(Class("title"), formatted(titleOf(page.Main))),
		P(Class("by"), who(shown.By), span("sep"), Span(ID("where"), Text(where)), span("sep"),
			Time(DateTime(shown.At.UTC().Format(time.RFC3339)), Text(shown.At.Format(full))),
			If(shown.Fate != "", Span(classes{"small": shown.Fate == account.Seen, "yours": shown.Fate != account.Seen,
				string(shown.Fate): shown.Fate != account.Seen}, Text(string(shown.Fate))))),
		Section(Class("line"), Aria("label", "History"),
			Header(step("prev", "left", "Earlier revision", at.Revision-1, page.shown > 0), B(Text(where)),
				step("next", "right", "Later revision", at.Revision+1, !isNewest),
				span("small end path", Text("height: how much changed"))),
			Ol(Class("ticks"), ID("ticks"), g.Map(ticks, tick)),
			P(Class("ends small"), Time(Text(ticks[0].At.Format(clock))), I(Class("sw")), Text(agentOf(page.Main).Name),
				I(Class("sw you")), Text("You"), Time(Text(ticks[len(ticks)-1].At.Format(clock))))),
		Div(Class("bar"), ID("old"), glyph("clock"), Span(Text(text)), span("end",
			A(Class("btn"), Href(listHref(at.List.ID, 0)), ID("live"), Text(back)),
			If(!isNewest && !page.Main.List.Mirrored && !at.Deleted,
				button(todo.Edit{Do: todo.EditRestore, Revision: at.Revision}, Class("btn main"), ID("restore"), Text("Restore"))))),
		Ul(classes{"items": true, "list": true, "rev": true, "long": len(page.items) >= longList}, ID("items"),
			Aria("label", fmt.Sprint("Items in revision ", at.Revision)), g.Map(page.items, page.item)),
		If(len(page.items) == 0, P(Class("small"), Text("The list is empty."))))
}
