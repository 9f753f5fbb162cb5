//go:build e2e && linux

package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/chattest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 49
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store", "todos.db")
	var acks journal
	var kills atomic.Int64
	enough := size(300, 10_000)
	began := time.Now()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			w := newWriter(fmt.Sprint("w", i))
			for acks.Len() < enough {
				if err := writeUntilKilled(t, path, fmt.Sprint("list-", i/2), w, &acks, enough); err != nil {
					t.Error(err)
					return
				}
				kills.Add(1)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	_, lost := checkStore(t, t.TempDir(), nil, path, acks.Acks)
	report.Add(t, row{
		Fault: "kill -9", Tried: "4 processes on one file, 2 on each list, killed while they write",
		Times: fmt.Sprintf("%d kills", kills.Load()), Acknowledged: acks.Len(), Lost: lost,
		Notes: fmt.Sprintf("revisions dense, file whole; %.0f writes/s", float64(acks.Len())/took.Seconds()),
	})
}

// writeUntilKilled starts a process that writes a list, and kills it at a random
// moment: after some answers, and then some time into the next call.
func writeUntilKilled(t *testing.T, path, list string, w *writer, acks *journal, enough int) error {
	a, err := newAgent(t, "--store", "sqlite:"+path, "--list", list)
	if err != nil {
		return err
	}
	defer a.Kill()
	for n := rand.IntN(size(20, 80)); acks.Len() < enough; n-- {
		if n == 0 {
			moment := time.AfterFunc(time.Duration(rand.IntN(12_000))*time.Microsecond, func() { _ = a.Cmd.Process.Kill() })
			defer moment.Stop()
		}
		done, err := w.write(a.Chat)
		if errors.Is(err, chattest.ErrGone) && n <= 0 {
			return nil
		}
		if err != nil {
			return err
		}
		acks.Add(done)
	}
	return nil
}

// D5: agents of processes on stdio and over HTTP, on one file, share the steps of a list. What the
// agent has whose process is killed, another one takes.
func TestClaims(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "todos.db")
	var chats []*chattest.Chat
	var mortal *agent
	for range 3 {
		a := must(newAgent(t, "--store", store, "--list", "work"))(t)
		chats, mortal = append(chats, a.Chat), a
	}
	for range 2 {
		s := mustServe(t, "--store", store)
		chats = append(chats, s.session(t, "work"), s.session(t, "work"))
	}
	calls := chattest.Claims(t, chats, size(40, 400))
	report.Add(t, row{Fault: "claims at once", Tried: "7 agents of 5 processes take, do and give back steps of one list", Acknowledged: calls,
		Notes: "linearizable, checked by porcupine"})
	const left, take = `{"taskId":"1","status":"pending","owner":""}`, `{"taskId":"1","status":"in_progress","owner":"another"}`
	mortal.Does("TaskUpdate", left)
	mortal.Does("TaskUpdate", `{"taskId":"1","status":"in_progress","owner":"who is killed"}`)
	chats[0].Calls("TaskUpdate", take).Fails(`taken by "who is killed"`)
	mortal.Kill()
	for {
		a, err := try(chats[0], "TaskUpdate", take)
		if err == nil {
			a.Says("Updated task #1")
			return
		}
		if chats[0].Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

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
	check(t, err)
	outR, outW, err := os.Pipe()
	check(t, err)
	t.Cleanup(func() { inW.Close(); outR.Close() })
	p := piped{t, exec.Command("sh", "-c", script, program), t.TempDir(), inW, bufio.NewReader(outR)}
	p.shell.Dir, p.shell.Env = p.home, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	p.shell.ExtraFiles = []*os.File{inR, outW}
	_ = outR.SetReadDeadline(time.Now().Add(time.Minute))
	check(t, p.shell.Start())
	inR.Close()
	outW.Close()
	return p
}

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

func (p piped) plan() {
	p.Helper()
	p.asks(servertest.Initialize(1, "tester"), servertest.Call(2, "TodoWrite", servertest.Todos("pending", "A")))
}

// ends checks that the server ends, and leaves its list open. It returns what was written before.
func (p piped) ends() (said string) {
	p.Helper()
	said = string(must(io.ReadAll(p.out))(p))
	lists := exec.Command(program, "lists")
	lists.Dir, lists.Env = p.home, p.shell.Env
	if shown, err := lists.CombinedOutput(); err != nil || !strings.Contains(string(shown), "left open") {
		p.Errorf("%v: %s", err, shown)
	}
	return said
}

// BAD-INPUT 164: a client that is killed while another process holds its end of the pipe leaves
// no server behind; a launcher that ends and nohup do not end one.
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
	t.Run("a launcher, nohup", func(t *testing.T) {
		p := startPiped(t, `nohup "$0" stdio <&3 >&4 2>nohup.err & echo $! >pid`)
		check(t, p.shell.Wait())
		p.plan()
		pid := must(strconv.Atoi(strings.TrimSpace(string(must(os.ReadFile(filepath.Join(p.home, "pid")))(t)))))(t)
		check(t, syscall.Kill(pid, syscall.SIGHUP))
		p.asks(servertest.Call(3, "TaskList", "{}"))
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
		check(t, p.shell.Wait())
	})
}
