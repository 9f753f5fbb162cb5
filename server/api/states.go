package api

import (
	"net/http"
	"slices"

	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// listState says how a list stands.
type listState struct {
	List  string     `json:"list"`
	State todo.State `json:"state"`
	// Client is the client that began the list, whoever wrote it last.
	Client string `json:"client,omitempty"`
	// Unseen are the ids of the items that people changed and the list's agent has
	// not seen since.
	Unseen []string `json:"unseen,omitempty"`
}

// states answers with the state of each open list that is not archived. It
// changes without a change of the list, as when an agent's process ends: a front
// end asks every few seconds.
func states(w http.ResponseWriter, r *edge.Request) error {
	found, err := r.Lists.Find(r.Context(), todo.Query{Limit: maxListed})
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(l todo.Snapshot) bool { return l.Archived || !l.Open() })
	standing, err := r.Lists.States(r.Context(), found...)
	if err != nil {
		return err
	}
	out := make([]listState, 0, len(found))
	for _, l := range found {
		unseen, err := r.Lists.Unseen(r.Context(), l)
		if err != nil {
			return err
		}
		s := listState{List: l.List.ID, State: standing[l.List.ID], Client: l.List.Client}
		for _, d := range unseen {
			if d.Kind != todo.Removed {
				s.Unseen = append(s.Unseen, d.After.ID)
			}
		}
		out = append(out, s)
	}
	return edge.WriteJSON(w, http.StatusOK, out)
}
