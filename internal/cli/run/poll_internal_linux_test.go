package run

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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

// A write that is under way when the stream is given back ends, and does not wait for
// a client that reads no more.
func TestPolledEndsWhileWriting(t *testing.T) {
	for range 200 {
		in, end, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		end.Fd() // makes it wait, as standard output does
		file, done := polled[io.Writer](end)
		reading := make(chan struct{})
		go func() { // begins to read, and stops in the middle
			for n := range 100 {
				in.Read(make([]byte, 4096))
				if n == 10 {
					close(reading)
				}
			}
		}()
		go file.Write(make([]byte, 1<<20))
		<-reading
		ended := make(chan struct{})
		go func() { done(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(3 * time.Second):
			t.Error("it waits for the client")
			in.Close()
			<-ended
			return
		}
		in.Close()
		end.Close()
	}
}
