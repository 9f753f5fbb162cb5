package process

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// readPlace returns the id of the machine's start.
func readPlace() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid") // of one that has none no process is known
	return id
}

// read reads what is known of a process; [os.ErrNotExist] for none.
func read(pid int) (p info, err error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid { // of none it returns nothing
		return p, os.ErrNotExist
	}
	const zombie = 5
	return info{int(k.Eproc.Ppid), k.Proc.P_starttime.Nano(), unix.ByteSliceToString(k.Proc.P_comm[:]), k.Proc.P_stat != zombie}, nil
}

// command returns the first argument of a process; empty for none.
func command(pid int) string {
	data, _ := unix.SysctlRaw("kern.procargs2", pid)
	args := strings.FieldsFunc(string(data[min(4, len(data)):]), func(r rune) bool { return r == 0 })
	if len(args) < 3 { // the path of the program is before them
		return ""
	}
	return args[2]
}
