package resident

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The process is made smaller once while a read waits, and not for reads that follow each
// other.
func TestReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		var rests atomic.Int32
		r := newReader(from, func() { rests.Add(1) })
		read := func(after time.Duration, want int32) {
			t.Helper()
			go func() {
				time.Sleep(after)
				io.WriteString(to, "x")
			}()
			if _, err := r.Read(make([]byte, 1)); err != nil || rests.Load() != want {
				t.Errorf("read after %v: rested %d times, want %d; %v", after, rests.Load(), want, err)
			}
		}
		for range 5 {
			read(rest-time.Second, 0)
		}
		read(time.Hour, 1)
		read(time.Second, 1)
		time.Sleep(time.Hour) // nobody reads: a call is handled
		read(time.Hour, 2)
	})
}
