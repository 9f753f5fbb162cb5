package panel

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// by returns who makes an edit.
func by(e todo.Edit) todo.Writer { return todo.Writer{Client: "panel", Variant: string(e.Do)} }

// edited is the answer to an edit.
type edited struct {
	render.ListDocument
	Changed bool `json:"changed"`
}

// edit applies an edit and answers with the list; to a form with the way back to
// the page. The edge refuses requests from foreign pages.
func (p *Panel) edit(w http.ResponseWriter, r *edge.Request) error {
	edit, form, err := readEdit(w, r)
	if err != nil {
		return err
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

// readEdit reads an edit, as JSON or as a form sends it.
func readEdit(w http.ResponseWriter, r *edge.Request) (edit todo.Edit, form bool, err error) {
	if form = isForm(r); form {
		var values url.Values
		if values, err = readForm(w, r); err == nil {
			edit, err = formEdit(values)
		}
	} else {
		err = readStrictly(w, r, &edit, "not an edit")
	}
	if err != nil {
		return edit, form, err
	}
	if err := edit.Check(); err != nil {
		return edit, form, edge.BadRequest("%s", err)
	}
	return edit, form, nil
}

// readStrictly reads JSON that no two readers could take differently (BAD-INPUT 83);
// other JSON is refused with a text.
func readStrictly(w http.ResponseWriter, r *edge.Request, into any, refusal string) error {
	raw, unread := r.ReadJSON(w, nil)
	if unread != nil {
		return unread
	}
	if json.Unmarshal(raw, into, json.RejectUnknownMembers(true)) != nil {
		return edge.BadRequest("%s", refusal)
	}
	return nil
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

// formEdit returns the edit that a form sends. Its buttons have the edit as "what",
// "what id", "what id value", "what revision" or "what from seen".
func formEdit(values url.Values) (edit todo.Edit, err error) {
	words := append(strings.Fields(values.Get("do")), "", "", "")
	edit = todo.Edit{Do: todo.EditKind(words[0]), Text: values.Get("text")}
	number := func(text string) int64 {
		n, bad := strconv.ParseInt(text, 10, 64)
		if bad != nil {
			err = edge.BadRequest("not an edit")
		}
		return n
	}
	switch edit.Do {
	case todo.EditUndo:
		edit.From, edit.Seen = number(words[1]), number(words[2])
	case todo.EditRestore:
		edit.Revision = number(words[1])
	case todo.EditMove:
		edit.Item, edit.To = words[1], int(number(words[2]))
	default:
		edit.Item, edit.Status = words[1], todo.Status(words[2])
	}
	return edit, err
}

// clearing is a request to put finished lists away, or to bring back the named ones; and
// its answer with the lists that it changed.
type clearing struct {
	Lists []string `json:"lists"`
}

// clear archives the lists that were finished today, as the board shows them, or
// brings those back that it names.
func (p *Panel) clear(w http.ResponseWriter, r *edge.Request) (err error) {
	var asked clearing
	form := isForm(r)
	if form {
		_, err = readForm(w, r)
	} else if err = readStrictly(w, r, &asked, "not a list of lists"); len(asked.Lists) > maxRead {
		err = edge.BadRequest("not a list of lists")
	}
	if err != nil {
		return err
	}
	ids, edit := asked.Lists, todo.Edit{Do: todo.EditUnarchive}
	if len(ids) == 0 {
		s, err := p.readBoard(r.Context(), r.Lists)
		if err != nil {
			return err
		}
		edit.Do, ids = todo.EditArchive, []string{}
		for _, f := range s.Finished {
			ids = append(ids, f.Main.List.ID)
		}
	}
	for _, id := range ids {
		if _, err := r.Lists.Edit(r.Context(), id, edit, by(edit)); err != nil && !errors.Is(err, todo.ErrNotFound) {
			return err
		}
	}
	if form {
		http.Redirect(w, r.Request, "/", http.StatusSeeOther)
		return nil
	}
	return edge.WriteJSON(w, http.StatusOK, clearing{Lists: ids})
}
