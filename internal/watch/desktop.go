package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"

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

// desktop reaches what is outside the terminal's screen: notices, the clipboard
// and the browser. Where the terminal understands a sequence it is told by it,
// which also works over SSH; else a program of the system is.
type desktop struct {
	getenv func(string) string
	// start runs a program with a text as its input, and does not wait for long; it
	// returns an error if there is no such program.
	start func(ctx context.Context, input, name string, args ...string) error
}

// startProgram implements desktop.start.
func startProgram(ctx context.Context, input, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	if input != "" {
		c.Stdin = strings.NewReader(input)
	}
	return c.Run()
}

// noticeSequence returns what tells the terminal a notice: the bell, and the
// sequence that it understands as far as its environment says. ok is false if
// none is known. text is safe to show and one line.
func (d desktop) noticeSequence(text string) (sequence string, ok bool) {
	term, program := d.getenv("TERM"), d.getenv("TERM_PROGRAM")
	switch {
	case d.getenv("TMUX") != "" || strings.HasPrefix(term, "screen") || strings.HasPrefix(term, "tmux"):
		return "\a", false // what is around is not known
	case d.getenv("KITTY_WINDOW_ID") != "" || term == "xterm-kitty":
		return "\a\x1b]99;;todo-mcp: " + text + "\x1b\\", true
	case program == "iTerm.app" || program == "WezTerm" || program == "ghostty" || d.getenv("WT_SESSION") != "" || d.getenv("ConEmuPID") != "":
		return "\a\x1b]9;" + text + "\x1b\\", true
	case strings.HasPrefix(term, "rxvt") || strings.HasPrefix(term, "foot"):
		// its parts are separated by semicolons
		return "\a\x1b]777;notify;todo-mcp;" + strings.ReplaceAll(text, ";", ",") + "\x1b\\", true
	}
	return "\a", false
}

// notify tells the desktop by a program. The text is an argument, so that no
// shell or script reads it.
func (d desktop) notify(ctx context.Context, text string) {
	switch {
	case runtime.GOOS == "darwin":
		_ = d.start(ctx, "", "osascript", "-e", "on run argv", "-e", `display notification (item 1 of argv) with title "todo-mcp"`, "-e", "end run", text)
	case d.hasDisplay():
		_ = d.start(ctx, "", "notify-send", "--app-name=todo-mcp", "--", "todo-mcp", text)
	}
}

func (d desktop) hasDisplay() bool {
	return runtime.GOOS != "windows" && (d.getenv("DISPLAY") != "" || d.getenv("WAYLAND_DISPLAY") != "")
}

// copy puts a text onto the clipboard by a program, for terminals that do not do
// it themselves.
func (d desktop) copy(ctx context.Context, text string) {
	switch {
	case d.getenv("SSH_CONNECTION") != "": // that would be the clipboard of another machine
	case runtime.GOOS == "darwin":
		_ = d.start(ctx, text, "pbcopy")
	case runtime.GOOS == "windows":
		_ = d.start(ctx, text, "clip.exe")
	case d.getenv("WAYLAND_DISPLAY") != "":
		_ = d.start(ctx, text, "wl-copy")
	case d.getenv("DISPLAY") != "":
		_ = d.start(ctx, text, "xclip", "-selection", "clipboard")
	}
}

// Browse opens an address in the browser. It returns an error where no browser can be
// opened. getenv returns environment variables.
func Browse(ctx context.Context, getenv func(string) string, address string) error {
	return desktop{getenv, startProgram}.browse(ctx, address)
}

// browse opens an address in the browser. It returns an error where no browser
// can be opened.
func (d desktop) browse(ctx context.Context, address string) error {
	switch runtime.GOOS {
	case "darwin":
		return d.start(ctx, "", "open", address)
	case "windows":
		return d.start(ctx, "", "rundll32", "url.dll,FileProtocolHandler", address)
	}
	if !d.hasDisplay() {
		return errors.New("no display") // xdg-open would start a browser in this terminal
	}
	return d.start(ctx, "", "xdg-open", address)
}
