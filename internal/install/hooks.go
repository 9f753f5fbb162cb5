package install

import (
	"errors"
	"maps"
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
	setup    *hookSetup
	machine  Machine
	commands hookCommands
}

// hookFile returns a client's file of hooks, which a change may have already; ok is
// false for a client without known hooks.
func (c Client) hookFile(m Machine, change *Change) (h hookFile, ok bool, err error) {
	if c.hooks == nil {
		return h, false, nil
	}
	e, err := change.edit(m.place(c.hooks.file))
	h = hookFile{edit: e, setup: c.hooks, machine: m}
	if err == nil {
		e.ours = e.ours || h.isAny()
	}
	return h, true, err
}

// addHooks adds to a change the hooks of a client that reaches the server in some way.
func (c Client) addHooks(m Machine, o Options, server Server, change *Change) error {
	h, ok, err := c.hookFile(m, change)
	if err != nil {
		return err
	}
	if !ok {
		change.note("no hooks of it are known: it gets the server alone")
		return nil
	}
	h.commands, err = c.hookCommands(m, o, server)
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
		return h.before.wrong(err)
	}
	another, err := h.setStatusLine()
	if another {
		change.note("its status line is another one, which stays; docs/hooks.md says how to show the list in it")
	}
	if c.hooks.after != "" && !h.isNone() {
		change.note("%s", c.hooks.after)
	}
	return h.before.wrong(err)
}

// removeHooks adds to a change that the hooks of a client go.
func (c Client) removeHooks(m Machine, change *Change) error {
	h, ok, err := c.hookFile(m, change)
	if !ok || err != nil {
		return err
	}
	if err := h.uninstall(); err != nil {
		return h.before.wrong(err)
	}
	isPlugin := h.setup.entries == nil && !h.before.isLink()
	h.removes = h.removes || !h.isNone() && (isPlugin || h.before.isOurs()) && h.doc.isBare()
	return nil
}

// lookForHooks returns whether a client runs the hooks of this program. An error says
// why its file cannot be read.
func (c Client) lookForHooks(m Machine, o Options, server Server) (HookState, error) {
	h, ok, err := c.hookFile(m, &Change{})
	if !ok || err != nil {
		return "", err
	}
	switch there, err := h.isPresent(); {
	case err != nil:
		return "", h.before.wrong(err)
	case !there && h.hasPlugin():
		return HooksByPlugin, nil
	case !there:
		return HooksMissing, nil
	}
	if h.commands, err = c.hookCommands(m, o, server); err != nil {
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
	commands, err := c.hookCommands(m, o, Server{Args: o.Args})
	if err != nil {
		return "", "", err
	}
	e, err := newEdit(file{path: m.place(c.hooks.file)})
	h := hookFile{edit: e, setup: c.hooks, machine: m, commands: commands}
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
	path    []string
	command string
	matcher string
}

// find returns where the hooks of this program for an event stand: of a group that has
// no others, where the group does.
func (h hookFile) find(event string) (places []place) {
	groups, _ := h.doc.at(hooksKey, event).([]any)
	for g, value := range groups {
		group, _ := value.(map[string]any)
		inner := []any{group}
		if !h.setup.flat {
			inner, _ = group[hooksKey].([]any)
		}
		matcher, _ := group["matcher"].(string)
		for i, value := range inner {
			entry, _ := value.(map[string]any)
			p := place{path: []string{hooksKey, event, position(g)}, matcher: matcher}
			if p.command, _ = entry["command"].(string); !h.isOurs(p.command) {
				continue
			}
			if len(inner) > 1 {
				p.path = append(p.path, hooksKey, position(i))
			}
			places = append(places, p)
		}
	}
	return places
}

// isOurs reports whether a command is a hook of this program.
func (h hookFile) isOurs(command string) bool {
	c, ours := h.machine.readCommand(command)
	return ours && (c.args == hookName || strings.HasPrefix(c.args, hookName+" "))
}

// isPresent reports whether there is any hook of this program, or its plugin.
func (h hookFile) isPresent() (bool, error) {
	if h.setup.entries == nil {
		return h.doc.at() != nil, nil
	}
	all, err := objectAt(h.doc, hooksKey)
	for event := range all {
		if len(h.find(event)) > 0 {
			return true, nil
		}
	}
	return false, err
}

// isAny reports whether there is anything of this program.
func (h hookFile) isAny() bool {
	there, _ := h.isPresent()
	_, _, line, _ := h.statusLine()
	return there || line
}

// remove removes the hooks of this program for an event.
func (h hookFile) remove(event string) error {
	for {
		places := h.find(event)
		if len(places) == 0 {
			return nil
		}
		if err := h.set(nil, places[len(places)-1].path...); err != nil {
			return err
		}
	}
}

// removeExcept removes the hooks of this program for all events but some.
func (h hookFile) removeExcept(wanted []hookEntry) error {
	all, err := objectAt(h.doc, hooksKey)
	for _, event := range slices.Sorted(maps.Keys(all)) {
		if !slices.ContainsFunc(wanted, func(e hookEntry) bool { return e.event == event }) {
			err = errors.Join(err, h.remove(event))
		}
	}
	return err
}

// isMatcher reports whether two matchers are the same: * is all, as is none.
func isMatcher(a, b string) bool { return a == b || a+b == "*" }

// install adds the hooks that are missing and brings the others up to date.
func (h hookFile) install() error {
	if h.setup.entries == nil {
		old, _ := h.doc.at().(string)
		return h.set(h.command(hookName, old), pluginPath)
	}
	if err := h.removeExcept(h.setup.entries); err != nil {
		return err
	}
	if h.setup.version != 0 && h.doc.at(versionKey) == nil {
		if err := h.set(h.setup.version, versionKey); err != nil {
			return err
		}
	}
	for _, e := range h.setup.entries {
		if err := h.put(e); err != nil {
			return err
		}
	}
	return nil
}

// put brings the hook for an event up to date where it stands, or else makes it the last
// one.
func (h hookFile) put(e hookEntry) error {
	places, old := h.find(e.event), ""
	if len(places) > 0 {
		old = places[0].command
	}
	command := h.command(hookName, old)
	if len(places) == 1 && isMatcher(places[0].matcher, e.matcher) {
		path := places[0].path
		if len(path) == 3 && !h.setup.flat {
			path = append(path, hooksKey, position(0))
		}
		return h.set(command, append(path, "command")...)
	}
	if err := h.remove(e.event); err != nil {
		return err
	}
	return h.set(h.entry(e, command), hooksKey, e.event, newItem)
}

// uninstall removes the hooks, the status line or the plugin of this program.
func (h hookFile) uninstall() error {
	if h.setup.entries == nil {
		return h.set(nil, pluginPath)
	}
	_, _, line, err := h.statusLine()
	if line {
		err = h.set(nil, statusLineKey)
	}
	return errors.Join(h.removeExcept(nil), err)
}

// statusLine returns the command of the status line, whether there is one, and whether
// it is this program's.
func (h hookFile) statusLine() (command string, there, ours bool, err error) {
	if h.setup.statusLine == "" {
		return "", false, false, nil
	}
	line, err := objectAt(h.doc, statusLineKey)
	command, _ = line["command"].(string)
	c, ours := h.machine.readCommand(command)
	return command, line != nil, ours && strings.HasPrefix(c.args, "show "), err
}

// setStatusLine sets the status line of a client that has one. It reports whether there
// is another one, which stays.
func (h hookFile) setStatusLine() (another bool, err error) {
	old, there, ours, err := h.statusLine()
	if h.setup.statusLine == "" || err != nil || there && !ours {
		return there && !ours, err
	}
	command := h.command(h.setup.statusLine, old)
	if there {
		return false, h.set(command, statusLineKey, "command")
	}
	return false, h.set(object{{"type", "command"}, {"command", command}}, statusLineKey)
}

// command returns the command with a name and its arguments in the place of another one,
// which may be none. What that has beside the program stays, and is not shown.
func (h hookFile) command(name, old string) string {
	c := h.commands.make(name, old)
	if !h.commands.isGiven {
		h.hideIn(c.variables)
		h.hideIn(strings.TrimSpace(strings.TrimPrefix(c.args, name)))
	}
	return c.String()
}

// hasPlugin reports whether the client has a plugin of this program turned on.
func (h hookFile) hasPlugin() bool {
	enabled, _ := objectAt(h.doc, "enabledPlugins")
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
	run := object{{"command", command}, {"timeout", h.setup.timeout}}
	if h.setup.flat {
		return append(entry, run...)
	}
	return append(entry, field{hooksKey, []any{append(object{{"type", "command"}}, run...)}})
}
