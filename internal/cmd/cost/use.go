//go:build linux

package main

import "github.com/todo-mcp/todo-mcp/internal/cmd/page"

// use is how much of a context it takes to keep a plan of ten steps with a server, for a client that shows the text.
type use struct {
	tools                 int
	listing, instructions amount
	began, wasBegun       amount // what the model writes, and is shown, when it begins the plan
	advanced, wasAdvanced amount // the same for one update
	session               amount // listing, and all that is written and shown in a session
}

// use measures a server with which a plan is kept in the given way.
func (m *meter) use(p program, w way) (u use, err error) {
	c, err := p.start(unknown())
	if err != nil {
		return u, err
	}
	defer c.stop()
	tools, err := c.tools()
	u.tools, u.listing, u.instructions = len(tools), m.listing(tools), m.of(c.instructions)
	if err != nil || w.begin == nil {
		return u, err
	}
	begun, advanced, err := w.session(c)
	if err != nil {
		return u, err
	}
	u.began, u.wasBegun = m.calls(c.calls[:begun])
	u.advanced, u.wasAdvanced = m.calls(c.calls[begun:advanced])
	wrote, got := m.calls(c.calls)
	u.session = u.listing.plus(wrote).plus(got)
	return u, m.err
}

func useHead() []string {
	return []string{"tools:", "listing:", "plan, written:", "plan, read:", "update, written:", "update, read:", "session:"}
}

// cells returns the cells of a row: the number of tools, then tokens.
func (u use) cells() []string {
	cells := []string{page.Number(u.tools), page.Number(u.listing.tokens)}
	for _, a := range []amount{u.began, u.wasBegun, u.advanced, u.wasAdvanced, u.session} {
		if u.session.tokens == 0 {
			cells = append(cells, "–")
			continue
		}
		cells = append(cells, page.Number(a.tokens))
	}
	return cells
}
