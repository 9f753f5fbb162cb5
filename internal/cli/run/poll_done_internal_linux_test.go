package run

import (
	"io"
	"os"
	"testing"
	"time"
)

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
