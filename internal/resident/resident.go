// Package resident keeps small what a process that waits has in memory.
package resident

import (
	"io"
	"time"
)

// rest is how long a read waits before the process is made smaller.
const rest = 10 * time.Second

// Reader returns a reader of r. While a read of it waits, the process gives back the pages of
// its own file, which are most of what it has: they are the system's, which gives them to who
// uses them next without reading the disk. A client keeps a server for each of its windows, and
// most of them wait.
func Reader(r io.Reader) io.Reader { return newReader(r, trim) }

type reader struct {
	from io.Reader
	rest *time.Timer
}

func newReader(from io.Reader, atRest func()) *reader {
	r := &reader{from, time.AfterFunc(rest, atRest)}
	r.rest.Stop()
	return r
}

func (r *reader) Read(p []byte) (int, error) {
	r.rest.Reset(rest)
	defer r.rest.Stop()
	return r.from.Read(p)
}
