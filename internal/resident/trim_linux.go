package resident

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// trim gives back the pages of the program's file. Pages that are not as the file has them
// would be lost, as where a loader filled in addresses or a debugger stops the program: a part
// of the file with such pages is left alone, and all of a file that was removed or replaced.
func trim() {
	file, err := os.Readlink("/proc/self/exe")
	if err != nil || strings.HasSuffix(file, " (deleted)") {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	var from, to uintptr // where the part of the file is that the lines are about; 0 where they are not
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		line := lines.Text()
		name, value, _ := strings.Cut(line, ":")
		switch {
		case strings.HasSuffix(line, " "+file):
			var may string
			if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &may); n < 3 || may[1] == 'w' {
				to = 0
			}
		case to == 0:
		case (name == "Anonymous" || name == "Swap") && strings.TrimSpace(value) != "0 kB":
			to = 0
		case name == "VmFlags": // the last line of a part
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
			to = 0
		}
	}
}
