package install

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// HookState is whether a client runs the hooks of this program.
type HookState string

// The states. A client without known hooks has an empty one.
const (
	HooksMissing  HookState = "no"
	HooksThere    HookState = "yes"
	HooksOutdated HookState = "outdated" // another program, or not all of them
	HooksByPlugin HookState = "by its plugin"
)

const (
	hooksKey      = "hooks"
	statusLineKey = "statusLine"
	versionKey    = "version"
	// hookName is the name of the command that hooks run.
	hookName = "hook"
	// pluginPath is how the only value of a plugin is shown.
	pluginPath = "the plugin that runs"
)

// hookFile is a client's file of hooks, as it is edited.
type hookFile struct {
	*edit
	*hookSetup
	machine Machine
	shell   Shell
	program string // the path or the name that hooks call
	store   []string
	isGiven bool // whether store takes the place of the arguments that a command has
}

// hookFile returns a client's file of hooks, which a change may have already.
func (c Client) hookFile(m Machine, change *Change) (h hookFile, err error) {
	e, err := change.edit(m.place(c.hooks.file))
	h = hookFile{edit: e, hookSetup: c.hooks, machine: m}
	if err == nil {
		there, _ := h.isPresent()
		_, _, line, _ := h.statusLine()
		e.ours = e.ours || there || line
	}
	return h, err
}

// errSlowHooks is what people read who want hooks of a program that npx runs.
var errSlowHooks = errors.New("hooks are not for npx, which takes too long for what runs with each todo: " +
	"npm install --global todo-mcp, then todo-mcp install --hooks")

// plan finds out which program hooks call for a client that reaches the server in some
// way: they write into the same store.
func (h *hookFile) plan(c Client, o Options, server Server) error {
	p, err := h.machine.program()
	h.shell, h.program, h.store, h.isGiven = POSIX, p.inTerminal, storeOf(server.Args), o.Args != nil
	if err == nil && len(p.args) > 0 {
		err = errSlowHooks
	}
	if c.desktop {
		h.program = p.elsewhere
	}
	if h.machine.System == "windows" { // where all shells take slashes, and some no backslashes
		h.shell, h.program = h.windows, strings.ReplaceAll(h.program, `\`, "/")
	}
	return err
}

// addHooks adds to a change the hooks of a client that reaches the server in some way.
func (c Client) addHooks(m Machine, o Options, server Server, change *Change) error {
	if c.hooks == nil {
		change.note("no hooks of it are known: it gets the server alone")
		return nil
	}
	h, err := c.hookFile(m, change)
	if err != nil {
		return err
	}
	switch err := h.plan(c, o, server); {
	case errors.Is(err, errSlowHooks):
		change.note("%v", err)
		return nil
	case err != nil:
		return err
	}
	if h.hasPlugin() {
		change.note("its plugin todo-mcp is turned on, which brings the server and the hooks")
	} else if err := h.install(); err != nil {
		return err
	}
	another, err := h.setStatusLine()
	if another {
		change.note("its status line is another one, which stays; docs/hooks.md says how to show the list in it")
	}
	if c.hooks.after != "" && !h.isNone() {
		change.note("%s", c.hooks.after)
	}
	return err
}

// removeHooks adds to a change that the hooks of a client go, its status line or its plugin.
func (c Client) removeHooks(m Machine, change *Change) error {
	if c.hooks == nil {
		return nil
	}
	h, err := c.hookFile(m, change)
	if err != nil {
		return err
	}
	_, _, line, err := h.statusLine()
	if line {
		err = h.set(nil, statusLineKey)
	}
	if err = errors.Join(err, h.remove(func(string) bool { return true })); err != nil {
		return err
	}
	isPlugin := h.entries == nil && !h.before.isLink()
	h.removes = h.removes || !h.isNone() && (isPlugin || h.before.isOurs()) && h.doc.isBare()
	return nil
}

// lookForHooks returns whether a client runs the hooks of this program. An error says
// why its file cannot be read.
func (c Client) lookForHooks(m Machine, o Options, server Server) (HookState, error) {
	if c.hooks == nil {
		return "", nil
	}
	h, err := c.hookFile(m, &Change{})
	if err != nil {
		return "", err
	}
	switch there, err := h.isPresent(); {
	case err != nil:
		return "", err
	case !there && h.hasPlugin():
		return HooksByPlugin, nil
	case !there:
		return HooksMissing, nil
	}
	if err := h.plan(c, o, server); err != nil {
		return HooksThere, nil //nolint:nilerr // what they should be is not known
	}
	if err := h.install(); err != nil || !h.isNone() {
		return HooksOutdated, nil //nolint:nilerr // installing says what is wrong
	}
	return HooksThere, nil
}

// HooksSnippet returns what to write by hand so that a client runs the hooks, and into
// which file; nothing for a client without known hooks.
func (c Client) HooksSnippet(m Machine, o Options) (path, text string, err error) {
	if c.hooks == nil {
		return "", "", nil
	}
	e, err := newEdit(file{path: m.place(c.hooks.file)})
	h := hookFile{edit: e, hookSetup: c.hooks, machine: m}
	if err == nil {
		err = h.plan(c, o, Server{Args: o.Args})
	}
	if err == nil {
		err = h.install()
	}
	if err == nil {
		_, err = h.setStatusLine()
	}
	return e.before.path, string(e.after), err
}

// place is where a hook of this program stands.
type place struct {
	event   string
	path    []string
	command string
	matcher string
}

// find returns where the hooks of this program stand: of a group that has no others, where
// the group does; and where its plugin has its command.
func (h hookFile) find() (places []place, err error) {
	if h.entries == nil {
		if command, isOurs := h.doc.at().(string); isOurs {
			places = []place{{path: []string{pluginPath}, command: command}}
		}
		return places, nil
	}
	all, err := h.object(hooksKey)
	for _, event := range slices.Sorted(maps.Keys(all)) {
		groups, _ := all[event].([]any)
		for g, value := range groups {
			group, _ := value.(map[string]any)
			inner := []any{group}
			if !h.flat {
				inner, _ = group[hooksKey].([]any)
			}
			for i, value := range inner {
				entry, _ := value.(map[string]any)
				p := place{event: event, path: []string{hooksKey, event, position(g)}}
				p.matcher, _ = group["matcher"].(string)
				if p.command, _ = entry["command"].(string); !h.runsHook(p.command) {
					continue
				}
				if len(inner) > 1 {
					p.path = append(p.path, hooksKey, position(i))
				}
				places = append(places, p)
			}
		}
	}
	return places, err
}

// runsHook reports whether a command is a hook of this program.
func (h hookFile) runsHook(command string) bool {
	c, ours := h.machine.readCommand(command)
	return ours && (c.args == hookName || strings.HasPrefix(c.args, hookName+" "))
}

// isPresent reports whether there is any hook of this program, or its plugin.
func (h hookFile) isPresent() (bool, error) {
	places, err := h.find()
	return len(places) > 0, err
}

// remove removes the hooks of this program for some events.
func (h hookFile) remove(isMeant func(event string) bool) error {
	for {
		places, err := h.find()
		places = slices.DeleteFunc(places, func(p place) bool { return !isMeant(p.event) })
		if len(places) == 0 || err != nil {
			return err
		}
		if err := h.set(nil, places[len(places)-1].path...); err != nil {
			return err
		}
	}
}

// isMatcher reports whether two matchers are the same: * is all, as is none.
func isMatcher(a, b string) bool { return a == b || a+b == "*" }

// install adds the hooks that are missing and brings the others up to date.
func (h hookFile) install() error {
	if h.entries == nil {
		old, _ := h.doc.at().(string)
		return h.set(h.command(hookName, old), pluginPath)
	}
	err := h.remove(func(event string) bool {
		return !slices.ContainsFunc(h.entries, func(e hookEntry) bool { return e.event == event })
	})
	if err == nil && h.version != 0 && h.doc.at(versionKey) == nil {
		err = h.set(h.version, versionKey)
	}
	for _, e := range h.entries {
		if err == nil {
			err = h.put(e)
		}
	}
	return err
}

// put brings the hook for an event up to date where it stands, or else makes it the last
// one.
func (h hookFile) put(e hookEntry) error {
	places, err := h.find()
	if err != nil {
		return err
	}
	places = slices.DeleteFunc(places, func(p place) bool { return p.event != e.event })
	old := ""
	if len(places) > 0 {
		old = places[0].command
	}
	command := h.command(hookName, old)
	if len(places) == 1 && isMatcher(places[0].matcher, e.matcher) {
		path := places[0].path
		if len(path) == 3 && !h.flat {
			path = append(path, hooksKey, position(0))
		}
		return h.set(command, append(path, "command")...)
	}
	if err := h.remove(func(event string) bool { return event == e.event }); err != nil {
		return err
	}
	return h.set(h.entry(e, command), hooksKey, e.event, newItem)
}

// statusLine returns the command of the status line, whether there is one, and whether
// it is this program's.
func (h hookFile) statusLine() (command string, there, ours bool, err error) {
	if h.hookSetup.statusLine == "" {
		return "", false, false, nil
	}
	line, err := h.object(statusLineKey)
	command, _ = line["command"].(string)
	c, ours := h.machine.readCommand(command)
	return command, line != nil, ours && strings.HasPrefix(c.args, "show "), err
}

// setStatusLine sets the status line of a client that has one. It reports whether there
// is another one, which stays.
func (h hookFile) setStatusLine() (another bool, err error) {
	old, there, ours, err := h.statusLine()
	if h.hookSetup.statusLine == "" || err != nil || there && !ours {
		return there && !ours, err
	}
	command := h.command(h.hookSetup.statusLine, old)
	if there {
		return false, h.set(command, statusLineKey, "command")
	}
	return false, h.set(object{{"type", "command"}, {"command", command}}, statusLineKey)
}

// command returns the command with a name and its arguments, as hook, in the place of
// another one, which may be none. What that has beside the program stays, unless it is
// given, and is not shown.
func (h hookFile) command(name, old string) string {
	args := slices.Concat(strings.Fields(name), h.store)
	c := shellCommand{program: h.shell.Command(h.program), args: h.shell.Command(args...)}
	if was, ours := h.machine.readCommand(old); ours {
		c.variables = was.variables
		if !h.isGiven {
			c.args = was.args
		}
		path := strings.Trim(strings.TrimPrefix(was.program, "& "), `'"`)
		if filepath.IsAbs(path) && IsSameFile(path, h.machine.Executable) { // another path of this one
			c.program = was.program
		}
	}
	h.hideIn(c.variables)
	if !h.isGiven {
		h.hideIn(strings.TrimSpace(strings.TrimPrefix(c.args, name)))
	}
	return c.String()
}

// hasPlugin reports whether the client has a plugin of this program turned on.
func (h hookFile) hasPlugin() bool {
	enabled, _ := h.object("enabledPlugins")
	for name, on := range enabled {
		if strings.HasPrefix(name, programName+"@") && on == true {
			return true
		}
	}
	return false
}

// entry returns what stands in the list of an event.
func (h hookFile) entry(e hookEntry, command string) (entry object) {
	if e.matcher != "" {
		entry = object{{"matcher", e.matcher}}
	}
	run := object{{"command", command}, {"timeout", h.timeout}}
	if h.flat {
		return append(entry, run...)
	}
	return append(entry, field{hooksKey, []any{append(object{{"type", "command"}}, run...)}})
}
