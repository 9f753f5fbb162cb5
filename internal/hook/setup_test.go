package hook_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"todo-mcp/internal/hook"
)

// decoded returns a value as JSON has it.
func decoded(t *testing.T, v any) any {
	t.Helper()
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return out
}

func file(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// docs/hooks.md and the plugin for Claude Code have the hooks of the table.
func TestSetupsAreDocumented(t *testing.T) {
	document := string(file(t, "docs", "hooks.md"))
	var blocks []any
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(document, -1) {
		blocks = append(blocks, decoded(t, []byte(block[1])))
	}
	for _, s := range hook.Setups() {
		if !strings.Contains(document, "`~/"+s.Folder+"/"+s.File+"`") {
			t.Errorf("%s: docs/hooks.md does not name ~/%s/%s", s.Client, s.Folder, s.File)
		}
		if s.Entries == nil {
			continue
		}
		want := decoded(t, map[string]any{"hooks": s.Settings("todo-mcp hook")})
		if s.Client == "cursor" {
			want.(map[string]any)["version"] = 1.0
		}
		if !slices.ContainsFunc(blocks, func(b any) bool { return cmp.Equal(b, want) }) {
			t.Errorf("%s: docs/hooks.md has no block with %v", s.Client, want)
		}
		if s.Client == "claude-code" {
			if diff := cmp.Diff(want, decoded(t, file(t, "packaging", "claude-code", "hooks", "hooks.json"))); diff != "" {
				t.Errorf("the plugin's hooks (-want +got)\n%s", diff)
			}
		}
	}
}

// The plugin for opencode runs the command that it is given, whatever is in it.
func TestPlugin(t *testing.T) {
	for _, s := range hook.Setups() {
		const command = `'/opt/a "b"\c/todo-mcp' hook`
		switch text := s.Plugin(command); {
		case s.Entries != nil && text != "", s.Entries == nil && s.Settings(command) != nil:
			t.Errorf("%s has both hooks and a plugin", s.Client)
		case s.Entries == nil && !strings.Contains(text, `const command = "'/opt/a \"b\"\\c/todo-mcp' hook"`):
			t.Errorf("%s: %s", s.Client, text)
		}
	}
}
