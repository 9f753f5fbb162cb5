// Package install adds this server to the configuration of MCP clients, and removes it. A [Change] is shown before it
// is made. All else in a file stays, also fields that a user added to the server's own entry, such as variables.
package install

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/todo-mcp/todo-mcp/internal/clients"
)

const defaultName = "todo" // the name of the server's entry, unless another server has this name

// Options are the choices of a person who installs or uninstalls.
type Options struct {
	Args  []string // the arguments of the command; nil keeps those of the entry
	URL   string   // the address of a running server, instead of a command; empty for none
	Hooks []Kind   // the kinds of hooks to run; empty removes all hooks, nil keeps them
	Allow *bool    // run the server's tools without asking, where there is a setting for it ([clients.Allow]); nil keeps it
	Blank bool     // treat all files as empty: the change is then the text to write by hand
}

// Check returns an error for a bad URL, or for a URL together with Args. It adds /mcp to a URL without a path.
func (o *Options) Check() error {
	if o.URL == "" {
		return nil
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("--http: give the address of the server, such as http://127.0.0.1:8765/mcp")
	case len(o.Args) > 0:
		return errors.New("--http and --args contradict each other: a server that runs has its arguments")
	case strings.Trim(u.Path, "/") == "":
		u.Path = mcpPath
	}
	o.URL = plain(u.String())
	return nil
}

const mcpPath = "/mcp" // the path of MCP on a server

// addressForm matches an MCP address. Its groups are the text before mcpPath and the query.
var addressForm = regexp.MustCompile(`^([^?]*)` + mcpPath + `/?(\?.*)?$`)

// plain removes a slash after mcpPath from an address: the server serves both forms.
func plain(address string) string { return addressForm.ReplaceAllString(address, "$1"+mcpPath+"$2") }

// Server is how a client reaches this server.
type Server struct {
	Command string // a program, or its path; empty if there is a URL
	Args    []string
	URL     string
}

// String returns the server without values that may be secret.
func (s Server) String() string {
	if s.URL == "" {
		return strings.Join(append([]string{s.Command}, s.shownArgs()...), " ")
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "an address"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// shownArgs returns the arguments that people may see: flags without =value, the package of npx, else an ellipsis.
func (s Server) shownArgs() []string {
	shown, n := slices.Clone(s.Args), s.fromPackage()
	for i, arg := range shown {
		if strings.HasPrefix(arg, "-") {
			shown[i], _, _ = strings.Cut(arg, "=")
		} else if i >= n {
			shown[i] = "…"
		}
	}
	return shown
}

// State describes a client on this machine.
type State struct {
	Found    bool   // there is a trace of the client
	File     string // the file with its servers
	Name     string // the name of this server's entry there; empty for none
	Server   Server
	Disabled bool // the user turned the server off
	Hooks    HookState
	Kinds    []Kind // the kinds of hooks that the client runs
	Allowed  bool   // the client runs the server's tools without asking
}

// ByHand reports whether a person has to edit the client's file: no library edits YAML without other changes.
func (c Client) ByHand() bool { return strings.HasSuffix(c.Files[0], ".yaml") }

// Look returns the state of a client. The state is valid even with an error, which says why a file cannot be read.
func (c Client) Look(m Machine, o Options) (State, error) {
	s := State{Found: c.isHere(m)}
	f, err := c.open(m, o)
	s.File = f.before.path
	if f.entry != nil {
		s.Name, s.Server = f.name, read(f.entry)
		s.Disabled = f.entry["disabled"] == true || f.entry["enabled"] == false
		s.Allowed, _ = c.allow(m, o, f.name, nil, &Change{File: s.File, edits: []*edit{f.edit}})
	}
	hooksErr := c.lookForHooks(m, o, &s, f.root)
	return s, cmp.Or(err, hooksErr)
}

// isHere reports whether there is a trace of the client on the machine.
func (c Client) isHere(m Machine) bool {
	for _, name := range append(c.Programs, c.Name) {
		if _, err := m.LookPath(name); err == nil {
			return true
		}
	}
	paths := m.places(c.Files)
	if c.hooks != nil {
		paths = append(paths, m.place(c.hooks.file))
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		return exists(path) || folderExists(path) && filepath.Dir(path) != m.Home
	})
}

// serversFile is a client's file with its servers.
type serversFile struct {
	*edit
	names []string       // the names of this program's entries
	name  string         // the name of the entry to keep up to date, or of a new entry
	entry map[string]any // the entry called name; nil if it is new
}

// open returns the file with the client's servers. Of the possible files it takes the first that has this program, else
// the first that exists, else the first whose folder exists, else the first. After an error only the path is valid.
func (c Client) open(m Machine, o Options) (serversFile, error) {
	paths := m.places(c.Files)
	for _, path := range paths {
		if f, err := c.read(m, o, path); err == nil && f.ours {
			return f, nil
		}
	}
	usual := slices.IndexFunc(paths, exists)
	if usual < 0 {
		usual = slices.IndexFunc(paths, folderExists)
	}
	return c.read(m, o, paths[max(usual, 0)])
}

// read reads a file with servers. A file that a person has to edit (see ByHand) counts as empty.
func (c Client) read(m Machine, o Options, path string) (f serversFile, err error) {
	var entries map[string]any
	o.Blank = o.Blank || c.ByHand()
	f.edit, err = o.read(path)
	if err == nil {
		entries, err = f.object(c.Servers)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if entry, isEntry := entries[name].(map[string]any); isEntry && isOurs(m, o, name, entry) {
			f.names = append(f.names, name)
		}
	}
	f.ours, f.name = f.names != nil, defaultName
	if f.ours && !slices.Contains(f.names, f.name) {
		f.name = f.names[0]
	}
	for !f.ours && entries[f.name] != nil { // another server has this name
		f.name += "-mcp"
	}
	f.entry, _ = entries[f.name].(map[string]any)
	return f, err
}

// isOurs reports whether an entry is for this program: the entry runs the program, or has the address in o, or has one
// of our names and an address that the program may serve. Other servers use /mcp, too, so an entry of the last kind
// with a sign-in or headers besides [clients.FolderHeader] must have the usual port, 8765.
func isOurs(m Machine, o Options, name string, entry map[string]any) bool {
	s := read(entry)
	if s.URL != "" {
		hasOwn := slices.ContainsFunc(ofHTTP, func(key string) bool {
			headers, _ := entry[key].(map[string]any)
			return entry[key] != nil && (len(headers) != 1 || headers[clients.FolderHeader] == nil)
		})
		served := servedForm.FindStringSubmatch(s.URL)
		return s.URL == o.URL || (name == defaultName || name == programName) && served != nil && (!hasOwn || served[1] == "8765")
	}
	n := s.fromPackage()
	return n > 0 && programForm.MatchString(s.Args[n-1]) || m.isProgram(s.Command)
}

// servedForm matches an address that this program may serve: /mcp on this machine, perhaps with ?list=. The group is
// the port.
var servedForm = regexp.MustCompile(`^(?i:https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::(\d+))?)` + mcpPath + `(?:\?list=[^&#]*)?$`)

// runnerForm matches the words before the package in a command of npx, bunx or pnpx (cmd may run it), one word a line.
var runnerForm = regexp.MustCompile(`^(?:(?:.*[/\\])?cmd(?:\.exe)?\n/c\n)?(?:.*[/\\])?(?:npx|bunx|pnpx)(?:\.cmd|\.exe)?\n(?:-.*\n)*`)

// fromPackage returns the index of the argument after the package's name in a call of npx or the like; 0 for others.
func (s Server) fromPackage() int {
	words := strings.Join(append([]string{s.Command}, s.Args...), "\n")
	return min(strings.Count(runnerForm.FindString(words), "\n"), len(s.Args))
}

// programForm matches the whole name of this program, or of its package with a version.
var programForm = regexp.MustCompile(`^todo-mcp(@[\w.^~+-]+)?(?i:\.exe|\.cmd)?$`)

// Install returns the change, perhaps empty, that adds or updates this server and the hooks in o for a client.
func (c Client) Install(m Machine, o Options) (Change, error) {
	return c.change(m, o, func(f serversFile, change *Change) error {
		wanted, err := c.wanted(m, o, read(f.entry))
		if err == nil {
			err = c.put(f, wanted)
		}
		if c.ByHand() {
			change.note("its file is not edited: add this to it")
		}
		if err == nil {
			_, err = c.allow(m, o, f.name, o.Allow, change)
		}
		if err != nil || o.Hooks == nil {
			return err
		}
		kinds := c.hooks.chosen(o.Hooks)
		if wanted.URL != "" || m.System == "windows" { // Wake needs the store of this machine, and the host's process
			kinds = slices.DeleteFunc(kinds, func(k Kind) bool { return k == Wake })
		}
		if len(kinds) == 0 && len(o.Hooks) > 0 {
			change.note("it has no such hooks: it gets the server alone")
		}
		return c.setHooks(m, o, wanted, kinds, change)
	})
}

// Uninstall returns the change, perhaps empty, that removes this server and its hooks from a client. The change also
// removes an empty file that this program made.
func (c Client) Uninstall(m Machine, o Options) (Change, error) {
	return c.change(m, o, func(f serversFile, change *Change) error {
		if c.ByHand() {
			change.note("its file is not edited: remove from %s what calls %s", m.Short(change.File), programName)
		}
		for _, name := range f.names {
			err := f.set(nil, c.Servers, name)
			if err != nil && filepath.Ext(change.File) == ".toml" { // so that the hooks are still removed
				change.note("%s.%s stays, since it is written in a way that cannot be edited safely; codex mcp remove %[2]s takes it away", c.Servers, name)
			} else if err != nil {
				return err
			}
		}
		for _, name := range append(f.names, f.name) {
			if _, err := c.allow(m, o, name, new(bool), change); err != nil {
				return err
			}
		}
		return c.setHooks(m, o, Server{}, nil, change)
	})
}

// allow sets in a change whether the client runs a server's tools without asking. The choice is given as allows; nil
// keeps the setting. The result reports whether the file had the setting.
func (c Client) allow(m Machine, o Options, name string, allows *bool, change *Change) (had bool, err error) {
	if c.Allow.Path == "" {
		return false, nil
	}
	var path []any
	var value any
	text := strings.NewReplacer("NAME", name)
	_ = json.Unmarshal([]byte(text.Replace(c.Allow.Value)), &value) // constant JSON
	e, err := change.edit(o, cmp.Or(m.place(c.Allow.File), change.File))
	for key := range strings.SplitSeq(text.Replace(c.Allow.Path), "/") {
		path = append(path, key)
	}
	if n := len(path) - 1; path[n] == "-" {
		items, _ := at(e.root, path[:n]).([]any)
		path[n] = slices.Index(items, value) // -1 is newItem
	}
	had = at(e.root, path) == value
	e.ours = e.ours || had
	switch {
	case allows == nil:
		return had, nil
	case err != nil || !*allows && !had:
		return had, err
	case !*allows:
		value = nil
	}
	return had, e.set(value, path...)
}

// change opens the client's file, calls plan to edit it and others, and returns the edits that change something.
func (c Client) change(m Machine, o Options, plan func(serversFile, *Change) error) (Change, error) {
	f, err := c.open(m, o)
	change := Change{File: f.before.path, edits: []*edit{f.edit}, home: m.Home}
	if err == nil {
		err = plan(f, &change)
	}
	change.edits = slices.DeleteFunc(change.edits, (*edit).isNone)
	return change, err
}

// wanted returns the server to configure. It keeps old's arguments unless o has any, and old's command if that is ours.
func (c Client) wanted(m Machine, o Options, old Server) (Server, error) {
	switch {
	case o.URL != "" && c.NoHTTP != "":
		return Server{}, fmt.Errorf("%s reaches no server over HTTP by its file: %s", c.Title, c.NoHTTP)
	case o.URL != "":
		return Server{URL: o.URL}, nil
	}
	command, err := m.Command(c.IsDesktop)
	if err != nil {
		return Server{}, err
	}
	n, own := old.fromPackage(), o.Args
	if own == nil {
		own = old.Args[n:]
	}
	switch byPackage := len(command) > 1; {
	case byPackage && n > 0:
		command = append([]string{old.Command}, old.Args[:n]...)
	case !byPackage && m.isThis(old.Command):
		command = []string{old.Command}
	}
	return Server{Command: command[0], Args: slices.Concat(command[1:], own)}, nil
}

// Find returns the client with a name.
func Find(name string) (c Client, there bool) {
	for _, c := range Clients() {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// Names returns the names of all clients.
func Names() (names []string) {
	for _, c := range Clients() {
		names = append(names, c.Name)
	}
	return names
}
