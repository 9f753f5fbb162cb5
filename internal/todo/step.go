package todo

import (
	"slices"
	"time"
)

// Step is how a writer takes a list to its next revision.
type Step struct {
	Change  Change
	Sent    *Sent
	Author  string // who writes: [PersonChat], or the id of a chat; empty for nobody
	At      time.Time
	Earlier []Item                   // of the list that the conversation leaves, if the step begins one
	Present func(author string) bool // reports whether a chat is here; nil if none is
	Title   string                   // as [board.Write.Title]
	Mirrors bool                     // the write may change the items of a list that is [List.Mirrored]
}

// Draft applies the change to the revision that the writer was shown, and returns the draft of the
// revision after newest. It returns the error of the change.
func (s Step) Draft(shown, newest Snapshot) (*Draft, error) {
	d := &Draft{Before: shown, next: shown, now: s.At.UTC(), author: s.Author, earlier: s.Earlier, present: s.Present}
	d.next.Items, d.next.Later = slices.Clone(shown.Items), slices.Clone(shown.Later)
	if err := s.Change(d); err != nil {
		return nil, err
	}
	if shown.Revision != newest.Revision {
		d.rebase(newest)
	}
	return d, nil
}

// Changes reports whether the step would be refused, or change items, texts or statuses of newest.
// Active texts do not count, nor wordings that a person replaced.
func (s Step) Changes(shown, newest Snapshot) bool {
	d, err := s.Draft(shown, newest)
	if err != nil {
		return true
	}
	d.applyEdits(shown, len(s.Sent.Lines) > 0)
	return !slices.EqualFunc(newest.Items, d.next.Items, func(a, b Item) bool {
		return a.ID == b.ID && a.Text == b.Text && a.Status == b.Status
	})
}

// Settle completes and checks a draft, and adds to a report what the writer is told. It keeps what
// people did, and what other agents have. saw is what the writer was shown. It returns
// [ErrMirrored], [ErrCycle], a [*TakenError], or an [*InputError] for a list that grows beyond
// [CheckSize].
func (s Step) Settle(d *Draft, saw Snapshot, report *Report) error {
	report.Kept = d.applyEdits(saw, len(s.Sent.Lines) > 0)
	var err error
	if report.Held, err = d.keepOthers(s.Sent.Lines != nil); err != nil {
		return err
	}
	var cycle error
	if slices.ContainsFunc(d.next.Items, func(i Item) bool { return i.Key != "" || i.WaitsFor != "" }) {
		d.tidy()
		cycle = checkWaits(d.next.Items)
	}
	if d.next.GivenTitle == "" && s.Title != "" {
		d.next.GivenTitle, _ = CleanTitle(s.Title)
	}
	if slices.ContainsFunc(report.Kept, func(k Difference) bool { return k.Kind == Moved }) {
		report.Ordered = texts(d.next.Items)
	}
	if d.Before.List.Mirrored && !s.Mirrors && !slices.EqualFunc(d.Before.all(), d.next.all(), Item.same) {
		return ErrMirrored
	}
	if cycle != nil && !d.Before.List.Mirrored && !s.Mirrors {
		return cycle
	}
	// A merge may exceed what variants check. A list that does not grow is never refused.
	was, now := d.Before.all(), d.next.all()
	if len(now) > len(was) || Size(now) > Size(was) {
		if err := CheckSize(now); err != nil {
			return &InputError{Problems: []Problem{{Message: err.Error(), Err: err}}}
		}
	}
	report.Notes = d.notes
	find := Near(d.next.Items)
	for n, item := range d.Before.Items {
		switch now, stays := find(n, item.ID); {
		case !stays && !item.Status.Settled():
			report.Dropped = append(report.Dropped, item)
		case stays && item.Status == Completed && !now.Status.Settled() && s.Sent.Lines != nil && s.Author != PersonChat:
			report.Reopened = append(report.Reopened, now)
		}
	}
	return nil
}
