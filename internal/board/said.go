package board

import (
	"context"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Said returns where a text stood last in each of some lists, or excerpts, in which it
// stands or ever stood, by id; see [Query.Text].
func (l Lists) Said(ctx context.Context, text string, lists ...todo.Snapshot) (map[string]todo.Said, error) {
	said := make(map[string]todo.Said)
	newest := make(map[string]int64, len(lists))
	seqs := make([]int64, 0, len(lists))
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
				whole := s.Saying(text)
				said[s.List.ID] = todo.Said{Revision: s.Revision, Updated: s.Updated, Text: todo.Cut(whole, todo.MaxTitle), Left: s.Revision < revision}
			}
		}
	}
	return said, nil
}

// saidPage is through the revisions of how many lists [Lists.Said] looks at a time.
const saidPage = 50
