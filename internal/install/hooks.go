package install

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/shell"
)

// HookState is whether a client runs the hooks of this program.
type HookState string

// The states. A client without known hooks has an empty one.
const (
	HooksMissing  HookState = "no"
	HooksThere    HookState = "yes"
	HooksOutdated HookState = "outdated" // another program, or not all of them
	HooksPending  HookState = "pending"  // the client runs none before a person trusts them
)

const (
	hooksKey      = "hooks"
	eventKey      = "event"
	statusLineKey = "statusLine"
	versionKey    = "version"
	pluginsKey    = "plugin"
	// sidebarName names the plugin for the sidebar in the file beside it.
	sidebarName = "./" + sidebarFile
	// hookName is the name of the command that hooks run.
	hookName = "hook"
	// pluginPath is how the only value of a plugin is shown.
	pluginPath = "the plugin that runs"
)

// hookFile is a client's file of hooks, as it is edited.
type hookFile struct {
	*edit
	*hookSetup
	host    string // what the client is called
	machine Machine
	shell   shell.Shell
	program string   // the path or the name that hooks call; empty with an error
	store   []string // the arguments of the command that say where lists are kept
	server  []string // those that say to which server a hook tells an event instead
	name    string   // the server on stdio of which the client calls a tool; empty for none
	err     error    // why it is not known what hooks call
}

// errSlowHooks is what people read who want hooks of a program that npx runs.
var errSlowHooks = errors.New("hooks are not for npx, which takes too long for what runs with each todo: " +
	"npm install --global todo-mcp, then todo-mcp install --hooks")

// hookFile returns a client's file of hooks, which a change may have already. The hooks write
// into the same store as the server that the client reaches.
func (c Client) hookFile(m Machine, o Options, server Server, change *Change) (h hookFile, err error) {
	command, unknown := m.Command(c.IsDesktop)
	h = hookFile{hookSetup: c.hooks, host: c.Name, machine: m, shell: shell.POSIX, store: storeOf(server.Args), err: unknown}
	switch {
	case len(command) > 1:
		h.err = errSlowHooks
	case m.isThis(server.Command):
		h.program = server.Command
	case unknown == nil:
		h.program = command[0]
	}
	if h.tell(server.base()); server.URL == "" && h.tool != nil {
		h.name = server.name
	}
	if m.System == "windows" { // where all shells take slashes, and some no backslashes
		h.shell, h.program = h.windows, strings.ReplaceAll(h.program, `\`, "/")
	}
	h.edit, err = change.edit(o, m.place(c.hooks.file))
	return h, err
}

// tell lets the hooks tell the server at an address, unless that is empty.
func (h *hookFile) tell(base string) {
	if base != "" {
		h.server = []string{serverFlag, base}
	}
}

// setHooks adds to a change that a client, which reaches the server in some way, runs the
// hooks of kinds that were chosen, and no others; with none its status line goes, too.
func (c Client) setHooks(m Machine, o Options, server Server, kinds []Kind, change *Change) error {
	if c.hooks == nil {
		return nil
	}
	h, err := c.hookFile(m, o, server, change)
	if err == nil {
		err = c.setSidebar(h, o, len(kinds) > 0 && server.URL == "", change)
	}
	if err != nil || len(kinds) == 0 {
		return cmp.Or(err, h.remove(func(place) bool { return false }))
	}
	err = h.install(kinds)
	switch line, _ := h.object(statusLineKey); {
	case errors.Is(err, errSlowHooks):
		change.note("%v", err)
		return nil
	case h.statusLine != "" && !m.runs(line["command"], "show"):
		change.note("its status line is another one, which stays; docs/hooks.md says how to show the list in it")
	case h.asks && !h.isNone():
		change.note("as it starts next, it asks about new hooks, which it does not run before you trust them")
	}
	return err
}

// setSidebar adds to a change that the plugin comes, or goes, which draws the list in a client
// that has a place for it. Of a server over HTTP it draws nothing: it reads the store of this
// machine.
func (c Client) setSidebar(h hookFile, o Options, comes bool, change *Change) error {
	if h.sidebar == "" || comes && h.err != nil {
		return nil
	}
	plugin, pluginErr := change.edit(o, h.machine.place(h.sidebar))
	names, namesErr := change.edit(o, h.machine.place(h.sidebars))
	if err := cmp.Or(pluginErr, namesErr); err != nil {
		return err
	}
	var text, name any
	if comes {
		command := h.command(sidebarCommand)
		text, name = secret{sidebar(command.text), command.shown}, sidebarName
	}
	all, _ := names.root[pluginsKey].([]any)
	return cmp.Or(plugin.set(text, pluginPath), names.set(name, pluginsKey, slices.Index(all, any(sidebarName))))
}

// lookForHooks adds to a state whether a client runs the hooks of this program, and which. The
// client's file of servers says which of them are trusted. An error says why the file of hooks
// cannot be read.
func (c Client) lookForHooks(m Machine, o Options, s *State, servers map[string]any) error {
	if c.hooks == nil {
		return nil
	}
	h, err := c.hookFile(m, o, s.Server, &Change{})
	if err != nil {
		return err
	}
	places, err := h.places()
	if err != nil {
		return err
	}
	for _, p := range places {
		if s.Name == "" { // a server on another machine is known by the hooks alone
			_, address, _ := strings.Cut(p.command, " "+serverFlag+" ")
			h.tell(address)
		}
	}
	s.Kinds = h.running(places)
	switch {
	case len(places) == 0:
		s.Hooks = HooksMissing
	case h.err == nil && (h.install(s.Kinds) != nil || !h.isNone()):
		s.Hooks = HooksOutdated
	case h.asks && slices.ContainsFunc(places, func(p place) bool { return !h.isTrusted(p, servers) }):
		s.Hooks = HooksPending
	default:
		s.Hooks = HooksThere
	}
	return nil
}

// isTrusted reports whether a person let Codex run a hook, by what its file of servers says.
func (h hookFile) isTrusted(p place, servers map[string]any) bool {
	handler := any(0)
	if len(p.path) > 3 {
		handler = p.path[4]
	}
	event := strings.ToLower(capital.ReplaceAllString(p.event, "_$0"))
	key := fmt.Sprintf("%s:%s:%v:%v", h.before.path, event, p.path[2], handler)
	return at(servers, []any{hooksKey, "state", key, "trusted_hash"}) != nil
}

// capital matches a capital letter within a word.
var capital = regexp.MustCompile(`\B[A-Z]`)

// place is where a hook of this program stands, or its status line.
type place struct {
	event, matcher string
	path           []any
	command        string // or the tool
}

// called returns what a hook calls, a command or a tool; empty for one that is not of this
// program.
func (h hookFile) called(hook map[string]any) string {
	command, _ := cmp.Or(hook["command"], hook["bash"]).(string)
	if name, _ := hook["server"].(string); name != "" && hook["tool"] == toolName {
		input, _ := hook["input"].(map[string]any)
		return toolCall(name, input["finish"] != nil)
	}
	if h.machine.runs(command, hookName) {
		return command
	}
	return ""
}

// places returns where the hooks of this program stand: of a group that has no others, where
// the group does. It also returns where its status line stands, or its plugin has its command.
func (h hookFile) places() (all []place, err error) {
	if h.isPlugin() {
		if h.root[pluginPath] != nil {
			all = []place{{path: []any{pluginPath}}}
		}
		return all, nil
	}
	line, lineErr := h.object(statusLineKey)
	if h.machine.runs(line["command"], "show") {
		all = append(all, place{event: statusLineKey, path: []any{statusLineKey}})
	}
	if h.isList() {
		hooks, _ := h.root[hooksKey].([]any)
		for n, value := range hooks {
			hook, _ := value.(map[string]any)
			event, _ := hook[eventKey].(string)
			all = append(all, h.placesIn(hook, event, hooksKey, n)...)
		}
		return all, lineErr
	}
	events, err := h.object(hooksKey)
	for _, event := range slices.Sorted(maps.Keys(events)) {
		groups, _ := events[event].([]any)
		for n, value := range groups {
			group, _ := value.(map[string]any)
			all = append(all, h.placesIn(group, event, hooksKey, event, n)...)
		}
	}
	return all, cmp.Or(err, lineErr)
}

// placesIn returns where the hooks of this program stand in the group of an event at a path.
func (h hookFile) placesIn(group map[string]any, event string, path ...any) (here []place) {
	matcher, _ := group["matcher"].(string)
	if matcher == "*" { // is all, as is none
		matcher = ""
	}
	hooks := []any{group}
	if !h.flat {
		hooks, _ = group[hooksKey].([]any)
	}
	for i, value := range hooks {
		hook, _ := value.(map[string]any)
		if called := h.called(hook); called != "" {
			here = append(here, place{event, matcher, append(slices.Clip(path), hooksKey, i), called})
		}
	}
	switch {
	case len(here) < len(hooks) || len(here) == 0:
		return here
	case len(here) > 1: // of which one is enough
		here[0].command = ""
	}
	here[0].path = path // the group is of this program alone
	return here[:1]
}

// remove removes what stands there of this program but what keep says, the last of it first:
// the others stay where they are.
func (h hookFile) remove(keep func(place) bool) error {
	places, err := h.places()
	for _, p := range slices.Backward(places) {
		if !keep(p) {
			err = errors.Join(err, h.set(nil, p.path...))
			h.brief("hooks", p.event)
		}
	}
	return err
}

// install adds the hooks of kinds that are missing, also in the place of those that are not as
// they should be, and takes those of other kinds away. It sets the status line unless there is
// another one.
func (h hookFile) install(kinds []Kind) error {
	switch command := h.command(hookName, h.server...); {
	case h.err != nil:
		return h.err
	case h.isPlugin():
		return h.set(secret{plugin(h.host, command.text, kinds), command.shown}, pluginPath)
	}
	missing := h.hooks(kinds)
	err := h.remove(func(p place) bool {
		i := slices.IndexFunc(missing, func(e hookEntry) bool {
			return e.event == p.event && e.matcher == p.matcher && h.calls(e).text == p.command
		})
		if i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		}
		return i >= 0 || p.event == statusLineKey
	})
	if err == nil && h.version != 0 && h.root[versionKey] == nil {
		err = h.set(h.version, versionKey)
	}
	for _, e := range missing {
		path := []any{hooksKey, e.event, newItem}
		if h.isList() {
			path = []any{hooksKey, newItem}
		}
		err = cmp.Or(err, h.set(h.entry(e), path...))
		h.brief("hooks: "+h.calls(e).shown, e.event)
	}
	return cmp.Or(err, h.setStatusLine())
}

// brief says of what was shown last what is called at which event.
func (h hookFile) brief(calls, event string) {
	if n := len(h.shown); n > 0 && event != "" && event != statusLineKey {
		h.shown[n-1].calls, h.shown[n-1].event = calls, event
	}
}

// setStatusLine sets the status line of a client that has one, unless there is another one.
// What a person added to it stays, but for a store.
func (h hookFile) setStatusLine() error {
	line, err := h.object(statusLineKey)
	command := h.command(h.statusLine)
	old, _ := line["command"].(string)
	if _, more, found := strings.Cut(old, h.statusLine+" "); found && storeOf(strings.Fields(more)) == nil {
		command = secret{command.text + " " + more, command.shown + " …"}
	}
	switch {
	case h.statusLine == "" || err != nil:
		return err
	case line == nil:
		return h.set(object{{"type", "command"}, {"command", command}}, statusLineKey)
	case h.machine.runs(old, "show"):
		return h.set(command, statusLineKey, "command")
	}
	return nil
}

const (
	// finishFlag is the flag of the hook that makes an agent finish its list, and finishQuery
	// how a call of the tool that does is shown. wakeFlag is that of the one which waits. serverFlag names the server that a hook tells.
	finishFlag, finishQuery = "--finish", "?finish"
	wakeFlag                = "--wake"
	serverFlag              = "--server"
)

// toolName is the tool of ours that a client calls for an event.
const toolName = "todo_hook"

// toolCall returns how a call of the tool is shown.
func toolCall(server string, finish bool) string {
	if finish {
		return server + "." + toolName + finishQuery
	}
	return server + "." + toolName
}

// isCalled reports whether the client calls the tool for an event.
func (h hookFile) isCalled(e hookEntry) bool {
	return h.name != "" && h.tool[e.event] != nil && e.kind != Wake
}

// calls returns what a hook calls, a command or a tool.
func (h hookFile) calls(e hookEntry) secret {
	switch {
	case h.isCalled(e):
		called := toolCall(h.name, e.kind == Finish)
		return secret{called, called}
	case e.kind == Finish:
		return h.command(hookName+" "+finishFlag, h.server...)
	case e.kind == Wake:
		return h.command(hookName+" "+wakeFlag, h.server...)
	}
	return h.command(hookName, h.server...)
}

// command returns the command with a name and its arguments, as hook. People are not shown
// the store, which may have a password.
func (h hookFile) command(name string, more ...string) secret {
	shown := h.shell.Command(slices.Concat([]string{h.program}, strings.Fields(name), more)...)
	if len(h.store) == 0 {
		return secret{shown, shown}
	}
	return secret{shown + " " + h.shell.Command(h.store...), shown + " …"}
}

// entry returns what stands in the list of an event for a hook.
func (h hookFile) entry(e hookEntry) (entry object) {
	if h.isList() {
		entry = object{{eventKey, e.event}}
	}
	if e.matcher != "" {
		entry = append(entry, field{"matcher", e.matcher})
	}
	form, called, timeout, input := h.form, h.calls(e), h.timeout, object{}
	if e.kind == Wake {
		form, timeout = wakeForm, wakeSeconds
	}
	if h.isCalled(e) {
		form = calledForm
		for _, name := range append([]string{"hook_event_name", "session_id", "cwd", "transcript_path", "agent_id", "agent_type"}, h.tool[e.event]...) {
			input = append(input, field{name, "${" + name + "}"})
		}
		if e.kind == Finish {
			input = append(input, field{"finish", "true"})
		}
	}
	run := fill(form, map[string]any{
		"command": called, "bash": called, "powershell": called, "timeout": timeout, "timeoutSec": h.timeout,
		"server": h.name, "input": input,
	})
	if h.flat {
		return append(entry, run...)
	}
	return append(entry, field{hooksKey, []any{run}})
}
