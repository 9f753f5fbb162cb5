// Package install adds this server to the configuration of MCP clients and takes it
// away. What it does to a file is a [Change], which is shown before it is made. All
// else in the file stays as it was, and what a user added to the server's own entry,
// such as variables, stays as well.
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

// defaultName is what the server is called where another server is not called so.
const defaultName = "todo"

// Options say what to add.
type Options struct {
	// Args are the arguments of the command, instead of the arguments that an entry has;
	// nil keeps these.
	Args []string
	// URL is the address of a running server, instead of a command; empty for none.
	URL string
	// Hooks are the kinds of hooks that the client shall run, and no others; none takes
	// hooks away, and nil leaves them as they are.
	Hooks []Kind
	// Allow is whether the client shall run the server's tools without asking its user, where it
	// has a setting for that ([clients.Allow]); nil leaves the setting as it is.
	Allow *bool
	// Blank is whether files count as empty, so that the change has what to write by hand.
	Blank bool
}

// Check returns an error that says what is allowed. An address without a path becomes the one
// of MCP, and loses a slash behind that.
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

// slashForm matches an address with a slash behind the path of MCP.
var slashForm = regexp.MustCompile(`^([^?]*` + mcpPath + `)/(\?.*)?$`)

// plain returns the address of a server without a slash behind the path of MCP: the server
// serves both.
func plain(address string) string { return slashForm.ReplaceAllString(address, "$1$2") }

// Server is how a client reaches this server.
type Server struct {
	Command string // a program, or its path; empty where there is an address
	Args    []string
	URL     string
	name    string // what its entry is called
}

// mcpPath is where a server over HTTP answers clients.
const mcpPath = "/mcp"

// base returns the address that a server has for all but MCP; empty where it is not known.
func (s Server) base() string {
	u, err := url.Parse(s.URL)
	if err != nil || !strings.HasSuffix(u.Path, mcpPath) {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, mcpPath)}).String()
}

// String returns the server as people may see it, without a query, which may be secret.
func (s Server) String() string {
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil {
			return "an address"
		}
		u.User, u.RawQuery = nil, ""
		return u.String()
	}
	return strings.Join(append([]string{s.Command}, s.shownArgs()...), " ")
}

// shownArgs returns the arguments as people may see them: flags without values, what calls a
// package, and an ellipsis for others.
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

// State is what is known of a client on this machine.
type State struct {
	// Found is whether the client seems to be here.
	Found bool
	// File is where its servers are configured.
	File string
	// Name is what this server's entry there is called; empty where there is none.
	Name   string
	Server Server
	// Disabled is whether the user turned the server off.
	Disabled bool
	// Hooks is whether the client runs the hooks of this program, and Kinds are those that it
	// runs.
	Hooks HookState
	Kinds []Kind
	// Allowed is whether the client runs the server's tools without asking.
	Allowed bool
}

// ByHand reports whether the client's file is not read or edited: its people are told what to
// write there. This is so for YAML, which no library edits without changing all else.
func (c Client) ByHand() bool { return strings.HasSuffix(c.Files[0], ".yaml") }

// Look returns what is known of a client. The state is valid also with an error, which
// says why its file, or the one with its hooks, cannot be read.
func (c Client) Look(m Machine, o Options) (State, error) {
	s := State{Found: c.isHere(m)}
	f, err := c.open(m, o)
	s.File = f.before.path
	if f.entry != nil {
		s.Name, s.Server = f.name, read(f.entry)
		s.Server.name = f.name
		s.Disabled = f.entry["disabled"] == true || f.entry["enabled"] == false
		e, path, value, _ := c.permission(m, o, f.name, &Change{File: s.File, edits: []*edit{f.edit}}) // of a broken file there is none
		s.Allowed = e != nil && at(e.root, path) == value
	}
	hooksErr := c.lookForHooks(m, o, &s, f.root)
	return s, cmp.Or(err, hooksErr)
}

// isHere reports whether there is a trace of the client on the machine.
func (c Client) isHere(m Machine) bool {
	for _, name := range c.Programs {
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
	// names are the names of this program's entries.
	names []string
	// name is the one of them that is kept up to date, or what one is to be called, whose
	// entry is nil.
	name  string
	entry map[string]any
}

// open returns the file that has the client's servers. Of several files it is the first with
// this program, else the first that is there, else the first whose folder is there, else the
// usual one. With an error the file has its path alone; one that is edited by hand counts as
// empty.
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

// read reads a file with servers.
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
	for !f.ours && entries[f.name] != nil { // another server
		f.name += "-mcp"
	}
	f.entry, _ = entries[f.name].(map[string]any)
	return f, err
}

// isOurs reports whether an entry is known to be of this program: it runs it, or has the
// address that o names, or by a name that install gives one that this program serves.
func isOurs(m Machine, o Options, name string, entry map[string]any) bool {
	s := read(entry)
	if s.URL != "" {
		hasOwn := slices.ContainsFunc(ofHTTP(), func(key string) bool {
			headers, _ := entry[key].(map[string]any)
			return entry[key] != nil && (len(headers) != 1 || headers[clients.FolderHeader] == nil)
		})
		return s.URL == o.URL || (name == defaultName || name == programName) && isServed(s.URL, hasOwn)
	}
	n := s.fromPackage()
	return n > 0 && programForm.MatchString(s.Args[n-1]) || m.isProgram(s.Command)
}

// isServed reports whether an address is one that this program serves on this machine:
// /mcp, with a list or without. Many servers are called there, so that one with headers
// or a sign-in of its own must have the usual port, too.
func isServed(address string, hasOwn bool) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || hasOwn && u.Port() != "8765" {
		return false
	}
	query := u.Query()
	query.Del("list")
	isHere := slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, u.Hostname())
	return isHere && u.EscapedPath() == mcpPath && len(query) == 0 && u.Fragment == ""
}

// runnerForm matches the words by which npx or one like it runs a package, also in the shell
// of Windows, each with the end of a line.
var runnerForm = regexp.MustCompile(`^(?:(?:.*[/\\])?cmd(?:\.exe)?\n/c\n)?(?:.*[/\\])?(?:npx|bunx|pnpx)(?:\.cmd|\.exe)?\n(?:-.*\n)*`)

// fromPackage returns where the arguments begin of the program that npx or one like it
// runs from a package; 0 where none does.
func (s Server) fromPackage() int {
	words := append([]string{s.Command}, s.Args...)
	n := strings.Count(runnerForm.FindString(strings.Join(words, "\n")), "\n")
	return min(n, len(s.Args))
}

// programForm matches the name of this program, or of its package with a version. That
// is the whole name: names of other programs begin with it.
var programForm = regexp.MustCompile(`^todo-mcp(@[\w.^~+-]+)?(?i:\.exe|\.cmd)?$`)

// lastPart returns what stands behind the last slash of a path of any system.
func lastPart(path string) string { return path[1+strings.LastIndexAny(path, `/\`):] }

// Install returns the change that adds this server to a client, and the hooks that o
// wants, or brings them up to date. It may be no change.
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
			err = c.allow(m, o, f.name, o.Allow, change)
		}
		if err != nil || o.Hooks == nil {
			return err
		}
		kinds := c.hooks.chosen(o.Hooks)
		if wanted.URL != "" || m.System == "windows" { // it waits at the store of this machine, for a host whose end it sees
			kinds = slices.DeleteFunc(kinds, func(k Kind) bool { return k == Wake })
		}
		if len(kinds) == 0 && len(o.Hooks) > 0 {
			change.note("no hooks of it are known for that: it gets the server alone")
		}
		wanted.name = f.name
		return c.setHooks(m, o, wanted, kinds, change)
	})
}

// Uninstall returns the change that takes this server and its hooks away from a client.
// It may be no change. A file in which nothing is left goes if this program made it.
func (c Client) Uninstall(m Machine, o Options) (Change, error) {
	return c.change(m, o, func(f serversFile, change *Change) error {
		if c.ByHand() {
			change.note("its file is not edited: take out of %s what calls %s", m.Short(change.File), programName)
		}
		for _, name := range f.names {
			err := f.set(nil, c.Servers, name)
			if err != nil && filepath.Ext(change.File) == ".toml" { // the hooks go all the same
				change.note("%s.%s stays, since it is written in a way that cannot be edited safely; codex mcp remove %[2]s takes it away", c.Servers, name)
			} else if err != nil {
				return err
			}
		}
		for _, name := range append(f.names, f.name) {
			if err := c.allow(m, o, name, new(bool), change); err != nil {
				return err
			}
		}
		return c.setHooks(m, o, Server{}, nil, change)
	})
}

// permission returns the setting by which a client runs the tools of a server with a name without
// asking: its file, which a change may have already, where it stands, or would, and its value. It
// is nil for a client that has none.
func (c Client) permission(m Machine, o Options, name string, change *Change) (e *edit, path []any, value any, err error) {
	if c.Allow.Path == "" {
		return nil, nil, nil, nil
	}
	text := strings.NewReplacer("NAME", name)
	_ = json.Unmarshal([]byte(text.Replace(c.Allow.Value)), &value) // it is in a table
	e, err = change.edit(o, cmp.Or(m.place(c.Allow.File), change.File))
	for key := range strings.SplitSeq(text.Replace(c.Allow.Path), "/") {
		path = append(path, key)
	}
	if n := len(path) - 1; path[n] == "-" {
		items, _ := at(e.root, path[:n]).([]any)
		path[n] = slices.Index(items, value) // or of a new item
	}
	e.ours = e.ours || at(e.root, path) == value
	return e, path, value, err
}

// allow adds to a change that a client runs the tools of a server without asking, or asks again;
// nil leaves that as it is.
func (c Client) allow(m Machine, o Options, name string, allows *bool, change *Change) error {
	e, path, value, err := c.permission(m, o, name, change)
	switch {
	case allows == nil || e == nil:
		return nil
	case err != nil || !*allows && at(e.root, path) != value:
		return err
	case !*allows:
		value = nil
	}
	return e.set(value, path...)
}

// change returns the change that plan makes of the client's file of servers.
func (c Client) change(m Machine, o Options, plan func(serversFile, *Change) error) (Change, error) {
	f, err := c.open(m, o)
	change := Change{Client: c, File: f.before.path, edits: []*edit{f.edit}, home: m.Home}
	if err == nil {
		err = plan(f, &change)
	}
	change.edits = slices.DeleteFunc(change.edits, (*edit).isNone)
	return change, err
}

// wanted returns how a client shall reach this server. What an entry has of it already stays
// where it is as good: the arguments, and another path of this program.
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
	all := Clients()
	i := slices.IndexFunc(all, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return c, false
	}
	return all[i], true
}

// Names returns the names of all clients.
func Names() (names []string) {
	for _, c := range Clients() {
		names = append(names, c.Name)
	}
	return names
}
