//go:build linux

// Command growth shows how a store in use grows: it writes the lists of a developer, day by day, under the default
// retention, and then measures the program on the lists that are left. A simulated day lasts as long as -day says,
// or longer if its writes take longer. Retention times are scaled to -day.
//
//	growth [-days N] [-lists N] [-day D] PROGRAM
//
// Lists have 15 revisions and ten items. Of a hundred lists ten are left open, and a person looked at three; the
// command fails if one of these three is gone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/sqlite"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	revisions, items = 15, 10
	// finishedFor is how many days a finished list stays by default.
	finishedFor = 90
	// perProcess is how many lists a process begins: a client starts a process for each chat.
	perProcess = 10
)

func main() {
	days := flag.Int("days", 365, "how many days are simulated")
	lists := flag.Int("lists", 200, "how many lists begin in a day")
	day := flag.Duration("day", time.Second, "how long a simulated day takes, at least")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: growth [flags] PROGRAM")
		os.Exit(2)
	}
	if _, err := run(flag.Arg(0), *days, *lists, *day); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

// run prints the tables and returns how many lists are left.
func run(program string, days, lists int, day time.Duration) (left int, err error) {
	folder, err := os.MkdirTemp("", "growth-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "todo.db")
	fmt.Println("| day | lists begun | lists there | MB | MB a list |")
	fmt.Println("|---:|---:|---:|---:|---:|")
	looked := 0
	for d := range days {
		began := time.Now()
		n, err := write(file, d*lists, lists, board.Keep{Revisions: 1000, Lists: 100_000, Bytes: 4_000_000_000, Begun: 1000, Abandoned: day / 24, Finished: finishedFor * day})
		if err != nil {
			return 0, err
		}
		looked += n
		if (d+1)%30 == 0 || d == days-1 {
			if left, err = report(file, d+1, (d+1)*lists, looked); err != nil {
				return 0, err
			}
		}
		time.Sleep(time.Until(began.Add(day)))
	}
	return left, errors.Join(runCommands(program, file, folder), serve(program, file, folder))
}

// write writes the lists of a day and returns how many of them a person looked at.
func write(file string, first, lists int, keep board.Keep) (looked int, err error) {
	ctx := context.Background()
	var store *sqlite.Store
	for n := first; n < first+lists; n++ {
		if n%perProcess == 0 || store == nil {
			if store != nil {
				err = store.Close()
			}
			if err == nil {
				store, err = sqlite.Open(file, keep)
			}
			if err != nil {
				return looked, err
			}
		}
		id := fmt.Sprintf("%026d", n)
		isLooked := n%100 < 3
		if isLooked {
			looked++
		}
		err = store.Update(ctx, board.Key{Chat: "chat:" + id}, func(tx board.Tx) error {
			for r := range int64(revisions) {
				if _, err := tx.Save(ctx, snapshot(id, n, r+1)); err != nil {
					return err
				}
			}
			if !isLooked {
				return nil
			}
			return tx.See(ctx, board.Seen{Key: board.Key{Chat: todo.PersonChat}, List: id, Revision: revisions})
		})
		if err != nil {
			return looked, errors.Join(err, store.Close())
		}
	}
	return looked, store.Close()
}

// snapshot returns a revision of list n. More steps of the plan are done with each revision.
func snapshot(id string, n int, revision int64) todo.Snapshot {
	s := todo.Snapshot{Revision: revision, Updated: time.Now(), LastID: items, Writer: todo.Writer{Client: "claude-code", Variant: "TodoWrite"},
		List: todo.List{ID: id, Conversation: "chat:" + id, Client: "claude-code", Workspace: fmt.Sprint("/home/ada/src/project", n%12), Created: time.Now()}}
	for i := range items {
		item := todo.Item{ID: fmt.Sprint(i + 1), Text: fmt.Sprintf("Step %d of the change %d: read what is there and mend it", i+1, n), Active: fmt.Sprintf("Mending what step %d found", i+1), Status: todo.Pending}
		if i == items-1 {
			item.Text = "Deploy and look at the dashboards"
		}
		switch left := int64(i)*3/2 - revision; {
		case left < -1 && (i < items-1 || n%10 > 0):
			item.Status = todo.Completed
		case left < 0:
			item.Status = todo.InProgress
		}
		s.Items = append(s.Items, item)
	}
	if revision == revisions && n%10 > 0 {
		for i := range s.Items {
			s.Items[i].Status = todo.Completed
		}
	}
	return s
}

// report prints the size of a store, checks that every list that a person looked at is left, and returns the number of
// lists.
func report(file string, day, begun, looked int) (lists int, err error) {
	store, err := sqlite.Open(file, board.Keep{})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	found, err := store.Find(context.Background(), board.Query{Excerpt: true})
	if err != nil {
		return 0, err
	}
	there := 0
	for _, s := range found {
		var n int
		if _, err := fmt.Sscanf(s.List.ID, "%d", &n); err == nil && n%100 < 3 {
			there++
		}
	}
	if there != looked {
		return 0, fmt.Errorf("of %d lists that a person looked at %d are there", looked, there)
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	mb := float64(info.Size()) / 1e6
	fmt.Printf("| %d | %d | %d | %.0f | %.3f |\n", day, begun, len(found), mb, mb/float64(len(found)))
	return len(found), nil
}
