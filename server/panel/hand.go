package panel

import (
	"context"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// unseen is what people changed since the list's agent last saw it.
type unseen struct {
	N         int
	Since     int64 // the revision that the agent saw
	ComesBack bool  // the agent is not there
	verbs     map[string]string
}

// unseenOf returns what people changed on a list since its agent last saw it, and what
// became of everything that they changed.
func unseenOf(ctx context.Context, lists todo.Lists, f account.Family) (unseen, account.Hand, error) {
	u := unseen{ComesBack: f.States[f.Main.List.ID].Rests(), verbs: make(map[string]string)}
	saw, err := lists.Saw(ctx, f.Main)
	hand := account.HandOf(saw, f.Main)
	u.Since, u.N = saw.Revision, len(hand.Unseen)
	if hand.Title == account.Waits {
		u.N++
	}
	for _, d := range todo.Diff(saw, f.Main) {
		u.verbs[d.After.ID] = yourVerb(d)
	}
	return u, hand, err
}

// mark says at an item what a person did to it and what became of that.
func (v *itemView) mark(u unseen, hand account.Hand) {
	if verb := u.verbs[v.ID]; verb != "" {
		v.Yours = "you " + verb + ", " + string(account.Waits)
	}
	switch fate := hand.Of(v.ID); fate {
	case account.Seen, account.Overridden:
		v.Fate, v.Person = fate, render.Safe(hand.Overridden[v.ID])
	}
}

// yourVerb returns what a person did to an item, in one word.
func yourVerb(d todo.Difference) string {
	switch words := verbs(d); {
	case words[0] == string(todo.Completed):
		return "ticked"
	case words[0] == "edited":
		return "changed"
	default:
		return words[0]
	}
}

// fateOf returns what became of a revision that a person made; empty for others, and
// where several revisions are one entry.
func (e logEntry) fateOf(hand account.Hand) account.Fate {
	if !e.told {
		return ""
	}
	return hand.OfRevision(e.Revision)
}

// overrode returns the words for an item that an agent overrode with a revision.
func overrode(before, at todo.Snapshot) map[string]string {
	items, _ := account.Overrode(before, at)
	out := make(map[string]string, len(items))
	for _, i := range items {
		out[i.ID] = "overrode your words"
	}
	return out
}
