//go:build unix

package cli

import (
	"os"
	"syscall"
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
	fd, err := syscall.Dup(int(f.Fd())) // the file closes its own
	if err != nil {
		return stream, func() {}
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return stream, func() {}
	}
	own := os.NewFile(uintptr(fd), f.Name())
	return any(own).(Stream), func() {
		_ = syscall.SetNonblock(int(f.Fd()), false) // for who has it open, too
		own.Close()
	}
}
