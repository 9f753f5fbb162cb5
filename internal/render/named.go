package render

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/todo-mcp/todo-mcp/internal/account"
	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const minPrefix = 4 // the minimum length of the beginning of an id: a shorter one would match by chance

// Named returns the lists, in their order, that a person means by a text. The first of these matches that finds any
// decides:
//
//  1. the id;
//  2. the name that the user gave the list; only the first list, if several have the name;
//  3. the title, with or without the sub-agent, in any case;
//  4. the beginning of the id, four characters or more;
//  5. the beginning of the title;
//  6. words that begin words of the title, the name, the sub-agent or the project.
//
// sure is false for the last two, which may find another list by chance: ask before what cannot be undone.
func Named(lists []todo.Snapshot, wanted string) (found []todo.Snapshot, sure bool) {
	text := fold(strings.Join(strings.Fields(wanted), " "))
	begin := strings.TrimSuffix(text, "…") // of a title that was cut
	if text == "" {
		return nil, false
	}
	for kind, is := range []func(todo.Snapshot) bool{
		func(l todo.Snapshot) bool { return l.List.ID == wanted },
		func(l todo.Snapshot) bool { return l.List.Name == wanted },
		func(l todo.Snapshot) bool { return slices.Contains(titles(l), text) },
		func(l todo.Snapshot) bool { return len(wanted) >= minPrefix && strings.HasPrefix(l.List.ID, wanted) },
		func(l todo.Snapshot) bool {
			return begin != "" && slices.ContainsFunc(titles(l), func(title string) bool { return strings.HasPrefix(title, begin) })
		},
		func(l todo.Snapshot) bool { return hasWords(l, begin) },
	} {
		found = slices.DeleteFunc(slices.Clone(lists), func(l todo.Snapshot) bool { return !is(l) })
		if kind == 1 {
			found = found[:min(1, len(found))]
		}
		if len(found) > 0 {
			return found, kind < 4
		}
	}
	return nil, false
}

// ListTitle returns the title of a list, after its sub-agent's name if any, safe to display.
func ListTitle(s todo.Snapshot) string {
	return strings.TrimPrefix(Safe(s.List.Agent)+": "+Safe(s.Title()), ": ")
}

// Apart returns, by id, the time at which a list began, for each list with the same title, project and branch as
// another one. Chats without a list are compared only with each other.
func Apart(lists []todo.Snapshot, now time.Time) map[string]string {
	alike, apart := make(map[string]int), make(map[string]string)
	reads := func(l todo.Snapshot) string {
		return fmt.Sprintln(l.IsChat(), l.List.Workspace, "\n", l.List.OffMain(), "\n", fold(ListTitle(l)))
	}
	for _, l := range lists {
		alike[reads(l)]++
	}
	for _, l := range lists {
		if alike[reads(l)] > 1 {
			apart[l.List.ID] = Moment(l.List.Created, now)
		}
	}
	return apart
}

func titles(l todo.Snapshot) []string {
	return []string{fold(l.Title()), fold(ListTitle(l)), fold(l.List.Name)}
}

// hasWords reports whether each word of a text begins a word of a list's title, name, sub-agent or project.
func hasWords(l todo.Snapshot, text string) bool {
	words := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.Nd, unicode.M) })
	}
	shown, wanted := words(fold(ListTitle(l)+" "+l.List.Name+" "+l.List.Project())), words(text)
	begins := func(word string) bool {
		return slices.ContainsFunc(shown, func(s string) bool { return strings.HasPrefix(s, word) })
	}
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(word string) bool { return !begins(word) })
}

// fold returns a title as it is shown, without differences of case and space, to compare it.
func fold(title string) string {
	lower := strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, Safe(title))
	return strings.Join(strings.Fields(lower), " ")
}

// Found reports whether what people see of a list and its agent contains a text, in any case. It returns the title or
// item that has the text; empty if none has.
func Found(l todo.Snapshot, text string) (said todo.Said, ok bool) {
	whole := l.Saying(text)
	shown := strings.Join([]string{l.Title(), l.List.Name, l.List.Agent, l.List.Project(), Client(account.Client(l))}, "\n")
	ok = whole != "" || strings.Contains(strings.ToLower(shown), strings.ToLower(text)) ||
		len(text) >= minPrefix && strings.HasPrefix(l.List.ID, text)
	return todo.Said{Revision: l.Revision, Updated: l.Updated, Text: todo.Cut(whole, todo.MaxTitle)}, ok
}
