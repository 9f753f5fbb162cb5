// Package api serves front ends over plain HTTP: lists and their history as JSON, changes as events, and calls in the
// form that write_todos' own front ends expect (docs/spec/variants.md W2, W3).
//
// The API only reads. Its stream of changes skips revisions for a slow reader.
package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

const (
	maxListed   = 2000    // the largest limit of lists or revisions in one answer, and how many lists one request searches
	maxLists    = 8 << 20 // bytes of lists in one answer as JSON: 2,000 lists of ten items are half of it
	maxPage     = 1 << 20 // bytes of revisions in one answer as JSON
	maxPlans    = 100     // plans of a chat in its history
	listsRead   = 100     // lists that are read at a time for an answer
	catchUpPage = 4       // lists that a stream reads at a time to catch up, and holds for a slow reader
)

// Route adds the routes below /api to an edge.
func Route(e *edge.Edge) {
	s := &streams{}
	e.Handle("GET /api/lists", edge.JSON, lists)
	e.Handle("GET /api/lists/{id}", edge.JSON, list)
	e.Handle("GET /api/lists/{id}/history", edge.JSON, history)
	e.Handle("GET /api/states", edge.JSON, states)
	e.Handle("GET /api/today", edge.JSON, today)
	e.Handle("GET /api/workspace", edge.JSON, workspace)
	e.Handle("GET /api/events", edge.JSON, s.events, edge.Stream)
	e.Handle("GET /api/stream", edge.JSON, s.follow, edge.Stream)
}

// entry is a list or a revision on a page of an answer.
type entry struct {
	form any   // encoded as JSON; nil if the answer leaves it out
	at   int64 // its place in the order, as in ?before= or ?after=
}

// lists answers with a page of lists as [render.ListDocument], last changed first, with Seq below ?before=. The first
// page begins with present chats without a list, whose revision is 0. A list that changes during the read may be
// missing. With ?search= the page has only lists that contain that text, each with the place of the text. With
// ?history=true the page also has lists of which only an earlier revision contains the text.
func lists(w http.ResponseWriter, r *edge.Request) error {
	query := r.URL.Query()
	text := todo.Cut(strings.TrimSpace(query.Get("search")), todo.MaxTitle)
	before, err := r.QueryNumber("before", math.MaxInt64)
	if err != nil {
		return err
	}
	history, err := strconv.ParseBool(cmp.Or(query.Get("history"), "false"))
	if err != nil {
		return edge.BadRequest("history must be true or false")
	}
	return writePage(w, r, maxLists, "before", func(yield func(entry, error) bool) {
		if before == math.MaxInt64 && text == "" {
			chats, _, err := r.Lists.WithChats(r.Context(), nil)
			for _, c := range chats {
				if !yield(entry{render.Document(c), math.MaxInt64 - 1}, nil) { // so the next page has all lists
					return
				}
			}
			if err != nil {
				yield(entry{}, err)
				return
			}
		}
		for isLast := false; !isLast; {
			some, err := r.Lists.Find(r.Context(), board.Query{BeforeSeq: before, Limit: listsRead})
			var said map[string]todo.Said
			if history && text != "" && err == nil {
				said, err = r.Lists.Said(r.Context(), text, some...)
			}
			if err != nil {
				yield(entry{}, err)
				return
			}
			for _, l := range some {
				if before = l.Seq; !yield(entry{formOf(l, text, said), l.Seq}, nil) {
					return
				}
			}
			isLast = len(some) < listsRead
		}
	})
}

// formOf returns a list's form in an answer; nil if neither l nor said[l.List.ID] contains the searched text.
func formOf(l todo.Snapshot, text string, said map[string]todo.Said) any {
	if text == "" {
		return render.Document(l)
	}
	where, found := said[l.List.ID]
	if now, ok := render.Found(l, text); ok {
		where, found = now, true
	}
	if !found {
		return nil
	}
	return struct {
		render.ListDocument
		Found todo.Said `json:"found"`
	}{render.Document(l), where}
}

// list answers with one list, at its newest revision or at ?revision=.
func list(w http.ResponseWriter, r *edge.Request) error {
	revision, err := r.QueryNumber("revision", 0)
	if err != nil {
		return err
	}
	l, err := r.Lists.Load(r.Context(), r.PathValue("id"), revision)
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, render.Document(l))
}

// history answers with a page of a list's revisions above ?after=, oldest first, at most ?limit=. The header Link has
// the next page, if any.
func history(w http.ResponseWriter, r *edge.Request) error {
	after, err := r.QueryNumber("after", 0)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	// Earlier revisions of a damaged list may be readable.
	if _, err := r.Lists.Load(r.Context(), id, 0); err != nil && !errors.Is(err, board.ErrDamaged) {
		return err
	}
	return writePage(w, r, maxPage, "after", func(yield func(entry, error) bool) {
		for l, err := range r.Lists.Revisions(r.Context(), id, after) {
			if !yield(entry{render.Document(l), l.Revision}, err) {
				return
			}
		}
	})
}

// writePage answers with the first of entries, up to the limits ?limit=, most (bytes) and [maxListed] (entries read).
// If there are more, the header Link has the next page: its query parameter given by name is the last entry's place.
func writePage(w http.ResponseWriter, r *edge.Request, most int, name string, entries iter.Seq2[entry, error]) error {
	limit, err := r.QueryNumber("limit", 0)
	if err != nil {
		return err
	}
	last := int64(0)
	p, err := edge.InTurn(r, func() (*page, error) {
		p, looked := newPage(limit, most), 0
		for e, err := range entries {
			if p.full = looked == maxListed; err == nil && !p.full && e.form != nil {
				p.add(e.form)
			}
			if err != nil || p.full {
				return p, err
			}
			last, looked = e.at, looked+1
		}
		return p, nil
	})
	if err != nil {
		return err
	}
	if p.full {
		link(w, "next", r.URL.Query(), name, last)
	}
	return edge.WriteJSON(w, http.StatusOK, p.forms)
}

// page collects lists or revisions as JSON up to its limits, but at least one. The limits bound the memory that a
// request takes, however long the history is and however many lists there are (BAD-INPUT 60).
type page struct {
	limit, most int // the largest number of forms, and of their bytes
	forms       []json.RawMessage
	size        int  // in bytes
	full        bool // a further form had no room
}

// newPage returns an empty page with a limit of forms; 0 means maxListed.
func newPage(limit int64, most int) *page {
	return &page{limit: int(cmp.Or(min(limit, maxListed), maxListed)), most: most, forms: []json.RawMessage{}}
}

// add adds the form of a list or revision.
func (p *page) add(form any) {
	data, _ := json.Marshal(form) // cannot fail: a year above 9999 would, but cannot be stored
	if p.full = len(p.forms) >= p.limit || len(p.forms) > 0 && p.size+len(data) > p.most; !p.full {
		p.forms, p.size = append(p.forms, data), p.size+len(data)
	}
}

// link sets the header Link (RFC 8288) to another page of the answer: the query with the parameter cursor set to at.
func link(w http.ResponseWriter, relation string, query url.Values, cursor string, at int64) {
	query.Set(cursor, strconv.FormatInt(at, 10))
	w.Header().Set("Link", fmt.Sprintf("<?%s>; rel=%q", query.Encode(), relation))
}

// states answers with the state of each open list that is not archived. A state can change while its list does not, as
// when an agent's process ends, so a front end asks every few seconds.
func states(w http.ResponseWriter, r *edge.Request) error {
	states, err := edge.InTurn(r, func() ([]account.ListState, error) {
		found, err := r.Lists.Find(r.Context(), board.Query{Limit: maxListed})
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(l todo.Snapshot) bool { return l.Archived || !l.Open() })
		found, standing, err := r.Lists.WithChats(r.Context(), found)
		if err != nil {
			return nil, err
		}
		return account.ListStates(account.Groups(found, standing), func(l todo.Snapshot) (todo.Snapshot, error) { return r.Lists.Saw(r.Context(), l) })
	})
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, states)
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
