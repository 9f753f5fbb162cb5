//go:build linux

// Command cost measures what a todo list costs a model: how much of its context
// the tool's description, the plans that it writes and the answers that it reads
// take, in each known client and beside other servers from npm. Of all servers it
// also measures how fast they start and write, and their memory. It writes the
// tables of a document.
//
//	cost [-runs N] DOCUMENT PROGRAM PEERS
//
// DOCUMENT is docs/cost.md, of which what stands between marks is replaced, and so
// is the table of tools in README.md.
// PROGRAM is the todo-mcp binary. PEERS is the folder in which npm installed the
// others. It needs Linux.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"todo-mcp/internal/cmd/page"
)

func main() {
	runs := flag.Int("runs", 7, "how often each time is measured; the tables have the medians")
	flag.Parse()
	if flag.NArg() != 3 {
		fmt.Fprintln(os.Stderr, "usage: cost [flags] DOCUMENT PROGRAM PEERS")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), flag.Arg(2), *runs); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// readmeOf returns the path of README, which has some of what a document in docs has.
func readmeOf(document string) string {
	return filepath.Join(filepath.Dir(document), "..", "README.md")
}

// run measures everything and writes it into a document, and some of it into README.
func run(document, program, peers string, runs int) error {
	m, err := newMeter()
	if err != nil {
		return err
	}
	// Servers run in folders of their own.
	program, err1 := filepath.Abs(program)
	peers, err2 := filepath.Abs(peers)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	sections, readme, err := m.own(program)
	if err != nil {
		return err
	}
	beside, err := m.beside(program, peers, runs)
	if err != nil {
		return err
	}
	return errors.Join(page.Write(document, append(sections, beside...)), page.Write(readmeOf(document), readme))
}
