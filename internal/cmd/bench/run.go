//go:build linux

package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/cmd/page"
)

func run(o options) error {
	about, err := machine(o)
	if err != nil {
		return err
	}
	var rows [][]string
	waits, err := startRows(o)
	if err != nil {
		return err
	}
	idles := ""
	for _, program := range o.programs() {
		mb, err := idle(program)
		if err != nil {
			return err
		}
		idles += fmt.Sprintf("%s, take %.0f MB together (PSS).\n", named("Ten servers on stdio that rest, each with a list", o, program), mb)
	}
	if runtime.NumCPU() > 1 {
		stayOn(0)
	}
	for _, s := range scenarios {
		if !strings.Contains(s.name, o.only) {
			continue
		}
		of, err := s.rows(o)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		rows = append(rows, of...)
	}
	sections := []page.Section{
		{Name: "machine", Text: about},
		{Name: "calls", Text: page.Table([]string{"", "server", "CPU µs a call:", "of bare:", "of bare + one row:", "saves a call:", "calls/s:", "p50 ms:", "p99 ms:"}, rows)},
		{Name: "waits", Text: page.Table([]string{"", "median ms:", "half of all ms:"}, waits)},
		{Name: "idle", Text: idles},
	}
	if o.document != "" {
		return page.Write(o.document, sections)
	}
	for _, s := range sections {
		fmt.Println(s.Text)
	}
	return nil
}

// machine returns a line with the date, the machine, the versions, and the number and length of rounds.
func machine(o options) (string, error) {
	where, err := page.Machine()
	if err != nil {
		return "", err
	}
	info, err := buildinfo.ReadFile(o.program)
	if err != nil {
		return "", err
	}
	own, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("no build information")
	}
	version := func(path string) string {
		for _, module := range append(info.Deps, own.Deps...) {
			if module.Path == path {
				return module.Version
			}
		}
		return "?"
	}
	return fmt.Sprintf("%s, %s, mcp-go %s, modernc.org/sqlite %s; medians of %d rounds of %s.\n", where, info.GoVersion,
		version("github.com/mark3labs/mcp-go"), version("modernc.org/sqlite"), o.rounds, o.time), nil
}
