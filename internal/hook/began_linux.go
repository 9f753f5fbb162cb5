package hook

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// clock returns when this process began, to a hundredth of a second, and the time now.
// Processes that a host starts at once come to their first line in another order. Both are
// up to half a second off, in all processes alike: the system tells the one since it was
// started, and nobody reads two clocks at once.
func clock() (began, now time.Time) {
	now = time.Now()
	stat, err := os.ReadFile("/proc/self/stat")
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	var up unix.Timespec
	if err != nil || len(fields) < 20 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return now, now
	}
	const ticks = 100 // a second, on every architecture
	start, err := strconv.ParseInt(string(fields[19]), 10, 64)
	if err != nil {
		return now, now
	}
	started := time.Now().Add(-time.Duration(up.Nano())).Round(time.Second) // of the system
	return started.Add(time.Duration(start) * (time.Second / ticks)), started.Add(time.Duration(up.Nano()))
}
