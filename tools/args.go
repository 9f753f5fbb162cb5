package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"todo-mcp/internal/todo"
)

// shape tells the reader how a variant spells an item.
type shape struct {
	view   todo.View
	text   string // the key of the text: "content"
	active string // the key of the active text; "" in variants without
	// maxItems and maxText are the variant's own limits; 0 leaves the hard caps.
	maxItems, maxText int
}

// reader collects every problem of a call before it gives up.
type reader struct {
	problems []todo.Problem
}

func (r *reader) problem(path, format string, args ...any) {
	r.problems = append(r.problems, todo.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// sentence notes a problem of the whole call, worded as it is to be shown.
func (r *reader) sentence(format string, args ...any) {
	r.problems = append(r.problems, todo.Problem{Message: fmt.Sprintf(format, args...), Sentence: true})
}

// err returns what was found wrong; nil when nothing was.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return &todo.InputError{Problems: r.problems}
}

// arguments reads the arguments object. It takes a bare array for the one
// field (VARIANTS.md V5).
func (r *reader) arguments(args value, field string) value {
	switch args.kind {
	case '{':
		return args
	case '[':
		return value{kind: '{', members: []member{{field, args}}}
	case 0, 'n':
		return value{kind: '{'}
	default:
		r.problem("", "Expected an object with %q, received %s", field, args.name())
		return value{kind: '{'}
	}
}

// list reads an array that may have been sent as a JSON string or as its only
// element. ok is false when it is missing or no list at all, and then the
// problem is noted unless optional.
func (r *reader) list(args value, field string, optional bool) (elements []value, ok bool) {
	v := args.get(field)
	if inner, is := v.unquote(); is {
		v = inner
	}
	// The whole arguments object, quoted once more inside its own field.
	if inner := v.get(field); v.kind == '{' && inner.kind == '[' && len(v.members) == 1 {
		v = inner
	}
	switch {
	case v.kind == '[':
		return v.elements, true
	case v.kind == '{':
		return []value{v}, true
	case v.missing() && optional:
		return nil, false
	case v.kind == 0:
		r.problem(field, "Required")
	default:
		r.problem(field, "Expected array, received %s", v.name())
	}
	return nil, false
}

// lines reads a whole list of items.
func (r *reader) lines(elements []value, field string, s shape) []todo.Line {
	most := todo.MaxItems
	if s.maxItems > 0 {
		most = min(most, s.maxItems)
	}
	if len(elements) > most {
		r.problem(field, "Must have at most %d items, received %d", most, len(elements))
		return nil
	}
	lines := make([]todo.Line, len(elements))
	seen := make(map[string]int)
	for i, e := range elements {
		path := fmt.Sprintf("%s[%d]", field, i)
		lines[i] = r.line(e, path, s)
		if id := lines[i].ID; id != "" {
			if first, twice := seen[id]; twice {
				r.problem(path+".id", "Same id as %s[%d], ids must differ", field, first)
			}
			seen[id] = i
		}
	}
	return lines
}

func (r *reader) line(v value, path string, s shape) todo.Line {
	if v.kind != '{' {
		r.problem(path, "Expected object, received %s", v.name())
		return todo.Line{}
	}
	line := todo.Line{
		ID:     r.id(v.get("id"), path+".id"),
		Text:   r.text(v.get(s.text), path+"."+s.text, s.maxText),
		Status: r.status(v.get("status"), path+".status", s.view),
	}
	if s.active != "" {
		line.Active = r.text(v.get(s.active), path+"."+s.active, s.maxText)
	}
	return line
}

// text reads a required text that is not blank (VARIANTS.md T2, V6, V7).
func (r *reader) text(v value, path string, maxText int) string {
	switch {
	case v.kind == 0:
		r.problem(path, "Required")
		return ""
	case v.kind != '"':
		r.problem(path, "Expected string, received %s", v.name())
		return ""
	case v.surrogate > 0:
		r.problem(path, "Lone surrogate at position %d is not allowed", v.surrogate)
		return ""
	}
	text, err := todo.CleanText(v.text)
	most := todo.MaxText
	if maxText > 0 {
		most = min(most, maxText)
	}
	n := utf8.RuneCountInString(text)
	switch {
	case err != nil:
		r.problem(path, "%s", upperFirst(err.Error()))
	case text == "":
		r.problem(path, "Must not be blank")
	case n > most:
		r.problem(path, "Must be at most %d characters, received %d", most, n)
	}
	return text
}

func (r *reader) status(v value, path string, view todo.View) string {
	want := todo.Quote(view.Accepts())
	switch {
	case v.kind == 0:
		r.problem(path, "Required")
		return ""
	case v.kind != '"':
		r.problem(path, "Expected %s, received %s", want, v.name())
		return ""
	}
	for _, word := range view.Accepts() {
		if v.text == word {
			return word
		}
	}
	r.problem(path, "Expected %s, received '%s'", want, bare(v.text))
	return ""
}

// id reads an item id, which may come as a number or with a hash sign; "" when
// it is missing (VARIANTS.md V5).
func (r *reader) id(v value, path string) string {
	switch {
	case v.missing():
		return ""
	case v.kind == '0' || v.kind == '"':
		return strings.TrimPrefix(strings.TrimSpace(v.text), "#")
	default:
		r.problem(path, "Expected string, received %s", v.name())
		return ""
	}
}

// bare is an excerpt without its quotation marks.
func bare(text string) string {
	quoted := excerpt(text)
	return quoted[1 : len(quoted)-1]
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
