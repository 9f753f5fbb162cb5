package hook_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/hook"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// What a chat does is true after each event that its host was recorded to tell its hooks: see
// the tables in testdata/states. An event comes ten seconds after the one before, or at once.
func TestStatesAreTrue(t *testing.T) {
	files, err := filepath.Glob("testdata/states/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		host := strings.TrimSuffix(filepath.Base(file), ".txt")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for section := range strings.SplitSeq(string(data), "\n\n") {
			title, events, _ := strings.Cut(section, "\n")
			if events != "" {
				t.Run(host+strings.TrimPrefix(title, "#"), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { playStates(t, events) }) })
			}
		}
	}
}

// playStates sends events to a new chat, each of which stands before what the chat does then.
func playStates(t *testing.T, events string) {
	r := newRig(t)
	for line := range strings.Lines(events) {
		event, want, _ := strings.Cut(strings.TrimSpace(line), " → ")
		if !strings.HasPrefix(event, "at once ") {
			time.Sleep(10 * time.Second)
		}
		if err := r.send(strings.Replace(strings.TrimPrefix(event, "at once "), "{", `{"session_id":"s","cwd":"/w",`, 1)); err != nil && !errors.Is(err, hook.ErrNotNeeded) {
			t.Error(err)
		}
		chats, err := r.lists.OwnChats(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		got := "nothing"
		for _, c := range chats {
			if c.Parent == "" {
				got = doing(c)
			}
		}
		if got != want {
			t.Errorf("after %s\n%s, want %s", event, got, want)
		}
	}
}

// doing says what a chat does.
func doing(c todo.Chat) string {
	switch {
	case !c.Ended.IsZero():
		return "gone"
	case c.Asks != "":
		return "waits: " + c.Asks
	case c.Doing == todo.Works:
		return "working"
	case c.Doing == todo.Rests:
		return "idle"
	}
	return "not known"
}
