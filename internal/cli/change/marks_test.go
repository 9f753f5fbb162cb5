package change_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// asWindows are the forms in which editors and shells of Windows save and pipe a text.
var asWindows = map[string]func(text string) []byte{
	"a mark":    func(text string) []byte { return []byte("\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")) },
	"two marks": func(text string) []byte { return []byte("\ufeff\ufeff" + text) },
	"UTF-16": func(text string) []byte {
		var out bytes.Buffer
		_ = binary.Write(&out, binary.LittleEndian, utf16.Encode([]rune("\ufeff"+strings.ReplaceAll(text, "\n", "\r\n"))))
		return out.Bytes()
	},
}

// BAD-INPUT 162: Byte order marks, UTF-16, Windows line ends in any input → Read as UTF-8. A
// client's file keeps its mark, its copy each byte
func TestTextsOfWindows(t *testing.T) {
	for name, form := range asWindows {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(file, text string) string {
				path := filepath.Join(dir, file)
				programtest.Check(t, os.WriteFile(path, form(text), 0o600))
				return path
			}
			call := programtest.Call{Env: map[string]string{
				"XDG_STATE_HOME": dir, "TODO_CONFIG": write("config", "# limits\nmax-items = 1\n"),
				"EDITOR": `cp "` + write("edited.md", "- [x] Fix the 🚪 <!--1-->\n") + `"`,
			}}
			do := func(in string, args ...string) string {
				t.Helper()
				c := call
				c.In = bytes.NewReader(form(in))
				printed, err := c.Run(t.Context(), args...)
				if err != nil {
					t.Errorf("%q: %v", args, err)
				}
				return printed
			}
			do(servertest.Todos("pending", "A")+"\n", "TodoWrite", "--list", "plan", "-")
			if _, err := call.Run(t.Context(), "TodoWrite", servertest.Todos("pending", "A", "B")); err == nil || !strings.Contains(err.Error(), "1") {
				t.Errorf("the config file has no effect: %v", err)
			}
			checktest.Has(t, "edited to", do("", "edit", "plan"), "[x] #1 Fix the 🚪")
			checktest.Same(t, "the status line is", do(`{"session_id":"s","cwd":"/nowhere"}`, "show", "--claude-code"), "")
			exported := do("", "export")
			file := write("lists.ndjson", exported)
			for _, args := range [][]string{{"import", file}, {"import"}} {
				call.Env["XDG_STATE_HOME"] = t.TempDir()
				do(exported, args...)
				if got := do("", "export"); got != exported || got == "" {
					t.Errorf("%q imports\n%s, want\n%s", args, got, exported)
				}
			}
		})
	}
}
