package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server"
	"todo-mcp/server/edge"
	"todo-mcp/tools"
)

// settings is what the table fills in.
type settings struct {
	tools    tools.Options
	publish  []string
	guidance prompts.Guidance
	prompts  string
	list     string
	store    string
	addr     string
	hosts    []string
	origins  []string
	keys     []string
	secret   string
	logLevel string
	keep     todo.Keep
	token    string

	// source says where each value came from, by name.
	source map[string]string
}

// setting is one row of the table: flag --name, variable TODO_NAME, line
// "name = value" of the config file.
type setting struct {
	name   string
	def    string
	help   string
	group  group
	isBool bool
	secret bool // its value is never shown
	// set checks a value and keeps it; the error says what is allowed.
	set func(*settings, string) error
}

// group says which commands a setting matters to.
type group int

const (
	storeGroup group = iota
	listGroup
	toolGroup
	serverGroup
	httpGroup
)

// variable is the environment variable of a setting.
func (s setting) variable() string {
	return "TODO_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// table is every setting there is.
func table() []setting {
	return []setting{
		{name: "store", group: storeGroup, def: "", help: "where lists are kept: memory, sqlite:PATH; empty is a file in the state directory",
			set: func(s *settings, v string) error { s.store = v; return nil }},
		{name: "keep-revisions", group: storeGroup, def: "1000", help: "how many revisions of a list are kept; 0 is all",
			set: func(s *settings, v string) (err error) {
				s.keep.Revisions, err = number(v, 1_000_000)
				return err
			}},
		{name: "keep-days", group: storeGroup, def: "0", help: "how many days revisions are kept, the newest always; 0 is for ever",
			set: func(s *settings, v string) error {
				days, err := number(v, 36_500)
				s.keep.Age = time.Duration(days) * 24 * time.Hour
				return err
			}},
		{name: "max-lists", group: storeGroup, def: "100000", help: "how many lists there may be; 0 is any number",
			set: func(s *settings, v string) (err error) {
				s.keep.Lists, err = number(v, 100_000_000)
				return err
			}},
		{name: "list", group: listGroup, def: "", help: "name of the list to use, for good; empty finds it by conversation",
			set: func(s *settings, v string) error { s.list = v; return optionalName(v) }},
		{name: "max-items", group: toolGroup, def: "50", help: "most items TodoWrite takes; 0 is the hard cap of 1000",
			set: func(s *settings, v string) (err error) {
				s.tools.MaxItems, err = number(v, todo.MaxItems)
				return err
			}},
		{name: "max-content-length", group: toolGroup, def: "200", help: "most characters of a TodoWrite text; 0 is the hard cap of 4000",
			set: func(s *settings, v string) (err error) {
				s.tools.MaxContentLength, err = number(v, todo.MaxText)
				return err
			}},
		{name: "in-progress", group: toolGroup, def: "reject", help: "several items in progress in TodoWrite and write_todos: reject, demote (keep the last) or allow",
			set: func(s *settings, v string) error {
				s.tools.InProgress = tools.Policy(v)
				return oneOf(v, "reject", "demote", "allow")
			}},
		{name: "item-ids", group: toolGroup, def: "false", isBool: true, help: "show item ids in TodoWrite's schema and results",
			set: func(s *settings, v string) (err error) { s.tools.ItemIDs, err = boolean(v); return err }},
		{name: "duplicates", group: toolGroup, def: "allow", help: "repeated titles in SetTodoList: allow or reject",
			set: func(s *settings, v string) error {
				s.tools.RejectDuplicates = v == "reject"
				return oneOf(v, "allow", "reject")
			}},
		{name: "transitions", group: toolGroup, def: "forward", help: "which way update_todo moves: forward or free",
			set: func(s *settings, v string) error {
				s.tools.FreeTransitions = v == "free"
				return oneOf(v, "forward", "free")
			}},
		{name: "lang", group: toolGroup, def: "en", help: "language of the plan: en, zh or vi",
			set: func(s *settings, v string) error { s.tools.Language = v; return oneOf(v, prompts.Languages()...) }},
		{name: "list-argument", group: toolGroup, def: "false", isBool: true, help: "show the list_id argument in schemas",
			set: func(s *settings, v string) (err error) { s.tools.ListArgument, err = boolean(v); return err }},
		{name: "guidance", group: toolGroup, def: "short", help: "how much tool descriptions say: short or long",
			set: func(s *settings, v string) error { s.guidance = prompts.Guidance(v); return oneOf(v, "short", "long") }},
		{name: "prompts", group: toolGroup, def: "", help: "folder of your own guidance texts, TOOL.md each",
			set: func(s *settings, v string) error { s.prompts = v; return nil }},
		{name: "tools", group: serverGroup, def: "auto", help: "tools to offer: auto (by client), all, or names with commas",
			set: func(s *settings, v string) error { s.publish = commas(v); return server.CheckPublish(s.publish) }},
		{name: "conversation-keys", group: serverGroup, def: "", help: "more _meta fields that carry a conversation id, with commas",
			set: func(s *settings, v string) error { s.keys = commas(v); return nil }},
		{name: "log-level", group: serverGroup, def: "warn", help: "what is logged to stderr: debug, info, warn or error",
			set: func(s *settings, v string) error { s.logLevel = v; return oneOf(v, "debug", "info", "warn", "error") }},
		{name: "addr", group: httpGroup, def: "127.0.0.1:8765", help: "address to listen on; only loopback ones",
			set: func(s *settings, v string) error { s.addr = v; return loopback(v) }},
		{name: "allowed-hosts", group: httpGroup, def: "", help: "more Host names to answer to, with commas",
			set: func(s *settings, v string) error { s.hosts = commas(strings.ToLower(v)); return nil }},
		{name: "allowed-origins", group: httpGroup, def: "", help: "origins of pages that may call, with commas (https://host)",
			set: func(s *settings, v string) error { s.origins = commas(v); return nil }},
		{name: "token", group: watchGroup, def: "", secret: true, help: "bearer token that `watch --server` sends",
			set: func(s *settings, v string) error { s.token = v; return nil }},
		{name: "session-key", group: httpGroup, def: "", secret: true, help: "secret that signs session ids, 32 characters or more; empty makes a key file",
			set: func(s *settings, v string) error {
				if s.secret = v; v != "" && len(v) < 32 {
					return errors.New("must have 32 characters or more")
				}
				return nil
			}},
	}
}

func optionalName(v string) error {
	if v == "" {
		return nil
	}
	return todo.CheckName(v)
}

func number(v string, most int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("must be a whole number from 0 to %d", most)
	}
	return n, nil
}

func boolean(v string) (bool, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

func oneOf(v string, allowed ...string) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	return fmt.Errorf("must be %s", strings.Join(allowed, " or "))
}

func commas(v string) []string {
	var out []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// loopback refuses addresses that others can reach: there is no authentication
// yet, and everybody's lists would be theirs (BAD-INPUT 15).
func loopback(v string) error {
	if !strings.Contains(v, ":") || !edge.IsLoopback(v) {
		return errors.New("must be a loopback address with a port, such as 127.0.0.1:8765: without authentication nothing else is safe")
	}
	return nil
}

// layers are where values come from, the weightiest first.
type layer struct {
	name   string
	values map[string]string
}

// load fills in the settings. The error names the setting, where the bad value
// came from, and what is allowed.
func load(layers []layer) (*settings, error) {
	s := &settings{tools: tools.Defaults(), source: make(map[string]string)}
	for _, row := range table() {
		value, from := row.def, "default"
		for _, l := range layers {
			if v, ok := l.values[row.name]; ok {
				value, from = v, l.name
				break
			}
		}
		s.source[row.name] = from
		if err := row.set(s, value); err != nil {
			shown := " " + strconv.Quote(value)
			if row.secret {
				shown = ""
			}
			return nil, fmt.Errorf("setting %s%s (%s): %w", row.name, shown, from, err)
		}
	}
	return s, nil
}

// fromEnvironment reads the variables that are set.
func fromEnvironment(getenv func(string) string) layer {
	l := layer{name: "environment", values: make(map[string]string)}
	for _, row := range table() {
		if v := getenv(row.variable()); v != "" {
			l.values[row.name] = v
		}
	}
	return l
}

// fromFile reads a config file; one that need not exist may be missing.
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
			return l, fmt.Errorf("config file %s line %d: %q is no setting; lines are NAME = VALUE, names as the flags of `todo-mcp help`", path, n, name)
		}
		l.values[name] = strings.TrimSpace(value)
	}
	return l, lines.Err()
}

// configFile is where the config file is looked for when none is named; empty
// when the user has no such place.
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
