package panel

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// edited is the answer to an edit.
type edited struct {
	render.ListDocument
	Changed bool `json:"changed"`
}

// edit applies an edit and answers with the list. It takes JSON alone, which no page of
// another site can send, and which no two readers could take differently (BAD-INPUT 83).
func (p *Panel) edit(w http.ResponseWriter, r *edge.Request) error {
	raw, unread := r.ReadJSON(w, nil)
	if unread != nil {
		return unread
	}
	var edit todo.Edit
	if json.Unmarshal(raw, &edit, json.RejectUnknownMembers(true)) != nil {
		return edge.BadRequest("not an edit")
	}
	if err := edit.Check(); err != nil {
		return edge.BadRequest("%s", err)
	}
	out, err := r.Lists.Edit(r.Context(), r.PathValue("id"), edit, todo.Writer{Client: "panel", Variant: string(edit.Do)})
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, edited{render.Document(out.After), out.Changed})
}
