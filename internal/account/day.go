package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Day has the lists that an agent wrote, or whose items changed, on one or more days. Its JSON answers /api/today.
type Day struct {
	Date string    `json:"date"` // as 2006-01-02; the first day if there are several
	From time.Time `json:"from"` // the first day's midnight, in the caller's time zone
	To   time.Time `json:"to"`   // the midnight after the last day
	Tally
	Projects []DayProject `json:"projects"` // most recently changed first; not nil
	// More is true if lists were left out, because there are more than [MaxDayLists] or their texts are longer than
	// maxDayTexts. The numbers leave these lists out, too. The lists that changed last are kept.
	More bool `json:"more,omitempty"`
}

const (
	MaxDayLists = 1000    // lists of a [Day]
	maxDayTexts = 4 << 20 // bytes of all texts of a Day's items
	maxDate     = 20      // runes that an error shows of a bad date
)

// Tally counts what was done in some lists.
type Tally struct {
	Lists     int `json:"list_count"` // without sub-agents' lists
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Waiting   int `json:"waiting"` // items that are blocked, and lists whose agent asks
	Open      int `json:"open"`    // other items that are not settled
	// Worked is how many seconds the lists were [todo.Working] in all. A write counts for at most [todo.IdleAfter].
	Worked int64 `json:"worked"`
}

// Took returns Worked as a duration.
func (t Tally) Took() time.Duration { return time.Duration(t.Worked) * time.Second }

func (t *Tally) add(o Tally) {
	t.Lists, t.Completed, t.Failed = t.Lists+o.Lists, t.Completed+o.Completed, t.Failed+o.Failed
	t.Waiting, t.Open, t.Worked = t.Waiting+o.Waiting, t.Open+o.Open, t.Worked+o.Worked
}

// DayProject has the tally and the lists of one folder.
type DayProject struct {
	Project string `json:"project"` // the last part of its path; empty when unknown
	Folder  string `json:"folder"`
	Tally
	Lists []DayList `json:"lists"` // in the order of their start; sub-agents' lists after their main list
}

// DayList has the tally and the items of one list.
type DayList struct {
	ID     string `json:"list"`
	Parent string `json:"parent,omitempty"`
	Agent  string `json:"agent,omitempty"`
	Title  string `json:"title"`
	Client string `json:"client,omitempty"`
	// Apart has the branch, unless it is main or master, and the list's start time if another list looks the same.
	Apart string     `json:"apart,omitempty"`
	State todo.State `json:"state"`          // now, or at the end of an earlier day
	Asks  string     `json:"asks,omitempty"` // what its agent asks a person now
	Began time.Time  `json:"began"`
	Ended time.Time  `json:"changed"` // when it changed last on that day
	Tally
	// The items in their last state of that day: items completed or failed on that day, even if no longer on the list,
	// blocked items, and other items that are not settled. Only the fields that the JSON of a day shows are set.
	CompletedItems []todo.Item `json:"completed_items,omitempty"`
	FailedItems    []todo.Item `json:"failed_items,omitempty"`
	WaitingItems   []todo.Item `json:"waiting_items,omitempty"`
	OpenItems      []todo.Item `json:"open_items,omitempty"`

	folder string // in which it began
}

// ParseDay returns noon, in now's time zone, of a day as a person writes it: 2006-01-02, yesterday, or
// a weekday, which means the latest one, today included. It returns now for an empty text.
func ParseDay(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return now, nil
	}
	for ago := range 7 {
		day := time.Date(now.Year(), now.Month(), now.Day()-ago, 12, 0, 0, 0, now.Location())
		name := day.Weekday().String()
		if strings.EqualFold(text, name) || strings.EqualFold(text, name[:3]) || ago == 1 && strings.EqualFold(text, "yesterday") {
			return day, nil
		}
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return now, fmt.Errorf("a day is written as %s, yesterday or monday, not %q", now.Format(time.DateOnly), todo.Cut(text, maxDate))
	}
	return time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, now.Location()), nil
}

// DayOf returns a [Day] from the day that contains at to the day that contains last, in at's time zone. The parameter
// during is [board.Lists.During]; now is the current time.
func DayOf(ctx context.Context, during func(ctx context.Context, from, to time.Time, with todo.ChangedList) error, at, last, now time.Time) (Day, error) {
	next := time.Date(last.Year(), last.Month(), last.Day()+1, 12, 0, 0, 0, at.Location())
	d := &dayReader{Day: Day{Date: at.Format(time.DateOnly), From: todo.Midnight(at), To: todo.Midnight(next),
		Projects: []DayProject{}}, now: now}
	err := during(ctx, d.From, d.To, d.add)
	if errors.Is(err, errFull) {
		d.More, err = true, nil
	}
	d.projects()
	return d.Day, err
}

var errFull = errors.New("the account holds no more lists")

// dayReader makes a [Day] as its lists are read.
type dayReader struct {
	Day
	now   time.Time
	read  []DayList
	texts int
}

// add adds a list if an agent wrote it or an item changed. st is the list's present standing.
func (d *dayReader) add(st todo.Standing, revisions iter.Seq2[todo.Snapshot, error]) error {
	s, gone, worked, active, err := Follow(revisions, d.From, d.To)
	if err != nil || !active {
		return err
	}
	switch {
	case !d.now.Before(d.To): // an earlier day: the agents' activity at its end is not known
		st = s.Stands(todo.Agent{}, d.To)
	case st.State == todo.Working:
		worked += working(s, d.now, d.From, d.To)
	}
	list := DayList{ID: s.List.ID, Parent: s.List.Parent, Agent: s.List.Agent, Title: s.Title(), Apart: s.List.OffMain(), Client: Client(s),
		State: st.State, Asks: st.Asks, Began: s.List.Created, Ended: s.Updated, folder: s.List.Workspace}
	if list.Agent == "" && !s.IsChat() {
		list.Lists = 1
	}
	if st.Asks != "" {
		list.Waiting = 1
	}
	list.Worked = int64(worked / time.Second)
	for _, i := range slices.Concat(gone, s.Items) {
		d.addItem(&list, i)
	}
	if len(d.read) == MaxDayLists || d.texts > maxDayTexts {
		return errFull
	}
	d.read = append(d.read, list)
	return nil
}

// addItem counts an item in its last state of the day, and adds it to the list's items of that status.
func (d *dayReader) addItem(list *DayList, i todo.Item) {
	today := !i.Ended.Before(d.From)
	n, to := &list.Open, &list.OpenItems
	switch {
	case i.Status == todo.Completed && today:
		n, to = &list.Completed, &list.CompletedItems
	case i.Status == todo.Failed && today:
		n, to = &list.Failed, &list.FailedItems
	case i.Status.Settled():
		return
	case i.Status == todo.Blocked:
		n, to = &list.Waiting, &list.WaitingItems
	}
	*n++
	d.texts += len(i.Text) + len(i.Reason)
	*to = append(*to, todo.Item{ID: i.ID, Text: i.Text, Status: i.Status, Reason: i.Reason, Started: i.Started, Ended: i.Ended})
}

// projects sorts the lists into projects. A sub-agent's list goes into the project of its main list.
func (d *dayReader) projects() {
	byID := make(map[string]DayList)
	for _, l := range d.read {
		byID[l.ID] = l
	}
	main := func(l DayList) DayList { return byID[cmp.Or(byID[l.Parent].ID, l.ID)] }
	last := make(map[string]time.Time)
	for _, l := range d.read {
		folder := main(l).folder
		n := slices.IndexFunc(d.Projects, func(p DayProject) bool { return p.Folder == folder })
		if n < 0 {
			n = len(d.Projects)
			d.Projects = append(d.Projects, DayProject{Project: todo.List{Workspace: folder}.Project(), Folder: folder})
		}
		p := &d.Projects[n]
		p.Lists = append(p.Lists, l)
		p.Tally.add(l.Tally)
		d.Tally.add(l.Tally)
		if l.Ended.After(last[folder]) {
			last[folder] = l.Ended
		}
	}
	slices.SortStableFunc(d.Projects, func(a, b DayProject) int {
		return cmp.Or(last[b.Folder].Compare(last[a.Folder]), cmp.Compare(a.Folder, b.Folder))
	})
	for _, p := range d.Projects {
		d.tellApart(p.Lists)
		slices.SortStableFunc(p.Lists, func(a, b DayList) int {
			return cmp.Or(main(a).Began.Compare(main(b).Began), cmp.Compare(main(a).ID, main(b).ID),
				cmp.Compare(a.Agent, b.Agent), a.Began.Compare(b.Began))
		})
	}
}

// tellApart adds to Apart the time at which a list began, for lists with the same agent, title and Apart.
func (d *dayReader) tellApart(lists []DayList) {
	format, alike := "15:04", make(map[[3]string]int)
	if d.To.Sub(d.From) > 36*time.Hour {
		format = "2 Jan 15:04"
	}
	reads := func(l DayList) [3]string { return [3]string{l.Agent, l.Title, l.Apart} }
	for _, l := range lists {
		alike[reads(l)]++
	}
	for i, l := range lists {
		if alike[reads(l)] > 1 {
			lists[i].Apart = strings.TrimSpace(l.Apart + " " + l.Began.In(d.From.Location()).Format(format))
		}
	}
}

// Follow reads the revisions of a list, oldest first, and returns the last one saved before the period from–to ends.
// gone has completed and failed items that are no longer on the list. worked is how long the list was [todo.Working]
// in the period. active is true if an agent wrote, or an item changed, in the period.
func Follow(revisions iter.Seq2[todo.Snapshot, error], from, to time.Time) (s todo.Snapshot, gone []todo.Item, worked time.Duration, active bool, err error) {
	for r, err := range revisions {
		if err != nil {
			return s, nil, 0, false, err
		}
		if !r.Updated.Before(to) {
			break
		}
		worked += working(s, r.Updated, from, to)
		active = active || !r.Updated.Before(from) && (!r.Writer.Person || len(todo.Diff(s, r)) > 0)
		find := todo.Near(r.Items)
		gone = slices.DeleteFunc(gone, func(i todo.Item) bool {
			_, isBack := find(len(r.Items), i.ID)
			return isBack
		})
		for n, i := range s.Items {
			if _, stays := find(n, i.ID); !stays && (i.Status == todo.Completed || i.Status == todo.Failed) {
				gone = append(gone, i)
			}
		}
		s = r
	}
	return s, gone, worked, active, nil
}

// working returns how long revision s of a list was [todo.Working], within from–to and before the time next.
func working(s todo.Snapshot, next, from, to time.Time) time.Duration {
	if s.Revision == 0 || s.State(todo.Agent{Here: true}, s.Updated) != todo.Working {
		return 0
	}
	if from.Before(s.Updated) {
		from = s.Updated
	}
	for _, end := range []time.Time{next, s.Worked.Add(todo.IdleAfter)} {
		if end.Before(to) {
			to = end
		}
	}
	return max(to.Sub(from), 0)
}
