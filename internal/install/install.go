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
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// DefaultName is what the server is called where it is not called otherwise.
const DefaultName = "todo"

// Options say what to add.
type Options struct {
	// Name is what the client calls the server. Empty is the name of this program's entry, or
	// else DefaultName.
	Name string
	// Args are the arguments of the command, instead of the arguments that an entry has;
	// nil keeps these.
	Args []string
	// URL is the address of a running server, instead of a command; empty for none.
	URL string
	// Hooks is whether the client shall run the hooks of this program, too.
	Hooks bool
}

// Check returns an error that says what is allowed.
func (o Options) Check() error {
	if o.Name != "" && !nameForm.MatchString(o.Name) {
		return errors.New("--name: a server's name has letters, digits, - and _")
	}
	if o.URL == "" {
		return nil
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("--http: give the address of the server, such as http://127.0.0.1:8765/mcp")
	case len(o.Args) > 0:
		return errors.New("--http and --args contradict each other: a server that runs has its arguments")
	}
	return nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`)

// Server is how a client reaches this server.
type Server struct {
	Command string // a program, or its path; empty where there is an address
	Args    []string
	URL     string
}

// String returns the server as people may see it: without arguments that are no flags,
// and without a query, which may be secret.
func (s Server) String() string {
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil {
			return "an address"
		}
		u.User, u.RawQuery = nil, ""
		return u.String()
	}
	out := s.Command
	for _, arg := range s.Args {
		if flag, _, _ := strings.Cut(arg, "="); strings.HasPrefix(arg, "-") {
			out += " " + flag
		} else {
			out += " …"
		}
	}
	return out
}

// State is what is known of a client on this machine.
type State struct {
	Client Client
	// Found is whether the client seems to be here.
	Found bool
	// File is where its servers are configured.
	File string
	// Name is what this server's entry there is called; empty where there is none.
	Name   string
	Server Server
	// Disabled is whether the user turned the server off.
	Disabled bool
	// Hooks is whether the client runs the hooks of this program. HooksErr says why the
	// file with them cannot be read.
	Hooks    HookState
	HooksErr error
}

// Look returns what is known of a client. The state is valid also with an error, which
// says why its file cannot be read.
func (c Client) Look(m Machine, o Options) (State, error) {
	s := State{Client: c, Found: c.isHere(m)}
	e, entries, err := c.open(m, o)
	s.File = e.before.path
	if name, ours := find(m, o, entries); ours && err == nil {
		entry, _ := entries[name].(map[string]any)
		s.Name, s.Server = name, read(entry)
		s.Disabled = entry["disabled"] == true || entry["enabled"] == false
	}
	s.Hooks, s.HooksErr = c.lookForHooks(m, o, s.Server)
	return s, err
}

// isHere reports whether there is a trace of the client on the machine.
func (c Client) isHere(m Machine) bool {
	for _, name := range c.programs {
		if _, err := m.LookPath(name); err == nil {
			return true
		}
	}
	if c.signs != nil {
		return slices.ContainsFunc(m.places(c.signs), exists)
	}
	return slices.ContainsFunc(m.places(c.files), folderExists)
}

// open returns the file that has the client's servers, and these. Of several files it
// is the one that has this server, else the first that is there, else the first whose
// folder is there, else the usual one. With an error the file has its path alone.
func (c Client) open(m Machine, o Options) (*edit, map[string]any, error) {
	paths := m.places(c.files)
	for _, path := range paths {
		e, entries, err := c.openFile(path)
		if _, ours := find(m, o, entries); ours {
			return e, entries, err
		}
	}
	usual := slices.IndexFunc(paths, exists)
	if usual < 0 {
		usual = slices.IndexFunc(paths, folderExists)
	}
	return c.openFile(paths[max(usual, 0)])
}

func (c Client) openFile(path string) (*edit, map[string]any, error) {
	e, err := readEdit(path)
	switch {
	case err != nil:
		return e, nil, err
	case e.doc == nil:
		return e, searchYAML(e.before.data, c.servers), nil
	}
	entries, err := e.object(c.servers)
	return e, entries, err
}

// find returns the name of this program's entry, or of the one that is to be made, and
// whether it is there.
func find(m Machine, o Options, entries map[string]any) (name string, there bool) {
	all := ours(m, o, entries)
	name = cmp.Or(o.Name, DefaultName)
	if there = slices.Contains(all, name); there || o.Name != "" {
		return name, there
	}
	for _, other := range all {
		s := read(entries[other].(map[string]any))
		if s.Command != "" || s.URL == o.URL {
			return other, true
		}
	}
	return name, false
}

// ours returns the names of the entries that are of this program.
func ours(m Machine, o Options, entries map[string]any) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if entry, ok := entries[name].(map[string]any); ok && isOurs(m, o, entry) {
			names = append(names, name)
		}
	}
	return names
}

// isOurs reports whether an entry is known to be of this program: it runs it, or has
// the address that o names or one that this program serves.
func isOurs(m Machine, o Options, entry map[string]any) bool {
	s := read(entry)
	if s.URL != "" {
		hasOwn := slices.ContainsFunc(ofHTTP(), func(key string) bool { return entry[key] != nil })
		return s.URL == o.URL || isServed(s.URL, hasOwn)
	}
	return programForm.MatchString(s.program()) || m.isProgram(s.Command)
}

// isServed reports whether an address is one that this program serves on this machine:
// /mcp, with a list or without. Many servers are called there, so that one with headers
// or a sign-in of its own must have the usual port, too.
func isServed(address string, hasOwn bool) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || !isLoopback(u.Hostname()) {
		return false
	}
	query := u.Query()
	query.Del("list")
	return u.EscapedPath() == "/mcp" && len(query) == 0 && u.Fragment == "" && (!hasOwn || u.Port() == servedPort)
}

// servedPort is the port of todo-mcp serve where it is told no other.
const servedPort = "8765"

// program returns the name of the program that a command runs, also by npx or in a
// container.
func (s Server) program() string {
	if i := s.fromPackage(); i > 0 {
		return s.Args[i-1]
	}
	if slices.Contains([]string{"docker", "podman"}, bareName(s.Command)) && runsImage(s.Args) {
		return programName
	}
	return lastPart(s.Command)
}

// fromPackage returns where the arguments begin of the program that npx or one like it
// runs from a package, also in the shell of Windows; 0 where none does.
func (s Server) fromPackage() (from int) {
	if bareName(s.Command) == "cmd" {
		from = 1 + slices.IndexFunc(s.Args, isRunner)
	}
	if from == 0 && !isRunner(s.Command) {
		return 0
	}
	return from + 1 + slices.IndexFunc(s.Args[from:], func(arg string) bool { return !strings.HasPrefix(arg, "-") })
}

// isRunner reports whether a command runs programs from packages of npm.
func isRunner(command string) bool {
	return slices.Contains([]string{"npx", "bunx", "pnpx"}, bareName(command))
}

// bareName returns the name of a program without its folder and what Windows adds to it.
func bareName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(lastPart(path), ".cmd"), ".exe")
}

// programForm matches the name of this program, or of its package with a version. That
// is the whole name: names of other programs begin with it.
var programForm = regexp.MustCompile(`^todo-mcp(@[\w.^~+-]+)?(?i:\.exe|\.cmd)?$`)

// runsImage reports whether the arguments of docker or podman have an image of this
// program, not a container by its name.
func runsImage(args []string) bool {
	for i, arg := range args {
		if image.MatchString(arg) && (i == 0 || args[i-1] != "--name") {
			return true
		}
	}
	return false
}

// image matches the name of a container's image with this program.
var image = regexp.MustCompile(`^[a-z0-9][a-z0-9./-]*/todo-mcp(:[\w.-]+)?$|^todo-mcp(:[\w.-]+)?$`)

// lastPart returns what stands behind the last slash of a path of any system.
func lastPart(path string) string { return path[1+strings.LastIndexAny(path, `/\`):] }

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || net.ParseIP(host) == nil && strings.EqualFold(host, "localhost")
}

// Install returns the change that adds this server to a client, and the hooks if o
// wants them, or brings them up to date. It may be no change.
func (c Client) Install(m Machine, o Options) (Change, error) {
	e, entries, err := c.open(m, o)
	if err != nil {
		return Change{}, err
	}
	name, there := find(m, o, entries)
	if !there && entries[name] != nil {
		return Change{}, fmt.Errorf("%s: %s there is another server; give this one another name by --name",
			e.before.path, name)
	}
	entry, _ := entries[name].(map[string]any)
	wanted, err := c.wanted(m, o, read(entry))
	if err != nil {
		return Change{}, err
	}
	change := Change{Client: c, File: e.before.path, edits: []*edit{e}}
	e.ours = len(ours(m, o, entries)) > 0
	if e.doc == nil {
		if change.ByHand = byHand(there, read(entry), wanted, o); change.ByHand != "" {
			change.ByHand += yamlSnippet(c.servers, name, c.shape(name, wanted))
		}
		return change, nil
	}
	if o.Args == nil {
		e.hide(read(entry).own(m)...)
	}
	if err := c.put(e, name, entry, wanted); err != nil {
		return Change{}, err
	}
	if o.Hooks {
		if err := c.addHooks(m, o, wanted, &change); err != nil {
			return Change{}, err
		}
	}
	return change, nil
}

// put writes how the server with a name is reached into a client's file. All else in its
// entry stays, but for what belongs to another way to a server.
func (c Client) put(e *edit, name string, entry map[string]any, wanted Server) error {
	set, drop := c.shape.update(name, entry, wanted)
	if entry == nil {
		return e.set(set, c.servers, name)
	}
	for _, f := range set {
		if err := e.set(f.value, c.servers, name, f.key); err != nil {
			return err
		}
	}
	for _, key := range drop {
		if err := e.set(nil, c.servers, name, key); err != nil {
			return err
		}
	}
	return nil
}

// Uninstall returns the change that takes this server and its hooks away from a client.
// It may be no change. A file in which nothing is left goes if this program made it.
func (c Client) Uninstall(m Machine, o Options) (Change, error) {
	e, entries, err := c.open(m, o)
	if err != nil {
		return Change{}, err
	}
	name, there := find(m, o, entries)
	if !there && entries[name] != nil {
		return Change{}, fmt.Errorf("%s: %s there is another server, which stays", e.before.path, name)
	}
	change := Change{Client: c, File: e.before.path, edits: []*edit{e}}
	e.ours = len(ours(m, o, entries)) > 0
	if there && e.doc == nil {
		change.ByHand = "take the extension out that calls " + read(entries[name].(map[string]any)).String()
	} else if there {
		err = e.set(nil, c.servers, name)
	}
	if _, isTOML := e.doc.(*tomlFile); isTOML && err != nil { // the hooks go all the same
		change.note("%s.%s stays, since it is written in a way that cannot be edited safely; codex mcp remove %[2]s takes it away", c.servers, name)
	} else if err != nil {
		return Change{}, err
	}
	e.removes = !e.isNone() && e.before.isOurs() && e.doc.isBare()
	delete(entries, name)
	if len(ours(m, Options{}, entries)) == 0 {
		if err := c.removeHooks(m, &change); err != nil {
			return Change{}, err
		}
	}
	return change, nil
}

// wanted returns how a client shall reach this server. What an entry has of it already
// stays where it is as good: the arguments, and another path of this program.
func (c Client) wanted(m Machine, o Options, old Server) (Server, error) {
	switch {
	case o.URL != "" && c.noHTTP != "":
		return Server{}, fmt.Errorf("%s reaches no server over HTTP by its file: %s", c.Title, c.noHTTP)
	case o.URL != "":
		return Server{URL: o.URL}, nil
	}
	p, err := m.program()
	if err != nil {
		return Server{}, err
	}
	s := Server{Command: p.inTerminal}
	if c.desktop {
		s.Command = p.elsewhere
	}
	before, own := p.args, old.own(m)
	switch n := old.fromPackage(); {
	case len(p.args) > 0 && n > 0:
		s.Command, before = old.Command, old.Args[:n]
	case len(p.args) == 0 && filepath.IsAbs(old.Command) && IsSameFile(old.Command, m.Executable):
		s.Command = old.Command
	}
	if o.Args != nil {
		own = o.Args
	}
	s.Args = slices.Concat(before, own)
	return s, nil
}

// own returns the arguments of this program in a command that runs it, also by npx. In
// a container they are none that mean the same outside.
func (s Server) own(m Machine) []string {
	if n := s.fromPackage(); n > 0 {
		return s.Args[n:]
	}
	if m.isProgram(s.Command) {
		return s.Args
	}
	return nil
}

// Snippet returns what to write by hand and into which file.
func (c Client) Snippet(m Machine, o Options) (path, text string, err error) {
	wanted, err := c.wanted(m, o, Server{})
	if err != nil {
		return "", "", err
	}
	e, _, _ := c.open(m, o)
	name := cmp.Or(o.Name, DefaultName)
	path = e.before.path
	if e, err = newEdit(file{path: path}); err != nil || e.doc == nil {
		return path, yamlSnippet(c.servers, name, c.shape(name, wanted)), err
	}
	err = c.put(e, name, nil, wanted)
	return path, string(e.after), err
}

// Find returns the client with a name.
func Find(name string) (Client, bool) {
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
