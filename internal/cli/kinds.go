package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"todo-mcp/internal/store"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
	"todo-mcp/server/edge"
)

// This file has the kinds of settings: what each accepts. Errors say what is
// allowed.

func asItIs(text string) string { return text }

func text() kind[string] {
	return checked(func(string) error { return nil })
}

// checked is a text that a check accepts.
func checked(check func(string) error) kind[string] {
	return kind[string]{parse: func(v string) (string, error) { return v, check(v) }, format: asItIs}
}

// number is a whole number from 0 to most.
func number(most int) kind[int] {
	return kind[int]{format: strconv.Itoa, parse: func(v string) (int, error) {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > most {
			return 0, fmt.Errorf("must be a whole number from 0 to %d", most)
		}
		return n, nil
	}}
}

// days is a duration in whole days.
func days(most int) kind[time.Duration] {
	const day = 24 * time.Hour
	n := number(most)
	return kind[time.Duration]{
		format: func(d time.Duration) string { return n.format(int(d / day)) },
		parse: func(v string) (time.Duration, error) {
			count, err := n.parse(v)
			return time.Duration(count) * day, err
		},
	}
}

func boolean() kind[bool] {
	return kind[bool]{isSwitch: true, format: strconv.FormatBool, parse: func(v string) (bool, error) {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return false, errors.New("must be true or false")
		}
		return b, nil
	}}
}

// either is one of two words for false and true.
func either(no, yes string) kind[bool] {
	return kind[bool]{
		format: func(b bool) string {
			if b {
				return yes
			}
			return no
		},
		parse: func(v string) (bool, error) { return v == yes, isOneOf(v, no, yes) },
	}
}

// oneOf is one of some words.
func oneOf[T ~string](allowed ...T) kind[T] {
	return kind[T]{
		format: func(v T) string { return string(v) },
		parse:  func(v string) (T, error) { return T(v), isOneOf(T(v), allowed...) },
	}
}

func isOneOf[T ~string](v T, allowed ...T) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	var words []string
	for _, word := range allowed {
		words = append(words, string(word))
	}
	return fmt.Errorf("must be %s", strings.Join(words, " or "))
}

// words is a list with commas.
func words() kind[[]string] {
	return kind[[]string]{
		format: func(v []string) string { return strings.Join(v, ",") },
		parse:  func(v string) ([]string, error) { return splitWords(v), nil },
	}
}

func splitWords(v string) []string {
	var out []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// toolNames is a list of tools to publish.
func toolNames() kind[[]string] {
	k := words()
	k.parse = func(v string) ([]string, error) {
		names := splitWords(v)
		return names, server.CheckPublish(names)
	}
	return k
}

// hostNames is a list of host names, in lower case.
func hostNames() kind[[]string] {
	k := words()
	k.parse = func(v string) ([]string, error) { return splitWords(strings.ToLower(v)), nil }
	return k
}

func logLevel() kind[slog.Level] {
	names := oneOf("debug", "info", "warn", "error")
	return kind[slog.Level]{
		format: func(l slog.Level) string { return strings.ToLower(l.String()) },
		parse: func(v string) (level slog.Level, err error) {
			if _, err := names.parse(v); err != nil {
				return level, err
			}
			return level, level.UnmarshalText([]byte(v))
		},
	}
}

// listName is the name of a list, or empty.
func listName() kind[string] {
	return checked(func(v string) error {
		if v == "" {
			return nil
		}
		return todo.CheckName(v)
	})
}

// storePlace is a place for lists; empty is the platform's.
func storePlace() kind[string] {
	return checked(func(v string) error {
		if v == "" {
			return nil
		}
		_, err := store.Locate(v, nil) // the environment matters to the empty place alone
		return err
	})
}

// loopbackAddress refuses addresses that others can reach: there is no
// authentication yet, and everybody's lists would be theirs (BAD-INPUT 15).
func loopbackAddress() kind[string] {
	return checked(func(v string) error {
		if !strings.Contains(v, ":") || !edge.IsLoopback(v) {
			return errors.New("must be a loopback address with a port, such as 127.0.0.1:8765: without authentication nothing else is safe")
		}
		return nil
	})
}

// secretText is empty, or at least some characters long.
func secretText(least int) kind[string] {
	return checked(func(v string) error {
		if v != "" && len(v) < least {
			return fmt.Errorf("must have %d characters or more", least)
		}
		return nil
	})
}
