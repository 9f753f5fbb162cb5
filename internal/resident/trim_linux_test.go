package resident_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"testing"

	_ "todo-mcp/internal/cli" // so that it is as large as the program
	"todo-mcp/internal/resident"
)

// What the process has in memory of its own file goes, and comes back where it is used.
func TestTrim(t *testing.T) {
	file, err1 := os.Executable()
	maps, err2 := os.ReadFile("/proc/self/maps")
	memory, err3 := os.Open("/proc/self/mem")
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	defer memory.Close()
	for line := range bytes.Lines(maps) { // brings all of the file into memory
		var from, to int64
		if _, err := fmt.Sscanf(string(line), "%x-%x", &from, &to); err == nil && bytes.HasSuffix(line, []byte(" "+file+"\n")) {
			if _, err := io.Copy(io.Discard, io.NewSectionReader(memory, from, to-from)); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := ofFiles(t)
	resident.Trim()
	if after := ofFiles(t); after > before/2 {
		t.Errorf("%d kB of files are in memory, %d kB before", after, before)
	}
}

// ofFiles returns how many kB of files the process has in memory.
func ofFiles(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`Pss_File:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no Pss_File in %s", status)
	}
	kB, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kB
}
