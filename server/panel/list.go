package panel

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

// listPage is the page of one list, as it stands or at one revision of its history.
type listPage struct {
	frame
	account.Group
	drawing
	items   []itemView
	at      todo.Snapshot // the revision that is shown
	oldest  int64         // the first revision that is kept
	changes []revision    // what the revisions around at changed
	shown   int           // the index of at in changes
	saw     int64         // the revision that the list's agent last saw
	edits   account.Edits
	unseen  int  // how many of a person's edits the agent has not seen
	past    bool // a revision of the history is shown
	inTurn  bool // new items may wait for the end of the turn
}

// list serves a list's page, with ?revision= its history; with .md after the id the list as markdown.
func (p *Panel) list(w http.ResponseWriter, r *edge.Request) error {
	id, isMarkdown := strings.CutSuffix(r.PathValue("id"), ".md")
	revision, err := r.QueryNumber("revision", 0)
	if err != nil {
		return err
	}
	if isMarkdown {
		l, err := r.Lists.Load(r.Context(), id, revision)
		if err != nil {
			return err
		}
		return edge.Write(w, http.StatusOK, "text/markdown; charset=utf-8", []byte(render.Markdown(l)))
	}
	page, err := edge.InTurn(r, func() (string, error) {
		f, err := readGroup(r.Context(), r.Lists, id)
		if err != nil {
			return "", err
		}
		page, err := p.pageOf(r.Context(), r.Lists, f, revision)
		if err != nil {
			return "", err
		}
		page.frame.of(r, nil)
		return page.page(page.main()), nil
	})
	return answer(w, http.StatusOK, page, err)
}

// edit applies an edit and answers with the list. It accepts only strict JSON, which pages of other sites
// cannot send (BAD-INPUT 83).
func (p *Panel) edit(w http.ResponseWriter, r *edge.Request) error {
	raw, unread := r.ReadJSON(w)
	if unread != nil {
		return unread
	}
	var edit todo.Edit
	if json.Unmarshal(raw, &edit, json.RejectUnknownMembers(true)) != nil {
		return edge.BadRequest("not an edit")
	}
	if _, err := edit.Clean(); err != nil {
		return edge.BadRequest("%s", err)
	}
	out, err := r.Lists.Edit(r.Context(), r.PathValue("id"), edit, todo.Writer{Client: "panel", Variant: string(edit.Do)})
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusOK, struct {
		render.ListDocument
		Changed bool `json:"changed"`
	}{render.Document(out.After), out.Changed})
}

// pageOf returns the page of a list as it stands, or at a revision above 0 of its history. If that is not
// kept any more, it shows the next one.
func (p *Panel) pageOf(ctx context.Context, lists board.Lists, f account.Group, revision int64) (*listPage, error) {
	l := f.Main
	page := &listPage{Group: f, drawing: drawing{now: p.now()}, past: revision > 0}
	saw, err := lists.Saw(ctx, l)
	if err != nil {
		return nil, err
	}
	page.saw, page.edits = saw.Revision, account.EditsOf(saw, l)
	if page.unseen = len(page.edits.Unseen); page.edits.Title == account.Waits {
		page.unseen++
	}
	kept, err := lists.History(ctx, l.List.ID, 0, 1)
	if err != nil {
		return nil, err
	}
	if page.oldest = l.Revision; len(kept) > 0 {
		page.oldest = min(l.Revision, kept[0].Revision)
	}
	if page.past {
		page.version = fmt.Sprint(l.Revision, ".", page.oldest)
	} else {
		page.at, revision = l, l.Revision
		if page.inTurn, err = lists.InTurn(ctx, l); err != nil {
			return nil, err
		}
		page.addItems(saw)
	}
	err = page.addHistory(ctx, lists, min(max(revision, page.oldest), l.Revision))
	page.addFrame()
	return page, err
}

// yourVerbs replaces some of [verbs] for a person's edits.
var yourVerbs = map[string]string{string(todo.Completed): "ticked", "edited": "changed"}

// addItems adds the items as they stand, with a person's edits since the agent saw the list and the fate of
// the person's texts.
func (page *listPage) addItems(saw todo.Snapshot) {
	l, state := page.Main, page.States[page.Main.List.ID].State
	page.version = fmt.Sprint(page.Seq(), ".", page.saw, ".", digestOf(fmt.Sprint(page.States, page.inTurn)))
	yours := make(map[string]string)
	for _, d := range todo.Diff(saw, l) {
		verb := verbs(d)[0]
		yours[d.After.ID] = "you " + cmp.Or(yourVerbs[verb], verb) + ", " + string(account.Waits)
	}
	for _, i := range l.Items {
		v := itemOf(i, state.Rests())
		v.Yours, v.Person, v.Fixed = yours[i.ID], render.Safe(page.edits.Overridden[i.ID]), l.List.Mirrored
		if fate := page.edits.Of(i.ID); fate != account.Waits {
			v.Fate = fate
		}
		v.Beside, v.Details = render.Beside(l, i), render.Safe(i.Details)
		page.items = append(page.items, v)
	}
	for _, i := range l.Later {
		page.items = append(page.items, laterOf(i))
	}
}

// maxSubItems is how many items of a sub-agent's list the page of its main list shows.
const maxSubItems = 50
