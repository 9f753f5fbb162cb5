//go:build linux

// Command cost measures how much of a model's context a todo list takes: the tool's description, the plans that the
// model writes and the answers that it reads. It measures this in each known client, and for other servers from npm. It
// also measures how fast all these servers start and write, and their memory. The results go into tables of documents.
//
//	cost [-runs N] ROOT PROGRAM PEERS
//
// ROOT is the folder of the repository: the sections between marks are replaced in docs/cost.md, docs/compare.md,
// README.md and RESULTS.md beside this program. PROGRAM is the todo-mcp binary. PEERS is the folder in which npm
// installed the other servers. Command cost needs Linux.
package main

import (
	"errors"
	"flag"
	"fmt"
	"github.com/todo-mcp/todo-mcp/internal/cmd/page"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	runs := flag.Int("runs", 7, "how often each time is measured; the tables have the medians")
	flag.Parse()
	if flag.NArg() != 3 {
		fmt.Fprintln(os.Stderr, "usage: cost [flags] ROOT PROGRAM PEERS")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), flag.Arg(2), *runs); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// The documents, by their path in the repository.
var (
	ourCosts = filepath.Join("docs", "cost.md")
	results  = filepath.Join("internal", "cmd", "cost", "RESULTS.md")
	compare  = filepath.Join("docs", "compare.md")
	readme   = "README.md"
)

// run measures everything and writes it into the documents.
func run(root, program, peers string, runs int) error {
	m, err := newMeter()
	if err != nil {
		return err
	}
	// Servers run in other folders, so they need absolute paths.
	program, err1 := filepath.Abs(program)
	peers, err2 := filepath.Abs(peers)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	beside, err := m.beside(program, peers, runs)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(beside, func(s page.Section) bool { return s.Name == "peers" })
	sections, err := m.own(program, beside[at].Text)
	if err != nil {
		return err
	}
	sections[results] = append(beside, sections[results]...)
	var errs []error
	for path, s := range sections {
		errs = append(errs, page.Write(filepath.Join(root, path), s))
	}
	return errors.Join(errs...)
}
