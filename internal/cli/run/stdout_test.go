package run_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// Whatever happens, standard output carries messages of the protocol alone, one a
// line: with every log line on, a store that cannot be used, messages that are none,
// and texts with line breaks (docs/reliability.md).
func TestStdioWritesMessagesAlone(t *testing.T) {
	input := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a\nb","version":"1"}}}`,
		`no message`, `{"jsonrpc":"2.0","id":2,"method":"none"}`, `[]`,
		servertest.Call(3, "TodoWrite", servertest.Todos("pending", "a\nb\u2028c")),
		`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"todo://list"}}`, `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`,
	}, "\n")
	for _, store := range []string{"memory", "sqlite:" + filepath.Join(t.TempDir(), "folder.db", "x\x00y")} {
		out, err := programtest.Try(t, input, "stdio", "--store", store, "--log-level", "debug")
		if err != nil && out != "" {
			t.Errorf("%q: %v, after %s", store, err, out)
		}
		answers := 0
		for line := range strings.Lines(out) {
			var m struct {
				Version string `json:"jsonrpc"`
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" {
				t.Errorf("%q: no message: %q", store, line)
			}
			answers++
		}
		if err == nil && answers != 7 {
			t.Errorf("%q: %d answers", store, answers)
		}
	}
}

// A command whose reader goes away, as head does when it has its lines, ends without a word.
func TestReaderGoesAway(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer write.Close()
	for _, line := range []string{"version", "help", "lists --store memory", "install --print", "TodoWrite --help"} {
		said, cmd := new(strings.Builder), exec.CommandContext(t.Context(), "todo-mcp", strings.Fields(line)...)
		cmd.Stdout, cmd.Stderr = write, said
		if err := cmd.Run(); err != nil || said.Len() > 0 {
			t.Errorf("%s: %v, it says %q", line, err, said)
		}
	}
}
