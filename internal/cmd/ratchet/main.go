// Command ratchet counts things that may only shrink in this repository: lines, packages, bytes, words, and the
// functions that run in a call of the server. It prints each count beside its limit in testdata/ratchet.txt. It ends
// non-zero if a count is over its limit, or so far below that the limit must be lowered.
//
//	ratchet [-lower] ROOT [FOLDER]
//
// ROOT is the repository. -lower lowers each limit that is above its count. The functions of each call are written to
// FOLDER. ratchet counts functions only if it was built for that purpose by `make functions`, which `make test` runs;
// `go run -C internal/cmd ./ratchet ../..` counts the rest in a second. ratchet is not a Go test, because `go test`
// would not run it again when only files outside of its module changed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strings"
)

func main() {
	lower := flag.Bool("lower", false, "write lower limits where a number is below its limit")
	flag.Parse()
	if flag.NArg() < 1 || flag.NArg() > 2 {
		fmt.Fprintln(os.Stderr, "usage: ratchet [-lower] ROOT [FOLDER]")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), *lower); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, folder string, lower bool) error {
	counts, err := countTree(root)
	if info, missing := os.Stat(filepath.Join(root, "bin", "stripped")); err == nil && missing == nil {
		counts["binary"] = int(info.Size()+999) / 1000
	}
	if err == nil && coverage.ClearCounters() == nil {
		err = addCalls(counts, root, folder)
	}
	if err != nil {
		return err
	}
	file := filepath.Join(root, "testdata", "ratchet.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	limits, err := parse(string(text))
	if err != nil {
		return err
	}
	var wrong error
	limited := make(map[string]bool)
	for _, l := range limits {
		limited[l.name] = true
		if count, ok := counts[l.name]; ok {
			fmt.Printf("   %-14s %8d   limit %8d   aim %8s\n", l.name, count, l.limit, l.aim)
			if !lower || count > l.limit {
				wrong = errors.Join(wrong, l.judge(count))
			}
		}
	}
	for name := range counts {
		if !limited[name] {
			wrong = errors.Join(wrong, fmt.Errorf("testdata/ratchet.txt has no limit for %s", name))
		}
	}
	if lower {
		wrong = errors.Join(wrong, os.WriteFile(file, []byte(lowered(string(text), limits, counts)), 0o644))
	}
	return wrong
}

// addCalls counts the functions that run in each call, and lists them by call in folder, unless folder is empty.
func addCalls(counts map[string]int, root, folder string) error {
	passed, err := countCalls(root)
	if err != nil {
		return err
	}
	if folder != "" {
		err = os.MkdirAll(folder, 0o755)
	}
	for name, functions := range passed {
		counts[name] = len(functions)
		if folder != "" && err == nil {
			err = os.WriteFile(filepath.Join(folder, name+".txt"), []byte(listing(functions)), 0o644)
		}
	}
	return err
}

// listing returns functions as text, grouped by package.
func listing(functions []function) string {
	var b strings.Builder
	pkg := ""
	for _, f := range functions {
		if f.pkg != pkg {
			pkg = f.pkg
			fmt.Fprintf(&b, "%s\n", pkg)
		}
		fmt.Fprintf(&b, "\t%s\n", f.name)
	}
	return b.String()
}
