//go:build e2e && linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// BAD-INPUT 49: what a hook was told before it ended with power is on the lists after the
// power went, at any change of the disk, also the first on a fresh account: what it left for
// whoever reads the lists next, and what that one wrote.
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
		if err := d.afterPowerLoss(l).copyTo(dir); err != nil {
			t.Fatal(err)
		}
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
	m, err := mount(t, d)
	if err != nil {
		t.Fatal(err)
	}
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

// tellHook tells a hook of a change of a plan, and returns what is in its log.
func tellHook(t *testing.T, store string, n int) (log string) {
	t.Helper()
	state := t.TempDir()
	c := exec.Command(program, "hook", "--store", store)
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+state)
	c.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"update_plan",
		"tool_input":{"plan":[{"step":"Write","status":"pending"},{"step":"Step %d of many","status":"pending"}]}}`, n))
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	data, _ := os.ReadFile(filepath.Join(state, "todo-mcp", "hook.log")) // there is none if nothing went wrong
	return string(data)
}

// BAD-INPUT 50: on a full disk what hooks left stays, and a hook that can neither leave its event
// nor apply it says that it is lost. When there is space again, the next is left behind the others.
func TestHookOnAFullDisk(t *testing.T) {
	if why := canMount(t); why != "" {
		notRun(t, "full disk, hooks", why)
		return
	}
	m, err := mount(t, newDisk())
	if err != nil {
		t.Fatal(err)
	}
	defer m.unmount()
	store := "sqlite:" + filepath.Join(m.dir, storePath)
	full := func(op operation) syscall.Errno {
		if op.kind == grows || op.kind == creates {
			return syscall.ENOSPC
		}
		return 0
	}
	lost := 0
	for n := range 12 {
		isFull := n%3 == 2
		if m.setFault(nil); isFull {
			m.setFault(full)
		}
		if log := tellHook(t, store, n); strings.Contains(log, "is lost") != isFull || isFull && !strings.Contains(log, "no space left") {
			t.Errorf("hook %d, full %t: the log is %q", n, isFull, log)
		}
		if isFull {
			lost++
		}
	}
	m.setFault(nil)
	out, err := exec.Command(program, "export", "--store", store).CombinedOutput()
	for n := range 12 {
		if n%3 != 2 && !strings.Contains(string(out), fmt.Sprintf("Step %d of", n)) {
			t.Errorf("number %d is lost: %v", n, err)
		}
	}
	report.Add(t, row{Fault: "full disk, hooks", Tried: "hooks are told of a plan's changes, each third while no file grows or is made", Times: "12 hooks", Acknowledged: 12 - lost, Notes: fmt.Sprintf("%d said to be lost", lost)})
}
