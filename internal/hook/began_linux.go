package hook

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// clock returns when this process began, to a hundredth of a second, and the time now.
// Processes that a host starts at once come to their first line in another order. Both are
// up to half a second off, in all processes alike: the system tells the one since it was
// started, and nobody reads two clocks at once.
func clock() (began, now time.Time) {
	now = time.Now()
	start, err := start()
	var up unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return now, now
	}
	started := time.Now().Add(-time.Duration(up.Nano())).Round(time.Second) // of the system
	return started.Add(start), started.Add(time.Duration(up.Nano()))
}

// start returns how long after the system this process began. It is read once: an emulator
// tells each thread another one.
var start = sync.OnceValues(func() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if err != nil || len(fields) < 20 {
		return 0, errors.Join(err, io.ErrUnexpectedEOF)
	}
	const ticks = 100 // a second, on every architecture
	n, err := strconv.ParseInt(string(fields[19]), 10, 64)
	return time.Duration(n) * (time.Second / ticks), err
})
