package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/internal/process"
)

func TestMain(m *testing.M) {
	if os.Getenv("SAY_HOST") != "" {
		fmt.Println(process.Host())
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // waits until the test ends
		return
	}
	os.Exit(m.Run())
}

// child starts this test program through a command, and returns the host that the program prints.
func child(t *testing.T, name string, args ...string) (host string, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "SAY_HOST=1")
	in, err := cmd.StdinPipe()
	checktest.Check(t, err)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	checktest.Check(t, err)
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	checktest.Check(t, err)
	return strings.TrimSpace(line), cmd
}

// A process's host is the process that started it, directly or through shells. IsAlive is true for a host until the
// host is killed, and false for an id with the same process number but another start time.
func TestHostIsTheProcessPastShells(t *testing.T) {
	own := process.ID(os.Getpid())
	if own == "" {
		t.Fatal("no process is known here")
	}
	if host, _ := child(t, os.Args[0]); host != own {
		t.Errorf("started by %q: %q", own, host)
	}
	if runtime.GOOS != "windows" {
		script := `"` + os.Args[0] + `"; true`
		if host, _ := child(t, "sh", "-c", script); host != own {
			t.Errorf("started by a shell of %q: %q", own, host)
		}
		if host, _ := child(t, "env", "sh", "-c", "sh -c '"+script+"'; true"); host != own {
			t.Errorf("started by a shell of a shell of %q: %q", own, host)
		}
	}
	_, cmd := child(t, os.Args[0])
	host := process.ID(cmd.Process.Pid)
	if is, isKnown := process.IsAlive(host); !is || !isKnown {
		t.Error("a process that runs is not alive")
	}
	checktest.Check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if is, isKnown := process.IsAlive(host); is || !isKnown {
		t.Errorf("a process that was killed: alive %v, known %v", is, isKnown)
	}
	if is, isKnown := process.IsAlive(own + "0"); is || !isKnown {
		t.Errorf("a process of the same number that started at another time: alive %v, known %v", is, isKnown)
	}
}

// IsAlive knows neither a process of another machine nor a text that is no id.
func TestProcessesOfElsewhereAreNotKnown(t *testing.T) {
	own := process.ID(os.Getpid())
	for _, id := range []string{"", "/1/1", "elsewhere" + own, "x/y/z", own[:strings.LastIndex(own, "/")], own + "/1", "../../etc/1/1", own + "\x00", strings.Repeat("9", 99)} {
		if is, isKnown := process.IsAlive(id); is || isKnown {
			t.Errorf("%.60q: alive %v, known %v", id, is, isKnown)
		}
	}
}
