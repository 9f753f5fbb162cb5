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

// The states. The state is empty for a client for which this program has no hooks.
const (
	HooksMissing  HookState = "no"
	HooksThere    HookState = "yes"
	HooksOutdated HookState = "outdated" // install would change the hooks, for example since some are missing
	HooksPending  HookState = "pending"  // the client runs none before a person trusts them
)

const (
	hooksKey      = "hooks"
	statusLineKey = "statusLine"
	versionKey    = "version"
	pluginsKey    = "plugin"
	sidebarName   = "./" + sidebarFile     // names the sidebar's plugin in tui.json
	hookName      = "hook"                 // the command that hooks run
	pluginPath    = "the plugin that runs" // the name of a plugin's only value
	finishFlag    = "--finish"             // for the hook that keeps a turn from ending
	wakeFlag      = "--wake"               // for the hook that waits while an agent rests
	serverFlag    = "--server"             // names the server to which a hook passes events
)

// hookFile is an edit of a client's file of hooks.
type hookFile struct {
	*edit
	*hookSetup
	host    string // the client's name in events
	machine Machine
	shell   shell.Shell
	program string   // the path or name by which hooks call this program; empty if unknown
	store   []string // the arguments --store and --config
	server  string   // the address, without mcpPath, of the server to which hooks pass events; empty if they write to the store
	err     error    // why hooks cannot be installed; nil if they can
}

// errSlowHooks is the error for hooks of a program that npx runs.
var errSlowHooks = errors.New("hooks are not for npx, which takes too long for what runs with each todo: " +
	"npm install --global todo-mcp, then todo-mcp install --hooks")

// hookFile returns a client's file of hooks, and adds its edit to change if missing. Hooks use the server's store.
func (c Client) hookFile(m Machine, o Options, server Server, change *Change) (h hookFile, err error) {
	command, unknown := m.Command(c.IsDesktop)
	h = hookFile{hookSetup: c.hooks, host: c.Prefixes[0], machine: m, shell: shell.POSIX, store: storeOf(server.Args), err: unknown}
	switch {
	case len(command) > 1:
		h.err = errSlowHooks
	case m.isThis(server.Command):
		h.program = server.Command
	case unknown == nil:
		h.program = command[0]
	}
	if address := addressForm.FindStringSubmatch(server.URL); address != nil {
		h.server = address[1]
	}
	if m.System == "windows" { // all shells of Windows accept slashes, some no backslashes
		h.shell, h.program = h.windows, strings.ReplaceAll(h.program, `\`, "/")
	}
	h.edit, err = change.edit(o, m.place(c.hooks.file))
	return h, err
}

// setHooks makes a client run only the hooks of the given kinds. Without kinds it removes the status line, too.
func (c Client) setHooks(m Machine, o Options, server Server, kinds []Kind, change *Change) error {
	if c.hooks == nil {
		return nil
	}
	h, err := c.hookFile(m, o, server, change)
	if err == nil {
		err = c.setSidebar(h, o, len(kinds) > 0 && server.URL == "", change)
	}
	if err != nil {
		return err
	}
	err = h.install(kinds)
	switch line, _ := h.object(statusLineKey); {
	case errors.Is(err, errSlowHooks):
		change.note("%v", err)
		return nil
	case len(kinds) == 0:
	case h.statusLine != "" && !m.runs(line["command"], "show"):
		change.note("it has another status line, which stays; docs/hooks.md says how to show the list in it")
	case h.asks && !h.isNone():
		change.note("when it starts next, it asks you to trust the new hooks, and runs none before")
	}
	return err
}

// setSidebar adds or removes the sidebar's plugin, which reads the store of this machine, not a server over HTTP.
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
	command, shown := h.command(sidebarCommand)
	if comes {
		text, name = strings.Replace(sidebarPlugin, `"todo-mcp `+sidebarCommand+`"`, inLine(command), 1), sidebarName
	}
	all, _ := names.root[pluginsKey].([]any)
	return cmp.Or(plugin.setShown(text, shown, pluginPath), names.set(name, pluginsKey, slices.Index(all, any(sidebarName))))
}

// lookForHooks adds the client's hooks to its state. The parsed file of servers, given as servers, says which hooks are
// trusted. An error says why the file of hooks cannot be read.
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
		if s.Name == "" { // no entry: the server is on another machine, and only hooks name it
			_, h.server, _ = strings.Cut(p.command, " "+serverFlag+" ")
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

// isTrusted reports whether Codex' file of servers says that a person trusts a hook.
func (h hookFile) isTrusted(p place, servers map[string]any) bool {
	handler := any(0)
	if len(p.path) > 3 {
		handler = p.path[4]
	}
	event := strings.ToLower(capital.ReplaceAllString(p.event, "_$0"))
	key := fmt.Sprintf("%s:%s:%v:%v", h.before.path, event, p.path[2], handler)
	return at(servers, []any{hooksKey, "state", key, "trusted_hash"}) != nil
}

var capital = regexp.MustCompile(`\B[A-Z]`)

// place is where a client's file of hooks has a hook or the plugin of this program.
type place struct {
	event, matcher string
	path           []any
	command        string
}

// places returns where the file has hooks or the plugin of this program. A group of only such hooks is one place.
func (h hookFile) places() (all []place, err error) {
	if h.isPlugin() {
		if h.root[pluginPath] != nil {
			all = []place{{path: []any{pluginPath}}}
		}
		return all, nil
	}
	if h.isList() {
		hooks, _ := h.root[hooksKey].([]any)
		for n, value := range hooks {
			event, _ := at(value, []any{"event"}).(string)
			all = append(all, h.placesIn(value, event, hooksKey, n)...)
		}
		return all, nil
	}
	events, err := h.object(hooksKey)
	for _, event := range slices.Sorted(maps.Keys(events)) {
		groups, _ := events[event].([]any)
		for n, group := range groups {
			all = append(all, h.placesIn(group, event, hooksKey, event, n)...)
		}
	}
	return all, err
}

// placesIn returns the places of this program's hooks in the group at a path: the whole group if it has no others.
func (h hookFile) placesIn(group any, event string, path ...any) (here []place) {
	matcher, _ := at(group, []any{"matcher"}).(string)
	if matcher == "*" { // the same as no matcher
		matcher = ""
	}
	hooks := []any{group}
	if !h.flat {
		hooks, _ = at(group, []any{hooksKey}).([]any)
	}
	for i, value := range hooks {
		hook, _ := value.(map[string]any)
		command, _ := cmp.Or(hook["command"], hook["bash"]).(string)
		if h.machine.runs(command, hookName) {
			here = append(here, place{event, matcher, append(slices.Clip(path), hooksKey, i), command})
		}
	}
	switch {
	case len(here) < len(hooks) || len(here) == 0:
		return here
	case len(here) > 1: // one hook is enough: the empty command makes install replace the group
		here[0].command = ""
	}
	here[0].path = path // only our hooks are in the group
	return here[:1]
}

// install adds the missing hooks of the kinds, replaces outdated ones, removes others, and sets the status line.
// Without kinds it removes the hooks and the status line.
func (h hookFile) install(kinds []Kind) error {
	comes := len(kinds) > 0
	if comes && h.err != nil {
		return h.err
	}
	if h.isPlugin() {
		var text any
		command, shown := h.command(hookName)
		if comes {
			text = plugin(h.host, command, kinds)
		}
		return h.setShown(text, shown, pluginPath)
	}
	missing := h.hooks(kinds)
	places, err := h.places()
	for _, p := range slices.Backward(places) { // backward, so that the other paths stay valid
		i := slices.IndexFunc(missing, func(e hookEntry) bool {
			called, _ := h.calls(e)
			return e.event == p.event && e.matcher == p.matcher && called == p.command
		})
		if i >= 0 {
			missing = slices.Delete(missing, i, i+1)
			continue
		}
		err = errors.Join(err, h.set(nil, p.path...))
		h.brief("hooks", p.event)
	}
	if err == nil && comes && h.version != 0 && h.root[versionKey] == nil {
		err = h.set(h.version, versionKey)
	}
	for _, e := range missing {
		path := []any{hooksKey, e.event, newItem}
		if h.isList() {
			path = []any{hooksKey, newItem}
		}
		err = cmp.Or(err, h.setShown(h.entry(e), nil, path...))
		_, shown := h.calls(e)
		h.brief("hooks: "+shown, e.event)
	}
	return cmp.Or(err, h.setStatusLine(comes))
}

// brief rewrites the last line of the diff as a hook's call and its event. If the line before has the same call, brief
// adds the event to that line instead.
func (h hookFile) brief(calls, event string) {
	last := len(h.shown) - 1
	if last < 0 { // the change failed
		return
	}
	line := h.shown[last][:2] + calls + " at "
	if last > 0 && strings.HasPrefix(h.shown[last-1], line) {
		last--
		line = h.shown[last] + ", "
	}
	h.shown = append(h.shown[:last], line+event)
}

// setStatusLine sets or removes the status line, unless it is another program's. Arguments that a person added stay,
// unless they name a store.
func (h hookFile) setStatusLine(comes bool) error {
	line, err := h.object(statusLineKey)
	command, shown := h.command(h.statusLine)
	old, _ := line["command"].(string)
	if _, more, found := strings.Cut(old, h.statusLine+" "); found && storeOf(strings.Fields(more)) == nil {
		command, shown = command+" "+more, shown+" …"
	}
	switch {
	case h.statusLine == "" || err != nil || line != nil && !h.machine.runs(old, "show"):
		return err
	case !comes:
		return h.set(nil, statusLineKey)
	case line == nil:
		return h.setShown(object{{"type", "command"}, {"command", command}}, shown, statusLineKey)
	}
	return h.setShown(command, shown, statusLineKey, "command")
}

// calls returns the command that the hook of an entry runs, and the text of it that people see.
func (h hookFile) calls(e hookEntry) (text, shown string) {
	flag := map[Kind]string{Finish: " " + finishFlag, Wake: " " + wakeFlag}[e.kind]
	return h.command(hookName + " --host " + h.host + flag)
}

// command returns a command of this program, and the text that people see, without a store, which may have a password.
func (h hookFile) command(name string) (text, shown string) {
	words := append([]string{h.program}, strings.Fields(name)...)
	if h.server != "" && strings.HasPrefix(name, hookName) {
		words = append(words, serverFlag, h.server)
	}
	shown = h.shell.Command(words...)
	if len(h.store) == 0 {
		return shown, shown
	}
	return shown + " " + h.shell.Command(h.store...), shown + " …"
}

// entry returns the JSON of a hook, or of a group with it.
func (h hookFile) entry(e hookEntry) (entry object) {
	if h.isList() {
		entry = object{{"event", e.event}}
	}
	if e.matcher != "" {
		entry = append(entry, field{"matcher", e.matcher})
	}
	called, _ := h.calls(e)
	form, timeout := cmp.Or(h.form, commandForm), h.timeout
	if e.kind == Wake {
		form, timeout = wakeForm, wakeSeconds
	}
	run := fill(form, map[string]any{"command": called, "bash": called, "powershell": called,
		"timeout": timeout, "timeoutSec": h.timeout})
	if h.flat {
		return append(entry, run...)
	}
	return append(entry, field{hooksKey, []any{run}})
}
