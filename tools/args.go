package tools

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/invopop/jsonschema"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// shape is how a variant writes a whole list in its arguments.
type shape struct {
	view   todo.View
	field  string // the key of the list
	text   string // the key of an item's text, such as "content"
	active string // the key of its active text; "" if the variant has none
	// mayLack is true when an item may be without the active text, details when it
	// may have a priority and a due date, reasons when it may have a reason, and waits when
	// it may name the items that come first.
	mayLack, details, reasons, waits bool
	// reads is true when a call without the list reads it, patches when a call that names
	// stored items by their ids leaves the others as they are, and merges when that is said
	// by an argument "merge", and items may lack what stays as it is. explains is true when
	// there is an argument "explanation", and mirrors when the list is kept elsewhere.
	reads, patches, merges, explains, mirrors bool
	// lenient is true when a status may be a word of another tool.
	lenient bool
	policy  Policy
	// words are what statuses may be, and unlisted what they may be as well, see
	// [todo.View.Unlisted]; reader sets both.
	words, unlisted []string
	// maxItems and maxText (runes) are the variant's own limits; 0 means that
	// only the hard caps apply.
	maxItems, maxText int
}

// limits adds the variant's own limits to its schema: a model that learns them by a refusal
// pays a turn. That of texts is only said, since what others wrote may be longer and is sent
// back as it is (docs/spec/variants.md T2), and some clients check calls by the schema.
func (s shape) limits(schema *jsonschema.Schema) {
	list, _ := schema.Properties.Get(s.field)
	if s.maxItems > 0 {
		most := uint64(s.maxItems)
		list.MaxItems = &most
	}
	if s.maxText > 0 {
		list.Description += fmt.Sprintf("; texts up to %d characters", s.maxText)
	}
}

// reader returns the function that reads calls of this shape.
func (s shape) reader() func(r *reader, args value) *Call {
	s.words = s.view.Accepts()
	if s.view.Unlisted {
		s.unlisted = todo.CoreView().Accepts()
	}
	return func(r *reader, args value) *Call {
		s := s
		if s.reads && r.operation(args) == "read" {
			return &Call{} // whatever stands in the list: some models fill every field
		}
		elements, ok := r.list(args, &s)
		if !ok {
			return &Call{}
		}
		merge := s.merges && r.merge(args, elements, s)
		lines, explanation := r.lines(elements, s, merge), ""
		if s.explains {
			explanation = r.optionalText(args, "explanation")
		}
		target := board.Target{Lines: lines}
		if merge {
			target = board.Target{Append: true}
		}
		return &Call{Target: target, Change: func(d *todo.Draft) error {
			if len(r.problems) > 0 { // with long texts
				if err := r.errFor(slices.Concat(d.Items(), d.Earlier())); err != nil {
					return err
				}
			}
			var unknown []string
			if merge || s.patches && len(lines) > 0 && d.Names(s.view, lines) {
				if err := r.checkNew(d, s, lines); err != nil {
					return err
				}
				unknown = d.Put(s.view, lines...)
			} else {
				unknown = d.Replace(s.view, lines)
			}
			if len(unknown) > 0 && !s.mirrors {
				return refuse(r.words().UnknownID, unquotedExcerpt(unknown[0]))
			}
			d.Explain(explanation)
			r.noteLeftOut(d)
			return oneInProgress(d, s, r.words)
		}}
	}
}

// merge reports whether the elements change only the items that they name: as the argument
// says, else if one of them lacks a text or status.
func (r *reader) merge(args value, elements []member, s shape) bool {
	if v := args.get("merge"); v.kind == 't' || v.kind == 'f' {
		return v.kind == 't'
	}
	return slices.ContainsFunc(elements, func(e member) bool {
		return e.value.kind == '{' && (!s.textOf(e.value).given() || !e.value.get("status").given())
	})
}

// checkNew returns the problems of lines that lack a text and name no item.
func (r *reader) checkNew(d *todo.Draft, s shape, lines []todo.Line) error {
	check := reader{words: r.words}
	for i, l := range lines {
		if l.Text == "" && !d.Names(s.view, lines[i:i+1]) {
			check.problem(fmt.Sprintf("%s[%d].%s", s.field, i, s.text), r.words().Required)
		}
	}
	return check.err()
}

// textOf returns the text of an item: under the variant's own key, else under one that other
// tools have for it.
func (s shape) textOf(v value) value {
	text := v.get(s.text)
	for n := 0; n < len(otherTexts) && text.kind == 0; n++ {
		text = v.get(otherTexts[n])
	}
	return text
}

var otherTexts = [...]string{"content", "title", "description", "text", "task", "step", "subject", "name", "todo"}

// reader reads a call's arguments and collects every problem in them.
type reader struct {
	words    func() prompts.Words // in which problems are worded; few calls have any
	problems []mistake
	leftOut  []todo.Item // lines of a list as text that are no items
	// leftOutList is true when the call has no list, and its tool needs one.
	leftOutList bool
}

// mistake is one in the arguments. With names it is none if an item of the list is called
// so already.
type mistake struct {
	todo.Problem
	names []string
}

func (r *reader) problem(path, message string) {
	r.problems = append(r.problems, mistake{Problem: todo.Problem{Path: path, Message: message}})
}

func (r *reader) problemf(path, format string, args ...any) {
	r.problem(path, fmt.Sprintf(format, args...))
}

// sentence adds a problem of the whole call, as a complete sentence.
func (r *reader) sentence(format string, args ...any) {
	p := todo.Problem{Message: fmt.Sprintf(format, args...), Sentence: true}
	r.problems = append(r.problems, mistake{Problem: p})
}

// err returns the problems as an [*todo.InputError], or nil when there are none or
// when the list decides: then the change returns what errFor finds.
func (r *reader) err() error {
	if len(r.problems) == 0 || slices.ContainsFunc(r.problems, func(p mistake) bool { return p.names != nil }) {
		return nil
	}
	return r.errFor(nil)
}

// errFor returns all problems of a call as an [*todo.InputError], or nil when there
// are none. Long texts are problems as far as no item has them: what others
// wrote, and the agent was told, it may write back (docs/spec/variants.md T2).
func (r *reader) errFor(items []todo.Item) error {
	names, problems := todo.Names(items), []todo.Problem(nil)
	isName := func(text string) bool { return names[todo.Fold(text)] }
	for _, p := range r.problems {
		if !slices.ContainsFunc(p.names, isName) {
			problems = append(problems, p.Problem)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	if more := len(problems) - maxProblems; more > 0 {
		rest := todo.Problem{Message: strings.TrimSpace(fmt.Sprintf(r.words().More, more)), Sentence: true}
		problems = append(problems[:maxProblems], rest)
	}
	return &todo.InputError{Problems: problems}
}

// maxProblems is how many problems an answer says; more are counted. A list of a thousand
// wrong items would else cost its model 30,000 tokens.
const maxProblems = 50

// arguments reads the arguments object. A bare array stands for an object with
// only that field (docs/spec/variants.md V5). ok is false for anything else, which is one
// problem: what is missing in it is none of its own (T7).
func (r *reader) arguments(args value, field string) (_ value, ok bool) {
	switch args.kind {
	case '{':
		return args, true
	case '[':
		return value{kind: '{', members: []member{{field, args}}}, true
	case 0, 'n':
		return value{kind: '{'}, true
	}
	r.problemf("", r.words().NoObject, field, args.name())
	return value{}, false
}

// operation reads what a tool that also reads the list is to do; empty where that is not said.
func (r *reader) operation(args value) string {
	operation := args.optional("operation")
	if operation.missing() {
		return ""
	}
	return r.status(operation, "operation", []string{"write", "read"})
}

// field reads a field of the arguments, which may also be sent as a JSON string, or within
// the whole arguments object inside itself.
func (r *reader) field(args value, field string) value {
	v := args.get(field)
	if inner, ok := v.unquote(); ok {
		v = inner
	}
	if inner := v.get(field); v.kind == '{' && inner.kind == '[' && len(v.members) == 1 {
		v = inner
	}
	return v
}

// list reads the array of items, one item in place of it, or a list as text. ok is false when
// it is none of them or missing; then list adds a problem, unless a call without it reads the
// list. Items of a text have no active text, and may have any tool's words for a status.
func (r *reader) list(args value, s *shape) (elements []member, ok bool) {
	if args, ok = r.arguments(args, s.field); !ok {
		return nil, false
	}
	v := r.field(args, s.field)
	for n := 0; n < len(listNames) && v.kind == 0; n++ {
		if other := r.field(args, listNames[n]); other.kind == '[' {
			v = other
		}
	}
	r.leftOutList = v.missing() && !s.reads
	switch {
	case v.kind == '[':
		asText := false
		if elements, asText = r.objects(v.members, *s); asText {
			s.mayLack, s.lenient = true, true
		}
		return elements, true
	case v.kind == '{':
		return []member{{value: v}}, true
	case v.given() && v.kind == '"' && v.surrogate == 0:
		if elements, ok = r.listed(v.text, *s); ok {
			s.mayLack, s.lenient = true, true
			return elements, true
		}
		r.problemf(s.field, r.words().WrongType, "array", v.name())
	case !v.given() && s.reads && args.get("operation").text == "":
		r.misnamed(args, *s)
	case v.kind == 0:
		r.problem(s.field, r.words().Required)
	default:
		r.problemf(s.field, r.words().WrongType, "array", v.name())
	}
	return nil, false
}

// misnamed adds a problem when a call that would read the list seems to write it: under a
// name in another case, with an array under any name, or with an item as the arguments.
// Its caller would take the answer to a read for the one to a write.
func (r *reader) misnamed(args value, s shape) {
	for _, m := range args.members {
		isList := strings.EqualFold(m.name, s.field) && m.value.given() || m.value.kind == '['
		if isList && m.name != "list_id" || m.name == s.text {
			r.problemf(s.field, r.words().Misnamed, s.field, excerpt(m.name))
			return
		}
	}
}

func (r *reader) lines(elements []member, s shape, merge bool) []todo.Line {
	limit := min(cmp.Or(s.maxItems, todo.MaxItems), todo.MaxItems)
	if len(elements) > limit {
		r.problemf(s.field, r.words().MostItems, limit, len(elements))
		return nil
	}
	lines := make([]todo.Line, len(elements))
	seen := make(map[string]int)
	for i, e := range elements {
		path := fmt.Sprintf("%s[%d]", s.field, i)
		lines[i] = r.line(e.value, path, s, merge)
		if id := lines[i].ID; id != "" {
			if first, twice := seen[id]; twice {
				r.problemf(path+".id", r.words().SameID, s.field, first)
			}
			seen[id] = i
		}
	}
	return lines
}

// line reads an item; with merge it may lack its text and its status.
func (r *reader) line(v value, path string, s shape, merge bool) todo.Line {
	if v.kind != '{' {
		r.problemf(path, r.words().WrongType, "object", v.name())
		return todo.Line{}
	}
	line := todo.Line{ID: r.id(v.optional("id"), path+".id", false)}
	if n := utf8.RuneCountInString(line.ID); s.view.Keys && n > todo.MaxKey {
		r.problemf(path+".id", r.words().TooLong, todo.MaxKey, n)
	}
	var isLong bool
	if text := s.textOf(v); !merge || text.given() {
		if line.Text, isLong = r.text(text, path+"."+s.text, s.maxText); isLong {
			r.problems[len(r.problems)-1].names = []string{line.Text}
		}
	}
	if status := v.get("status"); !merge || status.given() {
		if s.lenient {
			status = plainly(s.view, status)
		}
		line.Status = r.status(status, path+".status", s.words, s.unlisted...)
	}
	if s.waits {
		line.WaitsFor = r.ids(v, path, r.requiredID, "blockedBy", "dependencies", "depends_on", "addBlockedBy")
	}
	if s.reasons {
		line.Reason = r.detail(v, path, todo.MaxText, "reason")
	}
	if s.details {
		line.Priority = r.detail(v, path, todo.MaxDetail, "priority")
		line.DueDate = r.detail(v, path, todo.MaxDetail, "due_date")
	}
	active := v.first(s.active, "activeForm", "active_form")
	if s.active == "" || s.mayLack && !active.given() {
		return line
	}
	if line.Active, isLong = r.text(active, path+"."+s.active, s.maxText); isLong {
		r.problems[len(r.problems)-1].names = []string{line.Active, line.Text}
	}
	return line
}

// ids reads the ids of items under the first of some keys that is given; nil without one,
// or when it names nothing. check reads an id.
func (r *reader) ids(v value, path string, check func(v value, path string) string, keys ...string) []string {
	list := v.optional(keys...)
	if inner, ok := list.unquote(); ok {
		list = inner
	}
	at := slices.IndexFunc(keys, func(key string) bool { return v.get(key).given() })
	switch {
	case list.missing():
		return nil
	case list.kind != '[':
		r.problemf(place(path, keys[at]), r.words().WrongType, "array", list.name())
		return nil
	}
	ids := make([]string, 0, len(list.members))
	for i, e := range list.members[:min(len(list.members), todo.MaxItems)] {
		if e.value.given() {
			ids = append(ids, check(e.value, fmt.Sprintf("%s[%d]", place(path, keys[at]), i)))
		}
	}
	if len(ids) == 0 && len(list.members) > 0 {
		return nil
	}
	return ids
}

// detail reads a text that may be left out, under the first of some keys of an object that is
// given; nil without one. It may also be a number. limit is in runes.
func (r *reader) detail(v value, path string, limit int, keys ...string) *string {
	found := v.optional(keys...)
	switch found.kind {
	case 0:
		return nil
	case '0':
		found.kind = '"' // its digits
	}
	text, _ := r.text(found, place(path, keys[0]), limit)
	return &text
}

// place returns where a field of an object is; the path of the arguments is empty.
func place(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// text reads a required text, which must not be blank and may have limit runes, 0 for
// todo.MaxText (docs/spec/variants.md T2, V6, V7). isLong is true when all that is wrong
// is that it has more, which its last problem says.
func (r *reader) text(v value, path string, limit int) (text string, isLong bool) {
	switch {
	case v.kind == 0:
		r.problem(path, r.words().Required)
		return "", false
	case v.kind != '"':
		r.problemf(path, r.words().WrongType, "string", v.name())
		return "", false
	case v.surrogate > 0:
		r.problemf(path, r.words().Surrogate, v.surrogate)
		return "", false
	}
	text, err := todo.CleanText(v.text)
	limit = min(cmp.Or(limit, todo.MaxText), todo.MaxText)
	n := utf8.RuneCountInString(text)
	switch {
	case err != nil:
		var code rune
		var position int
		// It is as CleanText says it.
		_, _ = fmt.Sscanf(err.Error(), "control character U+%X at position %d", &code, &position)
		r.problemf(path, r.words().Control, code, position)
	case text == "":
		r.problem(path, r.words().Blank)
	case n > limit:
		r.problemf(path, r.words().TooLong, limit, n)
	}
	return text, n > limit && n <= todo.MaxText
}

// status reads a status, which must be one of the words, in any case and with any sign
// between its parts. Errors do not name those that are unlisted.
func (r *reader) status(v value, path string, words []string, unlisted ...string) string {
	if v.kind == '"' && (slices.Contains(words, v.text) || slices.Contains(unlisted, v.text)) {
		return v.text
	}
	means := func(word string) bool { return todo.Fold(word) == todo.Fold(v.text) }
	switch at, more := slices.IndexFunc(words, means), slices.IndexFunc(unlisted, means); {
	case v.kind == '"' && at >= 0:
		return words[at]
	case v.kind == '"' && more >= 0:
		return unlisted[more]
	case v.kind == '"':
		r.problemf(path, r.words().WrongType, todo.Quote(words), "'"+unquotedExcerpt(v.text)+"'")
	case v.kind == 0:
		r.problem(path, r.words().Required)
	default:
		r.problemf(path, r.words().WrongType, todo.Quote(words), v.name())
	}
	return ""
}

// plainly returns a status as a view has it, of which a model sent a word of another tool.
// Any other value is returned as it is.
func plainly(view todo.View, v value) value {
	status, known := otherStatuses[todo.Fold(v.text)]
	if !known || v.kind != '"' {
		return v
	}
	v.text = view.Words[status]
	if means, _ := view.Core(v.text); means != status {
		v.text = string(status)
	}
	return v
}

// otherStatuses are words that models send for a status, as other tools have them, folded.
var otherStatuses = map[string]todo.Status{
	"todo": todo.Pending, "notstarted": todo.Pending, "open": todo.Pending, "queued": todo.Pending, "planned": todo.Pending,
	"inprogress": todo.InProgress, "doing": todo.InProgress, "active": todo.InProgress, "started": todo.InProgress,
	"running": todo.InProgress, "wip": todo.InProgress, "current": todo.InProgress,
	"complete": todo.Completed, "completed": todo.Completed, "done": todo.Completed, "finished": todo.Completed, "closed": todo.Completed, "resolved": todo.Completed,
	"error": todo.Failed, "errored": todo.Failed, "canceled": todo.Cancelled, "abandoned": todo.Cancelled, "dropped": todo.Cancelled,
	"skipped": todo.Cancelled, "obsolete": todo.Cancelled, "wontdo": todo.Cancelled, "waiting": todo.Blocked, "onhold": todo.Blocked,
	"pending": todo.Pending,
}

// id reads an id, which may also be sent as a number or with a hash sign; it
// returns "" when the id is missing, which is a problem where it is required
// (docs/spec/variants.md V5).
func (r *reader) id(v value, path string, required bool) (id string) {
	switch {
	case v.missing():
	case v.kind == '0':
		return wholeNumber(v.text)
	case v.kind == '"':
		id = strings.TrimPrefix(strings.TrimSpace(v.text), "#")
	default:
		r.problemf(path, r.words().WrongType, "string", v.name())
		return ""
	}
	if id == "" && required {
		r.problem(path, r.words().Required)
	}
	return id
}

func (r *reader) requiredID(v value, path string) string { return r.id(v, path, true) }

// wholeNumber writes a JSON number such as 4.0 without its fraction of zero; any
// other is returned as it is.
func wholeNumber(literal string) string {
	if n, err := strconv.ParseFloat(literal, 64); err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return strconv.FormatInt(int64(n), 10)
	}
	return literal
}

func unquotedExcerpt(text string) string {
	quoted := excerpt(text)
	return quoted[1 : len(quoted)-1]
}
