package server_test

import (
	"encoding/json"
	"testing"

	"todo-mcp/server/servertest"
)

// T9: a tool that changes a todo list needs nobody's permission. Hosts go by its
// annotations: it destroys nothing and reaches nothing outside (V2), and it is
// not read-only, so that a host in plan mode leaves it out.
func TestToolsNeedNoPermission(t *testing.T) {
	site := servertest.Serve(t, servertest.New(t, nil, nil), nil)
	_, _, body := servertest.Post(t, site.URL+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"Mcp-Session-Id", servertest.Session(t, site.URL+"/mcp", "tester"))
	names, raw := servertest.Listed(t, body)
	if len(names) != 5 {
		t.Fatalf("listed %v", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			var tool struct {
				Annotations map[string]*bool
			}
			if err := json.Unmarshal(raw[name], &tool); err != nil {
				t.Fatal(err)
			}
			for hint, want := range map[string]bool{"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false, "idempotentHint": name != "create_todos"} {
				if got := tool.Annotations[hint]; got == nil || *got != want {
					t.Errorf("%s: %v, want %v", hint, got, want)
				}
			}
		})
	}
}
