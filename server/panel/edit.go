package panel

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// personsEdit is one edit that a person makes to a list on the panel.
type personsEdit struct {
	Do string `json:"do"` // status, block, text, add, remove or move
	// ID is the item's id; empty for add. Status, Text and To are the item's
	// new values. For block, Text is the reason, which may be empty.
	ID     string      `json:"id"`
	Status todo.Status `json:"status"`
	Text   string      `json:"text"`
	To     int         `json:"to"` // the item's index in the list
}

// errItemGone is returned for an edit of an item that is no longer on the list.
var errItemGone = &edge.Error{Status: http.StatusConflict, Text: "the item is not on the list any more"}

// change returns the edit as a change of the list; an error when it is invalid.
func (e personsEdit) change() (todo.Change, error) {
	text, err := todo.CleanText(e.Text)
	if err == nil && (e.Do == "text" || e.Do == "add") {
		err = todo.Item{Text: text, Status: todo.Pending}.Check()
	}
	if err != nil {
		return nil, err
	}
	goneUnless := func(ok bool) error {
		if !ok {
			return errItemGone
		}
		return nil
	}
	switch e.Do {
	case "status":
		if !slices.Contains(todo.Statuses(), e.Status) {
			return nil, fmt.Errorf("status must be one of %v", todo.Statuses())
		}
		return func(d *todo.Draft) error { return goneUnless(d.SetStatus(e.ID, e.Status)) }, nil
	case "block":
		if err := (todo.Item{Text: "x", Status: todo.Blocked, Reason: text}).Check(); err != nil {
			return nil, err
		}
		return func(d *todo.Draft) error { return goneUnless(d.Block(e.ID, text)) }, nil
	case "text":
		return func(d *todo.Draft) error { return goneUnless(d.SetText(e.ID, text)) }, nil
	case "remove":
		return func(d *todo.Draft) error { return goneUnless(d.Remove(e.ID)) }, nil
	case "move":
		return func(d *todo.Draft) error { return goneUnless(d.Move(e.ID, e.To)) }, nil
	case "add":
		return func(d *todo.Draft) error {
			if len(d.Items()) >= todo.MaxItems {
				return &todo.InputError{Problems: []todo.Problem{{Message: fmt.Sprintf("a list holds at most %d items", todo.MaxItems)}}}
			}
			d.Append(text)
			return nil
		}, nil
	}
	return nil, errors.New("do must be status, block, text, add, remove or move")
}

// edit applies an edit and answers with the list. The edge refuses requests from
// foreign pages; requiring JSON also refuses what an HTML form can send.
func (p *Panel) edit(w http.ResponseWriter, r *edge.Request) error {
	raw, unread := r.ReadJSON(w, nil)
	if unread != nil {
		return unread
	}
	var edit personsEdit
	// Strict: an edit that two readers could take differently is none (BAD-INPUT 83).
	if err := json.Unmarshal(raw, &edit, json.RejectUnknownMembers(true)); err != nil {
		return edge.BadRequest("not an edit")
	}
	change, err := edit.change()
	if err != nil {
		return edge.BadRequest("%s", err)
	}
	list, err := r.Lists.Load(r.Context(), r.PathValue("id"), 0)
	if err != nil {
		return err
	}
	out, err := r.Lists.Apply(r.Context(), todo.Write{
		Target: todo.Target{List: list.List.ID},
		Writer: todo.Writer{Client: "panel", Variant: "edit", Person: true},
		Change: change,
	})
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, render.Document(out.After))
}

// editor serves a list's items as HTML with fields for editing.
func (p *Panel) editor(w http.ResponseWriter, r *edge.Request) error {
	l, err := r.Lists.Load(r.Context(), r.PathValue("id"), 0)
	if err != nil {
		return err
	}
	return p.page(w, "editor", viewOf(family{main: l}, nil, p.config.Now()))
}
