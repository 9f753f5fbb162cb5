// Package api serves front ends over plain HTTP: lists and their history as
// JSON, changes as events, and calls in the form that write_todos' own front
// ends expect (docs/spec/variants.md W2, W3).
//
// It only reads. The stream of changes skips revisions for a slow reader.
package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// maxListed is the largest limit of lists or revisions in one answer. It applies
// when a request sets no limit, or 0.
const maxListed = 2000

// Route adds the routes below /api to an edge. All are GET; two are event
// streams, the others answer with JSON.
func Route(e *edge.Edge) {
	s := &streams{}
	e.Handle("GET /api/lists", edge.JSON, lists)
	e.Handle("GET /api/lists/{id}", edge.JSON, list)
	e.Handle("GET /api/lists/{id}/history", edge.JSON, history)
	e.Handle("GET /api/states", edge.JSON, states)
	e.Handle("GET /api/workspace", edge.JSON, workspace)
	e.Handle("GET /api/events", edge.JSON, s.events, edge.Stream)
	e.Handle("GET /api/stream", edge.JSON, s.follow, edge.Stream)
}

// lists answers with a page of lists as [render.ListDocument], last changed first, at
// most ?limit= of those whose Seq is below ?before=. Where there are more, the header Link
// has the next page. A list that changes as they are read may be missing: its Seq is
// above all others then.
func lists(w http.ResponseWriter, r *edge.Request) error {
	limit, err1 := queryLimit(r)
	before, err2 := queryNumber(r, "before", math.MaxInt64) // in the order of Seq from the first page on
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	p := page{limit: limit, most: maxLists}
	var full bool
	err := r.InTurn(func() (err error) {
		before, full, err = p.addLists(r, before)
		return err
	})
	if err != nil {
		return err
	}
	if full {
		link(w, r, "next", "before", before)
	}
	return edge.WriteJSON(w, http.StatusOK, p.form(0))
}

// addLists adds the lists whose Seq is below before. It returns the Seq of the last one,
// and whether the page is full although there are more.
func (p *page) addLists(r *edge.Request, before int64) (last int64, full bool, err error) {
	for {
		found, err := r.Lists.Find(r.Context(), todo.Query{BeforeSeq: before, Limit: listsRead})
		if err != nil {
			return before, false, err
		}
		for _, l := range found {
			if fits, err := p.add(render.Document(l)); !fits || err != nil {
				return before, !fits, err
			}
			before = l.Seq
		}
		if len(found) < listsRead {
			return before, false, nil
		}
	}
}

const (
	// maxLists is the largest size in bytes of lists in one answer as JSON: 2,000 lists of
	// ten items are half of it.
	maxLists = 8 << 20
	// listsRead is how many lists are read at a time for an answer.
	listsRead = 100
)

// list answers with one list, at its newest revision or at ?revision=.
func list(w http.ResponseWriter, r *edge.Request) error {
	revision, err := queryNumber(r, "revision", 0)
	if err != nil {
		return err
	}
	l, err := r.Lists.Load(r.Context(), r.PathValue("id"), revision)
	if err != nil {
		return err
	}
	r.Lists.Look(r.Context(), l)
	return edge.WriteJSON(w, http.StatusOK, render.Document(l))
}

// history answers with a page of a list's revisions above ?after=, oldest first,
// at most ?limit=. Where there are more, the header Link has the next page.
func history(w http.ResponseWriter, r *edge.Request) error {
	after, err1 := queryNumber(r, "after", 0)
	limit, err2 := queryLimit(r)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	id := r.PathValue("id")
	newest, err := r.Lists.Load(r.Context(), id, 0)
	if err != nil {
		return err
	}
	p := page{limit: limit, most: maxPage}
	var last int64
	for l, err := range r.Lists.Revisions(r.Context(), id, after) {
		if err != nil {
			return err
		}
		fits, err := p.add(render.Document(l))
		if err != nil {
			return err
		}
		if !fits {
			break
		}
		last = l.Revision
	}
	if len(p.revisions) > 0 && last < newest.Revision {
		link(w, r, "next", "after", last)
	}
	return edge.WriteJSON(w, http.StatusOK, p.form(0))
}

// queryLimit returns ?limit=, at most maxListed. A limit of 0 is the largest one.
func queryLimit(r *edge.Request) (int, error) {
	limit, err := queryNumber(r, "limit", maxListed)
	if limit == 0 {
		limit = maxListed
	}
	return int(min(limit, maxListed)), err
}

// queryNumber returns the value of a query parameter that must be a whole
// number, 0 or more; def when the parameter is missing.
func queryNumber(r *edge.Request, name string, def int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, edge.BadRequest("%s must be a whole number, 0 or more", name)
	}
	return n, nil
}

// maxPage is the largest size in bytes of the revisions of one answer as JSON.
const maxPage = 1 << 20

// page collects revisions as JSON, each in one form or several, as many as one answer
// may have, and at least one: what a request makes the server hold is bounded, however
// long the history is, and however many lists there are (BAD-INPUT 60).
type page struct {
	limit, most int // of revisions, and of bytes
	revisions   [][]json.RawMessage
	size        int // in bytes
}

// add adds a revision to the page. It adds nothing and returns false when the
// page is full.
func (p *page) add(forms ...any) (bool, error) {
	revision, size := make([]json.RawMessage, len(forms)), p.size
	for i, form := range forms {
		data, err := json.Marshal(form)
		if err != nil {
			return false, edge.Internal(fmt.Errorf("encode revision: %w", err))
		}
		revision[i], size = data, size+len(data)
	}
	if len(p.revisions) >= p.limit || len(p.revisions) > 0 && size > p.most {
		return false, nil
	}
	p.revisions, p.size = append(p.revisions, revision), size
	return true, nil
}

// form returns the revisions in one of their forms; not nil.
func (p *page) form(n int) []json.RawMessage {
	out := []json.RawMessage{}
	for _, r := range p.revisions {
		out = append(out, r[n])
	}
	return out
}

// link names another page of the same answer in the header Link (RFC 8288): the
// request's own query with a cursor, which is a revision or a Seq.
func link(w http.ResponseWriter, r *edge.Request, relation, cursor string, at int64) {
	query := r.URL.Query()
	query.Set(cursor, strconv.FormatInt(at, 10))
	w.Header().Set("Link", fmt.Sprintf("<?%s>; rel=%q", query.Encode(), relation))
}

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
	var states []listState
	err := r.InTurn(func() (err error) {
		states, err = readStates(r)
		return err
	})
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, states)
}

func readStates(r *edge.Request) ([]listState, error) {
	found, err := r.Lists.Find(r.Context(), todo.Query{Limit: maxListed})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(l todo.Snapshot) bool { return l.Archived || !l.Open() })
	standing, err := r.Lists.States(r.Context(), found...)
	if err != nil {
		return nil, err
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
			return nil, err
		}
		out = append(out, listState{List: l.List.ID, State: standing[l.List.ID], Family: families[l.List.ID],
			Client: account.Client(l), Hand: account.HandOf(saw, l)})
	}
	return out, nil
}
