package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"todo-mcp/internal/board"
	"todo-mcp/internal/todo"
)

// Notice is what a person is told.
type Notice struct {
	ID     string // the same each time that the notice is sent
	Event  string // one of those of [events], or "test"
	Time   time.Time
	List   string // the id of the list; empty for a test
	Client string // the title of a known client; empty for another one
	Done   int    // items that are completed or cancelled
	Failed int
	Total  int
	URL    string // of the list's page; empty when unknown
	// Title and Text are what the list says, safe to show and bounded; empty unless that
	// is asked for.
	Title, Text string
}

// Test is the notice by which a person tries whether notices arrive.
func Test() Notice { return Notice{ID: board.NewID(), Event: "test", Time: time.Now()} }

// events are the words for the states that are told.
var events = map[todo.State]string{
	todo.Waiting: "waiting", todo.Finished: "finished", todo.InVain: "failed", todo.LeftOpen: "left_open",
}

// forms says of each event how people are told it: a sentence, the emoji by its name at
// ntfy, and the priority there, of which 3 is the default and 4 high.
var forms = map[string]struct {
	head, tag string
	priority  int
}{
	"waiting":   {"A list waits for you", "raised_hand", 4},
	"finished":  {"A list is finished", "white_check_mark", 3},
	"failed":    {"A list has failed", "x", 3},
	"left_open": {"A list was left open", "door", 3},
	"test":      {"Notices of todo-mcp arrive here", "bell", 3},
}

// lines returns what is told below the head; quote makes of a list's text what the
// receiver shows as it is.
func (n *Notice) lines(quote func(string) string) (lines []string) {
	if n.Total > 0 {
		client := n.Client
		if client == "" {
			client = "An agent"
		}
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

// code returns a text as code, in which neither Slack nor Discord sees markup, mentions or
// links.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }

// slackCode is [code] without what commands Slack everywhere.
func slackCode(text string) string {
	return code(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}

// chat returns a notice as a chat's message.
func (n *Notice) chat(bold string, quote func(string) string) string {
	lines := append([]string{bold + forms[n.Event].head + bold}, n.lines(quote)...)
	if n.URL != "" {
		lines = append(lines, n.URL)
	}
	return strings.Join(lines, "\n")
}

// body returns a notice as a kind of receiver reads it.
func (n *Notice) body(t *Target) ([]byte, error) {
	form := forms[n.Event]
	switch t.kind {
	case ntfy:
		return json.Marshal(struct {
			Topic    string   `json:"topic"`
			Title    string   `json:"title"`
			Message  string   `json:"message"`
			Priority int      `json:"priority"`
			Tags     []string `json:"tags"`
			Click    string   `json:"click,omitempty"`
		}{t.topic, form.head, strings.Join(n.lines(strings.Clone), "\n"), form.priority, []string{form.tag}, n.URL})
	case slack:
		return json.Marshal(map[string]any{
			"text": n.chat("*", slackCode), "unfurl_links": false, "unfurl_media": false})
	case discord:
		return json.Marshal(map[string]any{
			"content": n.chat("**", code), "allowed_mentions": map[string]any{"parse": []string{}}})
	}
	return json.Marshal(n.event())
}

// event returns a notice as the event of a plain webhook (docs/operations.md).
func (n *Notice) event() any {
	type data struct {
		List   string `json:"list,omitempty"`
		State  string `json:"state,omitempty"`
		Client string `json:"client,omitempty"`
		Done   int    `json:"done"`
		Failed int    `json:"failed"`
		Total  int    `json:"total"`
		URL    string `json:"url,omitempty"`
		Title  string `json:"title,omitempty"`
		Text   string `json:"text,omitempty"`
	}
	event := struct {
		Type string    `json:"type"`
		Time time.Time `json:"timestamp"`
		Data data      `json:"data"`
	}{"list." + n.Event, n.Time.UTC(),
		data{n.List, n.Event, n.Client, n.Done, n.Failed, n.Total, n.URL, n.Title, n.Text}}
	if n.List == "" {
		event.Type, event.Data = n.Event, data{}
	}
	return event
}
