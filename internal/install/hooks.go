package install

import (
	"bytes"
	"errors"

	"todo-mcp/internal/hook"
)

// HookState is whether a client runs the hooks of this program.
type HookState string

// The states. A client of which no hooks are known has an empty one.
const (
	HooksMissing  HookState = "no"
	HooksThere    HookState = "yes"
	HooksOutdated HookState = "outdated" // another program, or not all of them
	HooksByPlugin HookState = "by its plugin"
)

// hookFile returns a client's file of hooks, beside the edits that a change makes
// already; e is nil for a client of which no hooks are known.
func (c Client) hookFile(m Machine, change *Change) (h hookFile, e *edit, err error) {
	setup, ok := hook.FindSetup(c.Name)
	if !ok || c.hooks == nil {
		return h, nil, nil
	}
	if e, err = change.edit(c.hooks(m)); err != nil {
		return h, nil, err
	}
	return hookFile{setup: setup, machine: m, data: e.after}, e, nil
}

// addHooks adds to a change the hooks of a client that reaches the server in some way.
func (c Client) addHooks(m Machine, o Options, server Server, change *Change) error {
	h, e, err := c.hookFile(m, change)
	if err != nil {
		return err
	}
	if e == nil {
		change.note("no hooks of it are known: it gets the server alone")
		return nil
	}
	h.commands, err = c.hookCommands(m, o, h.setup, server)
	if errors.Is(err, errSlowHooks) {
		change.note("%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	if h.hasPlugin() {
		change.note("its plugin todo-mcp is turned on, which brings the server and the hooks")
	} else if err := h.install(); err != nil {
		return e.before.wrong(err)
	}
	another, err := h.setStatusLine()
	if err != nil {
		return e.before.wrong(err)
	}
	if another {
		change.note("its status line is another one, which stays; docs/hooks.md says how to show the list in it")
	}
	e.after = h.data
	e.show(h.words(o)...)
	if c.afterHooks != "" && !e.isNone() {
		change.note("%s", c.afterHooks)
	}
	return nil
}

// removeHooks adds to a change that the hooks of a client go.
func (c Client) removeHooks(m Machine, change *Change) error {
	h, e, err := c.hookFile(m, change)
	if e == nil || err != nil {
		return err
	}
	h.commands, _ = c.hookCommands(m, Options{}, h.setup, Server{}) // without any they are shown as an ellipsis
	if err := h.uninstall(); err != nil {
		return e.before.wrong(err)
	}
	e.after = h.data
	isPlugin := h.setup.Entries == nil && !e.before.isLink()
	e.removes = e.removes || !e.isNone() && (isPlugin || e.before.isOurs()) && h.isBare()
	e.show(h.words(Options{})...)
	return nil
}

// lookForHooks returns whether a client runs the hooks of this program. An error says
// why its file cannot be read.
func (c Client) lookForHooks(m Machine, o Options, server Server) (HookState, error) {
	h, e, err := c.hookFile(m, &Change{})
	if e == nil || err != nil {
		return "", err
	}
	switch there, err := h.isThere(); {
	case err != nil:
		return "", e.before.wrong(err)
	case !there && h.hasPlugin():
		return HooksByPlugin, nil
	case !there:
		return HooksMissing, nil
	}
	if h.commands, err = c.hookCommands(m, o, h.setup, server); err != nil {
		return HooksThere, nil //nolint:nilerr // what they should be is not known
	}
	if err := h.install(); err != nil || !bytes.Equal(h.data, e.after) {
		return HooksOutdated, nil //nolint:nilerr // installing says what is wrong
	}
	return HooksThere, nil
}

// HooksSnippet returns what to write by hand so that a client runs the hooks, and into
// which file; nothing for a client of which none are known.
func (c Client) HooksSnippet(m Machine, o Options) (path, text string, err error) {
	setup, ok := hook.FindSetup(c.Name)
	if !ok || c.hooks == nil {
		return "", "", nil
	}
	h := hookFile{setup: setup, machine: m}
	if h.commands, err = c.hookCommands(m, o, setup, Server{Args: o.Args}); err != nil {
		return "", "", err
	}
	if err = h.install(); err == nil {
		_, err = h.setStatusLine()
	}
	return c.hooks(m), string(h.data), err
}
