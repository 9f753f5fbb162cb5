package todo

import (
	"context"
	"errors"
	"fmt"
)

// Unseen returns what people changed in a list since its agents last saw it; nil
// when an agent wrote last, since an answer has told everything by then.
func (l Lists) Unseen(ctx context.Context, s Snapshot) ([]Difference, error) {
	saw, err := l.Saw(ctx, s)
	return Diff(saw, s), err
}

// Saw returns the revision of a list up to s that any of its agents last saw; s where
// no agent ever saw or wrote one.
func (l Lists) Saw(ctx context.Context, s Snapshot) (Snapshot, error) {
	if !s.Writer.Person {
		return s, nil
	}
	on, err := l.CursorsOn(ctx, s)
	if err != nil {
		return s, fmt.Errorf("find what agents have seen: %w", err)
	}
	saw, err := shownToAgents(ctx, l.board.store, s, on)
	if err != nil || saw.Revision == 0 {
		return s, err
	}
	return saw, nil
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
