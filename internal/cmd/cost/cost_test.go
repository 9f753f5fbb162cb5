//go:build linux

package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	_ "github.com/todo-mcp/todo-mcp/internal/cli" // so that go test runs these tests again when the program changes
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/cmd/page"
	"github.com/todo-mcp/todo-mcp/internal/programtest"
	"github.com/todo-mcp/todo-mcp/tools"
)

var (
	update = flag.Bool("update", false, "rewrite the parts of documents that need no npm")
	binary = "" // the path of the program, which is built for the tests
)

func TestMain(m *testing.M) { os.Exit(programtest.Run(m, &binary, &programtest.Table{})) }

var root = filepath.Join("..", "..", "..")

// The documents have the current costs of the program's own texts: when the texts change, the documents must change.
func TestDocuments(t *testing.T) {
	m := checktest.Must(newMeter())(t)
	measured := checktest.Must(os.ReadFile(filepath.Join(root, results)))(t)
	_, peers, err := page.Section{Name: "peers"}.Put(string(measured))
	checktest.Check(t, err)
	documents := checktest.Must(m.own(binary, peers))(t)
	for _, name := range tools.Names() {
		checktest.Has(t, "docs/cost.md", documents[ourCosts][2].Text, "`"+name+"`")
	}
	for path, sections := range documents {
		holds(t, filepath.Join(root, path), sections)
	}
}

func holds(t *testing.T, path string, sections []page.Section) {
	t.Helper()
	if *update {
		checktest.Check(t, page.Write(path, sections))
	}
	data := checktest.Must(os.ReadFile(path))(t)
	for _, s := range sections {
		_, was, err := s.Put(string(data))
		checktest.Check(t, err)
		if diff := cmp.Diff(was, s.Text); diff != "" {
			t.Errorf("%s of %s changed (-want +got), run with -update if it should:\n%s", s.Name, filepath.Base(path), diff)
		}
	}
}

// The server knows each client for which the function instructed returns yes or no.
func TestInstructedClientsAreKnown(t *testing.T) {
	found := map[string]int{}
	for _, known := range clients.All() {
		found[instructed(known.Prefixes[0])]++
	}
	if found["yes"] != 4 || found["no"] != 2 {
		t.Errorf("%v", found)
	}
}

// countSyncs counts each sync that began between two times, once.
func TestCountSyncs(t *testing.T) {
	trace := []byte(`17 100.000001 fsync(3) = 0
17 100.500000 fdatasync(4 <unfinished ...>
18 100.600000 fsync(5) = 0
17 100.700000 <... fdatasync resumed>) = 0
17 100.800000 +++ exited with 0 +++
17 101.000000 fsync(3) = 0
`)
	if got := countSyncs(trace, time.UnixMilli(100_200), time.UnixMilli(101_000)); got != "2" {
		t.Errorf("%s syncs", got)
	}
}
