package install

import (
	"cmp"
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
	program string // the path or the name that hooks call; empty with an error
	store   []string
	err     error // why it is not known what hooks call
}

// errSlowHooks is what people read who want hooks of a program that npx runs.
var errSlowHooks = errors.New("hooks are not for npx, which takes too long for what runs with each todo: " +
	"npm install --global todo-mcp, then todo-mcp install --hooks")

// hookFile returns a client's file of hooks, which a change may have already. The hooks write
// into the same store as the server that the client reaches.
func (c Client) hookFile(m Machine, o Options, server Server, change *Change) (h hookFile, err error) {
	command, unknown := m.Command(c.desktop)
	h = hookFile{hookSetup: c.hooks, machine: m, shell: POSIX, store: storeOf(server.Args), err: unknown}
	switch {
	case len(command) > 1:
		h.err = errSlowHooks
	case m.isThis(server.Command):
		h.program = server.Command
	case unknown == nil:
		h.program = command[0]
	}
	if m.System == "windows" { // where all shells take slashes, and some no backslashes
		h.shell, h.program = h.windows, strings.ReplaceAll(h.program, `\`, "/")
	}
	h.edit, err = change.edit(o, m.place(c.hooks.file))
	return h, err
}

// addHooks adds to a change the hooks of a client that reaches the server in some way.
func (c Client) addHooks(m Machine, o Options, server Server, change *Change) error {
	if c.hooks == nil {
		change.note("no hooks of it are known: it gets the server alone")
		return nil
	}
	h, err := c.hookFile(m, o, server, change)
	if err == nil {
		err = h.install()
	}
	switch line, _ := h.object(statusLineKey); {
	case errors.Is(err, errSlowHooks):
		change.note("%v", err)
		return nil
	case h.statusLine != "" && !h.machine.runs(line["command"], "show"):
		change.note("its status line is another one, which stays; docs/hooks.md says how to show the list in it")
	case c.hooks.after != "" && !h.isNone():
		change.note("%s", c.hooks.after)
	}
	return err
}

// removeHooks adds to a change that the hooks of a client go, its status line or its plugin.
func (c Client) removeHooks(m Machine, o Options, change *Change) error {
	if c.hooks == nil {
		return nil
	}
	h, err := c.hookFile(m, o, Server{}, change)
	if err != nil {
		return err
	}
	return h.remove(func(place) bool { return false })
}

// lookForHooks returns whether a client runs the hooks of this program. An error says
// why its file cannot be read.
func (c Client) lookForHooks(m Machine, o Options, server Server) (HookState, error) {
	if c.hooks == nil {
		return "", nil
	}
	h, err := c.hookFile(m, o, server, &Change{})
	if err != nil {
		return "", err
	}
	switch places, err := h.places(); {
	case err != nil:
		return "", err
	case len(places) == 0:
		return HooksMissing, nil
	case h.err == nil && (h.install() != nil || !h.isNone()):
		return HooksOutdated, nil
	}
	return HooksThere, nil
}

// place is where a hook of this program stands, or its status line.
type place struct {
	hookEntry
	path    []any
	command string
}

// places returns where the hooks of this program stand: of a group that has no others, where
// the group does. It also returns where its status line stands, or its plugin has its command.
func (h hookFile) places() (all []place, err error) {
	if h.root[pluginPath] != nil && h.entries == nil {
		return []place{{path: []any{pluginPath}}}, nil
	}
	line, lineErr := h.object(statusLineKey)
	if h.machine.runs(line["command"], "show") {
		all = append(all, place{hookEntry: hookEntry{event: statusLineKey}, path: []any{statusLineKey}})
	}
	events, err := h.object(hooksKey)
	for _, event := range slices.Sorted(maps.Keys(events)) {
		groups, _ := events[event].([]any)
		for n, value := range groups {
			group, _ := value.(map[string]any)
			matcher, _ := group["matcher"].(string)
			if matcher == "*" { // is all, as is none
				matcher = ""
			}
			hooks, at := []any{group}, place{hookEntry: hookEntry{event, matcher}, path: []any{hooksKey, event, n}}
			if !h.flat {
				hooks, _ = group[hooksKey].([]any)
			}
			var here []place
			for i, value := range hooks {
				hook, _ := value.(map[string]any)
				if command, _ := hook["command"].(string); h.machine.runs(command, hookName) {
					here = append(here, place{at.hookEntry, append(slices.Clip(at.path), hooksKey, i), command})
				}
			}
			if len(here) > 0 && len(here) == len(hooks) { // the group is of this program alone
				if len(here) == 1 {
					at.command = here[0].command
				}
				here = []place{at}
			}
			all = append(all, here...)
		}
	}
	return all, cmp.Or(err, lineErr)
}

// remove removes what stands there of this program but what keep says, the last of it first:
// the others stay where they are.
func (h hookFile) remove(keep func(place) bool) error {
	places, err := h.places()
	for _, p := range slices.Backward(places) {
		if !keep(p) {
			err = errors.Join(err, h.set(nil, nil, p.path...))
		}
	}
	return err
}

// install adds the hooks that are missing, also in the place of those that are not as
// they should be, and the status line unless there is another one.
func (h hookFile) install() error {
	command, shown := h.command(hookName)
	switch {
	case h.err != nil:
		return h.err
	case h.entries == nil:
		return h.set(plugin(command), shown, pluginPath)
	}
	missing := slices.Clone(h.entries)
	err := h.remove(func(p place) bool {
		i := slices.Index(missing, p.hookEntry)
		isRight := i >= 0 && p.command == command
		if isRight {
			missing = slices.Delete(missing, i, i+1)
		}
		return isRight || p.event == statusLineKey
	})
	if err == nil && h.version != 0 && h.root[versionKey] == nil {
		err = h.set(h.version, h.version, versionKey)
	}
	for _, e := range missing {
		if err == nil {
			err = h.set(h.entry(e, command), h.entry(e, shown), hooksKey, e.event, newItem)
		}
	}
	return cmp.Or(err, h.setStatusLine())
}

// setStatusLine sets the status line of a client that has one, unless there is another one.
// What a person added to it stays, but for a store.
func (h hookFile) setStatusLine() error {
	line, err := h.object(statusLineKey)
	old, _ := line["command"].(string)
	command, shown := h.command(h.statusLine)
	if _, more, found := strings.Cut(old, h.statusLine+" "); found && storeOf(strings.Fields(more)) == nil {
		command, shown = command+" "+more, shown+" …"
	}
	switch {
	case h.statusLine == "" || err != nil:
		return err
	case line == nil:
		entry := func(command string) object { return object{{"type", "command"}, {"command", command}} }
		return h.set(entry(command), entry(shown), statusLineKey)
	case h.machine.runs(old, "show"):
		return h.set(command, shown, statusLineKey, "command")
	}
	return nil
}

// command returns the command with a name and its arguments, as hook, and what people are
// shown of it.
func (h hookFile) command(name string) (command, shown string) {
	shown = h.shell.Command(append([]string{h.program}, strings.Fields(name)...)...)
	if len(h.store) == 0 {
		return shown, shown
	}
	return shown + " " + h.shell.Command(h.store...), shown + " …"
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
