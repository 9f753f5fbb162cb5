package jsonrpc_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"todo-mcp/server/jsonrpc"
	"todo-mcp/server/servertest"
)

// BenchmarkRead measures the strict reader on a call, beside what the standard library
// takes to decode it without any of its checks.
func BenchmarkRead(b *testing.B) {
	for _, items := range []int{10, 50} {
		call := []byte(servertest.Call(1, "TodoWrite", servertest.Plan(items, items/2)))
		b.Run(fmt.Sprint(items, " items/floor"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var m struct {
					Method     string
					ID, Params json.RawMessage
				}
				if err := json.Unmarshal(call, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprint(items, " items/read"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonrpc.Read(call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
