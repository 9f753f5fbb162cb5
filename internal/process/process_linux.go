package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// readPlace returns the id of the boot and of the namespace of process numbers.
func readPlace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, wrong := os.Readlink("/proc/self/ns/pid")
	if err != nil || wrong != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "-" + strings.Trim(strings.TrimPrefix(space, "pid:"), "[]")
}

// read asks the system for the info of a process. It returns [os.ErrNotExist] if there is no such process.
func read(pid int) (p info, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, err
	}
	from, to := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	fields := strings.Fields(string(data[to+1:]))
	if from < 0 || to < from || len(fields) < 20 {
		return p, errors.New("of another form than proc(5) says")
	}
	p.name, p.lives = string(data[from+1:to]), !strings.Contains("ZX", fields[0])
	if p.parent, err = strconv.Atoi(fields[1]); err == nil {
		p.start, err = strconv.ParseInt(fields[19], 10, 64)
	}
	return p, err
}

// command returns the first argument of a process; empty if there is none.
func command(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if args := strings.Split(string(data), "\x00"); len(args) > 1 {
		return args[1]
	}
	return ""
}
