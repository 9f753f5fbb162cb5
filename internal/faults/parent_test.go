//go:build e2e && linux

package faults

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// piped is a server on stdio that a shell starts with its pipe as 3 and 4. The other ends stay
// with the test, as with another child of the client.
type piped struct {
	*testing.T
	shell *exec.Cmd
	home  string
	in    *os.File
	out   *bufio.Reader
}

func startPiped(t *testing.T, script string) piped {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inW.Close(); outR.Close() })
	p := piped{t, exec.Command("sh", "-c", script, program), t.TempDir(), inW, bufio.NewReader(outR)}
	p.shell.Dir, p.shell.Env = p.home, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	p.shell.ExtraFiles = []*os.File{inR, outW}
	_ = outR.SetReadDeadline(time.Now().Add(time.Minute))
	if err := p.shell.Start(); err != nil {
		t.Fatal(err)
	}
	inR.Close()
	outW.Close()
	return p
}

// asks sends requests, one after the other, each of which is answered.
func (p piped) asks(requests ...string) {
	p.Helper()
	for _, request := range requests {
		_, err := p.in.WriteString(request + "\n")
		answer, readErr := p.out.ReadString('\n')
		if err != nil || readErr != nil || !strings.Contains(answer, `"result"`) {
			p.Fatalf("%s: %s, %v, %v", request, answer, err, readErr)
		}
	}
}

// plan begins a list.
func (p piped) plan() {
	p.Helper()
	p.asks(servertest.Initialize(1, "tester"), servertest.Call(2, "TodoWrite", servertest.Todos("pending", "A")))
}

// ends checks that the server ends, and leaves its list open. It returns what was written before.
func (p piped) ends() (said string) {
	p.Helper()
	for {
		line, err := p.out.ReadString('\n')
		said += line
		if err != nil && err.Error() != "EOF" {
			p.Fatal(err)
		}
		if err != nil {
			break
		}
	}
	lists := exec.Command(program, "lists")
	lists.Dir, lists.Env = p.home, p.shell.Env
	if shown, err := lists.CombinedOutput(); err != nil || !strings.Contains(string(shown), "left open") {
		p.Errorf("%v: %s", err, shown)
	}
	return said
}

// BAD-INPUT 164: a client that is killed while another process holds its end of the pipe leaves
// no server behind; a launcher that ends, a session of its own and nohup do not end one.
func TestServerEndsWithItsClient(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		p := startPiped(t, `"$0" stdio <&3 >&4 & exec sleep 1000`)
		p.plan()
		_ = p.shell.Process.Kill()
		_ = p.shell.Wait()
		if said := p.ends(); !strings.Contains(said, `"method":"ping"`) {
			t.Errorf("it says %q", said)
		}
	})
	for name, script := range map[string]string{
		"exec": `exec "$0" stdio <&3 >&4`, "a launcher": `"$0" stdio <&3 >&4 &`,
		"a session": `setsid "$0" stdio <&3 >&4 &`, "nohup": `nohup "$0" stdio <&3 >&4 2>nohup.err & echo $! >pid`,
	} {
		t.Run(name, func(t *testing.T) {
			p := startPiped(t, script)
			if name != "exec" {
				if err := p.shell.Wait(); err != nil {
					t.Fatal(err)
				}
			}
			p.plan()
			if pid, err := os.ReadFile(filepath.Join(p.home, "pid")); err == nil {
				number, _ := strconv.Atoi(strings.TrimSpace(string(pid)))
				if err := syscall.Kill(number, syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
			}
			p.asks(servertest.Call(3, "TaskList", "{}"))
			p.in.Close()
			p.ends()
		})
	}
	t.Run("a launcher that ends later", func(t *testing.T) {
		p := startPiped(t, `"$0" stdio <&3 >&4 & exec sleep 1000`)
		p.plan()
		_ = p.shell.Process.Kill()
		_ = p.shell.Wait()
		if asked, err := p.out.ReadString('\n'); !strings.Contains(asked, `"method":"ping"`) {
			t.Fatal(asked, err)
		}
		p.asks(`{"jsonrpc":"2.0","id":"todo-mcp-ping","result":{}}`+"\n"+servertest.Call(3, "TaskList", "{}"), servertest.Call(4, "TaskList", "{}"))
		p.in.Close()
		p.ends()
	})
	t.Run("SIGHUP", func(t *testing.T) {
		// A program that these tests start ignores the signal if they were started so, as by nohup.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		defer signal.Reset(syscall.SIGHUP)
		p := startPiped(t, `exec "$0" stdio <&3 >&4`)
		p.plan()
		_ = p.shell.Process.Signal(syscall.SIGHUP)
		p.ends()
		if err := p.shell.Wait(); err != nil {
			t.Error(err)
		}
	})
}
