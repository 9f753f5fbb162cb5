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

	"github.com/todo-mcp/todo-mcp/internal/checktest"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// storePath is the path of the store on a disk. Its three folders do not exist on a fresh account.
const storePath = "a/b/c/todos.db"

// BAD-INPUT 49: kill -9 or loss of power while writing, also in a new folder → Every acknowledged revision is there,
// without gaps: each commit and the store's folders are synced first
func TestPowerLoss(t *testing.T) {
	if why := canMount(t); why != "" {
		notRun(t, "power loss", why)
		return
	}
	for _, c := range []struct {
		name, tried string
		rounds      int // each with a new disk
		losses      int // power losses of each disk
		most        int // the latest change at which the power may go
	}{
		{"fresh account", "power goes while the store and 3 folders above it are made", size(4, 150), 2, 600},
		{"store in use", "power goes while 2 processes write, again and again on one disk", size(1, 15), size(3, 20), 900},
	} {
		t.Run(c.name, func(t *testing.T) {
			total := row{Fault: "power loss, " + c.name, Tried: c.tried, Times: fmt.Sprintf("%d losses", c.rounds*c.losses)}
			for round := range c.rounds {
				random := rand.New(rand.NewPCG(uint64(round), 49))
				d, acks := newDisk(), journal{}
				writers := []*writer{newWriter("w0"), newWriter("w1")}
				for range c.losses {
					l := luck{[]float64{0, 0.5, 0.9, 1}[random.IntN(4)], []int64{512, 4096}[random.IntN(2)], random}
					var lost int
					d, lost = losePower(t, d, l, 1+random.IntN(c.most), writers, &acks)
					if total.Lost += lost; t.Failed() {
						t.Fatalf("round %d, with %s", round, l)
					}
				}
				total.Acknowledged += acks.Len()
			}
			total.Notes = "0 to 100 % of what was not synced survives, in sectors of 512 or 4096 bytes; starts again at once"
			report.Add(t, total)
		})
	}
}

// losePower writes to a disk until the power goes, at the change with a given number. It returns the remaining disk,
// and how many of all acknowledged writes are missing on it.
func losePower(t *testing.T, d *disk, l luck, change int, writers []*writer, acks *journal) (left *disk, lost int) {
	t.Helper()
	writeUntilPowerGoes(t, d, change, writers, acks)
	left = d.afterPowerLoss(l)
	dir := t.TempDir()
	checktest.Check(t, left.root.copyTo(dir))
	path := filepath.Join(dir, storePath)
	_, lost = checkStore(t, t.TempDir(), nil, path, acks.Acks)
	return left, lost
}

func writeUntilPowerGoes(t *testing.T, d *disk, change int, writers []*writer, acks *journal) {
	t.Helper()
	d.dies = change
	m := checktest.Must(mount(t, d))(t)
	defer m.unmount()
	store := "sqlite:" + filepath.Join(m.dir, storePath)
	var all sync.WaitGroup
	for i, w := range writers {
		connect := func() (*agent, error) { return newAgent(t, "--store", store, "--list", "a") }
		if i > 0 {
			connect = func() (*agent, error) { return newVisitor(t, store, "b") }
		}
		all.Go(func() {
			if err := writeWhilePowered(t, d, connect, w, acks); err != nil {
				t.Errorf("with power: %v", err)
				d.cut()
			}
		})
	}
	all.Wait()
}

// writeWhilePowered starts a process and writes with it until the power goes. It returns an error if the start or a
// write fails while there is power.
func writeWhilePowered(t *testing.T, d *disk, connect func() (*agent, error), w *writer, acks *journal) error {
	a, err := connect()
	if d.isDead() {
		return nil
	}
	if err != nil {
		return err
	}
	go func() {
		<-d.dead
		a.Kill()
	}()
	for {
		done, err := w.write(a.Chat)
		switch {
		case err == nil:
			acks.Add(done)
		case d.isDead():
			<-a.Ended
			return nil
		default:
			return err
		}
	}
}

// The check for lost writes finds some on a disk that acknowledges syncs of files, or of folders, without doing them.
// So it would find a program that leaves out these syncs.
func TestPowerLossIsFound(t *testing.T) {
	if why := canMount(t); why != "" {
		notRun(t, "power loss, check of the check", why)
		return
	}
	for name, lies := range map[string]func(folder bool) bool{
		"files":   func(folder bool) bool { return !folder },
		"folders": func(folder bool) bool { return folder },
	} {
		d := newDisk()
		d.liesAbout = lies
		var acks journal
		writeUntilPowerGoes(t, d, 600, []*writer{newWriter("w0")}, &acks)
		dir := t.TempDir()
		checktest.Check(t, d.afterPowerLoss(luck{0, 4096, rand.New(rand.NewPCG(1, 1))}).root.copyTo(dir))
		h, err := export(t, "sqlite:"+filepath.Join(dir, storePath))
		if err != nil {
			h = nil // no store is left
		}
		if lost := h.Lost(acks.Acks); len(lost) == 0 || acks.Len() == 0 {
			t.Errorf("%s not synced: of %d acknowledged writes none is lost: the check is blind", name, acks.Len())
		}
	}
}

// BAD-INPUT 49: after a power loss the lists have each event whose hook had ended before, also on a fresh account.
func TestHookPowerLoss(t *testing.T) {
	if why := canMount(t); why != "" {
		notRun(t, "power loss, hooks", why)
		return
	}
	rounds := size(5, 200)
	total := row{Fault: "power loss, hooks", Tried: "power goes while hooks are told of a plan's changes, and a person looks now and then", Times: fmt.Sprintf("%d losses", rounds)}
	for round := range rounds {
		random := rand.New(rand.NewPCG(uint64(round), 98))
		d := newDisk()
		d.dies = 1 + random.IntN(160)
		told := tellHooks(t, d, random)
		dir := t.TempDir()
		l := luck{[]float64{0, 0.5, 1}[random.IntN(3)], 4096, random}
		checktest.Check(t, d.afterPowerLoss(l).root.copyTo(dir))
		out, err := exec.Command(program, "export", "--store", "sqlite:"+filepath.Join(dir, storePath)).CombinedOutput()
		if err != nil && told > 0 { // if no hook has ended, there may be nothing to export
			t.Fatalf("round %d, with %s: %v: %s", round, l, err, out)
		}
		for n := range told {
			if !strings.Contains(string(out), fmt.Sprintf("Step %d of", n)) {
				total.Lost++
				t.Errorf("round %d, with %s: of %d changes number %d is lost", round, l, told, n)
			}
		}
		total.Acknowledged += told
	}
	report.Add(t, total)
}

// tellHooks runs up to 40 hooks one after the other, each with a change of a plan, until the power goes. It returns how
// many hooks ended while there was power.
func tellHooks(t *testing.T, d *disk, random *rand.Rand) (told int) {
	t.Helper()
	m := checktest.Must(mount(t, d))(t)
	defer m.unmount()
	store := "sqlite:" + filepath.Join(m.dir, storePath)
	for ; told < 40; told++ {
		if tellHook(t, store, told); d.isDead() {
			break
		}
		if random.IntN(8) == 0 {
			_ = exec.Command(program, "lists", "--store", store).Run() // this fails without power
		}
	}
	d.cut()
	return told
}

func tellHook(t *testing.T, store string, n int) {
	t.Helper()
	c := exec.Command(program, "hook", "--store", store)
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	c.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"update_plan",
		"tool_input":{"plan":[{"step":"Write","status":"pending"},{"step":"Step %d of many","status":"pending"}]}}`, n))
	checktest.Check(t, c.Run())
}

// BAD-INPUT 49: when processes on one file are killed again and again while they write, no acknowledged write is lost.
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

// writeUntilKilled starts a process that writes a list, and kills it up to 12 ms after a random number of answers.
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
		if errors.Is(err, servertest.ErrGone) && n <= 0 {
			return nil
		}
		if err != nil {
			return err
		}
		acks.Add(done)
	}
	return nil
}

// D5: agents of processes on stdio and over HTTP share the steps of a list in one file. After an agent's process is
// killed, another agent can take the killed agent's step.
func TestClaims(t *testing.T) {
	store := "sqlite:" + filepath.Join(t.TempDir(), "todos.db")
	var chats []*servertest.Chat
	var mortal *agent
	for range 3 {
		a := checktest.Must(newAgent(t, "--store", store, "--list", "work"))(t)
		chats, mortal = append(chats, a.Chat), a
	}
	for range 2 {
		s := mustServe(t, "--store", store)
		chats = append(chats, s.session(t, "work"), s.session(t, "work"))
	}
	calls := servertest.Claims(t, chats, size(40, 400))
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

// piped is a server on stdio that a shell starts. The shell has the server's ends of two pipes as descriptors 3 and 4.
// The test keeps the other ends open after the shell has ended, as a client does whose launcher has ended.
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
	checktest.Check(t, err)
	outR, outW, err := os.Pipe()
	checktest.Check(t, err)
	t.Cleanup(func() { inW.Close(); outR.Close() })
	p := piped{t, exec.Command("sh", "-c", script, program), t.TempDir(), inW, bufio.NewReader(outR)}
	p.shell.Dir, p.shell.Env = p.home, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	p.shell.ExtraFiles = []*os.File{inR, outW}
	_ = outR.SetReadDeadline(time.Now().Add(time.Minute))
	checktest.Check(t, p.shell.Start())
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

// ends checks that the server ends and that its list then counts as left open.
func (p piped) ends() {
	p.Helper()
	checktest.Must(io.ReadAll(p.out))(p)
	lists := exec.Command(program, "lists")
	lists.Dir, lists.Env = p.home, p.shell.Env
	if shown, err := lists.CombinedOutput(); err != nil || !strings.Contains(string(shown), "left open") {
		p.Errorf("%v: %s", err, shown)
	}
}

// BAD-INPUT 164: On stdio: only the server's launcher ends; SIGHUP → The server goes on; SIGHUP ends it, unless nohup
// started it
func TestServerEndsWithItsClient(t *testing.T) {
	t.Run("a launcher, nohup", func(t *testing.T) {
		p := startPiped(t, `nohup "$0" stdio <&3 >&4 2>nohup.err & echo $! >pid`)
		checktest.Check(t, p.shell.Wait())
		p.plan()
		pid := checktest.Must(strconv.Atoi(strings.TrimSpace(string(checktest.Must(os.ReadFile(filepath.Join(p.home, "pid")))(t)))))(t)
		checktest.Check(t, syscall.Kill(pid, syscall.SIGHUP))
		p.asks(servertest.Call(3, "TaskList", "{}"))
		p.in.Close()
		p.ends()
	})
	t.Run("SIGHUP", func(t *testing.T) {
		// If these tests run under nohup, programs that they start ignore SIGHUP unless the tests handle the signal.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		defer signal.Reset(syscall.SIGHUP)
		p := startPiped(t, `exec "$0" stdio <&3 >&4`)
		p.plan()
		_ = p.shell.Process.Signal(syscall.SIGHUP)
		p.ends()
		checktest.Check(t, p.shell.Wait())
	})
}
