//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/cmd/page"
	"github.com/todo-mcp/todo-mcp/internal/render"
)

// sizes are the plans whose writes and answers the table of clients has.
func sizes() []int { return []int{5, 20, 50} }

// costs is what a list costs the model of one client.
type costs struct {
	name, sees      string
	instructed      string // "yes", "no", or "?" where it was not measured
	listing         amount
	instructions    amount
	writes, answers []amount // of plans of the sizes
	session         amount   // with listing, and with instructions if shown
}

// ownProgram is the todo-mcp binary as clients start it, with flags.
func ownProgram(path string, flags ...string) program {
	return program{command: append([]string{path, "stdio"}, flags...)}
}

// own measures the todo-mcp binary and returns the sections that depend on its
// texts alone, so that lists are kept in memory, by document.
func (m *meter) own(path string) (map[string][]page.Section, error) {
	var all []costs
	for _, r := range readers() {
		c, err := m.client(ownProgram(path, "--store=memory"), r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		all = append(all, c)
	}
	tools, err := m.tools(path)
	if err != nil {
		return nil, err
	}
	ours, err := ownProgram(path, "--store=memory").listed()
	if err = cmp.Or(err, m.err); err != nil {
		return nil, err
	}
	return map[string][]page.Section{
		ourCosts: {
			{Name: "conclusion", Text: conclusion(all[0])},
			{Name: "clients", Text: clientsTable(all)},
			{Name: "tools", Text: toolsTable(tools)},
		},
		results: {{Name: "built-in", Text: builtInTable(ours[0])}},
		readme:  {{Name: "tools", Text: toolsInShort(tools)}},
	}, nil
}

// readers are the clients that the server knows and whose sight was measured,
// and then unknown ones.
func readers() (all []reader) {
	for _, known := range clients.All() {
		if known.Sees != "" {
			all = append(all, reader{known.Prefixes[0], known.Sees})
		}
	}
	return append(all, unknown(), reader{unknown().name, clients.SeesBoth})
}

// label returns how people are told which client it is.
func (r reader) label() string {
	if r.name == unknown().name {
		return "any other"
	}
	return render.Client(r.name)
}

// client measures what a list costs the model of a client.
func (m *meter) client(p program, r reader) (c costs, err error) {
	c = costs{name: r.label(), sees: string(r.sees), instructed: instructed(r.name)}
	s, err := p.start(r)
	if err != nil {
		return c, err
	}
	defer s.stop()
	tools, err := s.tools()
	if err != nil {
		return c, err
	}
	way := wayOf(tools[0].Name)
	if _, _, err := way.session(s); err != nil {
		return c, err
	}
	wrote, got := m.calls(s.calls)
	c.listing, c.instructions = m.listing(tools), m.of(s.instructions)
	c.session = c.listing.plus(wrote).plus(got)
	if c.instructed == "yes" {
		c.session = c.session.plus(c.instructions)
	}
	for _, n := range sizes() {
		s.calls = nil
		if err := way.begin(s, plan(0, n)); err != nil {
			return c, err
		}
		wrote, got := m.calls(s.calls)
		c.writes, c.answers = append(c.writes, wrote), append(c.answers, got)
	}
	return c, nil
}

// clientsTable has a row for all clients of the same figures.
func clientsTable(all []costs) string {
	head := []string{"client", "shows its model", "listing:", "instructions:"}
	for _, what := range []string{"write", "answer"} {
		for _, n := range sizes() {
			head = append(head, fmt.Sprintf("%s %d:", what, n))
		}
	}
	var rows [][]string
	for _, c := range all {
		instructions := map[string]string{"yes": page.Number(c.instructions.tokens), "no": "0", "?": "?"}[c.instructed]
		row := []string{c.name, c.sees, page.Number(c.listing.tokens), instructions}
		for _, a := range slices.Concat(c.writes, c.answers) {
			row = append(row, page.Number(a.tokens))
		}
		row = append(row, page.Number(c.session.tokens))
		same := slices.IndexFunc(rows, func(r []string) bool { return slices.Equal(r[1:], row[1:]) })
		if same >= 0 {
			rows[same][0] += ", " + c.name
		} else {
			rows = append(rows, row)
		}
	}
	return page.Table(append(head, "session:"), rows)
}

// ownTool is one of the tools, or some that belong together, and what it takes of
// a context to keep a plan with it.
type ownTool struct {
	name  string
	does  string // for README; empty where it is not there
	flags []string
	way   way
	use
}

// tools measures tools for a client that shows the text.
func (m *meter) tools(path string) ([]ownTool, error) {
	all := []ownTool{
		{name: "`TodoWrite`", does: "replaces the list: content, status, activeForm", flags: []string{"--tools=TodoWrite"}, way: todoMCP()},
		{name: "`TodoWrite` with `--item-ids`", flags: []string{"--tools=TodoWrite", "--item-ids"}, way: todoWriteIDs()},
		{name: "`TodoWrite` with `--statuses all`", flags: []string{"--tools=TodoWrite", "--statuses=all"}, way: todoMCP()},
		{name: "`write_todos`", does: "the same, with a shorter answer", flags: []string{"--tools=write_todos"}, way: todoWrite("write_todos")},
		{name: "`SetTodoList`", does: "replaces or reads the list: title and status alone", flags: []string{"--tools=SetTodoList"}, way: setTodoList()},
		{name: "`todo_write`", flags: []string{"--tools=todo_write"}, way: todoPatch()},
		{name: "`update_plan`", flags: []string{"--tools=update_plan"}, way: updatePlan()},
		{name: "`TaskCreate`, `TaskUpdate`, `TaskList`, `TaskGet`", flags: []string{"--tools=TaskCreate,TaskUpdate,TaskList,TaskGet"}, way: tasks()},
		{name: "`create_todos`, `update_todo`", does: "adds steps; moves one step by its number", flags: []string{"--tools=create_todos,update_todo"}, way: createTodos()},
	}
	for i, t := range all {
		used, err := m.use(ownProgram(path, append(t.flags, "--store=memory")...), t.way)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		all[i].use = used
	}
	return all, nil
}

func toolsTable(all []ownTool) string {
	var rows [][]string
	for _, t := range all {
		rows = append(rows, append([]string{t.name}, t.cells()...))
	}
	return page.Table(append([]string{"tool"}, useHead()...), rows)
}

// toolsInShort returns README's table of tools.
func toolsInShort(all []ownTool) string {
	var rows [][]string
	for _, t := range all {
		if t.does != "" {
			rows = append(rows, []string{t.name, t.does, page.Number(t.listing.tokens), page.Number(t.advanced.tokens), page.Number(t.wasAdvanced.tokens)})
		}
	}
	return page.Table([]string{"tool", "what it does", "its description:", "a call:", "the answer:"}, rows)
}

// conclusion says in short what the table of clients says, by the row of Claude Code.
func conclusion(c costs) string {
	last := len(sizes()) - 1
	return fmt.Sprintf("A chat pays **%s tokens** for having the list, %s more where its client shows the model a server's instructions. A plan of %d steps takes %s tokens to write, and its answer %s to read. "+
		"A session of thirty updates takes %s in Claude Code, nearly all of it the plan that the model writes again with each update.\n",
		page.Number(c.listing.tokens), page.Number(c.instructions.tokens), sizes()[last], page.Number(c.writes[last].tokens), page.Number(c.answers[last].tokens), page.Number(c.session.tokens))
}
