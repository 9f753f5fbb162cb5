package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// notices returns what a person wants to be told of lists that have just come
// from the source, before they are in the model: what finished, failed, is
// blocked or waits. A list that is not known yet counts as new, so that one that
// began and ended unseen is told of; the lists of the start are not. What a person
// did is not told.
func (m *model) notices(lists []todo.Snapshot) (out []string) {
	if !m.loaded {
		return nil
	}
	for _, l := range lists {
		before := m.lists[l.List.ID]
		if l.Revision <= before.Revision || l.Writer.Person || l.Deleted || l.Archived {
			continue
		}
		if text := notice(before, l); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// notice returns what to tell a person of a change: the most important thing, in
// one safe line; "" if there is none.
func notice(before, after todo.Snapshot) string {
	name := render.Cut(listName(after), 80)
	p := after.Progress()
	if after.Settled() && !before.Settled() {
		switch {
		case p.Failed > 0 && p.Done == 0:
			return fmt.Sprintf("Failed: %s (%d of %d)", name, p.Done, p.Total)
		case p.Failed > 0:
			return fmt.Sprintf("Finished: %s (%d of %d, %d failed)", name, p.Done, p.Total, p.Failed)
		case after.List.Agent == "":
			return fmt.Sprintf("Finished: %s (%d of %d)", name, p.Done, p.Total)
		}
	}
	if item, ok := newly(todo.Blocked, before, after); ok {
		what := "Blocked: "
		if _, current := after.Current(); !current {
			what = "Waits for you: "
		}
		return what + name + ": " + render.Cut(render.Safe(cmp.Or(item.Reason, item.Text)), 120)
	}
	if item, ok := newly(todo.Failed, before, after); ok {
		return "Failed: " + name + ": " + render.Cut(render.Safe(item.Text), 120)
	}
	return ""
}

// newly returns the last item that has come into a status.
func newly(status todo.Status, before, after todo.Snapshot) (todo.Item, bool) {
	for _, item := range slices.Backward(after.Items) {
		if old, ok := before.Item(item.ID); item.Status == status && (!ok || old.Status != status) {
			return item, true
		}
	}
	return todo.Item{}, false
}

// hasDisplay reports whether the programs of a desktop can be run: without one, xdg-open
// would start a browser in this terminal.
func hasDisplay(getenv func(string) string) bool {
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows" || getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""
}

// notify shows notices on the desktop, if there is one.
func notify(ctx context.Context, getenv func(string) string, notices []string) {
	for _, text := range notices {
		if hasDisplay(getenv) {
			_ = runCommand(ctx, notifier(text))
		}
	}
}

func runCommand(ctx context.Context, command []string) error {
	return exec.CommandContext(ctx, command[0], command[1:]...).Run()
}

// notifier returns the command that shows a notice. The text is an argument, so that no
// shell or script reads it.
func notifier(text string) []string {
	if runtime.GOOS == "darwin" {
		return []string{"osascript", "-e", "on run argv", "-e",
			`display notification (item 1 of argv) with title "todo-mcp"`, "-e", "end run", text}
	}
	return []string{"notify-send", "--app-name=todo-mcp", "--", "todo-mcp", text}
}

// Browse opens an address in the browser. It returns an error where no browser can be
// opened. getenv returns environment variables.
func Browse(ctx context.Context, getenv func(string) string, address string) error {
	if !hasDisplay(getenv) {
		return errors.New("no display")
	}
	return runCommand(ctx, browser(address))
}

func browser(address string) []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open", address}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	return []string{"xdg-open", address}
}
