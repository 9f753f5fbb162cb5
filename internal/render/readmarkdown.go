package render

import (
	"strings"

	"todo-mcp/internal/todo"
)

// ReadMarkdown reads the task list items of a Markdown text, at any depth, and
// skips everything else. It is the inverse of [Markdown] and takes what people
// write as well ("* [X] text"). Items have a text, a status and, when they
// are written, the active text of what is in progress and the reason of what is
// blocked; ids and times are zero. Texts are not
// checked against limits. nil when there are no items.
func ReadMarkdown(text string) []todo.Item {
	var items []todo.Item
	for line := range strings.Lines(text) {
		if item, ok := readTask(strings.TrimSpace(line)); ok {
			items = append(items, item)
		}
	}
	return items
}

// readTask reads one trimmed line. ok is false when it is no task.
func readTask(line string) (item todo.Item, ok bool) {
	if line == "" || !strings.ContainsRune("-*+", rune(line[0])) {
		return todo.Item{}, false
	}
	box, text, ok := strings.Cut(strings.TrimSpace(line[1:]), "]")
	if !ok || !strings.HasPrefix(text, " ") {
		return todo.Item{}, false
	}
	switch box {
	case "[ ":
		item = readText(strings.TrimSpace(text))
	case "[x", "[X":
		item = readText(strings.TrimSpace(text))
		if item.Status == todo.Pending {
			item.Status = todo.Completed
		}
	}
	return item, item.Text != ""
}

// readText reads what stands behind the box.
func readText(text string) todo.Item {
	if inner, ok := within(text, "~~", "~~"); ok {
		return todo.Item{Text: unescape(inner), Status: todo.Cancelled}
	}
	if inner, ok := strings.CutSuffix(text, failedNote); ok {
		return todo.Item{Text: unescape(inner), Status: todo.Failed}
	}
	if inner, ok := strings.CutSuffix(text, noteEnd); ok {
		if name, why, ok := strings.Cut(inner, blockNote); ok {
			return todo.Item{Text: unescape(name), Reason: unescape(strings.TrimPrefix(why, noteDetail)), Status: todo.Blocked}
		}
	}
	if inner, ok := within(text, "**", noteEnd); ok {
		if name, active, ok := strings.Cut(inner, "**"+progressNote); ok {
			active = strings.TrimPrefix(active, noteDetail)
			return todo.Item{Text: unescape(name), Active: unescape(active), Status: todo.InProgress}
		}
	}
	return todo.Item{Text: unescape(text), Status: todo.Pending}
}

// within returns what stands between two ends.
func within(text, begin, end string) (inner string, ok bool) {
	inner, begins := strings.CutPrefix(text, begin)
	inner, ends := strings.CutSuffix(inner, end)
	return inner, begins && ends
}

// unescape takes the backslash from before ASCII punctuation, as Markdown does.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && isPunct(text[i+1]) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func isPunct(c byte) bool { return strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) >= 0 }
