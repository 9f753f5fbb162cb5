//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// runCommands prints a table of the time and memory that commands take on a store.
func runCommands(program, file, folder string) error {
	// A new process's peak memory includes that of its parent, so this process resets its own.
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return err
	}
	exported := filepath.Join(folder, "all.ndjson")
	fmt.Println("\n| command | ms | MB |\n|---|---:|---:|")
	for _, c := range []string{"version", "show", "lists", "lists --all", "lists --state open", "lists --search Deploy", "lists --search zebra",
		"today", "doctor --addr 127.0.0.1:0", "prune --dry-run", "check", "backup " + filepath.Join(folder, "copy.db"), "export", "import " + exported} {
		store := file
		if strings.HasPrefix(c, "import") {
			store = filepath.Join(folder, "new.db")
		}
		cmd := exec.Command(program, append(strings.Fields(c), "--store", "sqlite:"+store)...)
		if c == "version" {
			cmd = exec.Command(program, c)
		}
		cmd.Env = append(os.Environ(), "HOME="+folder)
		if c == "export" {
			out, err := os.Create(exported)
			if err != nil {
				return err
			}
			defer out.Close()
			cmd.Stdout = out
		}
		var failed strings.Builder
		cmd.Stderr = &failed
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w\n%.500s", c, err, failed.String())
		}
		took := time.Since(began)
		name, _, _ := strings.Cut(c, " "+folder)
		fmt.Printf("| %s | %d | %d |\n", name, took.Milliseconds(), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss>>10)
	}
	return nil
}

// serve prints the time and memory that a server on a store takes to start and to send the board and /api/lists.
func serve(program, file, folder string) error {
	cmd := exec.Command(program, "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+file)
	cmd.Env = append(os.Environ(), "HOME="+folder)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()         //nolint:errcheck // it is killed
	defer cmd.Process.Kill() //nolint:errcheck // it may have ended
	lines, url := bufio.NewScanner(out), ""
	for url == "" && lines.Scan() {
		url = regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text())
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // until it is killed
	fmt.Println("\n| serve | ms | kB sent | MB in use |\n|---|---:|---:|---:|")
	for _, path := range []string{"/readyz", "/", "/", "/api/lists"} {
		res, err := http.Get(url + path)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s, %w", path, res.Status, err)
		}
		took := time.Since(began)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			return err
		}
		var kB int
		if found := regexp.MustCompile(`VmRSS:\s+(\d+)`).FindSubmatch(status); found != nil {
			fmt.Sscan(string(found[1]), &kB) //nolint:errcheck // digits
		}
		fmt.Printf("| %s | %d | %d | %d |\n", path, took.Milliseconds(), n>>10, kB>>10)
		began = time.Now()
	}
	return nil
}
