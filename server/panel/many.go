package panel

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/account"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

// manyAtOnce is how many lists are changed at the same time: a store commits them together.
const manyAtOnce = 16

// ages are those from which on lists that were left open can be archived at once.
var ages = []struct {
	name string
	days int
}{{"a day", 1}, {"a week", 7}, {"a month", 30}}

// older returns the lists that did not change for some days, of some that stand with the
// last changed first.
func older(lists []account.Group, days int, now time.Time) []account.Group {
	since := now.AddDate(0, 0, -days)
	n := slices.IndexFunc(lists, func(f account.Group) bool { return f.Updated().Before(since) })
	if n < 0 {
		return nil
	}
	return lists[n:]
}

// archiveOlder returns the button that archives what was left open for long: its data
// says for how many days, in words, and how many lists that are.
func (s groups) archiveOlder() Node {
	var counts [][3]any
	for _, a := range ages {
		if n := len(older(s.Left, a.days, s.now)); n > 0 {
			counts = append(counts, [3]any{a.days, a.name, n})
		}
	}
	if counts == nil {
		return nil
	}
	data, err := json.Marshal(counts)
	if err != nil {
		panic(err) // numbers and words have a JSON
	}
	return Button(Type("button"), Class("link small"), Attr("data-menu"), Data("older", string(data)), Text("Archive older…"))
}

// editMany is an edit of several lists that needs nothing of one of them: these, or those
// that were left open and did not change for some days.
type editMany struct {
	Do    todo.EditKind `json:"do"` // archive or unarchive
	Lists []string      `json:"lists,omitempty"`
	Days  int           `json:"days,omitempty"`
	Op    string        `json:"op,omitempty"` // to do it once more changes nothing
}

// edits archives several lists, or brings them back, and answers with those that it
// changed. It takes JSON alone, as [Panel.edit] does (BAD-INPUT 126).
func (p *Panel) edits(w http.ResponseWriter, r *edge.Request) error {
	raw, unread := r.ReadJSON(w)
	if unread != nil {
		return unread
	}
	var e editMany
	switch {
	case json.Unmarshal(raw, &e, json.RejectUnknownMembers(true)) != nil:
		return edge.BadRequest("not an edit of several lists")
	case e.Do != todo.EditArchive && e.Do != todo.EditUnarchive:
		return edge.BadRequest("do must be archive or unarchive")
	case len(e.Lists) > maxRead || (len(e.Lists) == 0) != (e.Days > 0):
		return edge.BadRequest("needs lists, at most %d, or days, 1 or more", maxRead)
	}
	if e.Days > 0 {
		s, err := p.readBoard(r.Context(), r.Lists)
		if err != nil {
			return err
		}
		for _, f := range older(s.Left, e.Days, s.now) {
			e.Lists = append(e.Lists, f.Main.List.ID)
		}
	}
	changed, err := e.apply(r)
	if err != nil && len(changed) == 0 {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, map[string]any{"lists": changed})
}

// apply edits the lists, and returns those that changed, also beside an error of others.
func (e editMany) apply(r *edge.Request) (changed []string, failed error) {
	var mu sync.Mutex
	var running sync.WaitGroup
	turns := make(chan struct{}, manyAtOnce)
	for _, id := range e.Lists {
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			out, err := r.Lists.Edit(r.Context(), id, todo.Edit{Do: e.Do}, todo.Writer{Client: "panel", Variant: string(e.Do)})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = fmt.Errorf("%s %d lists: %w", e.Do, len(e.Lists), err)
			} else if out.Changed {
				changed = append(changed, id)
			}
		})
	}
	running.Wait()
	return changed, failed
}
