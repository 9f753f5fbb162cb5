// Package tools holds the todo tools that models know: TodoWrite, write_todos,
// SetTodoList, create_todos and update_todo, one file each.
//
// A tool is data: a name, an argument struct its schema is generated from, a
// guidance text, one function from arguments to a change of the model, and one
// from the outcome to a result. The package promises that what it publishes and
// what it accepts agree, that a refused call tells every problem at once and
// changes nothing, and that structured results conform to the published output
// schema. The rules are those of VARIANTS.md; comments name them by id.
package tools
