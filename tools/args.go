package tools

import (
	"cmp"
	"errors"
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
	words    func() *prompts.Words // a function, so that a hook decodes the words only for a problem
	problems []todo.Problem
	cause    error       // [ErrListLeftOut], or nil
	leftOut  []todo.Item // see [Call.leftOut]
	mends    bool        // texts that are not valid in a list are repaired, not refused
}

func (r *reader) problem(path, message string) {
	r.problems = append(r.problems, todo.Problem{Path: path, Message: message})
}

func (r *reader) problemf(path, format string, args ...any) {
	r.problem(path, fmt.Sprintf(format, args...))
}

// sentence adds a problem of the whole call, worded as a complete sentence.
func (r *reader) sentence(format string, args ...any) {
	r.problems = append(r.problems, todo.Problem{Message: fmt.Sprintf(format, args...), Sentence: true})
}

// err returns the problems as an [*todo.InputError]; nil if there are none.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	problems := r.problems
	if more := len(problems) - maxProblems; more > 0 {
		rest := todo.Problem{Message: strings.TrimSpace(fmt.Sprintf(r.words().More, more))}
		problems = append(problems[:maxProblems:maxProblems], rest)
	}
	return &todo.InputError{Problems: problems, Err: r.cause}
}

// arguments reads the arguments object, which may be missing, or a JSON string of it. An array is read as the value of
// the named field (V5). If no field is named, any value is accepted. For other values ok is false, and the only problem
// reported is that the arguments are no object (T7).
func (r *reader) arguments(args value, field string) (_ value, ok bool) {
	args, _ = args.unquote()
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

// field reads a field of the arguments; its value may be a JSON string, or nested in an object with only that field.
func (r *reader) field(args value, field string) value {
	v, _ := args.get(field).unquote()
	if inner := v.get(field); v.kind == '{' && inner.kind == '[' && len(v.members) == 1 {
		v = inner
	}
	return v
}

// ids reads a list of item ids under the first given key; nil if none is given or all its members are null or empty.
// The function check reads one id.
func (r *reader) ids(v value, path string, check func(v value, path string) string, keys ...string) []string {
	list, _ := v.optional(keys...).unquote()
	at := place(path, keys[0])
	switch {
	case list.missing():
		return nil
	case list.kind != '[':
		r.problemf(at, r.words().WrongType, "array", list.name())
		return nil
	}
	ids := make([]string, 0, len(list.members))
	for i, e := range list.members[:min(len(list.members), todo.MaxItems)] {
		if e.value.given() {
			ids = append(ids, check(e.value, fmt.Sprintf("%s[%d]", at, i)))
		}
	}
	if len(ids) == 0 && len(list.members) > 0 {
		return nil
	}
	return ids
}

// detail reads an optional text of at most limit runes, or a number, under the first given key; empty if there is none.
func (r *reader) detail(v value, path string, limit int, keys ...string) string {
	found := v.optional(keys...)
	switch found.kind {
	case 0:
		return ""
	case '0':
		found.kind = '"' // the text is its digits
	}
	return r.text(found, path, keys[0], limit)
}

// place returns the path of a field in an object. The arguments have the empty path, and an empty key means the object
// itself.
func place(path, key string) string { return strings.Trim(path+"."+key, ".") }

// text reads a required text, not blank and of at most limit runes (V6), under a key of the object at a path.
func (r *reader) text(v value, path, key string, limit int) string {
	switch {
	case v.missing():
		r.problem(place(path, key), r.words().Required)
		return ""
	case v.kind != '"':
		r.problemf(place(path, key), r.words().WrongType, "string", v.name())
		return ""
	case r.mends && strings.TrimSpace(v.text) != "":
		return cmp.Or(todo.OneLine(v.text, limit), "\ufffd")
	case v.surrogate > 0:
		r.problemf(place(path, key), r.words().Surrogate, v.surrogate)
		return ""
	}
	text, err := todo.CleanText(v.text)
	switch n := utf8.RuneCountInString(text); {
	case err != nil:
		control, _ := errors.AsType[*todo.ControlError](err)
		r.problemf(place(path, key), r.words().Control, control.Code, control.Position)
	case text == "":
		r.problem(place(path, key), r.words().Blank)
	case n > limit:
		r.problemf(place(path, key), r.words().TooLong, limit, n)
	}
	return text
}

// status reads the status of the object at a path: a word of the view, or a word given as more. Case does not matter,
// nor do signs between the parts of a word. With anyWord, another tool's word is accepted, and becomes the view's word
// for that status. Errors name only the words that the view lists and the words given as more.
func (r *reader) status(v value, path string, view todo.View, anyWord bool, more ...string) string {
	if anyWord && v.kind == '"' {
		if core, known := statusWords[todo.Fold(v.text)]; known {
			v.text = view.Words[core]
			if means, _ := view.Core(v.text); means != core {
				v.text = string(core)
			}
		}
	}
	if _, ok := view.Core(v.text); ok && v.kind == '"' {
		return v.text // the fast path
	}
	words := append(view.Accepts(), more...)
	all := words
	if view.Unlisted {
		all = slices.Concat(words, todo.CoreView().Accepts())
	}
	return r.word(v, place(path, "status"), words, all)
}

// word reads a text that must equal a word of all by [todo.Fold]. A problem names the words of listed alone.
func (r *reader) word(v value, path string, listed, all []string) string {
	at := slices.IndexFunc(all, func(word string) bool { return todo.Fold(word) == todo.Fold(v.text) })
	received := v.name()
	switch {
	case v.kind == '"' && at >= 0:
		return all[at]
	case v.kind == 0:
		r.problem(path, r.words().Required)
		return ""
	case v.kind == '"':
		received = "'" + unquotedExcerpt(v.text) + "'"
	}
	r.problemf(path, r.words().WrongType, "'"+strings.Join(listed, "' | '")+"'", received)
	return ""
}

// statusWords are the core statuses, and other words of tools for them, folded.
var statusWords = func(words map[string]todo.Status) map[string]todo.Status {
	for _, s := range todo.Statuses() {
		words[todo.Fold(string(s))] = s
	}
	return words
}(map[string]todo.Status{
	"todo": todo.Pending, "notstarted": todo.Pending, "open": todo.Pending, "queued": todo.Pending, "planned": todo.Pending,
	"doing": todo.InProgress, "active": todo.InProgress, "started": todo.InProgress,
	"running": todo.InProgress, "wip": todo.InProgress, "current": todo.InProgress,
	"complete": todo.Completed, "done": todo.Completed, "finished": todo.Completed, "closed": todo.Completed, "resolved": todo.Completed,
	"error": todo.Failed, "errored": todo.Failed, "canceled": todo.Cancelled, "abandoned": todo.Cancelled, "dropped": todo.Cancelled,
	"skipped": todo.Cancelled, "obsolete": todo.Cancelled, "wontdo": todo.Cancelled, "waiting": todo.Blocked, "onhold": todo.Blocked,
})

// id reads an id, which may also be a number or begin with a hash sign (V5), as one clean line. It returns "" when the id
// is missing, which is a problem if it is required.
func (r *reader) id(v value, path string, required bool) (id string) {
	switch v.kind {
	case 0, 'n':
	case '0':
		return wholeNumber(v.text)
	case '"':
		id = todo.OneLine(strings.TrimPrefix(strings.TrimSpace(v.text), "#"), todo.MaxText)
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

// wholeNumber removes a zero fraction from a JSON number such as 4.0; it returns any other number unchanged.
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
