package run

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A pipe is read without waiting in the system, and afterwards is again as others who
// have it open expect it. Anything else is used as it is.
func TestPolled(t *testing.T) {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	in, out := os.NewFile(uintptr(ends[0]), "in"), os.NewFile(uintptr(ends[1]), "out")
	defer in.Close()
	waits := func() bool {
		flags, err := unix.FcntlInt(in.Fd(), unix.F_GETFL, 0)
		if err != nil {
			t.Fatal(err)
		}
		return flags&unix.O_NONBLOCK == 0
	}
	file, done := polled[io.Reader](in)
	if file == io.Reader(in) || waits() {
		t.Error("a pipe is read as it is")
	}
	if _, err := out.WriteString("message"); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if got, err := io.ReadAll(file); err != nil || string(got) != "message" {
		t.Errorf("read %q, %v", got, err)
	}
	if done(); !waits() {
		t.Error("others who have the pipe open do not wait any more")
	}
	regular, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer regular.Close()
	if same, _ := polled[io.Writer](regular); same != io.Writer(regular) {
		t.Error("a file is not used as it is")
	}
}
