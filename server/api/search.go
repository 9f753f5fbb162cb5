package api

import (
	"math"
	"net/http"
	"time"

	"todo-mcp/internal/account"
	"todo-mcp/internal/board"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// foundList is a list with where a search found it.
type foundList struct {
	render.ListDocument
	Found todo.Said `json:"found"`
}

// maxSearched is through how many lists one search looks: the next page goes on there.
const maxSearched = 2000

// search answers with a page of the lists that say ?search=, in the form and order of
// [lists], and with ?history=true with those that ever did. Where a search has not looked
// through all lists, the header Link has the next page, also of an answer without lists.
func search(w http.ResponseWriter, r *edge.Request, text string) error {
	before, err := r.QueryNumber("before", math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := r.QueryNumber("limit", 0)
	if err != nil {
		return err
	}
	s := searching{r: r, text: todo.Cut(text, todo.MaxTitle), page: newPage(limit, maxLists), before: before}
	switch r.URL.Query().Get("history") {
	case "true":
		s.history = true
	case "", "false":
	default:
		return edge.BadRequest("history must be true or false")
	}
	if _, err := edge.InTurn(r, s.look); err != nil {
		return err
	}
	if s.more {
		link(w, "next", r.URL.Query(), "before", s.before)
	}
	return edge.WriteJSON(w, http.StatusOK, s.page.form(0))
}

// searching is a search on its way through the lists, the last changed first.
type searching struct {
	r       *edge.Request
	text    string
	history bool
	page    *page
	before  int64 // the Seq below which lists were not looked at
	more    bool  // there may be such lists
}

// look looks through lists until the page is full, there are no more or it has looked
// through maxSearched.
func (s *searching) look() (none struct{}, err error) {
	for looked := 0; looked < maxSearched; looked += listsRead {
		lists, err := find(s.r.Context(), s.r, board.Query{BeforeSeq: s.before, Limit: listsRead})
		if err == nil {
			err = s.among(lists)
		}
		if err != nil || s.page.full || len(lists) < listsRead {
			s.more = s.page.full
			return none, err
		}
	}
	s.more = true
	return none, nil
}

// among adds to the page which of some lists say the text.
func (s *searching) among(lists []todo.Snapshot) (err error) {
	said := map[string]todo.Said{}
	if s.history {
		if said, err = s.r.Lists.Said(s.r.Context(), s.text, lists...); err != nil {
			return err
		}
	}
	for _, l := range lists {
		where, found := said[l.List.ID]
		if now, ok := render.Found(l, render.Client(account.Client(l)), s.text); ok {
			where, found = now, true
		}
		if found {
			if err := s.page.add(l, foundList{render.Document(l), where}); err != nil || s.page.full {
				return err
			}
		}
		s.before = l.Seq
	}
	return nil
}

// today answers with the account of the day ?date=, else of this one, in the time zone
// ?zone=, else in the server's.
func today(w http.ResponseWriter, r *edge.Request) error {
	now, zone := time.Now(), r.URL.Query().Get("zone")
	if zone != "" {
		in, err := time.LoadLocation(zone)
		if err != nil {
			return edge.BadRequest("zone must be a name such as Europe/Berlin that this server knows")
		}
		now = now.In(in)
	}
	at, err := account.ParseDay(r.URL.Query().Get("date"), now)
	if err != nil {
		return edge.BadRequest("%v", err)
	}
	day, err := edge.InTurn(r, func() (account.Day, error) {
		return account.DayOf(r.Context(), r.Lists.During, at, at, now)
	})
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, day)
}
