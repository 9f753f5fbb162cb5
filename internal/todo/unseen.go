package todo

import (
	"context"
	"fmt"
)

// Unseen returns what people changed in a list since its agent last saw it; nil
// when the agent wrote last, since the answer to its write told it everything.
func (l Lists) Unseen(ctx context.Context, s Snapshot) ([]Difference, error) {
	if !s.Writer.Person {
		return nil, nil
	}
	holders, err := l.Holders(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("find who holds the list: %w", err)
	}
	seen := int64(0)
	for _, h := range holders {
		seen = max(seen, h.Seen)
	}
	base, err := l.board.lastAgentRevision(ctx, s)
	if err == nil && seen > base.Revision {
		base, err = l.board.kept(ctx, s, seen)
	}
	if err != nil {
		return nil, err
	}
	return Diff(base, s), nil
}
