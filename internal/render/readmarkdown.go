package render

import (
	"strings"

	"todo-mcp/internal/todo"
)

// ReadMarkdown reads the task list items of a Markdown text, at any depth, and
// skips everything else. It is the inverse of [Markdown] and also accepts what
// people write ("* [X] text"). It sets the text and the status of each item, and
// as far as they are written the active text of items in progress, the reason of
// blocked ones, priority and due date; ids and times are zero. It does not check texts against
// limits. It returns nil if there are no items.
func ReadMarkdown(text string) []todo.Item {
	var items []todo.Item
	for line := range strings.Lines(text) {
		if item, ok := readTask(strings.TrimSpace(line)); ok {
			items = append(items, item)
		}
	}
	return items
}

// readTask parses one trimmed line. ok is false if the line is not a task with a
// text.
func readTask(line string) (item todo.Item, ok bool) {
	rest, ok := afterMarker(line)
	if !ok {
		return todo.Item{}, false
	}
	checkbox, text, ok := strings.Cut(strings.TrimSpace(rest), "]")
	if !ok || !strings.HasPrefix(text, " ") {
		return todo.Item{}, false
	}
	text, due := cutNote(strings.TrimSpace(text), dueNote)
	text, priority := cutNote(text, priorityNote)
	switch checkbox {
	case "[ ":
		item = readText(text)
	case "[x", "[X":
		item = readText(text)
		if item.Status == todo.Pending {
			item.Status = todo.Completed
		}
	}
	item.Priority, item.DueDate = priority, due
	return item, item.Text != ""
}

// cutNote returns a text without the note at its end that begins with begin, and
// what that note says; detail is empty when there is none.
func cutNote(text, begin string) (rest, detail string) {
	inner, ok := strings.CutSuffix(text, noteEnd)
	i := strings.LastIndex(inner, begin)
	if !ok || i < 0 || strings.Contains(inner[i:], noteEnd) {
		return text, ""
	}
	return inner[:i], unescape(inner[i+len(begin):])
}

// afterMarker returns what follows a list item's marker: "-", "*", "+", or a
// number of up to nine digits with "." or ")". ok is false for any other line.
func afterMarker(line string) (rest string, ok bool) {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits > 9 || digits == len(line) {
		return "", false
	}
	marker := "-*+"
	if digits > 0 {
		marker = ".)"
	}
	return line[digits+1:], strings.IndexByte(marker, line[digits]) >= 0
}

// readText parses what follows the checkbox.
func readText(text string) todo.Item {
	if inner, ok := trimEnds(text, "~~", "~~"); ok {
		return todo.Item{Text: unescape(inner), Status: todo.Cancelled}
	}
	if inner, ok := strings.CutSuffix(text, failedNote); ok {
		return todo.Item{Text: unescape(inner), Status: todo.Failed}
	}
	if inner, ok := strings.CutSuffix(text, noteEnd); ok {
		if itemText, reason, ok := strings.Cut(inner, blockNote); ok {
			return todo.Item{Text: unescape(itemText), Reason: unescape(strings.TrimPrefix(reason, noteDetail)), Status: todo.Blocked}
		}
	}
	if inner, ok := trimEnds(text, "**", noteEnd); ok {
		if itemText, active, ok := strings.Cut(inner, "**"+progressNote); ok {
			active = strings.TrimPrefix(active, noteDetail)
			return todo.Item{Text: unescape(itemText), Active: unescape(active), Status: todo.InProgress}
		}
	}
	return todo.Item{Text: unescape(text), Status: todo.Pending}
}

// trimEnds returns text without the prefix begin and the suffix end. ok is false
// if text lacks either.
func trimEnds(text, begin, end string) (inner string, ok bool) {
	inner, hasBegin := strings.CutPrefix(text, begin)
	inner, hasEnd := strings.CutSuffix(inner, end)
	return inner, hasBegin && hasEnd
}

// unescape removes backslashes before ASCII punctuation, as Markdown does.
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
