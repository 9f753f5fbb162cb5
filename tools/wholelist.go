package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// wholeList describes a tool whose arguments have the whole list.
type wholeList struct {
	view todo.View // has the tool's words for statuses
	// list is the key of the list, text the key of an item's text, and active the key of its active text, if any.
	list, text, active string
	// reads are the other optional keys that the tool reads: "blockedBy", "owner", "priority", "due_date" and "reason"
	// of an item, "explanation" of the call.
	reads []string
	// With byIDs, a call in which each item has a stored item's id changes only these items. With byMerge, so does a
	// call with "merge": true, or without "merge" if an item lacks its text or status.
	byIDs, byMerge bool
	policy         Policy
	// maxItems and maxText (runes) are the tool's own limits; 0 means only the hard caps.
	maxItems, maxText int

	mayLackList  bool // a call without the list reads it
	needsActive  bool // an item without its active text is refused
	takesAnyWord bool // a status may be another tool's word
	takesTexts   bool // an item is a text, or an object with a text and perhaps a status
	mirrors      bool // the list copies a host's list, so unknown ids in blockedBy are not refused
	// accepted returns the answer to a successful write; nil means an answer with the counts of items.
	accepted   func(w *prompts.Words) string
	saysReady  bool // if items wait for others, answers with counts also name ready items
	listsItems bool // answers with counts also have the items with their ids
}

// tool returns the tool; input is the struct of its arguments.
func (l wholeList) tool(input any) variant {
	asText := func(w *prompts.Words, s todo.Snapshot) string {
		return listing(l.view, s, w.List, w.ListEmpty, func(line todo.Line, _ todo.Item) string { return "- [" + line.Status + "] " + line.Text })
	}
	return variant{view: l.view, bare: l.list, input: input, read: l.read, list: asText}
}

// updated returns the answer to a write.
func (l wholeList) updated(w *prompts.Words, s todo.Snapshot) string {
	if l.accepted != nil {
		return l.accepted(w)
	}
	said := w.ListUpdated + ": " + countsText(l.view, s)
	if l.saysReady && slices.ContainsFunc(s.Items, func(i todo.Item) bool { return i.WaitsFor != "" }) {
		if ready := readyItems(s.Items, func(todo.Item) bool { return true }); len(ready) > 0 {
			said += fmt.Sprintf(w.Ready, strings.Join(l.view.IDs(ready[:min(len(ready), maxReady)]), ", "))
		}
	}
	if l.listsItems {
		return listing(l.view, s, said, said, func(line todo.Line, item todo.Item) string {
			return fmt.Sprintf("  [%s] #%s %s", line.Status, item.ID, item.Text)
		})
	}
	return said
}

// planTitle is the argument of whole-list tools that names a new plan.
type planTitle struct {
	Title string `json:"title,omitempty" jsonschema:"description=Of a new plan"`
}

// threeWords returns the view of a tool with three statuses.
func threeWords(pending, inProgress, completed string) todo.View {
	return todo.NewView(map[todo.Status]string{todo.Pending: pending, todo.InProgress: inProgress, todo.Completed: completed})
}

// usual returns the view with the three statuses that most models know.
func usual() todo.View { return threeWords("pending", "in_progress", "completed") }

// withCancelled adds the status cancelled to a view, which then shows failed items as cancelled, too.
func withCancelled(v todo.View) todo.View {
	v.Words[todo.Cancelled], v.Words[todo.Failed] = "cancelled", "cancelled"
	return v
}

// withIDs makes a view whose callers choose the items' ids.
func withIDs(v todo.View) todo.View { v.Keys = true; return v }

func withActive(v todo.View) todo.View { v.Active = true; return v }

func (l wholeList) read(r *reader, args value) *Call {
	if operation := args.optional("operation"); l.mayLackList && !operation.missing() {
		words := []string{"write", "read"}
		if r.word(operation, "operation", words, words) == "read" {
			return &Call{} // even with a list: some models fill every field
		}
	}
	elements, isText, ok := r.list(args, l)
	if !ok {
		return &Call{}
	}
	if isText {
		l.needsActive, l.takesAnyWord = false, true
	}
	merge := l.byMerge && l.isMerge(args, elements)
	lines, explanation := r.lines(elements, l, merge), ""
	if slices.Contains(l.reads, "explanation") {
		explanation = r.detail(args, "", todo.MaxText, "explanation")
	}
	target, title := board.Target{Lines: lines}, ""
	if merge {
		target = board.Target{Append: true}
	}
	if v := args.get("title"); v.kind == '"' && v.surrogate == 0 {
		title = todo.OneLine(v.text, todo.MaxTitle)
	}
	answer := func(o board.Outcome) string { return l.updated(r.words(), o.After) }
	return &Call{Target: target, Title: title, answer: answer, Change: func(d *todo.Draft) error {
		if err := r.check(d, l, lines, merge); err != nil {
			return err
		}
		var unknown []string
		if merge || l.byIDs && len(lines) > 0 && lines[0].ID != "" && d.Names(l.view, lines) {
			unknown = d.Put(l.view, lines...)
			noteEarly(d, r.words())
		} else {
			unknown = d.Replace(l.view, lines)
		}
		if len(unknown) > 0 && !l.mirrors {
			return refuse(r.words().UnknownID, unquotedExcerpt(unknown[0]))
		}
		if explanation != "" {
			d.Explain(explanation)
		}
		return oneInProgress(d, l, r.words())
	}}
}

// isMerge reports whether a call changes only the items that it names: as the argument "merge" says or, without that
// argument, if an item lacks its text or status.
func (l wholeList) isMerge(args value, elements []member) bool {
	if v := args.get("merge"); v.kind == 't' || v.kind == 'f' {
		return v.kind == 't'
	}
	return slices.ContainsFunc(elements, func(e member) bool {
		return e.value.kind == '{' && (!e.value.first(l.text, otherTexts...).given() || !e.value.get("status").given())
	})
}

// check returns an error for texts longer than the tool's own limit. With merge, a line without a text must name an
// item by its id. A text that an item already has may be of any length, since others may have written it and the
// agent only sends it back (T2).
func (r *reader) check(d *todo.Draft, l wholeList, lines []todo.Line, merge bool) error {
	check, names := reader{words: r.words}, map[string]bool(nil)
	for i, line := range lines {
		if merge && line.Text == "" && !d.Names(l.view, lines[i:i+1]) {
			check.problem(fmt.Sprintf("%s[%d].%s", l.list, i, l.text), r.words().Required)
		}
		for _, sent := range [...]struct{ key, text string }{{l.text, line.Text}, {l.active, line.Active}} {
			length := utf8.RuneCountInString(sent.text)
			if length <= cmp.Or(l.maxText, todo.MaxText) {
				continue
			}
			if names == nil {
				names = todo.Names(d.Items())
			}
			if !names[todo.Fold(sent.text)] && !names[todo.Fold(line.Text)] {
				check.problemf(fmt.Sprintf("%s[%d].%s", l.list, i, sent.key), r.words().TooLong, l.maxText, length)
			}
		}
	}
	return check.err()
}

// otherTexts are other tools' keys for the text of an item.
var otherTexts = []string{"content", "title", "description", "text", "task", "step", "subject", "name", "todo"}

// list reads the array of items, one item in place of the array, or a list sent as text. isText is true if the list or
// some items were texts: then items need no active text, and may have any tool's words for statuses. ok is false for
// any other value; list then adds a problem unless the call reads the list.
func (r *reader) list(args value, l wholeList) (elements []member, isText, ok bool) {
	v := args.get(l.list)
	if v.kind != '[' {
		v = r.field(args, l.list)
	}
	for n := 0; n < len(listNames) && v.kind == 0; n++ {
		if other := r.field(args, listNames[n]); other.kind == '[' {
			v = other
		}
	}
	switch {
	case v.kind == '[' && !slices.ContainsFunc(v.members, func(e member) bool { return e.value.kind == '"' }):
		return v.members, false, true
	case v.kind == '[':
		elements, isText = r.objects(v.members, l.text)
		return elements, isText, true
	case v.kind == '{':
		return []member{{value: v}}, false, true
	case v.given() && v.kind == '"' && v.surrogate == 0:
		if elements, ok = r.listed(v.text, l.text); ok {
			return elements, true, true
		} else if l.takesTexts {
			elements, isText = r.objects([]member{{value: v}}, l.text)
			return elements, isText, true
		}
		r.problemf(l.list, r.words().WrongType, "array", v.name())
	case !v.given() && l.mayLackList && args.get("operation").text == "":
		r.misnamed(args, l)
	case v.kind == 0:
		r.problem(l.list, r.words().Required)
	default:
		r.problemf(l.list, r.words().WrongType, "array", v.name())
	}
	if v.missing() && !l.mayLackList {
		r.cause = ErrListLeftOut
	}
	return nil, false, false
}

// misnamed adds a problem if a call without the list seems to be meant as a write: it has the list's name in another
// case, an array under any name, or the text of an item. Without the problem the call would read the list, and its
// caller would believe that it has written.
func (r *reader) misnamed(args value, l wholeList) {
	for _, m := range args.members {
		isList := strings.EqualFold(m.name, l.list) && m.value.given() || m.value.kind == '['
		if isList && m.name != "list_id" || m.name == l.text {
			r.problemf(l.list, r.words().Misnamed, l.list, excerpt(m.name))
			return
		}
	}
}

func (r *reader) lines(elements []member, l wholeList, merge bool) []todo.Line {
	limit := min(cmp.Or(l.maxItems, todo.MaxItems), todo.MaxItems)
	if len(elements) > limit {
		r.problemf(l.list, r.words().MostItems, limit, len(elements))
		return nil
	}
	lines := make([]todo.Line, len(elements))
	seen := make(map[string]int)
	for i, e := range elements {
		path := fmt.Sprintf("%s[%d]", l.list, i)
		lines[i] = r.line(e.value, path, l, merge)
		if id := lines[i].ID; id != "" {
			if first, twice := seen[id]; twice {
				r.problemf(path+".id", r.words().SameID, l.list, first)
			}
			seen[id] = i
		}
	}
	return lines
}

// line reads an item; if merge is true, text and status are optional.
func (r *reader) line(v value, path string, l wholeList, merge bool) todo.Line {
	kind, key := "object", l.text
	if l.takesTexts {
		kind, key = "string", ""
	}
	if v.kind != '{' {
		r.problemf(path, r.words().WrongType, kind, v.name())
		return todo.Line{}
	}
	var line todo.Line
	if id := v.optional("id"); !id.missing() {
		line.ID = r.id(id, path+".id", false)
	}
	if n := utf8.RuneCountInString(line.ID); l.view.Keys && n > todo.MaxKey {
		r.problemf(path+".id", r.words().TooLong, todo.MaxKey, n)
	}
	if text := v.first(l.text, otherTexts...); !merge || text.given() {
		line.Text = r.text(text, path, key, todo.MaxText)
	}
	if status := v.get("status"); !merge && !l.takesTexts || status.given() {
		line.Status = r.status(status, path, l.view, l.takesAnyWord)
	}
	for _, key := range l.reads {
		switch key {
		case "blockedBy":
			line.WaitsFor = r.ids(v, path, r.requiredID, key, "dependencies", "depends_on", "addBlockedBy")
		case "priority":
			line.Priority = r.detail(v, path, todo.MaxDetail, key)
		case "due_date":
			line.DueDate = r.detail(v, path, todo.MaxDetail, key)
		case "owner":
			line.Owner = r.owner(v, path, false)
		case "reason":
			line.Reason = r.detail(v, path, todo.MaxText, key)
		}
	}
	active := v.first(l.active, "activeForm", "active_form")
	if l.active == "" || !l.needsActive && !active.given() {
		return line
	}
	line.Active = r.text(active, path, l.active, todo.MaxText)
	return line
}

// oneInProgress applies the policy (T4) to the list as the call sends it, before the merge. It refuses or demotes
// only if the call itself puts an item in progress; items that a person or another conversation began do not count.
func oneInProgress(d *todo.Draft, l wholeList, words *prompts.Words) error {
	begun, running := d.Begun()
	if len(begun) == 0 || len(running) < 2 || l.policy != Reject && l.policy != Demote {
		return nil
	}
	w, active, waiting := words, l.view.Words[todo.InProgress], l.view.Words[todo.Pending]
	if l.policy == Reject {
		return &todo.InputError{Problems: []todo.Problem{{Path: l.list, Message: fmt.Sprintf(w.OneInProgress, len(running), firstFew(w, running), active, waiting)}}}
	}
	keep := begun[len(begun)-1]
	demoted := slices.DeleteFunc(running, func(i todo.Item) bool { return i.ID == keep.ID })
	for _, item := range demoted {
		d.SetStatus(item.ID, todo.Pending)
	}
	d.Note(fmt.Sprintf(w.Demoted, firstFew(w, demoted), active, waiting))
	return nil
}

// countsText returns the number of items in each status: always for the three usual statuses, in the view's words; for
// another status only if items have it (T6).
func countsText(view todo.View, s todo.Snapshot) string {
	n := countsIn(view, s)
	var parts []string
	for i, status := range todo.Statuses() {
		word := string(status)
		if i < 3 {
			word = view.Words[status]
		}
		if n[word] > 0 || i < 3 {
			parts = append(parts, strconv.Itoa(n[word])+" "+word)
		}
	}
	return strings.Join(parts, ", ")
}
