package cli

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

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/tools"
)

// settings are the values in force. They do not change after [load].
type settings struct {
	tools     tools.Options
	publish   []string
	content   server.Structured
	prompts   string
	list      string
	store     string
	addr      string
	hosts     []string
	origins   []string
	logLevel  slog.Level
	notices   string
	keep      todo.Keep
	archive   time.Duration // --archive-after
	request   time.Duration
	streams   int
	signIn    signInSettings
	publicURL string
	maxRate   int
	proxies   []netip.Prefix
	tlsCert   string
	tlsKey    string
	operator  operatorSettings

	set   []source // in the order of the table
	file  string   // the config file, which need not be there; empty for none
	wrong error    // what is not allowed, see collect
}

// source says where the value of a setting came from that somebody set.
type source struct {
	setting
	value string // as the user wrote it
	from  string // see layer.name
}

// group is a group of settings. A command accepts whole groups.
type group int

const (
	storeGroup group = iota
	keepGroup        // of commands that write
	listGroup
	toolGroup // of TodoWrite, as a tool and as a command
	serverGroup
	addressGroup  // where a server listens
	httpGroup     // who may use it, and how much
	operatorGroup // of `serve` alone
	tokenGroup
)

// title says what the settings of a group are about.
func (g group) title() string {
	return [...]string{
		storeGroup: "Where lists are kept", keepGroup: "How much is kept", listGroup: "Which list", toolGroup: "What tools take and say",
		serverGroup: "What the server offers", addressGroup: "HTTP", httpGroup: "HTTP", operatorGroup: "HTTP", tokenGroup: "Sign-in by token",
	}[g]
}

// setting is one row of the settings table. It is set by the flag --name, the
// variable TODO_NAME, or a line "name = value" of the config file.
type setting struct {
	name     string
	def      string // the default, as a user would write it
	help     string
	group    group
	isSwitch bool // the flag without a value means true
	secret   bool // errors do not quote the value
	// placeholder stands for the value in help, and words are the values there are,
	// if they are few.
	placeholder string
	words       []string
	// set parses a value and stores it; the error says what is allowed.
	set func(*settings, string) error
}

// variable returns the environment variable of a setting.
func (s setting) variable() string {
	return "TODO_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// kind is the type of a setting's value: parse reads a value from text, and
// format writes the default as text.
type kind[T any] struct {
	parse    func(string) (T, error)
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
func define[T any](k kind[T], name string, def T, field func(*settings) *T, help string) setting {
	return setting{name: name, def: k.format(def), help: help, isSwitch: k.isSwitch, placeholder: k.placeholder, words: k.words, set: func(s *settings, text string) error {
		value, err := k.parse(text)
		if err != nil {
			return err
		}
		*field(s) = value
		return nil
	}}
}

// table returns all settings, group by group.
func table() []setting {
	var rows []setting
	for _, g := range []struct {
		group group
		rows  []setting
	}{
		{storeGroup, storeSettings()}, {keepGroup, append(keepSettings(), auditRow())}, {listGroup, listSettings()}, {toolGroup, toolSettings()},
		{serverGroup, serverSettings()}, {httpGroup, issuerSettings()}, {addressGroup, addressSettings()}, {httpGroup, httpSettings()}, {operatorGroup, operatorRows()}, {tokenGroup, tokenSettings()},
	} {
		for _, row := range g.rows {
			row.group = g.group
			rows = append(rows, row)
		}
	}
	return rows
}

func storeSettings() []setting {
	place := define(storePlace(), "store", "", func(s *settings) *string { return &s.store },
		"where lists are kept: memory, sqlite:PATH or postgres://USER@HOST/DATABASE; empty is a file in the state directory")
	place.secret = true // its own errors quote it, without a password
	notices := define(text().named("ADDRESS"), "store-notices", "", func(s *settings) *string { return &s.notices },
		"another address of a postgres:// store at which notices arrive, where the store's own is that of a pooler")
	notices.secret = true
	return []setting{
		place,
		notices,
		define(units("HOURS", time.Hour, 0, 1_000_000), "archive-after", 24*time.Hour, func(s *settings) *time.Duration { return &s.archive },
			"how many hours after its last change a settled list counts as archived; 0 is never"),
		define(units("SECONDS", time.Second, 1, 600), "request-timeout", 10*time.Second, func(s *settings) *time.Duration { return &s.request },
			"how many seconds a call, a page or a command may wait for the store"),
	}
}

func keepSettings() []setting {
	return []setting{
		define(number(1_000_000), "keep-revisions", 1000, func(s *settings) *int { return &s.keep.Revisions },
			"how many revisions of a list are kept; 0 is all"),
		define(number(100_000_000), "max-lists", 100_000, func(s *settings) *int { return &s.keep.Lists },
			"how many lists there may be; 0 is any number"),
		define(units("MB", int64(1_000_000), 0, 1_000_000), "max-size", 4_000_000_000, func(s *settings) *int64 { return &s.keep.Bytes },
			"how many MB the store may take, the last tenth for the lists there are; 0 is any size"),
	}
}

func listSettings() []setting {
	return []setting{
		define(listName(), "list", "", func(s *settings) *string { return &s.list },
			"name of the list to use, for good; empty finds it by conversation"),
	}
}

func toolSettings() []setting {
	defaults := tools.Defaults()
	return []setting{
		define(number(todo.MaxItems), "max-items", defaults.MaxItems, func(s *settings) *int { return &s.tools.MaxItems },
			"most items TodoWrite takes; 0 is the hard cap of 1000"),
		define(number(todo.MaxText), "max-content-length", defaults.MaxContentLength, func(s *settings) *int { return &s.tools.MaxContentLength },
			"most characters of a TodoWrite text; 0 is the hard cap of 4000"),
		define(oneOf(tools.Reject, tools.Demote, tools.Allow), "in-progress", defaults.InProgress, func(s *settings) *tools.Policy { return &s.tools.InProgress },
			"several items in progress in TodoWrite and write_todos: reject, demote (keep the last) or allow"),
		define(boolean(), "item-ids", defaults.ItemIDs, func(s *settings) *bool { return &s.tools.ItemIDs },
			"show item ids in TodoWrite's schema and results"),
		define(text().named("FOLDER"), "prompts", "", func(s *settings) *string { return &s.prompts },
			"folder of your own guidance texts, TOOL.md each"),
	}
}

func serverSettings() []setting {
	return []setting{
		define(toolNames(), "tools", []string{"auto"}, func(s *settings) *[]string { return &s.publish },
			"tools to offer: auto (TodoWrite alone), all, or names with commas"),
		define(oneOf(server.StructuredAuto, server.StructuredAlways, server.StructuredNever), "structured", server.StructuredAuto, func(s *settings) *server.Structured { return &s.content },
			"structured content in results: auto (not where models are shown it), always or never"),
		define(oneOf(prompts.Languages()...), "lang", tools.Defaults().Language, func(s *settings) *string { return &s.tools.Language },
			"language of the plan: en, zh or vi"),
		define(logLevel(), "log-level", slog.LevelWarn, func(s *settings) *slog.Level { return &s.logLevel },
			"what is logged to stderr: debug, info, warn or error"),
	}
}

func addressSettings() []setting {
	return []setting{
		define(address(false, "127.0.0.1:8765"), "addr", "127.0.0.1:8765", func(s *settings) *string { return &s.addr },
			"address to listen on; others than loopback ones need sign-in and TLS"),
	}
}

func httpSettings() []setting {
	return []setting{
		define(webAddress(false), "public-url", "", func(s *settings) *string { return &s.publicURL },
			"where clients reach the server, as https://host; empty is the address it listens on"),
		define(text().named("FILE"), "tls-cert", "", func(s *settings) *string { return &s.tlsCert },
			"PEM file with the certificate for TLS; read again when it changes"),
		define(text().named("FILE"), "tls-key", "", func(s *settings) *string { return &s.tlsKey },
			"PEM file with the certificate's key"),
		define(networks(), "trusted-proxies", nil, func(s *settings) *[]netip.Prefix { return &s.proxies },
			"addresses or networks of proxies that do TLS and whose X-Forwarded-For is believed, with commas"),
		define(number(1_000_000), "max-rate", 100, func(s *settings) *int { return &s.maxRate },
			"most requests a second of one who signed in, and twice as many at once; 0 is any number"),
		define(hostNames(), "allowed-hosts", nil, func(s *settings) *[]string { return &s.hosts },
			"more Host names to answer to, with commas"),
		define(origins(), "allowed-origins", nil, func(s *settings) *[]string { return &s.origins },
			"origins of pages that may call, with commas (https://host)"),
		define(between(1, 1_000_000), "max-streams", 4096, func(s *settings) *int { return &s.streams },
			"most open event streams; half as many of one client address, or of one who signed in"),
	}
}

// signInSettings say who may use a server over HTTP.
type signInSettings struct {
	tokens       string
	issuer       string
	audience     string
	tenantClaim  string
	clientID     string
	clientSecret string
}

func tokenSettings() []setting {
	return []setting{
		define(text().named("FILE"), "tokens", "", func(s *settings) *string { return &s.signIn.tokens },
			"file of the bearer tokens that let in, made by `todo-mcp token`"),
	}
}

// issuerSettings are about an OAuth authorization server.
func issuerSettings() []setting {
	secret := define(text().named("SECRET"), "client-secret", "", func(s *settings) *string { return &s.signIn.clientSecret },
		"secret of the panel's client at the issuer; empty for a public client")
	secret.secret = true
	return []setting{
		define(webAddress(true), "issuer", "", func(s *settings) *string { return &s.signIn.issuer },
			"OAuth authorization server, with OpenID Connect discovery, whose access tokens let in"),
		define(text().named("NAME"), "audience", "", func(s *settings) *string { return &s.signIn.audience },
			"audience of the issuer's access tokens; empty is the public URL with /mcp"),
		define(text().named("NAME"), "tenant-claim", "", func(s *settings) *string { return &s.signIn.tenantClaim },
			"claim of access tokens with the team whose members share their lists; empty is lists of one's own"),
		define(text().named("ID"), "client-id", "", func(s *settings) *string { return &s.signIn.clientID },
			"id of the panel's client at the issuer; empty is none, and people paste a token"),
		secret,
	}
}

// layer has the values from one source, by setting name.
type layer struct {
	name   string // where the values come from: "flag", "environment", the config file
	values map[string]string
}

// maxShown is how much of a bad line or value an error shows, in characters.
const maxShown = 100

// load returns the settings. Each value comes from the first layer that has it,
// or else is the default. The error names each setting with a value that is not
// allowed, where the value came from, and what is allowed; these have their defaults.
func load(layers []layer) (*settings, error) {
	s := &settings{}
	var wrong []error
	for _, row := range table() {
		_ = row.set(s, row.def)
		for _, l := range layers {
			value, ok := l.values[row.name]
			if !ok {
				continue
			}
			if err := row.set(s, value); err != nil {
				wrong = append(wrong, row.wrong(value, l.name, err))
			} else {
				s.set = append(s.set, source{row, value, l.name})
			}
			break
		}
	}
	return s, errors.Join(wrong...)
}

// wrong returns the error for a value that is not allowed.
func (s setting) wrong(value, from string, err error) error {
	shown := ""
	if !s.secret {
		shown = " " + strconv.Quote(todo.Cut(value, maxShown))
	}
	return fmt.Errorf("setting %s%s (%s): %w", s.name, shown, from, err)
}

// fromEnvironment returns the values of the variables that are set and not
// empty.
func fromEnvironment(getenv func(string) string) layer {
	l := layer{name: "environment", values: make(map[string]string)}
	for _, row := range table() {
		if v := getenv(row.variable()); v != "" {
			l.values[row.name] = v
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
		if !ok || !slices.ContainsFunc(table(), func(s setting) bool { return s.name == name }) {
			return l, fmt.Errorf("config file %s line %d: %q is no setting; lines are NAME = VALUE, names as the flags of `todo-mcp help`", path, n, todo.Cut(name, maxShown))
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
