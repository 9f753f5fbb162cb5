package tools_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"todo-mcp/server/servertest"
	"todo-mcp/tools"
)

// BenchmarkRead measures how the arguments of TodoWrite are read and checked, beside
// what the standard library takes to decode them.
func BenchmarkRead(b *testing.B) {
	all, err := tools.New(tools.Defaults())
	if err != nil {
		b.Fatal(err)
	}
	tool := tools.Find(all, "TodoWrite")
	for _, items := range []int{10, 50} {
		args := json.RawMessage(servertest.Plan(items, items/2))
		for name, read := range map[string]func() error{
			"floor": func() error {
				var into struct{ Todos []servertest.Todo }
				return json.Unmarshal(args, &into)
			},
			"read": func() error {
				_, err := tool.Read(args)
				return err
			},
		} {
			b.Run(fmt.Sprint(items, " items/", name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
