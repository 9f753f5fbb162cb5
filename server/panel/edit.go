package panel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// personsEdit is one edit that a person makes to a list on the panel.
type personsEdit struct {
	Do string `json:"do"` // see change and edit
	// ID is the item's id; empty for what concerns the list. Status, Text and To
	// are the item's new values; for a rename Text is the title, for block the
	// reason, which may be empty.
	ID     string      `json:"id"`
	Status todo.Status `json:"status"`
	Text   string      `json:"text"`
	To     int         `json:"to"` // the item's index in the list
	// Away says for archive and delete whether the list goes or comes back.
	Away bool `json:"away"`
	// Seen is the revision that the person saw; 0 is the newest. Undo makes undone
	// what was changed from revision From to Seen.
	Seen int64 `json:"seen"`
	From int64 `json:"from"`
	// Op identifies the edit, so that a page may send it again when it does not
	// know whether it arrived.
	Op string `json:"op"`
}

// by returns who makes an edit.
func by(what string) todo.Writer { return todo.Writer{Client: "panel", Variant: what, Person: true} }

// edited is the answer to an edit.
type edited struct {
	render.ListDocument
	Changed bool `json:"changed"`
}

// errItemGone is returned for an edit of an item that is no longer on the list.
var errItemGone = &edge.Error{Status: http.StatusConflict, Text: "the item is not on the list any more"}

// change returns the edit as a change of the items; an error when it is invalid.
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
	return nil, errors.New("do must be status, block, text, add, remove, move, rename, archive, delete or undo")
}

// edit applies an edit and answers with the list; to a form with the way back to
// the page. The edge refuses requests from foreign pages.
func (p *Panel) edit(w http.ResponseWriter, r *edge.Request) error {
	edit, form, err := readEdit(w, r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	out, err := apply(r.Context(), r.Lists, id, edit)
	if err != nil {
		return err
	}
	if !form {
		return edge.WriteJSON(w, http.StatusOK, edited{render.Document(out.After), out.Changed})
	}
	back := listHref(id)
	if out.After.Deleted {
		back = "/"
	}
	http.Redirect(w, r.Request, back, http.StatusSeeOther)
	return nil
}

// apply applies an edit to a list.
func apply(ctx context.Context, lists todo.Lists, id string, e personsEdit) (todo.Outcome, error) {
	switch e.Do {
	case "delete":
		return lists.Delete(ctx, id, e.Away, by("delete"))
	case "archive":
		return lists.Archive(ctx, id, e.Away, by("archive"))
	case "rename":
		return lists.Rename(ctx, id, e.Text, by("rename"))
	}
	list, err := lists.Load(ctx, id, 0)
	if err != nil {
		return todo.Outcome{}, err
	}
	write := todo.Write{Target: todo.Target{List: list.List.ID}, Writer: by("edit"), Seen: e.Seen, Operation: e.operation(id)}
	switch {
	case e.Do != "undo":
		write.Change, err = e.change()
		err = asBad(err)
	case e.From < 1 || e.Seen <= e.From:
		err = edge.BadRequest("undo needs the revisions from and seen")
	default:
		write.Change, err = lists.Undo(ctx, id, e.From, e.Seen)
	}
	if err != nil {
		return todo.Outcome{}, err
	}
	return lists.Apply(ctx, write)
}

func asBad(err error) error {
	if err != nil {
		return edge.BadRequest("%s", err)
	}
	return nil
}

// operation returns the identity of the edit; the zero Operation when the page
// gave it none.
func (e personsEdit) operation(list string) todo.Operation {
	if e.Op == "" {
		return todo.Operation{}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %+v", list, e))
	return todo.Operation{ID: "panel:" + todo.Cut(e.Op, 64), Digest: hex.EncodeToString(sum[:])}
}

// readEdit reads an edit, as JSON or as a form sends it.
func readEdit(w http.ResponseWriter, r *edge.Request) (edit personsEdit, form bool, err error) {
	if isForm(r) {
		values, err := readForm(w, r)
		if err != nil {
			return edit, true, err
		}
		edit, err = formEdit(values)
		return edit, true, err
	}
	raw, unread := r.ReadJSON(w, nil)
	if unread != nil {
		return edit, false, unread
	}
	// Strict: an edit that two readers could take differently is none (BAD-INPUT 83).
	if err := json.Unmarshal(raw, &edit, json.RejectUnknownMembers(true)); err != nil {
		return edit, false, edge.BadRequest("not an edit")
	}
	return edit, false, nil
}

func isForm(r *edge.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/x-www-form-urlencoded"
}

// readForm reads a form that a page of the panel sends where no script runs. Any
// page can send a form, so the browser must say that this one is the panel's.
func readForm(w http.ResponseWriter, r *edge.Request) (url.Values, error) {
	if r.Header.Get("Sec-Fetch-Site") != "same-origin" && r.Header.Get("Origin") == "" {
		return nil, &edge.Error{Status: http.StatusForbidden, Text: "forms are taken from the panel's own pages"}
	}
	r.Body = http.MaxBytesReader(w, r.Body, todo.MaxRequest)
	if err := r.ParseForm(); err != nil {
		return nil, edge.BadRequest("not a form")
	}
	return r.PostForm, nil
}

// formEdit returns the edit that a form sends. Its buttons have the edit as
// "what", "what id" or "what id value".
func formEdit(values url.Values) (edit personsEdit, err error) {
	words := append(strings.Fields(values.Get("do")), "", "", "")
	edit = personsEdit{Do: words[0], ID: words[1], Text: values.Get("text")}
	number := func(text string) int64 {
		n, bad := strconv.ParseInt(text, 10, 64)
		if text != "" && bad != nil {
			err = edge.BadRequest("not an edit")
		}
		return n
	}
	switch edit.Do {
	case "status":
		edit.Status = todo.Status(words[2])
	case "move":
		edit.To = int(number(words[2]))
	case "archive", "delete":
		edit.ID, edit.Away = "", words[1] != "back"
	case "undo":
		edit.From, edit.Seen = number(words[1]), number(words[2])
	}
	return edit, err
}

// restore writes an old revision as a new one.
func (p *Panel) restore(w http.ResponseWriter, r *edge.Request) error {
	n, err := revisionOf(r)
	if err != nil {
		return err
	}
	if isForm(r) {
		if _, err := readForm(w, r); err != nil {
			return err
		}
	}
	out, err := r.Lists.Restore(r.Context(), r.PathValue("id"), n, by("restore"))
	if err != nil {
		return err
	}
	if isForm(r) {
		http.Redirect(w, r.Request, listHref(r.PathValue("id")), http.StatusSeeOther)
		return nil
	}
	return edge.WriteJSON(w, http.StatusOK, edited{render.Document(out.After), out.Changed})
}

// clearing is a request to put finished lists away, or the answer with those that
// it put away. With Lists it brings these back.
type clearing struct {
	Lists []string `json:"lists"`
}

// clear archives the lists that were finished today, as the board shows them, or
// brings those back that it names.
func (p *Panel) clear(w http.ResponseWriter, r *edge.Request) error {
	var asked clearing
	if isForm(r) {
		if _, err := readForm(w, r); err != nil {
			return err
		}
	} else if raw, unread := r.ReadJSON(w, nil); unread != nil {
		return unread
	} else if err := json.Unmarshal(raw, &asked, json.RejectUnknownMembers(true)); err != nil || len(asked.Lists) > maxRead {
		return edge.BadRequest("not a list of lists")
	}
	ids, away := asked.Lists, false
	if len(ids) == 0 {
		s, err := p.readShelf(r.Context(), r.Lists)
		if err != nil {
			return err
		}
		away = true
		for _, f := range s.Finished {
			ids = append(ids, f.Main.List.ID)
		}
	}
	for _, id := range ids {
		if _, err := r.Lists.Archive(r.Context(), id, away, by("archive")); err != nil && !errors.Is(err, todo.ErrNotFound) {
			return err
		}
	}
	if isForm(r) {
		http.Redirect(w, r.Request, "/", http.StatusSeeOther)
		return nil
	}
	return edge.WriteJSON(w, http.StatusOK, clearing{Lists: append([]string{}, ids...)})
}
