package panel

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	. "maragu.dev/gomponents"
	. "maragu.dev/gomponents/html"

	"todo-mcp/internal/account"
	"todo-mcp/internal/board"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server/edge"
)

const (
	// jumpLists is how many lists the jump offers, and jumpLooks through how many it looks
	// for words in items and earlier revisions, the last changed first.
	jumpLists, jumpLooks = 10, 200
)

// themeCookie is the cookie in which jump.js keeps the theme that a person chose.
const themeCookie = "theme"

// option is what the jump offers: an address to go to, or something that the script does.
type option struct {
	icon, name string
	note       Node
	href, do   string
}

// jump answers with what a person's words (?q=) lead to, as options of a listbox: lists,
// what left one, and commands.
func (p *Panel) jump(w http.ResponseWriter, r *edge.Request) error {
	return inTurn(w, r, func() (string, error) {
		s, err := p.readBoard(r.Context(), r.Lists)
		if err != nil {
			return "", err
		}
		query := todo.Cut(strings.Join(strings.Fields(r.URL.Query().Get("q")), " "), todo.MaxTitle)
		options, err := jumpTo(r, s, query)
		if err != nil {
			return "", err
		}
		options = append(options, s.commands(query, r.Identity)...)
		var drawnOptions Group
		for n, o := range options {
			drawnOptions = append(drawnOptions, o.draw(n))
		}
		return drawn(drawnOptions), nil
	})
}

func (o option) draw(n int) Node {
	return Li(Role("option"), ID("jump-"+decimal(n)), Aria("selected", "false"), If(o.href != "", Data("href", o.href)),
		If(o.do != "", Data("do", o.do)), glyph(o.icon), bdi(o.name, Class("cut")), span("small cut", o.note))
}

// jumping is the lists that words lead to, as they are found.
type jumping struct {
	query   string
	shown   map[string]bool // by the list's id
	options []option
}

// add adds a list once, as far as there is room.
func (j *jumping) add(list string, o option) {
	if !j.shown[list] && len(j.options) < jumpLists {
		j.shown[list] = true
		j.options = append(j.options, o)
	}
}

// jumpTo returns the lists that words lead to: without words those that an agent is at, or
// was; else those that have each word in what people see of them, in their title first; and
// then those that said them all once.
func jumpTo(r *edge.Request, s groups, query string) ([]option, error) {
	j := jumping{query: query, shown: make(map[string]bool)}
	if query == "" {
		j.among(slices.Concat(s.Active, s.Left), nil)
		return j.options, nil
	}
	lists, err := r.Lists.Find(r.Context(), board.Query{Limit: jumpLooks})
	if err != nil {
		return nil, err
	}
	whole := make(map[string]todo.Snapshot, len(lists))
	for _, l := range lists {
		whole[l.List.ID] = l
	}
	groups := slices.Concat(s.Active, s.Past, s.Archived)
	j.among(groups, nil)
	j.among(groups, whole)
	said, err := r.Lists.Said(r.Context(), query, lists...)
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		if where := said[l.List.ID]; where.Left {
			j.add(l.List.ID, option{icon: "clock", name: render.Safe(todo.Cut(where.Text, maxShown)),
				href: listHref(l.List.ID) + "?revision=" + decimal(where.Revision),
				note: Group{Textf("in revision %d of ", where.Revision), bdi(titleOf(l))}})
		}
	}
	return append(j.options, option{icon: "search", name: "Search all lists, and what left them",
		href: "./?history=true&q=" + url.QueryEscape(query)}), nil
}

// among adds the lists that have each word in what their heads say, and in the items too of
// those that are whole.
func (j *jumping) among(groups []account.Group, whole map[string]todo.Snapshot) {
	for i := range groups {
		l := groups[i].Main
		texts := []string{l.Title(), l.List.Name, l.List.Project(), agentOf(l).Name}
		for _, item := range whole[l.List.ID].Items {
			texts = append(texts, item.Text, item.Reason)
		}
		if hasWords(j.query, texts...) {
			state := groups[i].State()
			j.add(l.List.ID, option{icon: agentOf(l).Glyph, name: titleOf(l), href: listHref(l.List.ID),
				note: Group{Span(classes{"waiting": state == todo.Waiting}, Text(stateWord(state))),
					If(projectOf(l) != "", Group{Text(" · "), bdi(projectOf(l))})}})
		}
	}
}

// hasWords reports whether each word of a query stands in one of the texts.
func hasWords(query string, texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// commands returns what can be done on any page, as far as a query has its words.
func (s groups) commands(query string, reader board.Identity) (options []option) {
	all := []option{
		{icon: "cards", name: "Board", href: "./"}, {icon: "table", name: "Table", href: "./?view=table"},
		{icon: "day", name: "Today", href: "today"},
	}
	for _, k := range s.kinds()[1:] {
		all = append(all, option{icon: k.icon, name: k.name, href: k.href(), note: Text(count(len(k.lists), "list"))})
	}
	for _, a := range ages {
		if n := len(older(s.Left, a.days, s.now)); n > 0 && !reader.ReadOnly {
			all = append(all, option{icon: "box", name: "Archive left-open lists older than " + a.name,
				note: Text(count(n, "list")), do: fmt.Sprint("archive ", a.days)})
		}
	}
	for _, c := range [][2]string{{"Settings: notifications", "notifications"}, {"Settings: light theme", "theme light"},
		{"Settings: dark theme", "theme dark"}, {"Settings: theme of the system", "theme"}, {"Keys", "keys"}} {
		all = append(all, option{icon: "more", name: c[0], do: c[1]})
	}
	for _, o := range all {
		if hasWords(query, o.name) {
			options = append(options, o)
		}
	}
	return options
}

// themeOf returns the theme that a person chose in this browser; empty for the system's.
func themeOf(r *edge.Request) string {
	c, err := r.Cookie(themeCookie)
	if err != nil || c.Value != "light" && c.Value != "dark" {
		return ""
	}
	return c.Value
}
