package app

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/store"
	"github.com/todo-mcp/todo-mcp/server/edge"
)

// kind is the type of a setting's value.
type kind struct {
	Placeholder string             // stands for the value in help; "bool": the flag alone means true
	Words       []string           // the allowed values, if they are few
	Secret      bool               // errors do not quote the value
	Many        bool               // the flag may be repeated; the values are joined with commas
	Value, From string             // as the user wrote it, and where: "flag", "environment" or the config file
	set         func(string) error // parses a value and stores it; the error says what is allowed
}

// parsed is a kind that stores what parse returns.
func parsed[T any](into *T, placeholder string, parse func(string) (T, error)) kind {
	return kind{Placeholder: placeholder, set: func(text string) error {
		value, err := parse(text)
		if err == nil {
			*into = value
		}
		return err
	}}
}

// text is a kind for text that passes all checks.
func text(into *string, placeholder string, checks ...func(string) error) kind {
	return parsed(into, placeholder, func(text string) (string, error) {
		for _, check := range checks {
			if err := check(text); err != nil {
				return "", err
			}
		}
		return text, nil
	})
}

func secret(k kind) kind {
	k.Secret = true
	return k
}

func many(k kind) kind {
	k.Many = true
	return k
}

// number is a kind for whole numbers from least to most, stored as a multiple of unit.
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
	k := parsed(into, "WORD", func(text string) (T, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("must be %s", strings.Join(words, " or "))
		}
		return T(text), nil
	})
	k.Words = words
	return k
}

// words splits a text at commas, trims white space and drops empty parts.
func words(text string) (parts []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// list is a kind for words, which check accepts or rejects together.
func list(into *[]string, check func([]string) error) kind {
	return many(parsed(into, "NAMES", func(text string) ([]string, error) { return words(text), check(words(text)) }))
}

// each returns a function that splits a text into words and parses each.
func each[T any](parse func(word string) (T, error)) func(text string) ([]T, error) {
	return func(text string) (all []T, err error) {
		for _, word := range words(text) {
			one, err := parse(word)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	}
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

// checkURL returns nil for an https URL without user and query. http is allowed only for this machine: on a
// network, others could read it and answer in its place.
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

// parsePublicURL parses the base URL of the server, below which all is served, and trims slashes at its end.
func parsePublicURL(text string) (string, error) {
	text, err := strings.TrimRight(text, "/"), checkURL(text)
	if err == nil && strings.HasSuffix(text, "/mcp") {
		err = errors.New("must be an address such as https://todo.example.com, without the path /mcp below it")
	}
	return text, err
}

// parseHost parses a Host header's name, without a port.
func parseHost(word string) (string, error) {
	host := strings.Trim(strings.ToLower(word), "[]")
	if _, err := netip.ParseAddr(host); err != nil && strings.ContainsAny(host, ":/*?#@%[] ") {
		return "", errors.New("must be names of hosts with commas, such as todo.example.com, without scheme, port and path; * stands for none")
	}
	return host, nil
}

// widestNetwork is the least prefix length of a proxies' network. Private networks have 7 or more. A wider one
// would include clients, who could then forge X-Forwarded-For.
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
		return p, fmt.Errorf("%s has more than proxies in it: name their own networks, such as 10.0.0.0/8", p)
	}
	return p.Masked(), nil
}

var (
	commandWord = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
	quoted      = regexp.MustCompile(`"([^"]*)"|'([^']*)'`)
)

// SplitCommandLine splits a command line at spaces. Single or double quotes keep spaces. A backslash is an
// ordinary character: paths on Windows have them.
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
