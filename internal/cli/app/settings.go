package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/asutf8"
	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/notify"
	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/tools"
)

// Settings are the values in force. They do not change after [Settings.Collect].
type Settings struct {
	Tools             tools.Options
	Content           server.Structured
	Publish           []string
	List, LogLevel    string
	Prompts, Language string
	Store             string // --store
	Keep              board.Keep
	Archive           time.Duration // --archive-after
	Request           time.Duration // --request-timeout

	Addr, PublicURL, TLSCert, TLSKey string
	Hosts, Origins                   []string
	Proxies                          []netip.Prefix
	Streams, MaxRate                 int
	SignIn                           struct { // who may use a server over HTTP
		Tokens, Issuer, Audience, TenantClaim, ClientID, ClientSecret string
	}
	Notify   notify.Config // the receivers of notices of lists; fields that only a running server knows are not set
	Operator struct {      // for people who run a server for others
		Addr, Audit string
		Drain       time.Duration
	}

	Rows  []*Setting // the table of all settings, group by group
	File  string     // path of the config file, which may not exist; empty for none
	Wrong []error    // invalid values, see Collect
}

// Group is a group of settings. A command accepts whole groups.
type Group int

const (
	ListGroup Group = iota
	ToolGroup       // of TodoWrite, both the tool and the command
	ServerGroup
	StoreGroup
	KeepGroup     // of commands that write
	AddressGroup  // where a server listens
	HTTPGroup     // how clients reach a server, and limits on them
	TokenGroup    // sign-in by tokens
	SignInGroup   // sign-in by an issuer
	OperatorGroup // for the operators of `serve`
	NotifyGroup
)

// groupTitles are the headings under which help shows the flags of groups.
var groupTitles = [...]string{
	ListGroup: "Lists and tools", ToolGroup: "Lists and tools", ServerGroup: "Lists and tools",
	StoreGroup: "Store", KeepGroup: "Store", AddressGroup: "Network", HTTPGroup: "Network",
	TokenGroup: "Who may use it", SignInGroup: "Who may use it", OperatorGroup: "Operators", NotifyGroup: "Notices",
}

// Title returns the title of a group.
func (g Group) Title() string { return groupTitles[g] }

// Setting is one row of the settings table. It is set by the flag --name, the variable TODO_NAME or a line
// "name = value" of the config file. It is the flag's [pflag.Value].
type Setting struct {
	Group Group
	Name  string
	Def   string // the default, as a user would write it
	kind
	Help string
}

// Variable returns the environment variable of a setting.
func (s *Setting) Variable() string {
	return "TODO_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// String returns the default.
func (s *Setting) String() string { return s.Def }

// Type returns the placeholder for the value in help.
func (s *Setting) Type() string { return s.Placeholder }

// Set stores the flag's text; [Settings.Collect] parses it.
func (s *Setting) Set(value string) error {
	if s.Many && s.From == "flag" { // the flag is repeated
		value = s.Value + "," + value
	}
	s.Value, s.From = value, "flag"
	return nil
}

// use parses and stores a value; the error says what is allowed. An empty value is allowed if the default is empty.
func (s *Setting) use(value string) error {
	if value == "" && s.Def == "" {
		return nil
	}
	return s.set(value)
}

// NewSettings returns the table with no values set.
func NewSettings() *Settings {
	s := &Settings{}
	s.Rows = slices.Concat(s.listRows(), s.toolRows(), s.httpRows())
	return s
}

// listRows returns the settings for lists and the store.
func (s *Settings) listRows() []*Setting {
	return []*Setting{
		{StoreGroup, "store", "", secret(checked(&s.Store, "STORE", checkStore)), // its errors show all but the password
			"where lists are kept: memory, sqlite:PATH or postgres://USER@HOST/DATABASE; empty is a file in the state directory"},
		{StoreGroup, "archive-after", "24", number(&s.Archive, "HOURS", time.Hour, 0, 1_000_000),
			"how many hours after its last change a settled list counts as archived, and an open one after two weeks; 0 is never"},
		{StoreGroup, "request-timeout", "10", number(&s.Request, "SECONDS", time.Second, 1, 600),
			"how many seconds a call, a page or a command may wait for the store"},
		{KeepGroup, "keep-revisions", "1000", number(&s.Keep.Revisions, "N", 1, 0, 1_000_000),
			"how many revisions of a list are kept; 0 is all"},
		{KeepGroup, "max-lists", "100000", number(&s.Keep.Lists, "N", 1, 0, 100_000_000),
			"how many lists of one owner there may be, before old finished ones go; 0 is any number"},
		{KeepGroup, "max-size", "4000", number(&s.Keep.Bytes, "MB", 1_000_000, 0, 1_000_000),
			"how many MB the store may take, a quarter for each who signs in; 0 is any size"},
		{KeepGroup, "audit-log", "", text(&s.Operator.Audit, "FILE"),
			"file to which a line of JSON is appended for each saved revision: who, which list, what kind of change; - is stderr, empty none"},
		{ListGroup, "list", "", checked(&s.List, "NAME", todo.CheckName),
			"always use the list with this name; empty finds it by conversation"},
	}
}

// toolRows returns the settings for tools, their texts and results, and the log.
func (s *Settings) toolRows() []*Setting {
	defaults := tools.Defaults()
	return []*Setting{
		{ToolGroup, "max-items", strconv.Itoa(defaults.MaxItems), number(&s.Tools.MaxItems, "N", 1, 0, todo.MaxItems),
			"most items TodoWrite takes; 0 is the hard cap of 1000"},
		{ToolGroup, "max-content-length", strconv.Itoa(defaults.MaxContentLength),
			number(&s.Tools.MaxContentLength, "N", 1, 0, todo.MaxText),
			"most characters of a TodoWrite text; 0 is the hard cap of 4000"},
		{ToolGroup, "in-progress", string(defaults.InProgress), word(&s.Tools.InProgress, tools.Reject, tools.Demote, tools.Allow),
			"several items in progress in TodoWrite and write_todos: reject, demote (keep the last) or allow"},
		{ToolGroup, "item-ids", strconv.FormatBool(defaults.ItemIDs), boolean(&s.Tools.ItemIDs),
			"show item ids in TodoWrite's schema and results"},
		{ToolGroup, "statuses", string(defaults.Statuses), word(&s.Tools.Statuses, tools.UsualStatuses, tools.AllStatuses),
			"statuses that TodoWrite and write_todos list: usual (three), or all, with blocked, failed, cancelled and a reason; all are accepted"},
		{ToolGroup, "prompts", "", text(&s.Prompts, "FOLDER"), "folder of your own guidance texts, TOOL.md each"},
		{ToolGroup, "lang", prompts.Languages()[0], word(&s.Language, prompts.Languages()...),
			"language of guidance, answers and errors: en, zh or vi"},
		{ServerGroup, "tools", "auto", list(&s.Publish, "NAMES", parseTool),
			"tools to offer: auto (the one that a client's models know), all, or names with commas"},
		{ServerGroup, "structured", string(server.StructuredAuto),
			word(&s.Content, server.StructuredAuto, server.StructuredAlways, server.StructuredNever),
			"structured content in results: auto (not where models are shown it), always or never"},
		{ServerGroup, "log-level", "warn", word(&s.LogLevel, "debug", "info", "warn", "error"),
			"what is logged to stderr: debug, info, warn or error"},
	}
}

// httpRows returns the settings for HTTP, sign-in and notices.
func (s *Settings) httpRows() []*Setting {
	in := &s.SignIn
	return []*Setting{
		{SignInGroup, "issuer", "", checked(&in.Issuer, "URL", checkURL),
			"OAuth authorization server, with OpenID Connect discovery, whose access tokens let in"},
		{SignInGroup, "audience", "", text(&in.Audience, "NAME"),
			"audience of the issuer's access tokens; empty is the public URL with /mcp"},
		{SignInGroup, "tenant-claim", "", text(&in.TenantClaim, "NAME"),
			"claim of access tokens that names a team, whose members share their lists; empty: everybody has lists of their own"},
		{SignInGroup, "client-id", "", text(&in.ClientID, "ID"),
			"id of the panel's client at the issuer; empty is none, and people paste a token"},
		{SignInGroup, "client-secret", "", secret(text(&in.ClientSecret, "SECRET")),
			"secret of the panel's client at the issuer; empty for a public client"},
		{TokenGroup, "tokens", "", text(&in.Tokens, "FILE"),
			"file of the bearer tokens that let in, made by `todo-mcp token`"},
		{AddressGroup, "addr", "127.0.0.1:8765", checked(&s.Addr, "ADDRESS", checkAddress),
			"address to listen on; others than loopback ones need sign-in and TLS"},
		{HTTPGroup, "public-url", "", parsed(&s.PublicURL, "URL", parsePublicURL),
			"where clients reach the server, as https://host, or https://host/path below a path of a proxy; empty is the address it listens on"},
		{HTTPGroup, "tls-cert", "", text(&s.TLSCert, "FILE"),
			"PEM file with the certificate for TLS; read again when it changes"},
		{HTTPGroup, "tls-key", "", text(&s.TLSKey, "FILE"), "PEM file with the certificate's key"},
		{HTTPGroup, "trusted-proxies", "", list(&s.Proxies, "NETWORKS", parseNetwork),
			"addresses or networks of proxies that do TLS and whose X-Forwarded-For is believed, with commas"},
		{HTTPGroup, "max-rate", "100", number(&s.MaxRate, "N", 1, 0, 1_000_000),
			"most requests a second of one who signed in, and twice as many at once; 0 is any number"},
		{HTTPGroup, "allowed-hosts", "", list(&s.Hosts, "NAMES", parseHost),
			"more Host names to answer to, with commas, without scheme and port"},
		{HTTPGroup, "allowed-origins", "", list(&s.Origins, "NAMES", parseOrigin),
			"origins of pages that may call, with commas (https://host)"},
		{HTTPGroup, "max-streams", "4096", number(&s.Streams, "N", 1, 1, 1_000_000),
			"most open event streams; half as many of one client address, or of one who signed in"},
		{OperatorGroup, "admin-addr", "", checked(&s.Operator.Addr, "ADDRESS", checkAddress),
			"address for operators: /metrics, /livez, /readyz; never a public one; empty: none, and /metrics is on --addr if nobody signs in"},
		{OperatorGroup, "drain", "0", number(&s.Operator.Drain, "SECONDS", time.Second, 0, 3600),
			"how many seconds calls are still taken after `serve` is told to stop, while /readyz says so; 5 behind a balancer"},
		{NotifyGroup, "notify", "", secret(list(&s.Notify.Targets, "URLS", notify.Parse)),
			"addresses, with commas, that are told when a list waits for you, is finished or was left open: ntfy://ntfy.sh/TOPIC, a webhook of Slack or Discord, or another https:// address"},
		{NotifyGroup, "notify-texts", "false", boolean(&s.Notify.Texts),
			"notices also have the title of the list, and what its agent asks or waits for"},
	}
}

// maxShown is how many characters of a bad line or value an error shows.
const maxShown = 100

// Collect fills each setting from its flag, else from a variable that is not empty, the config file or the default. The
// error names each invalid value, its origin and what is allowed; such a setting keeps its default.
func (s *Settings) Collect(env Env) error {
	// These bounds are not settings. An agent that begins 1000 lists a day is out of control. Lists unchanged for an
	// hour may be dropped when room is short; finished lists are deleted 90 days after their last change.
	s.Keep.Begun, s.Keep.Abandoned, s.Keep.Finished = 1000, time.Hour, 90*24*time.Hour
	named := cmp.Or(s.File, env.Getenv("TODO_CONFIG"))
	s.File = cmp.Or(named, configFile(env.Getenv))
	file, err := s.readConfig(named != "")
	if err != nil {
		s.Wrong = append(s.Wrong, err)
	}
	for _, row := range s.Rows {
		_ = row.use(row.Def)
		line, inFile := file[row.Name]
		switch variable := env.Getenv(row.Variable()); {
		case row.From != "":
		case variable != "":
			row.Value, row.From = variable, "environment"
		case inFile:
			row.Value, row.From = line, s.File
		default:
			continue
		}
		if err := row.use(row.Value); err != nil {
			shown := ""
			if !row.Secret {
				shown = " " + strconv.Quote(todo.Cut(row.Value, maxShown))
			}
			s.Wrong = append(s.Wrong, fmt.Errorf("setting %s%s (%s): %w", row.Name, shown, row.From, err))
			row.From = ""
		}
	}
	return errors.Join(s.Wrong...)
}

// readConfig returns the values in the config file by setting name. A missing file is an error if mustExist is true.
func (s *Settings) readConfig(mustExist bool) (map[string]string, error) {
	data, err := os.ReadFile(s.File)
	if !mustExist && (s.File == "" || errors.Is(err, fs.ErrNotExist)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read config file: %w", err)
	}
	values := make(map[string]string)
	for n, line := range strings.Split(string(asutf8.Bytes(data)), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || !slices.ContainsFunc(s.Rows, func(row *Setting) bool { return row.Name == name }) {
			return values, fmt.Errorf("config file %s line %d: %q is not a setting; lines are NAME = VALUE, named as the flags in `todo-mcp help`",
				s.File, n+1, todo.Cut(name, maxShown))
		}
		values[name] = strings.TrimSpace(value)
	}
	return values, nil
}

// configFile returns the default path of the config file, or "" without XDG_CONFIG_HOME, APPDATA and HOME.
func configFile(getenv func(string) string) string {
	base := cmp.Or(getenv("XDG_CONFIG_HOME"), getenv("APPDATA"))
	if home := getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".config")
	}
	if base == "" {
		return ""
	}
	return filepath.Join(base, "todo-mcp", "config")
}

// kind is the type of a setting's value.
type kind struct {
	Placeholder string             // stands for the value in help; "bool": the flag alone means true
	Secret      bool               // errors do not quote the value
	Many        bool               // the value is several words with commas between them; the flag may be repeated
	Value, From string             // the user's text; its origin: "flag", "environment", the config file's path, or empty
	set         func(string) error // parses a value and stores it; the error says what is allowed
}

// parsed is a kind that stores the value that the function parse returns.
func parsed[T any](into *T, placeholder string, parse func(string) (T, error)) kind {
	return kind{Placeholder: placeholder, set: func(text string) error {
		value, err := parse(text)
		if err == nil {
			*into = value
		}
		return err
	}}
}

// text is a kind for any text.
func text(into *string, placeholder string) kind {
	return checked(into, placeholder, func(string) error { return nil })
}

// checked is a kind for text that the function check accepts.
func checked(into *string, placeholder string, check func(string) error) kind {
	return parsed(into, placeholder, func(text string) (string, error) { return text, check(text) })
}

func secret(k kind) kind {
	k.Secret = true
	return k
}

// number is a kind for whole numbers between the bounds least and most. It stores the number times unit.
func number[T ~int | ~int64](into *T, placeholder string, unit T, least, most int) kind {
	return parsed(into, placeholder, func(text string) (T, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return T(n) * unit, nil
	})
}

func boolean(into *bool) kind {
	return parsed(into, "bool", func(text string) (bool, error) {
		b, err := strconv.ParseBool(text)
		if err != nil {
			err = errors.New("must be true or false")
		}
		return b, err
	})
}

// word is a kind for one of the allowed words.
func word[T ~string](into *T, allowed ...T) kind {
	var words []string
	for _, w := range allowed {
		words = append(words, string(w))
	}
	return parsed(into, "WORD", func(text string) (T, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("must be %s", strings.Join(words, " or "))
		}
		return T(text), nil
	})
}

// list is a kind for words with commas between them. parse parses each word; empty words do not count.
func list[T any](into *[]T, placeholder string, parse func(word string) (T, error)) kind {
	k := parsed(into, placeholder, func(text string) (all []T, err error) {
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word == "" {
				continue
			}
			one, err := parse(word)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		if len(all) == 0 {
			return nil, errors.New("must name one, or several with commas")
		}
		return all, nil
	})
	k.Many = true
	return k
}

// checkStore returns nil for a location that [store.Locate] accepts.
func checkStore(text string) error {
	_, err := store.Locate(text, nil) // the environment matters only for an empty location
	return err
}

func checkAddress(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err == nil && port != "" {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" {
		return errors.New("must be an address with a port, such as 127.0.0.1:8765, or :8765 for every interface")
	}
	return nil
}

// checkURL returns nil for an https URL without user, query and fragment. http is allowed only for this machine: on a
// network, others could read the requests and answer for the server.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be an address such as https://todo.example.com")
	}
	if u.Scheme == "http" && !edge.IsLoopback(u.Host) {
		return errors.New("must be an https address where it is not on this machine")
	}
	return nil
}

// parsePublicURL parses the base URL of the server. It trims slashes at the end, and refuses the path /mcp.
func parsePublicURL(text string) (string, error) {
	text, err := strings.TrimRight(text, "/"), checkURL(text)
	if err == nil && strings.HasSuffix(text, "/mcp") {
		err = errors.New("must be an address such as https://todo.example.com, without the path /mcp below it")
	}
	return text, err
}

func parseTool(name string) (string, error) { return name, server.CheckPublish(name) }

func parseOrigin(origin string) (string, error) {
	return origin, http.NewCrossOriginProtection().AddTrustedOrigin(origin)
}

// parseHost parses a Host header's name, without a port.
func parseHost(word string) (string, error) {
	host := strings.Trim(strings.ToLower(word), "[]")
	if _, err := netip.ParseAddr(host); err != nil && strings.ContainsAny(host, ":/*?#@%[] ") {
		return "", errors.New("must be names of hosts with commas, such as todo.example.com, without scheme, port and path; * stands for none")
	}
	return host, nil
}

// widestNetwork is the least prefix length of a network of trusted proxies. Private networks have 7 or more. A wider
// network would include clients, who could then forge X-Forwarded-For.
const widestNetwork = 7

// parseNetwork parses a network; a bare address is a /32 or /128.
func parseNetwork(word string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(word)
	if ip, alone := netip.ParseAddr(word); alone == nil {
		p, err = ip.Prefix(ip.BitLen())
	}
	if err != nil {
		return p, errors.New("must be addresses or networks with commas, such as 10.0.0.0/8")
	}
	if p.Bits() < widestNetwork {
		return p, fmt.Errorf("%s is too wide: name the networks of the proxies alone, such as 10.0.0.0/8", p)
	}
	return p.Masked(), nil
}

var (
	commandWord = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
	quoted      = regexp.MustCompile(`"([^"]*)"|'([^']*)'`)
)

// SplitCommandLine splits a command line at spaces outside quotes. A backslash is an ordinary character, as in C:\x.
func SplitCommandLine(text string) (parts []string, err error) {
	if strings.TrimSpace(commandWord.ReplaceAllString(text, "")) != "" {
		return nil, fmt.Errorf("%q: a quotation mark is not closed", text)
	}
	for _, word := range commandWord.FindAllString(text, -1) {
		parts = append(parts, quoted.ReplaceAllString(word, "${1}${2}"))
	}
	return parts, nil
}

// WordFlag adds a flag whose value must be one of the words.
func WordFlag(fs *flag.FlagSet, name, def, usage string, words ...string) *string {
	value := def
	fs.Func(name, usage, word(&value, words...).set)
	fs.Lookup(name).DefValue = def
	return &value
}
