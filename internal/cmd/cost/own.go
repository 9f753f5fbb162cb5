//go:build linux

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/cmd/page"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/tools"
)

// sizes returns the numbers of steps of the plans in the table of clients.
func sizes() []int { return []int{5, 20, 50} }

// costs is what a list costs the model of one client.
type costs struct {
	name, sees      string
	instructed      string // from the function instructed: "yes", "no" or "?"
	listing         amount
	instructions    amount
	writes, answers []amount // of plans of these sizes, see sizes
	session         amount   // with listing, and with instructions if shown
}

// ownProgram is the todo-mcp binary as clients start it, with flags.
func ownProgram(path string, flags ...string) program {
	return program{command: append([]string{path, "stdio"}, flags...)}
}

// own measures the todo-mcp binary, with lists in memory, and returns, by document, the sections that depend only on
// the binary's texts. peers is the table of contenders from the last measurement; own renews todo-mcp's row in it.
func (m *meter) own(path, peers string) (map[string][]page.Section, error) {
	var all []costs
	for _, r := range readers() {
		c, err := m.client(ownProgram(path, "--store=memory"), r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		all = append(all, c)
	}
	kept, err := m.tools(path)
	if err != nil {
		return nil, err
	}
	ours, err := ownProgram(path, "--store=memory").listed()
	if err = cmp.Or(err, m.err); err != nil {
		return nil, err
	}
	before, _, _ := strings.Cut(peers, "| todo-mcp | ")
	_, after, _ := strings.Cut(peers[len(before):], "\n")
	peers = before + "| " + strings.Join(besideCells("todo-mcp", kept[0].use), " | ") + " |\n" + after
	return map[string][]page.Section{
		ourCosts: {
			{Name: "conclusion", Text: conclusion(all[0])},
			{Name: "clients", Text: clientsTable(all)},
			{Name: "tools", Text: toolsTable(kept)},
		},
		results: {{Name: "built-in", Text: builtInTable(ours[0])}, {Name: "peers", Text: peers}},
		compare: {{Name: "cost", Text: chatCosts(all[0])}, {Name: "peers", Text: peersTable(peers)}},
		readme:  {{Name: "tools", Text: toolsInShort(kept)}},
	}, nil
}

// readers returns the known clients whose Sight was measured, then two unknown clients.
func readers() (all []reader) {
	for _, known := range clients.All() {
		if known.Sees != "" {
			all = append(all, reader{known.Prefixes[0], known.Sees})
		}
	}
	return append(all, unknown(), reader{unknown().name, clients.SeesBoth})
}

// label returns the name of the client for people.
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

// clientsTable returns the table of clients. Clients with the same figures share a row.
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

// ownTool is one of our tools, or a group used together, and how much of a context it takes to keep a plan with it.
type ownTool struct {
	name  string
	flags []string
	way   way
	use
}

// tools measures our tools with a client that shows its model the text of results; the first is the default TodoWrite.
func (m *meter) tools(path string) ([]ownTool, error) {
	all := []ownTool{
		{name: "`TodoWrite`", flags: []string{"--tools=TodoWrite"}, way: wholeList()},
		{name: "`TodoWrite` with `--item-ids`", flags: []string{"--tools=TodoWrite", "--item-ids"}, way: todoWriteIDs()},
		{name: "`TodoWrite` with `--statuses all`", flags: []string{"--tools=TodoWrite", "--statuses=all"}, way: wholeList()},
	}
	listed, err := ownProgram(path, "--tools=all", "--store=memory").listed()
	if err != nil {
		return nil, err
	}
	several := [][]string{{"TaskCreate", "TaskUpdate", "TaskList", "TaskGet"}, {"create_todos", "update_todo"}}
	for _, tool := range listed[1:] {
		names := []string{tool.Name}
		if i := slices.IndexFunc(several, func(names []string) bool { return slices.Contains(names, tool.Name) }); i >= 0 {
			names = several[i]
		}
		if names[0] != tool.Name {
			continue
		}
		all = append(all, ownTool{name: "`" + strings.Join(names, "`, `") + "`", flags: []string{"--tools=" + strings.Join(names, ",")}, way: wayOf(names[0])})
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

// toolsInShort returns README's table of the tools that the server lists by default.
func toolsInShort(all []ownTool) string {
	var rows [][]string
	for _, t := range all {
		name := strings.Trim(t.name, "`")
		var listed []string
		for _, c := range clients.All() {
			if slices.Contains(c.Tools, name) {
				listed = append(listed, c.Title)
			}
		}
		if name == "TodoWrite" {
			listed = []string{"Claude Code, Gemini CLI and all others"}
		}
		if len(listed) > 0 {
			rows = append(rows, []string{t.name, strings.Join(listed, ", "), page.Number(t.listing.tokens), page.Number(t.advanced.tokens), page.Number(t.wasAdvanced.tokens)})
		}
	}
	return page.Table([]string{"tool", "listed to", "its description:", "an update:", "the answer:"}, rows) +
		fmt.Sprintf("\n`--tools NAME` lists another of the %d, `--tools all` all of them.\n", len(tools.Names()))
}

// chatCosts returns the sentence of docs/compare.md on what the list costs a chat.
func chatCosts(c costs) string {
	return fmt.Sprintf("**What it costs**: %s tokens of a chat's context for the tool, and %s for each answer to Claude Code ([measured](cost.md)); one process for each client ([its memory](../internal/cmd/bench/RESULTS.md)); no account, no cloud, no telemetry.\n",
		page.Number(c.listing.tokens), page.Number(c.answers[0].tokens))
}

// peersTable returns the table of docs/compare.md: four columns of the table of contenders.
func peersTable(peers string) string {
	var rows [][]string
	for line := range strings.Lines(peers) {
		if cells := strings.Split(line, " | "); len(rows) > 0 || cells[0] == "| todo-mcp" {
			rows = append(rows, []string{strings.TrimPrefix(cells[0], "| "), cells[1], cells[2], cells[7]})
		}
	}
	return page.Table([]string{"server", "tools:", "listing:", "session:"}, rows)
}

// conclusion sums up the table of clients by its row of Claude Code.
func conclusion(c costs) string {
	last := len(sizes()) - 1
	return fmt.Sprintf("A chat pays **%s tokens** for having the list, %s more where its client shows the model a server's instructions. A plan of %d steps takes %s tokens to write, and its answer %s to read. "+
		"A session of thirty updates takes %s in Claude Code, nearly all of it the plan that the model writes again with each update.\n",
		page.Number(c.listing.tokens), page.Number(c.instructions.tokens), sizes()[last], page.Number(c.writes[last].tokens), page.Number(c.answers[last].tokens), page.Number(c.session.tokens))
}
