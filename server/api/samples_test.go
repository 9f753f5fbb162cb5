package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
)

func sample(t *testing.T, name string) string {
	t.Helper()
	return string(checktest.Must(os.ReadFile(filepath.Join("samples", name)))(t))
}

func frontend(t *testing.T, name string) string {
	t.Helper()
	return string(checktest.Must(os.ReadFile(filepath.Join("..", "..", "testdata", "frontend", name)))(t))
}

func withoutSpace(code string) string { return regexp.MustCompile(`\s+`).ReplaceAllString(code, "") }

// W2, W4: the samples contain the front-end code of system 1 (testdata/frontend), spaces aside: its reader of the
// stream, and its icons and colours in React and in Flutter. The Flutter sample is compared only as text, since no Dart
// is installed for tests.
func TestSamplesHaveSystem1(t *testing.T) {
	dart := withoutSpace(sample(t, "flutter.dart"))
	checktest.Has(t, "W4: the Flutter sample", dart, withoutSpace(frontend(t, "system1.dart")))
	checktest.Has(t, "W2: the Flutter sample", dart,
		`boolisTodoToolName(Stringname)=>name.split(RegExp(r'__|[./:]')).last.toLowerCase().contains('todo');`,
		`if(!isTodoToolName(block['name']asString)||block['parent_tool_use_id']!=null)continue;`,
		`/api/workspace$query`, `/api/stream$query`,
	)
	for _, pair := range []string{"{}", "()", "[]"} {
		if strings.Count(dart, pair[:1]) != strings.Count(dart, pair[1:]) {
			t.Errorf("the Flutter sample has unequal numbers of %s", pair)
		}
	}
	react := withoutSpace(strings.ReplaceAll(sample(t, "react.jsx"), "export function", "function"))
	code, functions := frontend(t, "system1.jsx"), regexp.MustCompile(`(?ms)^function .*?^}`)
	if n := len(functions.FindAllString(code, -1)); n != 3 {
		t.Fatalf("system1.jsx has %d functions", n)
	}
	for _, f := range functions.FindAllString(code, -1) {
		checktest.Has(t, "W2, W4: the React sample", react, withoutSpace(f))
	}
}
