package render

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/shell"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Agent is the name and the icon by which people see an agent's client.
type Agent struct {
	Name  string // safe to show
	Glyph string // the id of its icon; "agent" for most
}

// Writer names a revision's writer: "AGENT for USER" or "AGENT"; for a person "USER" or else the parameter you.
func Writer(w todo.Writer, agent, you string) string {
	if w.Person {
		return cmp.Or(Safe(w.User), you)
	}
	return strings.TrimSuffix(agent+" for "+Safe(w.User), " for ")
}

// AgentOf returns the agent of a client by its name in MCP. An unknown client keeps its name; "" gives "An agent".
func AgentOf(name string) Agent {
	c := clients.Find(name)
	return Agent{cmp.Or(c.Title, Safe(name), "An agent"), cmp.Or(c.Glyph, "agent")}
}

// Client returns the name of a client's agent; empty for no client.
func Client(name string) string {
	if name == "" {
		return ""
	}
	return AgentOf(name).Name
}

// Count returns a number and its noun, such as "1 list" or "3 lists".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

// Some returns [Count], but an empty text if n is 0.
func Some(n int, one, many string) string {
	if n == 0 {
		return ""
	}
	return Count(n, one, many)
}

const day = 24 * time.Hour

// Took returns a duration in its two largest units, rounded down: "10s", "4m 10s", "1h 04m", "2d 03h". A negative
// duration, from clocks that differ, is "0s".
func Took(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh %02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd %02dh", d/day, d%day/time.Hour)
}

// Roughly returns a duration in its largest unit: "4m".
func Roughly(d time.Duration) string {
	text, _, _ := strings.Cut(Took(d), " ")
	return text
}

const agoFor = 12 * time.Hour

// When returns how long ago a time was, as "4s ago" or "3h ago"; from half a day on, it returns the time's [Moment]. A
// future time is "0s ago".
func When(t, now time.Time) string {
	if d := now.Sub(t); d < agoFor {
		return Roughly(d) + " ago"
	}
	return Moment(t, now)
}

// Moment returns a time in a short form: "15:04" for today and the future, "Mon 15:04" for the six days before today,
// and "2 Jan" for earlier days, with the year unless it is the current one.
func Moment(t, now time.Time) string {
	t = t.In(now.Location())
	switch days := DaysAgo(t, now); {
	case days <= 0:
		return t.Format("15:04")
	case days < 7:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan")
	}
	return t.Format("2 Jan 2006")
}

// DaysAgo returns the number of midnights between a time and now, in now's time zone.
func DaysAgo(t, now time.Time) int {
	return int(todo.Midnight(now).Sub(todo.Midnight(t.In(now.Location()))).Round(day) / day)
}

// chatID matches ids of chats that a shell cannot take for an option or for several words.
var chatID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

var volume = regexp.MustCompile(`^(?:[A-Za-z]:[\\/]|\\\\)`) // matches the start of an absolute path of Windows

// ResumeCommand returns the command that resumes the chat of a list in its folder, for a POSIX shell, or for
// PowerShell if the folder is one of Windows: `cd '/src/shop' && claude --resume 4f1c`. It is empty if the chat
// is unknown, its client has no such command, another client wrote the list last, or the folder has a
// character that a terminal could take for a key (BAD-INPUT 125).
func ResumeCommand(s todo.Snapshot) string {
	client, id, folder := clients.Find(s.List.Client), s.List.Chat, s.List.Workspace
	another := !s.Writer.Person && s.Writer.Client != "" && clients.Find(s.Writer.Client).Name != client.Name
	if client.Resume == "" || another || !chatID.MatchString(id) || len(id) > 128 || Safe(folder) != folder {
		return ""
	}
	command := client.Resume + " " + id
	switch {
	case folder == "":
		return command
	case volume.MatchString(folder):
		return "cd -LiteralPath " + shell.PowerShell.Quote(folder) + " -ErrorAction Stop; " + command
	}
	if strings.HasPrefix(folder, "-") { // would be an option
		folder = "./" + folder
	}
	return "cd " + shell.POSIX.Quote(folder) + " && " + command
}
