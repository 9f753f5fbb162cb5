package process

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// readPlace returns the id of the boot: process numbers mean nothing after another boot.
func readPlace() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid") // without it, no process has an id
	return id
}

// read asks the system for the info of a process. It returns [os.ErrNotExist] if there is no such process.
func read(pid int) (p info, err error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid { // if there is no process, the call returns zeros
		return p, os.ErrNotExist
	}
	const zombie = 5
	return info{int(k.Eproc.Ppid), k.Proc.P_starttime.Nano(), unix.ByteSliceToString(k.Proc.P_comm[:]), k.Proc.P_stat != zombie}, nil
}

// command returns the first argument of a process; empty if there is none.
func command(pid int) string {
	data, _ := unix.SysctlRaw("kern.procargs2", pid)
	args := strings.FieldsFunc(string(data[min(4, len(data)):]), func(r rune) bool { return r == 0 })
	if len(args) < 3 { // the program's path comes first
		return ""
	}
	return args[2]
}
