package tools

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
)

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

// arguments reads the arguments object, which may also be sent as a JSON string. A bare array
// stands for an object with only that field (docs/spec/variants.md V5); without a field
// whatever came is the arguments. ok is false for anything else, which is one problem: what
// is missing in it is none of its own (T7).
func (r *reader) arguments(args value, field string) (_ value, ok bool) {
	if inner, isJSON := args.unquote(); isJSON {
		args = inner
	}
	switch {
	case args.kind == '{', field == "":
		return args, true
	case args.kind == '[':
		return value{kind: '{', members: []member{{field, args}}}, true
	case args.missing():
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
	words := []string{"write", "read"}
	return r.word(operation, "operation", words, words)
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

// status reads a status, which must be one of a view's words, in any case and with any sign
// between its parts. Errors do not name those that the view does not list.
func (r *reader) status(v value, path string, view todo.View) string {
	words, all := view.Accepts(), view.Accepts()
	if view.Unlisted {
		all = append(all, todo.CoreView().Accepts()...)
	}
	return r.word(v, path, words, all)
}

// word reads one of some words, of which an error names those that are listed.
func (r *reader) word(v value, path string, listed, all []string) string {
	if v.kind == '"' && slices.Contains(all, v.text) {
		return v.text
	}
	at := slices.IndexFunc(all, func(word string) bool { return todo.Fold(word) == todo.Fold(v.text) })
	switch {
	case v.kind == '"' && at >= 0:
		return all[at]
	case v.kind == '"':
		r.problemf(path, r.words().WrongType, todo.Quote(listed), "'"+unquotedExcerpt(v.text)+"'")
	case v.kind == 0:
		r.problem(path, r.words().Required)
	default:
		r.problemf(path, r.words().WrongType, todo.Quote(listed), v.name())
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
	switch v.kind {
	case 0, 'n':
	case '0':
		return wholeNumber(v.text)
	case '"':
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
