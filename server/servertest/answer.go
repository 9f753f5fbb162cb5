package servertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Answer is a server's answer to a chat.
type Answer struct {
	Message
	chat *Chat
	call string
}

// Refused returns the error with which a call was refused; nil when it was carried out.
func (a Answer) Refused() error {
	switch {
	case a.Error != nil:
		return errors.New(a.Error.Message)
	case a.Result.IsError:
		return errors.New(cmp.Or(a.Text(), "an error without a text"))
	}
	return nil
}

// structured is the structured content about a list.
type structured struct {
	List     string
	Revision int64
	Display  []struct {
		Items []struct{ ID, Title, Status string }
	}
}

func (a Answer) structured() (s structured) {
	_ = json.Unmarshal(a.Result.Structured, &s) // without structured content there is no list
	return s
}

// List returns the id of the list in structured content; empty when there is none.
func (a Answer) List() string { return a.structured().List }

// Revision returns the revision of the list in structured content.
func (a Answer) Revision() int64 { return a.structured().Revision }

// Items returns the items in structured content, with the statuses of package todo.
func (a Answer) Items() (items []todo.Item) {
	for _, block := range a.structured().Display {
		for _, i := range block.Items {
			status := todo.Status(i.Status)
			if status == "done" {
				status = todo.Completed
			}
			items = append(items, todo.Item{ID: i.ID, Text: i.Title, Status: status})
		}
	}
	return items
}

// Says checks that the answer's text, or its error's message, contains all of texts.
func (a Answer) Says(texts ...string) Answer {
	a.chat.Helper()
	for _, text := range texts {
		if !strings.Contains(a.said(), text) {
			a.chat.Errorf("%s does not say %q: %s", a.call, text, a.Raw)
		}
	}
	return a
}

// Lacks checks that the answer's text, or its error's message, contains none of texts.
func (a Answer) Lacks(texts ...string) Answer {
	a.chat.Helper()
	for _, text := range texts {
		if strings.Contains(a.said(), text) {
			a.chat.Errorf("%s says %q: %s", a.call, text, a.Raw)
		}
	}
	return a
}

func (a Answer) said() string {
	if a.Error != nil {
		return a.Error.Message
	}
	return a.Text()
}

// Fails checks that a tool refused the call, and that the error for the model contains all
// of texts.
func (a Answer) Fails(texts ...string) Answer {
	a.chat.Helper()
	if a.Error != nil || !a.Result.IsError || !strings.HasPrefix(a.Text(), "Error") {
		a.chat.Errorf("%s is not refused: %s", a.call, a.Raw)
	}
	return a.Says(texts...)
}

// Is checks the answer's whole text.
func (a Answer) Is(text string) Answer {
	a.chat.Helper()
	if a.Text() != text {
		a.chat.Errorf("%s is answered %q, want %q", a.call, a.Text(), text)
	}
	return a
}
