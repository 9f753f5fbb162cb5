// Package tools implements the todo tools that models call: TodoWrite,
// write_todos, SetTodoList, create_todos and update_todo, one file each.
//
// A tool is data: a name, structs from which the schemas of its arguments and
// results are generated, a description, a function from arguments to a change
// of the list, and a function from the outcome to a result. The package
// promises that the input schema describes the arguments that a tool reads,
// that a refused call reports all its problems at once and changes nothing, and
// that structured results conform to the output schema. The rules are those of
// docs/spec/variants.md; comments refer to them by id.
package tools
