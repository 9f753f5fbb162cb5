package api

import (
	"net/http"
	"slices"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// listState says how a list stands.
type listState struct {
	List  string     `json:"list"`
	State todo.State `json:"state"`
	// Family is the state of a main list together with its sub-agents' lists, where that
	// is another one.
	Family todo.State `json:"family,omitempty"`
	// Client is the client whose agent works on the list.
	Client string `json:"client,omitempty"`
	// Hand is what became of what people changed in the list.
	account.Hand
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
	families := make(map[string]todo.State)
	for _, f := range account.Families(found, standing) {
		if state := f.State(); state != standing[f.Main.List.ID] {
			families[f.Main.List.ID] = state
		}
	}
	for _, l := range found {
		saw, err := r.Lists.Saw(r.Context(), l)
		if err != nil {
			return err
		}
		out = append(out, listState{List: l.List.ID, State: standing[l.List.ID], Family: families[l.List.ID],
			Client: account.Client(l), Hand: account.HandOf(saw, l)})
	}
	return edge.WriteJSON(w, http.StatusOK, out)
}
