package api

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

// foundList is a list, and where a search found the text.
type foundList struct {
	render.ListDocument
	Found todo.Said `json:"found"`
}

// maxSearched is how many lists one request searches.
const maxSearched = 2000

// search answers with a page of the lists that contain ?search=, in the form and order of [lists]; with ?history=true
// also those that once did. If it has not searched all lists, the header Link has the next page, even if it found
// none.
func search(w http.ResponseWriter, r *edge.Request, text string) error {
	before, err := r.QueryNumber("before", math.MaxInt64)
	if err != nil {
		return err
	}
	limit, err := r.QueryNumber("limit", 0)
	if err != nil {
		return err
	}
	history, err := strconv.ParseBool(cmp.Or(r.URL.Query().Get("history"), "false"))
	if err != nil {
		return edge.BadRequest("history must be true or false")
	}
	p, text := newPage(limit, maxLists), todo.Cut(text, todo.MaxTitle)
	more, err := edge.InTurn(r, func() (bool, error) {
		for looked := 0; looked < maxSearched; looked += listsRead {
			lists, err := find(r.Context(), r, board.Query{BeforeSeq: before, Limit: listsRead})
			if err == nil {
				before, err = p.addSaying(r, text, history, lists, before)
			}
			if err != nil || p.full || len(lists) < listsRead {
				return p.full, err
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if more {
		link(w, "next", r.URL.Query(), "before", before)
	}
	return edge.WriteJSON(w, http.StatusOK, p.form(0))
}

// addSaying adds the lists that contain text, or with history once did, until the page is full. It returns the Seq
// below which it has not looked.
func (p *page) addSaying(r *edge.Request, text string, history bool, lists []todo.Snapshot, before int64) (_ int64, err error) {
	said := map[string]todo.Said{}
	if history {
		if said, err = r.Lists.Said(r.Context(), text, lists...); err != nil {
			return before, err
		}
	}
	for _, l := range lists {
		where, found := said[l.List.ID]
		if now, ok := render.Found(l, render.Client(account.Client(l)), text); ok {
			where, found = now, true
		}
		if found {
			if err := p.add(l, foundList{render.Document(l), where}); err != nil || p.full {
				return before, err
			}
		}
		before = l.Seq
	}
	return before, nil
}

// today answers with the account of the day ?date=, by default today, in the time zone ?zone=, by default the
// server's.
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
	day, err := edge.InTurn(r, func() (account.Day, error) { return account.DayOf(r.Context(), r.Lists.During, at, at, now) })
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, day)
}
