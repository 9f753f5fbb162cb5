package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"todo-mcp/internal/store"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/edge"
	"todo-mcp/tools"
)

// This file has the kinds of settings. A kind's parse function returns an error
// that says what is allowed.

func identity(text string) string { return text }

// text returns the kind of any text.
func text() kind[string] {
	return checked(func(string) error { return nil })
}

// checked returns the kind of the texts for which check returns nil.
func checked(check func(string) error) kind[string] {
	return kind[string]{placeholder: "TEXT", Parse: func(v string) (string, error) { return v, check(v) }, format: identity}
}

// number returns the kind of the whole numbers from 0 to most.
func number(most int) kind[int] { return Between(0, most) }

// Between returns the kind of the whole numbers from least to most.
func Between(least, most int) kind[int] {
	return kind[int]{placeholder: "N", format: strconv.Itoa, Parse: func(v string) (int, error) {
		n, err := strconv.Atoi(v)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		return n, nil
	}}
}

// units returns the kind of the values from least to most units, written as a number
// of them, such as the durations that are written as a number of seconds.
func units[T ~int64](placeholder string, unit T, least, most int) kind[T] {
	n := Between(least, most)
	return kind[T]{
		placeholder: placeholder,
		format:      func(v T) string { return n.format(int(v / unit)) },
		Parse: func(v string) (T, error) {
			count, err := n.Parse(v)
			return T(count) * unit, err
		},
	}
}

func boolean() kind[bool] {
	return kind[bool]{isSwitch: true, format: strconv.FormatBool, Parse: func(v string) (bool, error) {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return false, errors.New("must be true or false")
		}
		return b, nil
	}}
}

// oneOf returns the kind of the allowed words.
func oneOf[T ~string](allowed ...T) kind[T] {
	words := make([]string, len(allowed))
	for i, word := range allowed {
		words[i] = string(word)
	}
	return kind[T]{
		placeholder: "WORD", words: words,
		format: func(v T) string { return string(v) },
		Parse:  func(v string) (T, error) { return T(v), IsOneOf(T(v), allowed...) },
	}
}

// IsOneOf returns nil if v is one of the allowed words, else an error that
// lists them.
func IsOneOf[T ~string](v T, allowed ...T) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	var words []string
	for _, word := range allowed {
		words = append(words, string(word))
	}
	return fmt.Errorf("must be %s", strings.Join(words, " or "))
}

// words returns the kind of the lists of words that are separated by commas.
func words() kind[[]string] {
	return kind[[]string]{
		placeholder: "NAMES",
		format:      func(v []string) string { return strings.Join(v, ",") },
		Parse:       func(v string) ([]string, error) { return splitWords(v), nil },
	}
}

// splitWords returns the parts of v between commas, without surrounding white
// space; empty parts are left out.
func splitWords(v string) []string {
	var out []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// toolNames returns the kind of the lists of tools to publish.
func toolNames() kind[[]string] {
	k := words()
	k.words = append([]string{"auto", "all"}, tools.Names()...)
	k.Parse = func(v string) ([]string, error) {
		names := splitWords(v)
		return names, server.CheckPublish(names)
	}
	return k
}

// hostNames returns the kind of the lists of host names; parse converts them to
// lower case.
func hostNames() kind[[]string] {
	k := words()
	k.Parse = func(v string) ([]string, error) { return splitWords(strings.ToLower(v)), nil }
	return k
}

// origins is a list of origins as browsers send them.
func origins() kind[[]string] {
	k := words()
	k.Parse = func(v string) ([]string, error) {
		names := splitWords(v)
		return names, edge.CheckOrigins(names)
	}
	return k
}

func logLevel() kind[slog.Level] {
	names := oneOf("debug", "info", "warn", "error")
	return kind[slog.Level]{
		placeholder: names.placeholder, words: names.words,
		format: func(l slog.Level) string { return strings.ToLower(l.String()) },
		Parse: func(v string) (level slog.Level, err error) {
			if _, err := names.Parse(v); err != nil {
				return level, err
			}
			return level, level.UnmarshalText([]byte(v))
		},
	}
}

// listName returns the kind of the names of lists, or empty.
func listName() kind[string] {
	return checked(func(v string) error {
		if v == "" {
			return nil
		}
		return todo.CheckName(v)
	}).named("NAME")
}

// storePlace returns the kind of the places that [store.Locate] accepts; empty
// means the default file.
func storePlace() kind[string] {
	return checked(func(v string) error {
		if v == "" {
			return nil
		}
		_, err := store.Locate(v, nil) // needs the environment only for an empty place
		return err
	}).named("STORE")
}

// address returns the kind of the addresses with a port, of which an error shows an
// example, or empty if mayBeEmpty.
func address(mayBeEmpty bool, example string) kind[string] {
	return checked(func(v string) error {
		if _, port, err := net.SplitHostPort(v); (v != "" || !mayBeEmpty) && (err != nil || port == "") {
			return errors.New("must be an address with a port, such as " + example)
		}
		return nil
	}).named("ADDRESS")
}

// webAddress returns the kind of the http and https addresses without a user and a
// query, or empty. withPath is whether they may have a path.
func webAddress(withPath bool) kind[string] {
	return checked(func(v string) error {
		if v == "" {
			return nil
		}
		u, err := url.Parse(v)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && !withPath {
			return errors.New("must be an address such as https://todo.example.com")
		}
		return nil
	}).named("URL")
}

// networks returns the kind of the lists of addresses and networks.
func networks() kind[[]netip.Prefix] {
	return kind[[]netip.Prefix]{
		placeholder: "NETWORKS",
		format:      func([]netip.Prefix) string { return "" }, // the default is none
		Parse: func(v string) (out []netip.Prefix, err error) {
			for _, word := range splitWords(v) {
				p, err := netip.ParsePrefix(word)
				if ip, alone := netip.ParseAddr(word); alone == nil {
					p, err = ip.Prefix(ip.BitLen())
				}
				if err != nil {
					return nil, errors.New("must be addresses or networks with commas, such as 10.0.0.0/8")
				}
				out = append(out, p.Masked())
			}
			return out, nil
		},
	}
}
