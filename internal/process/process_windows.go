package process

import (
	"errors"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// readPlace returns the id of the machine; a process's start time distinguishes boots.
func readPlace() string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Cryptography`, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer key.Close()
	id, _, _ := key.GetStringValue("MachineGuid") // without it, no process has an id
	return id
}

// open calls ask with the handle of a process; it returns [os.ErrNotExist] if there is no such process.
func open(pid int, ask func(windows.Handle) error) error {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return os.ErrNotExist
	} else if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return ask(h)
}

// read asks the system for the info of a process. It returns [os.ErrNotExist] if there is no such process.
func read(pid int) (p info, err error) {
	err = open(pid, func(h windows.Handle) error {
		var began, ended, kernel, user windows.Filetime
		if err := windows.GetProcessTimes(h, &began, &ended, &kernel, &user); err != nil {
			return err
		}
		event, err := windows.WaitForSingleObject(h, 0)
		p.start, p.lives = began.Nanoseconds(), event == uint32(windows.WAIT_TIMEOUT)
		if err != nil {
			return err
		}
		var basic windows.PROCESS_BASIC_INFORMATION
		if err := windows.NtQueryInformationProcess(h, windows.ProcessBasicInformation, unsafe.Pointer(&basic), uint32(unsafe.Sizeof(basic)), nil); err != nil {
			return err
		}
		p.parent = int(basic.InheritedFromUniqueProcessId)
		path := make([]uint16, windows.MAX_LONG_PATH)
		size := uint32(len(path))
		err = windows.QueryFullProcessImageName(h, 0, &path[0], &size)
		p.name = filepath.Base(windows.UTF16ToString(path[:size]))
		return err
	})
	return p, err
}

// command returns the first argument of a process; empty if there is none.
func command(pid int) (first string) {
	_ = open(pid, func(h windows.Handle) error { // on error first stays empty
		line := make([]windows.NTUnicodeString, 8<<10)
		size := uint32(len(line)) * uint32(unsafe.Sizeof(line[0]))
		if err := windows.NtQueryInformationProcess(h, windows.ProcessCommandLineInformation, unsafe.Pointer(&line[0]), size, nil); err != nil {
			return err
		}
		args, err := windows.DecomposeCommandLine(line[0].String())
		if err == nil && len(args) > 1 {
			first = args[1]
		}
		return err
	})
	return first
}
