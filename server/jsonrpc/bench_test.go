package jsonrpc_test

import (
	"encoding/json"
	"testing"

	"todo-mcp/server/jsonrpc"
	"todo-mcp/server/servertest"
)

// BenchmarkRead measures the strict reader on a call with ten items, beside what the
// standard library takes to decode it without any of its checks.
func BenchmarkRead(b *testing.B) {
	texts := make([]string, 10)
	for i := range texts {
		texts[i] = "A step of a plan of the usual length"
	}
	call := []byte(servertest.Call(1, "TodoWrite", servertest.Todos("pending", texts...)))
	b.Run("floor", func(b *testing.B) {
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
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := jsonrpc.Read(call); err != nil {
				b.Fatal(err)
			}
		}
	})
}
