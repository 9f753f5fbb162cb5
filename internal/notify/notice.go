package notify

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Notice is what a person is told. As JSON it is the data of a plain webhook's event
// (docs/operations.md).
type Notice struct {
	ID     string    `json:"-"` // the same each time that the notice is sent
	Time   time.Time `json:"-"`
	List   string    `json:"list,omitempty"` // its id; empty for a test
	Event  string    `json:"state"`          // one of those of [forms]
	Client string    `json:"client,omitempty"`
	Done   int       `json:"done"` // items that are completed or cancelled
	Failed int       `json:"failed"`
	Total  int       `json:"total"`
	URL    string    `json:"url,omitempty"` // of the list's page; empty when unknown
	// Title and Text are what the list says, safe to show and bounded; empty unless that
	// is asked for.
	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Test is the notice by which a person tries whether notices arrive.
func Test() Notice { return Notice{ID: board.NewID(), Event: "test", Time: time.Now()} }

// eventOf is the word for a state.
func eventOf(s todo.State) string { return strings.ReplaceAll(string(s), " ", "_") }

// forms says of each event how people are told it: a sentence, the emoji by its name at
// ntfy, and the priority there, of which 3 is the default and 4 high. A list must stand so
// for a delay before: who sits at the desk answers an agent in that time, and one that is
// restarted is back.
var forms = map[string]struct {
	head, tag string
	priority  int
	delay     time.Duration
}{
	"waiting":   {"An agent waits for you", "raised_hand", 4, 15 * time.Second},
	"finished":  {"A list is finished", "white_check_mark", 3, 5 * time.Second},
	"failed":    {"A list has failed", "x", 3, 5 * time.Second},
	"left_open": {"A list was left open", "door", 3, time.Minute},
	"test":      {"Notices of todo-mcp arrive here", "bell", 3, 0},
}

// lines returns what is told below the head; quote makes of a list's text what the
// receiver shows as it is.
func (n *Notice) lines(quote func(string) string) (lines []string) {
	client := cmp.Or(n.Client, "An agent")
	switch {
	case n.Event == "test":
	case n.Total == 0: // a chat without a list
		lines = append(lines, client)
	default:
		line := fmt.Sprintf("%s: %d of %d done", client, n.Done, n.Total)
		if n.Failed > 0 {
			line += fmt.Sprintf(", %d failed", n.Failed)
		}
		lines = append(lines, line)
	}
	for _, text := range []string{n.Title, n.Text} {
		if text != "" {
			lines = append(lines, quote(text))
		}
	}
	return lines
}

// chat returns a notice as a chat's message.
func (n *Notice) chat(bold string, quote func(string) string) string {
	lines := append([]string{bold + forms[n.Event].head + bold}, n.lines(quote)...)
	if n.URL != "" {
		lines = append(lines, n.URL)
	}
	return strings.Join(lines, "\n")
}

// code returns a text as code, in which neither Slack nor Discord sees markup, mentions or
// links.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// slackCode is [code] without what commands Slack everywhere.
func slackCode(text string) string {
	return code(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}
