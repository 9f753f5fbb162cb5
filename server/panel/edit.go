package panel

import (
	"errors"
	"mime"
	"net/http"

	"github.com/go-json-experiment/json"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

func by(e todo.Edit) todo.Writer { return todo.Writer{Client: "panel", Variant: string(e.Do)} }

// edited is the answer to an edit.
type edited struct {
	render.ListDocument
	Changed bool `json:"changed"`
}

// edit applies an edit and answers with the list; to a form with the way back to
// the page. The edge refuses requests from foreign pages.
func (p *Panel) edit(w http.ResponseWriter, r *edge.Request) error {
	var edit todo.Edit
	form, err := readBody(w, r, &edit, "not an edit")
	if err != nil {
		return err
	}
	if form {
		edit.Text = r.PostForm.Get("text")
	}
	if err := edit.Check(); err != nil {
		return edge.BadRequest("%s", err)
	}
	id := r.PathValue("id")
	out, err := r.Lists.Edit(r.Context(), id, edit, by(edit))
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

// readBody reads JSON that no two readers could take differently (BAD-INPUT 83); other
// JSON is refused with a text. A form, which a page sends where no script runs, has the
// JSON in the field "do".
func readBody(w http.ResponseWriter, r *edge.Request, into any, refusal string) (form bool, err error) {
	var raw []byte
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if form = media == "application/x-www-form-urlencoded"; form {
		if err := readForm(w, r); err != nil {
			return form, err
		}
		raw = []byte(r.PostForm.Get("do"))
	} else {
		var unread *edge.Error
		if raw, unread = r.ReadJSON(w, nil); unread != nil {
			return form, unread
		}
	}
	if json.Unmarshal(raw, into, json.RejectUnknownMembers(true)) != nil {
		return form, edge.BadRequest("%s", refusal)
	}
	return form, nil
}

// readForm reads a form. Any page can send one, so the browser must say that this one is
// of the panel's own pages.
func readForm(w http.ResponseWriter, r *edge.Request) error {
	if r.Header.Get("Sec-Fetch-Site") != "same-origin" && r.Header.Get("Origin") == "" {
		return &edge.Error{Status: http.StatusForbidden, Text: "forms are taken from the panel's own pages"}
	}
	r.Body = http.MaxBytesReader(w, r.Body, todo.MaxRequest)
	if r.ParseForm() != nil {
		return edge.BadRequest("not a form")
	}
	return nil
}

// clear archives the lists that were finished today, as the board shows them.
func (p *Panel) clear(w http.ResponseWriter, r *edge.Request) error {
	form, err := readBody(w, r, &struct{}{}, "not an empty object")
	if err != nil {
		return err
	}
	if r.ReadOnly {
		return todo.ErrReadOnly
	}
	s, err := p.readBoard(r.Context(), r.Lists)
	if err != nil {
		return err
	}
	archived, edit := []string{}, todo.Edit{Do: todo.EditArchive}
	for _, f := range s.Finished {
		id := f.Main.List.ID
		if _, err := r.Lists.Edit(r.Context(), id, edit, by(edit)); err != nil && !errors.Is(err, todo.ErrNotFound) {
			return err
		}
		archived = append(archived, id)
	}
	if form {
		http.Redirect(w, r.Request, "/", http.StatusSeeOther)
		return nil
	}
	return edge.WriteJSON(w, http.StatusOK, map[string][]string{"lists": archived})
}
