//go:build unix

package storage_test

import (
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/programtest"
)

// import in a terminal says what it waits for. Ctrl-C stops it, and Ctrl-D ends the pasted text.
func TestImportOnATerminal(t *testing.T) {
	person := programtest.Terminal{Env: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	status, seen := person.Run(t, []string{"import"}, "Paste what `todo-mcp export` wrote", "",
		"Ctrl-C stops", programtest.CtrlC, "stopped; nothing was imported")
	if status != 1 {
		t.Errorf("it ends with status %d:\n%s", status, seen)
	}
	status, seen = person.Run(t, []string{"import"}, "Ctrl-D", `{"list":{"id":"x","created":"2026-01-01T00:00:00Z"},"revision":1,`+
		`"items":[],"last_id":0,"updated":"2026-01-01T00:00:00Z"}`+"\n"+programtest.CtrlD, "Imported 1 revisions")
	if status != 0 {
		t.Errorf("it ends with status %d:\n%s", status, seen)
	}
}
