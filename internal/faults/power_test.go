//go:build e2e && linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// storePath is where the store of a fresh account is on a disk: three folders that
// are not there yet.
const storePath = "a/b/c/todos.db"

// BAD-INPUT 49: kill -9 or loss of power while writing, also in a new folder → Every acknowledged
// revision is there, without gaps: each commit and the folders above are synced first
func TestPowerLoss(t *testing.T) {
	if why := canMount(t); why != "" {
		notRun(t, "power loss", why)
		return
	}
	for _, c := range []struct {
		name, tried string
		rounds      int // disks
		losses      int // power losses of each
		most        int // the change of a run at which the power goes, at the most
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

// losePower writes to a disk until the power goes at a change of it. It returns the disk that is
// left, and how many of all acknowledged writes are not on it.
func losePower(t *testing.T, d *disk, l luck, change int, writers []*writer, acks *journal) (left *disk, lost int) {
	t.Helper()
	writeUntilPowerGoes(t, d, change, writers, acks)
	left = d.afterPowerLoss(l)
	dir := t.TempDir()
	check(t, left.root.copyTo(dir))
	path := filepath.Join(dir, storePath)
	_, lost = checkStore(t, t.TempDir(), nil, path, acks.Acks)
	// The key of sessions is whole or not there: nobody would replace a part of one.
	if key, err := os.ReadFile(filepath.Join(filepath.Dir(path), "session.key")); err == nil && len(strings.TrimSpace(string(key))) != 64 {
		t.Errorf("the session key has %d characters", len(key))
	}
	return left, lost
}

func writeUntilPowerGoes(t *testing.T, d *disk, change int, writers []*writer, acks *journal) {
	t.Helper()
	d.dies = change
	m := must(mount(t, d))(t)
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

// writeWhilePowered starts a process and writes until the power goes. It returns an
// error for a write that is refused before that.
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

// The check finds it when a disk loses acknowledged writes: of a program that does not sync its
// log, or the names that lead to its store.
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
		check(t, d.afterPowerLoss(luck{0, 4096, rand.New(rand.NewPCG(1, 1))}).root.copyTo(dir))
		h, err := export(t, "sqlite:"+filepath.Join(dir, storePath))
		if err != nil {
			h = nil // what is left is not even a store
		}
		if lost := h.Lost(acks.Acks); len(lost) == 0 || acks.Len() == 0 {
			t.Errorf("%s not synced: of %d acknowledged writes none is lost: the check is blind", name, acks.Len())
		} else {
			t.Logf("%s not synced: %d of %d acknowledged writes are lost, as they must be", name, len(lost), acks.Len())
		}
	}
}

// BAD-INPUT 49: what a hook was told before it ended is on the lists after the power went, also
// on a fresh account.
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
		check(t, d.afterPowerLoss(l).root.copyTo(dir))
		out, err := exec.Command(program, "export", "--store", "sqlite:"+filepath.Join(dir, storePath)).CombinedOutput()
		if err != nil && told > 0 { // before the first there may be nothing to export
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

// tellHooks tells hooks of one change after the other until the power goes, and returns how
// many had ended before.
func tellHooks(t *testing.T, d *disk, random *rand.Rand) (told int) {
	t.Helper()
	m := must(mount(t, d))(t)
	defer m.unmount()
	store := "sqlite:" + filepath.Join(m.dir, storePath)
	for ; told < 40; told++ {
		if tellHook(t, store, told); d.isDead() {
			break
		}
		if random.IntN(8) == 0 {
			_ = exec.Command(program, "lists", "--store", store).Run() // it fails without power
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
	check(t, c.Run())
}
