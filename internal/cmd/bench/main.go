//go:build linux

// Command bench measures todo-mcp beside two floors. The same calls go, in turn, to a bare server of the library that
// todo-mcp is built on (mcp-go), to one that also keeps each plan as a row of SQLite on the disk, and to todo-mcp with
// lists in memory and in SQLite. The command also measures starts and hooks, for which a person waits, and the memory
// of servers at rest.
//
// A server has one core and its clients another, where the machine has two. The figure to compare is the CPU time of a
// server for a call (user and system, as the kernel counts it), which depends little on other work of the machine.
// Rates and latencies depend on that work.
//
//	bench [-time D] [-rounds N] [-only TEXT] [-beside OTHER] PROGRAM [DOCUMENT]
//
// PROGRAM is the todo-mcp binary. The tables replace the ones in DOCUMENT, internal/cmd/bench/RESULTS.md; without
// DOCUMENT they are written to standard output. OTHER, an earlier build of todo-mcp, is measured in the same rounds.
// Command bench needs Linux.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "nothing" { // startRows measures the start of a program with the libraries alone
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "bare" {
		exit(serveFloor(os.Args[2], nil))
	}
	if len(os.Args) == 4 && os.Args[1] == "row" {
		save, err := saver(os.Args[3])
		if err != nil {
			exit(err)
		}
		exit(serveFloor(os.Args[2], save))
	}
	o := options{}
	flag.DurationVar(&o.time, "time", 2*time.Second, "for how long each server is measured in a round")
	flag.IntVar(&o.rounds, "rounds", 3, "how many rounds; the table has their medians")
	flag.StringVar(&o.only, "only", "", "measure only rows whose name contains this")
	flag.StringVar(&o.beside, "beside", "", "another build of the program, which is measured, too")
	flag.Parse()
	if flag.NArg() < 1 || flag.NArg() > 2 {
		fmt.Fprintln(os.Stderr, "usage: bench [flags] PROGRAM [DOCUMENT]")
		os.Exit(2)
	}
	o.program, o.document = flag.Arg(0), flag.Arg(1)
	exit(run(o))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// options has the flags and arguments of the command line.
type options struct {
	program  string
	document string // empty for standard output
	time     time.Duration
	rounds   int
	only     string
	beside   string // another build of program, or empty
}

// programs returns the builds that are measured.
func (o options) programs() []string {
	if o.beside == "" {
		return []string{o.program}
	}
	return []string{o.program, o.beside}
}
