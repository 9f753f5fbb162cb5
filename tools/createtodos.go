package tools

import (
	"fmt"
	"strings"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
)

// createTodosInput is the arguments of create_todos (system 5).
type createTodosInput struct {
	Items []string `json:"items" jsonschema:"minItems=1"`
}

func createTodos(w prompts.Words) variant {
	return variant{
		words:  w,
		view:   planView(),
		input:  createTodosInput{},
		output: planResult{},
		read: func(r *reader, args value) *Call {
			texts := r.steps(r.arguments(args, "items"), w)
			return &Call{Append: true, created: len(texts), Change: func(d *todo.Draft) error {
				if n := len(d.Items()) + len(texts); n > todo.MaxItems {
					return refuse(fmt.Sprintf(w.TooMany, todo.MaxItems, n))
				}
				d.Append(texts...)
				return nil
			}}
		},
		Result: func(c *Call, out todo.Outcome) Result {
			return planAnswer(w, fmt.Sprintf(w.Created, c.created), out)
		},
		failure: func(err *todo.InputError) Result { return planFailure(w, err) },
	}
}

// steps reads the step descriptions; a single string stands for an array of one
// (docs/spec/variants.md V5). It adds a problem for every one that is blank or
// not valid (P1).
func (r *reader) steps(args value, w prompts.Words) []string {
	v := args.get("items")
	if inner, ok := v.unquote(); ok && inner.kind == '[' {
		v = inner
	}
	if v.kind == '"' {
		v = value{kind: '[', elements: []value{v}}
	}
	switch {
	case v.missing() || v.kind == '[' && len(v.elements) == 0:
		r.sentence("%s", w.NoItems)
	case v.kind != '[':
		r.problemf("items", w.WrongType, "array", v.name())
	case len(v.elements) > todo.MaxItems:
		r.sentence(w.TooMany, todo.MaxItems, len(v.elements))
		return nil
	}
	texts := make([]string, 0, len(v.elements))
	for i, e := range v.elements {
		texts = append(texts, r.step(e, i, w))
	}
	return texts
}

// step reads the description at index i by the rules for all texts, and words
// its problems in the language of w.
func (r *reader) step(v value, i int, w prompts.Words) string {
	if v.kind == '"' && strings.TrimSpace(v.text) == "" {
		r.sentence(w.BlankItem, i+1)
		return ""
	}
	stepReader := reader{words: w}
	text, _ := stepReader.text(v, "", 0)
	for _, p := range stepReader.problems {
		r.sentence(w.BadItem, i+1, p.Message)
	}
	return text
}
