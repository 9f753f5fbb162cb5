package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

// Day writes the account of a day as plain lines.
func Day(d account.Day) string {
	return writeDay(d, "%s\n%s\n", "\n%s · %s\n", "  %s (%s)\n", func(text string) string { return text },
		func(i todo.Item) string { return "    " + Marker(i.Status) + " " + Safe(i.Text) + inBrackets(i.Reason) })
}

// DayMarkdown writes the account of a day in Markdown, escaped as by [Markdown].
func DayMarkdown(d account.Day) string {
	return writeDay(d, "# %s\n\n%s\n", "\n## %[1]s\n", "\n### %s\n\n*%s*\n\n", heading,
		func(i todo.Item) string { return taskLine(todo.Snapshot{}, i) })
}

// writeDay writes the account of a day. The parameters day, project and list are formats, each for a title and its
// notes. The function escaped escapes a text, and the function item returns an item's line.
func writeDay(d account.Day, day, project, list string, escaped func(string) string, item func(todo.Item) string) string {
	var b strings.Builder
	noon, since := d.From.Add(12*time.Hour), ""
	if d.To.Sub(noon) > 24*time.Hour {
		since = "Since "
	}
	fmt.Fprintf(&b, day, since+noon.Format("Monday, 2 January 2006"), dayTally(d.Tally))
	for _, p := range d.Projects {
		fmt.Fprintf(&b, project, escaped(cmp.Or(Safe(p.Project), "no folder")), dayTally(p.Tally))
		for _, l := range p.Lists {
			title := strings.TrimPrefix(Safe(l.Agent)+": "+Safe(l.Title)+inBrackets(l.Apart), ": ")
			fmt.Fprintf(&b, list, escaped(title), escaped(dayNotes(l)))
			for _, i := range slices.Concat(l.CompletedItems, l.FailedItems, l.WaitingItems, l.OpenItems) {
				b.WriteString(item(i) + "\n")
			}
		}
	}
	if d.More {
		b.WriteString("\nThere was more that day than is shown here.\n")
	}
	return b.String()
}

func heading(text string) string { return strings.ReplaceAll(escape(text), "#", `\#`) }

// dayNotes returns a list's state, its agent's question and working time, and its client.
func dayNotes(l account.DayList) string {
	took := ""
	if l.Worked > 0 {
		took = Took(l.Took())
	}
	return Joined(", ", string(l.State), question(l.Asks), took, Client(l.Client))
}

// dayTally returns a tally as text: "3 lists, 12 done, 1 failed, 1 waits, 3 open, worked 3h 12m".
func dayTally(t account.Tally) string {
	worked := ""
	if t.Worked > 0 {
		worked = "worked " + Took(t.Took())
	}
	return cmp.Or(Joined(", ", Some(t.Lists, "list", "lists"), Some(t.Completed, "done", "done"), Some(t.Failed, "failed", "failed"),
		Some(t.Waiting, "waits", "wait"), Some(t.Open, "open", "open"), worked), "nothing was done")
}

// PullRequest writes a main list and the lists of its sub-agents as the description of a pull request, in Markdown:
// each list's title and items, with the time that an item took, then a tally, with working time unless worked is 0.
func PullRequest(lists []todo.Snapshot, worked time.Duration) string {
	var b strings.Builder
	total := account.Tally{Worked: int64(worked / time.Second)}
	for n, s := range lists {
		if n > 0 && len(s.Items) == 0 {
			continue
		}
		b.WriteString(strings.Repeat("#", min(n+1, 2)) + " " + heading(ListTitle(s)) + "\n\n")
		for _, i := range s.Items {
			b.WriteString(taskLine(s, i))
			if i.Status.Settled() && !i.Started.IsZero() {
				b.WriteString(" *(" + Took(i.Ended.Sub(i.Started)) + ")*")
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
		n, waiting := s.Progress(), s.Counts()[todo.Blocked]
		total.Completed, total.Failed, total.Waiting = total.Completed+n.Done, total.Failed+n.Failed, total.Waiting+waiting
		total.Open += n.Total - n.Done - n.Failed - waiting
	}
	by := strings.TrimSuffix(", by "+escape(Client(account.Client(lists[0]))), ", by ")
	return b.String() + dayTally(total) + by + "\n"
}
