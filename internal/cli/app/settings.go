package app

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/tools"
)

// Collect reads the settings from flagValues, the environment and the config
// file. With an error, what is wrong there has its default.
func Collect(fs *flag.FlagSet, flagValues map[string]string, env Env) (*Settings, error) {
	path, named := configFile(env.Getenv), false
	if f := fs.Lookup("config"); f != nil && f.Value.String() != "" {
		path, named = f.Value.String(), true
	} else if v := env.Getenv("TODO_CONFIG"); v != "" {
		path, named = v, true
	}
	layers := []layer{{"flag", flagValues}, fromEnvironment(env.Getenv)}
	var unread error
	if path != "" {
		var file layer
		file, unread = fromFile(path, named)
		layers = append(layers, file)
	}
	s, err := load(layers)
	s.File = path
	s.Wrong = errors.Join(unread, err)
	return s, s.Wrong
}

// OperatorSettings are the settings of [operatorRows].
type OperatorSettings struct {
	Addr  string
	Audit string
	Drain time.Duration
}

// auditRow is the setting for the audit log, of every command that writes.
func auditRow() Setting {
	return define(text().named("FILE"), "audit-log", "", func(s *Settings) *string { return &s.Operator.Audit },
		"file to which a line of JSON is appended for each saved revision: who, which list, what kind of change; - is stderr, empty none")
}

// operatorRows are the settings for who runs a server for others.
func operatorRows() []Setting {
	return []Setting{
		define(address(true, "127.0.0.1:8766, or :8766 for every interface"), "admin-addr", "", func(s *Settings) *string { return &s.Operator.Addr },
			"address for operators: /metrics, /livez, /readyz, /debug/pprof; never a public one; empty: none, and /metrics is on --addr if nobody signs in"),
		define(units("SECONDS", time.Second, 0, 3600), "drain", 0, func(s *Settings) *time.Duration { return &s.Operator.Drain },
			"how many seconds calls are still taken after `serve` is told to stop, while /readyz says so; 5 behind a balancer"),
	}
}

// Settings are the values in force. They do not change after [load].
type Settings struct {
	Tools     tools.Options
	Publish   []string
	Content   server.Structured
	Prompts   string
	List      string
	Store     string
	Addr      string
	Hosts     []string
	Origins   []string
	LogLevel  slog.Level
	Notices   string
	Keep      todo.Keep
	Archive   time.Duration // --archive-after
	Request   time.Duration
	Streams   int
	SignIn    SignInSettings
	PublicURL string
	MaxRate   int
	Proxies   []netip.Prefix
	TLSCert   string
	TLSKey    string
	Operator  OperatorSettings

	Set   []source // in the order of the table
	File  string   // the config file, which need not be there; empty for none
	Wrong error    // what is not allowed, see collect
}

// source says where the value of a setting came from that somebody set.
type source struct {
	Setting
	Value string // as the user wrote it
	From  string // see layer.name
}

// Group is a group of settings. A command accepts whole groups.
type Group int

const (
	StoreGroup Group = iota
	KeepGroup        // of commands that write
	ListGroup
	ToolGroup // of TodoWrite, as a tool and as a command
	ServerGroup
	AddressGroup  // where a server listens
	HTTPGroup     // who may use it, and how much
	OperatorGroup // of `serve` alone
	TokenGroup
)

// Title says what the settings of a group are about.
func (g Group) Title() string {
	return [...]string{
		StoreGroup: "Where lists are kept", KeepGroup: "How much is kept", ListGroup: "Which list", ToolGroup: "What tools take and say",
		ServerGroup: "What the server offers", AddressGroup: "HTTP", HTTPGroup: "HTTP", OperatorGroup: "HTTP", TokenGroup: "Sign-in by token",
	}[g]
}

// Setting is one row of the settings table. It is set by the flag --name, the
// variable TODO_NAME, or a line "name = value" of the config file.
type Setting struct {
	Name     string
	Def      string // the default, as a user would write it
	Help     string
	Group    Group
	IsSwitch bool // the flag without a value means true
	Secret   bool // errors do not quote the value
	// placeholder stands for the value in help, and words are the values there are,
	// if they are few.
	Placeholder string
	Words       []string
	// set parses a value and stores it; the error says what is allowed.
	set func(*Settings, string) error
}

// Variable returns the environment variable of a setting.
func (s Setting) Variable() string {
	return "TODO_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// kind is the type of a setting's value: parse reads a value from text, and
// format writes the default as text.
type kind[T any] struct {
	Parse    func(string) (T, error)
	format   func(T) string
	isSwitch bool // the flag without a value means true
	// See setting.
	placeholder string
	words       []string
}

// named returns the kind with another placeholder.
func (k kind[T]) named(placeholder string) kind[T] {
	k.placeholder = placeholder
	return k
}

// define returns a row of the settings table, without a group. field returns a
// pointer to the value in the settings.
func define[T any](k kind[T], name string, def T, field func(*Settings) *T, help string) Setting {
	return Setting{Name: name, Def: k.format(def), Help: help, IsSwitch: k.isSwitch, Placeholder: k.placeholder, Words: k.words, set: func(s *Settings, text string) error {
		value, err := k.Parse(text)
		if err != nil {
			return err
		}
		*field(s) = value
		return nil
	}}
}

// Table returns all settings, group by group.
func Table() []Setting {
	var rows []Setting
	for _, g := range []struct {
		group Group
		rows  []Setting
	}{
		{StoreGroup, storeSettings()}, {KeepGroup, append(keepSettings(), auditRow())}, {ListGroup, listSettings()}, {ToolGroup, toolSettings()},
		{ServerGroup, serverSettings()}, {HTTPGroup, issuerSettings()}, {AddressGroup, addressSettings()}, {HTTPGroup, httpSettings()}, {OperatorGroup, operatorRows()}, {TokenGroup, tokenSettings()},
	} {
		for _, row := range g.rows {
			row.Group = g.group
			rows = append(rows, row)
		}
	}
	return rows
}

func storeSettings() []Setting {
	place := define(storePlace(), "store", "", func(s *Settings) *string { return &s.Store },
		"where lists are kept: memory, sqlite:PATH or postgres://USER@HOST/DATABASE; empty is a file in the state directory")
	place.Secret = true // its own errors quote it, without a password
	notices := define(text().named("ADDRESS"), "store-notices", "", func(s *Settings) *string { return &s.Notices },
		"another address of a postgres:// store at which notices arrive, where the store's own is that of a pooler")
	notices.Secret = true
	return []Setting{
		place,
		notices,
		define(units("HOURS", time.Hour, 0, 1_000_000), "archive-after", 24*time.Hour, func(s *Settings) *time.Duration { return &s.Archive },
			"how many hours after its last change a settled list counts as archived; 0 is never"),
		define(units("SECONDS", time.Second, 1, 600), "request-timeout", 10*time.Second, func(s *Settings) *time.Duration { return &s.Request },
			"how many seconds a call, a page or a command may wait for the store"),
	}
}

func keepSettings() []Setting {
	return []Setting{
		define(number(1_000_000), "keep-revisions", 1000, func(s *Settings) *int { return &s.Keep.Revisions },
			"how many revisions of a list are kept; 0 is all"),
		define(number(100_000_000), "max-lists", 100_000, func(s *Settings) *int { return &s.Keep.Lists },
			"how many lists there may be; 0 is any number"),
		define(units("MB", int64(1_000_000), 0, 1_000_000), "max-size", 4_000_000_000, func(s *Settings) *int64 { return &s.Keep.Bytes },
			"how many MB the store may take, the last tenth for the lists there are; 0 is any size"),
	}
}

func listSettings() []Setting {
	return []Setting{
		define(listName(), "list", "", func(s *Settings) *string { return &s.List },
			"name of the list to use, for good; empty finds it by conversation"),
	}
}

func toolSettings() []Setting {
	defaults := tools.Defaults()
	return []Setting{
		define(number(todo.MaxItems), "max-items", defaults.MaxItems, func(s *Settings) *int { return &s.Tools.MaxItems },
			"most items TodoWrite takes; 0 is the hard cap of 1000"),
		define(number(todo.MaxText), "max-content-length", defaults.MaxContentLength, func(s *Settings) *int { return &s.Tools.MaxContentLength },
			"most characters of a TodoWrite text; 0 is the hard cap of 4000"),
		define(oneOf(tools.Reject, tools.Demote, tools.Allow), "in-progress", defaults.InProgress, func(s *Settings) *tools.Policy { return &s.Tools.InProgress },
			"several items in progress in TodoWrite and write_todos: reject, demote (keep the last) or allow"),
		define(boolean(), "item-ids", defaults.ItemIDs, func(s *Settings) *bool { return &s.Tools.ItemIDs },
			"show item ids in TodoWrite's schema and results"),
		define(text().named("FOLDER"), "prompts", "", func(s *Settings) *string { return &s.Prompts },
			"folder of your own guidance texts, TOOL.md each"),
	}
}

func serverSettings() []Setting {
	return []Setting{
		define(toolNames(), "tools", []string{"auto"}, func(s *Settings) *[]string { return &s.Publish },
			"tools to offer: auto (TodoWrite alone), all, or names with commas"),
		define(oneOf(server.StructuredAuto, server.StructuredAlways, server.StructuredNever), "structured", server.StructuredAuto, func(s *Settings) *server.Structured { return &s.Content },
			"structured content in results: auto (not where models are shown it), always or never"),
		define(oneOf(prompts.Languages()...), "lang", tools.Defaults().Language, func(s *Settings) *string { return &s.Tools.Language },
			"language of the plan: en, zh or vi"),
		define(logLevel(), "log-level", slog.LevelWarn, func(s *Settings) *slog.Level { return &s.LogLevel },
			"what is logged to stderr: debug, info, warn or error"),
	}
}

func addressSettings() []Setting {
	return []Setting{
		define(address(false, "127.0.0.1:8765"), "addr", "127.0.0.1:8765", func(s *Settings) *string { return &s.Addr },
			"address to listen on; others than loopback ones need sign-in and TLS"),
	}
}

func httpSettings() []Setting {
	return []Setting{
		define(webAddress(false), "public-url", "", func(s *Settings) *string { return &s.PublicURL },
			"where clients reach the server, as https://host; empty is the address it listens on"),
		define(text().named("FILE"), "tls-cert", "", func(s *Settings) *string { return &s.TLSCert },
			"PEM file with the certificate for TLS; read again when it changes"),
		define(text().named("FILE"), "tls-key", "", func(s *Settings) *string { return &s.TLSKey },
			"PEM file with the certificate's key"),
		define(networks(), "trusted-proxies", nil, func(s *Settings) *[]netip.Prefix { return &s.Proxies },
			"addresses or networks of proxies that do TLS and whose X-Forwarded-For is believed, with commas"),
		define(number(1_000_000), "max-rate", 100, func(s *Settings) *int { return &s.MaxRate },
			"most requests a second of one who signed in, and twice as many at once; 0 is any number"),
		define(hostNames(), "allowed-hosts", nil, func(s *Settings) *[]string { return &s.Hosts },
			"more Host names to answer to, with commas"),
		define(origins(), "allowed-origins", nil, func(s *Settings) *[]string { return &s.Origins },
			"origins of pages that may call, with commas (https://host)"),
		define(Between(1, 1_000_000), "max-streams", 4096, func(s *Settings) *int { return &s.Streams },
			"most open event streams; half as many of one client address, or of one who signed in"),
	}
}

// SignInSettings say who may use a server over HTTP.
type SignInSettings struct {
	Tokens       string
	Issuer       string
	Audience     string
	TenantClaim  string
	ClientID     string
	ClientSecret string
}

func tokenSettings() []Setting {
	return []Setting{
		define(text().named("FILE"), "tokens", "", func(s *Settings) *string { return &s.SignIn.Tokens },
			"file of the bearer tokens that let in, made by `todo-mcp token`"),
	}
}

// issuerSettings are about an OAuth authorization server.
func issuerSettings() []Setting {
	secret := define(text().named("SECRET"), "client-secret", "", func(s *Settings) *string { return &s.SignIn.ClientSecret },
		"secret of the panel's client at the issuer; empty for a public client")
	secret.Secret = true
	return []Setting{
		define(webAddress(true), "issuer", "", func(s *Settings) *string { return &s.SignIn.Issuer },
			"OAuth authorization server, with OpenID Connect discovery, whose access tokens let in"),
		define(text().named("NAME"), "audience", "", func(s *Settings) *string { return &s.SignIn.Audience },
			"audience of the issuer's access tokens; empty is the public URL with /mcp"),
		define(text().named("NAME"), "tenant-claim", "", func(s *Settings) *string { return &s.SignIn.TenantClaim },
			"claim of access tokens with the team whose members share their lists; empty is lists of one's own"),
		define(text().named("ID"), "client-id", "", func(s *Settings) *string { return &s.SignIn.ClientID },
			"id of the panel's client at the issuer; empty is none, and people paste a token"),
		secret,
	}
}

// layer has the values from one source, by setting name.
type layer struct {
	name   string // where the values come from: "flag", "environment", the config file
	values map[string]string
}

// MaxShown is how much of a bad line or value an error shows, in characters.
const MaxShown = 100

// load returns the settings. Each value comes from the first layer that has it,
// or else is the default. The error names each setting with a value that is not
// allowed, where the value came from, and what is allowed; these have their defaults.
func load(layers []layer) (*Settings, error) {
	s := &Settings{}
	var wrong []error
	for _, row := range Table() {
		_ = row.set(s, row.Def)
		for _, l := range layers {
			value, ok := l.values[row.Name]
			if !ok {
				continue
			}
			if err := row.set(s, value); err != nil {
				wrong = append(wrong, row.wrong(value, l.name, err))
			} else {
				s.Set = append(s.Set, source{row, value, l.name})
			}
			break
		}
	}
	return s, errors.Join(wrong...)
}

// wrong returns the error for a value that is not allowed.
func (s Setting) wrong(value, from string, err error) error {
	shown := ""
	if !s.Secret {
		shown = " " + strconv.Quote(todo.Cut(value, MaxShown))
	}
	return fmt.Errorf("setting %s%s (%s): %w", s.Name, shown, from, err)
}

// fromEnvironment returns the values of the variables that are set and not
// empty.
func fromEnvironment(getenv func(string) string) layer {
	l := layer{name: "environment", values: make(map[string]string)}
	for _, row := range Table() {
		if v := getenv(row.Variable()); v != "" {
			l.values[row.Name] = v
		}
	}
	return l
}

// fromFile reads a config file. A missing file is an error only if mustExist is
// true.
func fromFile(path string, mustExist bool) (layer, error) {
	l := layer{name: path, values: make(map[string]string)}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !mustExist {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("read config file: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || !slices.ContainsFunc(Table(), func(s Setting) bool { return s.Name == name }) {
			return l, fmt.Errorf("config file %s line %d: %q is no setting; lines are NAME = VALUE, names as the flags of `todo-mcp help`", path, n, todo.Cut(name, MaxShown))
		}
		l.values[name] = strings.TrimSpace(value)
	}
	return l, lines.Err()
}

// configFile returns the path of the config file that is read when the user
// names none, or "" when the environment has no home directory.
func configFile(getenv func(string) string) string {
	for _, base := range []string{getenv("XDG_CONFIG_HOME"), getenv("APPDATA")} {
		if base != "" {
			return filepath.Join(base, "todo-mcp", "config")
		}
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".config", "todo-mcp", "config")
	}
	return ""
}
