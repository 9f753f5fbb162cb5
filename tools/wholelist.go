package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/invopop/jsonschema"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

// wholeList is how a tool takes the whole list in its arguments.
type wholeList struct {
	// view has the tool's word for each status.
	view todo.View
	// list is the key of the list. text and active are the keys of an item's text and of its
	// active text; active is empty for a tool without active texts.
	list, text, active string
	// reads are the optional keys that are read beside these: of an item "blockedBy",
	// "priority", "due_date" and "reason", of the call "explanation".
	reads []string
	// partly says which calls leave the items that they do not name as they are.
	partly partly
	policy Policy
	// maxItems and maxText (runes) are the tool's own limits; 0 is only the hard caps.
	maxItems, maxText int

	// mayLackList is true when a call without the list reads it.
	mayLackList bool
	// needsActive is true when an item without its active text is refused.
	needsActive bool
	// takesAnyWord is true when a status may be a word of another tool.
	takesAnyWord bool
	// mirrors is true when the list is a copy of one that a host keeps: what it took is not refused.
	mirrors bool
	// accepted words a write that was accepted; nil is how many items have each status.
	accepted func(w prompts.Words) string
}

// planTitle is the argument by which a whole-list tool has its caller name a plan that begins.
type planTitle struct {
	Title string `json:"title,omitempty" jsonschema:"description=Of a new plan"`
}

// partly says which calls change only the items that they name.
type partly int

const (
	never   partly = iota
	byIDs          // those in which every item has the id of a stored one
	byMerge        // those with "merge": true, or without "merge" where an item lacks its text or status
)

// threeWords returns the view of a tool with three statuses: failed items are in progress to
// it, and blocked ones pending.
func threeWords(pending, inProgress, completed string) todo.View {
	return todo.View{Words: map[todo.Status]string{todo.Pending: pending, todo.InProgress: inProgress, todo.Completed: completed,
		todo.Failed: inProgress, todo.Blocked: pending}}
}

// usual returns the view of a tool with the three statuses that most models know.
func usual() todo.View { return threeWords("pending", "in_progress", "completed") }

// withCancelled adds cancelled items to a view, as which it then shows failed ones.
func withCancelled(v todo.View) todo.View {
	v.Words[todo.Cancelled], v.Words[todo.Failed] = "cancelled", "cancelled"
	return v
}

// withIDs has the tool's callers give items ids of their own.
func withIDs(v todo.View) todo.View { v.Keys = true; return v }

// withActive adds active texts to a view.
func withActive(v todo.View) todo.View { v.Active = true; return v }

// limits adds the tool's own limits to the schema of its arguments: a model that learns them
// by a refusal pays a turn. That of texts is only said, since what others wrote may be longer
// and is sent back as it is (docs/spec/variants.md T2), and some clients check calls by the schema.
func (l wholeList) limits(schema *jsonschema.Schema) {
	list, _ := schema.Properties.Get(l.list)
	if l.maxItems > 0 {
		most := uint64(l.maxItems)
		list.MaxItems = &most
	}
	if l.maxText > 0 {
		list.Description += fmt.Sprintf("; texts up to %d characters", l.maxText)
	}
}

// read reads the arguments of a call.
func (l wholeList) read(r *reader, args value) *Call {
	if l.mayLackList && r.operation(args) == "read" {
		return &Call{} // whatever stands in the list: some models fill every field
	}
	elements, isText, ok := r.list(args, l)
	if !ok {
		return &Call{}
	}
	if isText {
		l.needsActive, l.takesAnyWord = false, true
	}
	merge := l.partly == byMerge && l.isMerge(args, elements)
	lines, explanation := r.lines(elements, l, merge), ""
	if slices.Contains(l.reads, "explanation") {
		explanation = r.optionalText(args, "explanation")
	}
	target := board.Target{Lines: lines}
	if merge {
		target = board.Target{Append: true}
	}
	title := ""
	if v := args.get("title"); v.kind == '"' && v.surrogate == 0 {
		title = todo.OneLine(v.text, todo.MaxTitle)
	}
	return &Call{Target: target, Title: title, Change: func(d *todo.Draft) error {
		if len(r.problems) > 0 { // with long texts
			if err := r.errFor(slices.Concat(d.Items(), d.Earlier())); err != nil {
				return err
			}
		}
		var unknown []string
		if merge || l.partly == byIDs && len(lines) > 0 && lines[0].ID != "" && d.Names(l.view, lines) {
			if err := r.checkNew(d, l, lines); err != nil {
				return err
			}
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
		if len(r.leftOut) > 0 {
			r.noteLeftOut(d)
		}
		return oneInProgress(d, l, r.words)
	}}
}

// isMerge reports whether the elements change only the items that they name: as the argument
// "merge" says, else if one of them lacks a text or status.
func (l wholeList) isMerge(args value, elements []member) bool {
	if v := args.get("merge"); v.kind == 't' || v.kind == 'f' {
		return v.kind == 't'
	}
	return slices.ContainsFunc(elements, func(e member) bool {
		return e.value.kind == '{' && (!e.value.first(l.text, otherTexts...).given() || !e.value.get("status").given())
	})
}

// checkNew returns the problems of lines that lack a text and name no item.
func (r *reader) checkNew(d *todo.Draft, l wholeList, lines []todo.Line) error {
	check := reader{words: r.words}
	for i, line := range lines {
		if line.Text == "" && !d.Names(l.view, lines[i:i+1]) {
			check.problem(fmt.Sprintf("%s[%d].%s", l.list, i, l.text), r.words().Required)
		}
	}
	return check.err()
}

// otherTexts are the keys that other tools have for the text of an item.
var otherTexts = []string{"content", "title", "description", "text", "task", "step", "subject", "name", "todo"}

// list reads the array of items, one item in place of it, or a list as text, for which isText
// is true: its items have no active text, and may have any tool's words for a status. ok is
// false when it is none of them or missing; then list adds a problem, unless a call without
// it reads the list.
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
		elements, isText = r.objects(v.members, l)
		return elements, isText, true
	case v.kind == '{':
		return []member{{value: v}}, false, true
	case v.given() && v.kind == '"' && v.surrogate == 0:
		if elements, ok = r.listed(v.text, l); ok {
			return elements, true, true
		}
		r.problemf(l.list, r.words().WrongType, "array", v.name())
	case !v.given() && l.mayLackList && args.get("operation").text == "":
		r.misnamed(args, l)
	case v.kind == 0:
		r.problem(l.list, r.words().Required)
	default:
		r.problemf(l.list, r.words().WrongType, "array", v.name())
	}
	r.leftOutList = v.missing() && !l.mayLackList
	return nil, false, false
}

// misnamed adds a problem when a call that would read the list seems to write it: under a
// name in another case, with an array under any name, or with an item as the arguments.
// Its caller would take the answer to a read for the one to a write.
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

// line reads an item; with merge it may lack its text and its status.
func (r *reader) line(v value, path string, l wholeList, merge bool) todo.Line {
	if v.kind != '{' {
		r.problemf(path, r.words().WrongType, "object", v.name())
		return todo.Line{}
	}
	line := todo.Line{ID: r.id(v.optional("id"), path+".id", false)}
	if n := utf8.RuneCountInString(line.ID); l.view.Keys && n > todo.MaxKey {
		r.problemf(path+".id", r.words().TooLong, todo.MaxKey, n)
	}
	var isLong bool
	if text := v.first(l.text, otherTexts...); !merge || text.given() {
		if line.Text, isLong = r.text(text, path+"."+l.text, l.maxText); isLong {
			r.problems[len(r.problems)-1].names = []string{line.Text}
		}
	}
	if status := v.get("status"); !merge || status.given() {
		if l.takesAnyWord {
			status = plainly(l.view, status)
		}
		if _, ok := l.view.Core(status.text); ok && status.kind == '"' {
			line.Status = status.text
		} else {
			line.Status = r.status(status, path+".status", l.view)
		}
	}
	for _, key := range l.reads {
		switch key {
		case "blockedBy":
			line.WaitsFor = r.ids(v, path, r.requiredID, key, "dependencies", "depends_on", "addBlockedBy")
		case "priority":
			line.Priority = r.detail(v, path, todo.MaxDetail, key)
		case "due_date":
			line.DueDate = r.detail(v, path, todo.MaxDetail, key)
		case "reason":
			line.Reason = r.detail(v, path, todo.MaxText, key)
		}
	}
	active := v.first(l.active, "activeForm", "active_form")
	if l.active == "" || !l.needsActive && !active.given() {
		return line
	}
	if line.Active, isLong = r.text(active, path+"."+l.active, l.maxText); isLong {
		r.problems[len(r.problems)-1].names = []string{line.Active, line.Text}
	}
	return line
}

// oneInProgress applies the policy (docs/spec/variants.md T4) to the list as the
// call asks for it, before it is merged with what others changed. A call that puts no
// item in progress is never refused. One that does may have no other item in progress
// beside it, apart from those that a person or another conversation began.
func oneInProgress(d *todo.Draft, l wholeList, words func() prompts.Words) error {
	begun, running := d.Begun()
	if len(begun) == 0 || len(running) < 2 || l.policy != Reject && l.policy != Demote {
		return nil
	}
	w, active, waiting := words(), l.view.Words[todo.InProgress], l.view.Words[todo.Pending]
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

// counts are how many items have each core status.
type counts struct {
	Completed  int `json:"completed"`
	InProgress int `json:"in_progress"`
	Pending    int `json:"pending"`
	Failed     int `json:"failed,omitempty"`
	Blocked    int `json:"blocked,omitempty"`
	Cancelled  int `json:"cancelled,omitempty"`
}

func countsOf(n todo.Counts) counts {
	return counts{n[todo.Completed], n[todo.InProgress], n[todo.Pending], n[todo.Failed], n[todo.Blocked], n[todo.Cancelled]}
}

// inSummaries are the core statuses in the order in which an answer counts them.
var inSummaries = todo.Statuses()

// countsText returns how many items a view shows with each status: of the three usual ones
// always, in its words, of the others where there are some (docs/spec/variants.md T6).
func countsText(view todo.View, s todo.Snapshot) string {
	_, n := show(view, s, func(todo.Line, todo.Item) struct{} { return struct{}{} })
	var parts []string
	for i, status := range inSummaries {
		word := string(status)
		if i < 3 {
			word = view.Words[status]
		}
		if n[status] > 0 || i < 3 {
			parts = append(parts, strconv.Itoa(n[status])+" "+word)
		}
	}
	return strings.Join(parts, ", ")
}
