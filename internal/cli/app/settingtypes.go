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

// kind is how the value of a setting is written and read.
type kind struct {
	Placeholder string   // stands for the value in help; "bool": the flag alone means true
	Words       []string // the values there are, if they are few
	Secret      bool     // errors do not quote the value
	Many        bool     // the flag may be there several times, each with more of the value
	Value, From string   // as the user wrote it, and where: "flag", "environment" or the config file
	// set parses a value and stores it; the error says what is allowed.
	set func(string) error
}

// parsed is the kind whose values are stored as parse returns them.
func parsed[T any](into *T, placeholder string, parse func(string) (T, error)) kind {
	return kind{Placeholder: placeholder, set: func(text string) error {
		value, err := parse(text)
		if err == nil {
			*into = value
		}
		return err
	}}
}

// text is the kind of the texts for which every check returns nil.
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

// number is the kind of the whole numbers from least to most, stored as so many units.
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

// word is the kind of the allowed words.
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

// words returns the parts of a text between commas, without surrounding white space;
// empty parts are left out.
func words(text string) (parts []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// list is the kind of the words for which check returns nil.
func list(into *[]string, check func([]string) error) kind {
	return many(parsed(into, "NAMES", func(text string) ([]string, error) { return words(text), check(words(text)) }))
}

// each returns what reads the words of a text, each as parse does.
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

// checkStore returns nil for a place that [store.Locate] accepts.
func checkStore(text string) error {
	_, err := store.Locate(text, nil) // needs the environment only for an empty place
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

// checkURL returns nil for an https address without a user and a query, or an http
// address of this machine: what comes over http from elsewhere anybody on the way can read
// and answer for.
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

// parsePublicURL reads the address below which all is served, /mcp too, and returns it
// without a slash at its end.
func parsePublicURL(text string) (string, error) {
	text, err := strings.TrimRight(text, "/"), checkURL(text)
	if err == nil && strings.HasSuffix(text, "/mcp") {
		err = errors.New("must be an address such as https://todo.example.com, without the path /mcp below it")
	}
	return text, err
}

// parseHost reads a host as a Host header names it, but without a port.
func parseHost(word string) (string, error) {
	host := strings.Trim(strings.ToLower(word), "[]")
	if _, err := netip.ParseAddr(host); err != nil && strings.ContainsAny(host, ":/*?#@%[] ") {
		return "", errors.New("must be names of hosts with commas, such as todo.example.com, without scheme, port and path; * stands for none")
	}
	return host, nil
}

// widestNetwork is how many bits of an address a network of proxies has at least. Private
// networks have 7 or more: a wider one has everybody, who could say for whom they call.
const widestNetwork = 7

// parseNetwork reads a network, or an address as the network of it alone.
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

// SplitCommandLine splits a command line at spaces. Double or single quotes keep
// a part with spaces together; a backslash is a character like any other, since
// paths on Windows have them.
func SplitCommandLine(text string) (parts []string, err error) {
	if strings.TrimSpace(commandWord.ReplaceAllString(text, "")) != "" {
		return nil, fmt.Errorf("%q: a quotation mark is not closed", text)
	}
	for _, word := range commandWord.FindAllString(text, -1) {
		parts = append(parts, quoted.ReplaceAllString(word, "${1}${2}"))
	}
	return parts, nil
}

// WordFlag adds a flag whose value is one of some words.
func WordFlag(fs *flag.FlagSet, name, def, usage string, words ...string) *string {
	value := def
	fs.Func(name, usage, word(&value, words...).set)
	fs.Lookup(name).DefValue = def
	return &value
}
