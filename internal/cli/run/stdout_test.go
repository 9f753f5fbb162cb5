package run_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/internal/cli"
)

// Whatever happens, standard output carries messages of the protocol alone, one a
// line: with every log line on, a store that cannot be used, messages that are none,
// and texts with line breaks (docs/reliability.md).
func TestStdioWritesMessagesAlone(t *testing.T) {
	unusable := filepath.Join(t.TempDir(), "folder.db", "x\x00y")
	input := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a\nb","version":"1"}}}`,
		`no message`, `{"jsonrpc":"2.0","id":2,"method":"none"}`, `[]`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"TodoWrite","arguments":{"todos":[{"content":"a\nb\u2028c","activeForm":"A","status":"pending"}]}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"todo://list"}}`, `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`,
	}, "\n")
	for name, store := range map[string]string{"memory": "memory", "a store that cannot be used": "sqlite:" + unusable} {
		var out, log bytes.Buffer
		err := cli.Run(t.Context(), []string{"todo-mcp", "stdio", "--store", store, "--log-level", "debug"},
			cli.Env{Stdin: strings.NewReader(input), Stdout: &out, Stderr: &log, Getenv: func(string) string { return "" }, Version: "v0"})
		if err != nil && out.Len() > 0 {
			t.Errorf("%s: %v, after %s", name, err, out.Bytes())
		}
		answers := 0
		for line := range strings.Lines(out.String()) {
			var m struct {
				Version string `json:"jsonrpc"`
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" {
				t.Errorf("%s: no message: %q", name, line)
			}
			answers++
		}
		if err == nil && answers != 7 {
			t.Errorf("%s: %d answers", name, answers)
		}
	}
}
