package todo

import (
	"context"
	"errors"
	"fmt"
)

// Unseen returns what people changed in a list since its agent last saw it; nil
// when the agent wrote last, since the answer to its write told it everything.
func (l Lists) Unseen(ctx context.Context, s Snapshot) ([]Difference, error) {
	saw, err := l.Saw(ctx, s)
	return Diff(saw, s), err
}

// Saw returns the revision of a list up to s that its agent last saw; s where no
// agent ever saw or wrote one.
func (l Lists) Saw(ctx context.Context, s Snapshot) (Snapshot, error) {
	if !s.Writer.Person {
		return s, nil
	}
	holders, err := l.Holders(ctx, s)
	if err != nil {
		return s, fmt.Errorf("find who holds the list: %w", err)
	}
	seen := int64(0)
	for _, h := range holders {
		seen = max(seen, h.Seen)
	}
	base, err := l.board.lastAgentRevision(ctx, s)
	if err == nil && seen > base.Revision {
		base, err = l.board.kept(ctx, s, seen)
	}
	if err != nil || base.Revision == 0 {
		return s, err
	}
	return base, nil
}

// Written returns the number of the newest revision up to s that no person wrote;
// 0 when none is kept.
func (l Lists) Written(ctx context.Context, s Snapshot) (int64, error) {
	if !s.Writer.Person {
		return s.Revision, nil
	}
	last, err := l.board.store.LastBy(ctx, s.List.ID, false, s.Revision)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("find the newest revision by an agent: %w", err)
	}
	return last.Revision, nil
}
