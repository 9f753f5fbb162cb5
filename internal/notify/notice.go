package notify

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Notice is a message to a person. As JSON it is the data of a plain webhook's event (docs/operations.md).
type Notice struct {
	ID     string    `json:"-"` // the same in each try to send it
	Time   time.Time `json:"-"`
	List   string    `json:"list,omitempty"` // its id; empty for a test
	Event  string    `json:"state"`          // a key of [forms]
	Client string    `json:"client,omitempty"`
	Done   int       `json:"done"` // items that are completed or cancelled
	Failed int       `json:"failed"`
	Total  int       `json:"total"`
	URL    string    `json:"url,omitempty"` // of the list's page; empty when unknown
	// Title and Text are texts of the list, cut and safe to show; empty without [Config.Texts].
	Title string `json:"title,omitempty"`
	Text  string `json:"text,omitempty"`
}

// Test returns the notice with which a person tries whether notices arrive.
func Test() Notice { return Notice{ID: board.NewID(), Event: "test", Time: time.Now()} }

// eventOf is the word for a state.
func eventOf(s todo.State) string { return strings.ReplaceAll(string(s), " ", "_") }

// forms has for each event a sentence, ntfy's emoji and priority (3 is the default), and how long a list must be in the
// state: in that time a person at the desk answers, and a restarted agent is back.
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

// lines returns the lines below the sentence. quote escapes a text of the list for the receiver.
func (n *Notice) lines(quote func(string) string) (lines []string) {
	line := cmp.Or(n.Client, "An agent")
	if n.Total > 0 { // else it is a chat without a list
		line += fmt.Sprintf(": %d of %d done", n.Done, n.Total)
	}
	if n.Failed > 0 {
		line += fmt.Sprintf(", %d failed", n.Failed)
	}
	if n.Event != "test" {
		lines = append(lines, line)
	}
	for _, text := range []string{n.Title, n.Text} {
		if text != "" {
			lines = append(lines, quote(text))
		}
	}
	return lines
}

// chat returns a notice as a message in a chat.
func (n *Notice) chat(bold string, quote func(string) string) string {
	lines := append([]string{bold + forms[n.Event].head + bold}, n.lines(quote)...)
	if n.URL != "" {
		lines = append(lines, n.URL)
	}
	return strings.Join(lines, "\n")
}

// code returns a text as code, in which neither Slack nor Discord sees markup, mentions or links.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// slackCode is [code] with the characters escaped that Slack interprets in code, too.
func slackCode(text string) string {
	return code(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}
