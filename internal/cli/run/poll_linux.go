package run

import (
	"os"

	"golang.org/x/sys/unix"
)

// polled returns a stream as a file whose reads and writes wait in the runtime's
// poller, and done, which must be called when it is not used any more. Else each
// would keep one of the few places where goroutines run, until the runtime's monitor
// takes it away, and every call has several. It returns the stream itself if that is
// neither a pipe nor a socket: a terminal is not this program's alone. Stream is an
// io.Reader or an io.Writer.
func polled[Stream any](stream Stream) (file Stream, done func()) {
	f, ok := any(stream).(*os.File)
	if !ok {
		return stream, func() {}
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return stream, func() {}
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0) // the file closes its own
	if err != nil {
		return stream, func() {}
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = unix.Close(fd)
		return stream, func() {}
	}
	own := os.NewFile(uintptr(fd), f.Name())
	return any(own).(Stream), func() {
		own.Close()                                       // before the next, after which a write under way would wait for its reader
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags) // as who else has it open knows it
	}
}
