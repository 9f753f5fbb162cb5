package board

import (
	"context"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Said returns the last place of a text in each of some lists, or excerpts, that have or had it, by
// list id; see [Query.Text].
func (l Lists) Said(ctx context.Context, text string, lists ...todo.Snapshot) (map[string]todo.Said, error) {
	said, newest, seqs := make(map[string]todo.Said), make(map[string]int64, len(lists)), make([]int64, 0, len(lists))
	for _, s := range lists {
		newest[s.List.ID] = s.Revision
		seqs = append(seqs, s.Seq)
	}
	slices.Sort(seqs)
	for page := range slices.Chunk(seqs, saidPage) {
		found, err := l.Find(ctx, Query{Text: todo.Cut(text, todo.MaxTitle), AfterSeq: page[0] - 1, BeforeSeq: page[len(page)-1] + 1})
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if revision, wanted := newest[s.List.ID]; wanted {
				shown := todo.Cut(s.Saying(text), todo.MaxTitle)
				said[s.List.ID] = todo.Said{Revision: s.Revision, Updated: s.Updated, Text: shown, Left: s.Revision < revision}
			}
		}
	}
	return said, nil
}

// saidPage is how many lists [Lists.Said] searches at a time.
const saidPage = 50
