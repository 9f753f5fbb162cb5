//go:build e2e && linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	rounds := size(8, 200)
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
		c := exec.Command(program, "hook", "--store", store)
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
		c.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"update_plan",
			"tool_input":{"plan":[{"step":"Write","status":"pending"},{"step":"Step %d of many","status":"pending"}]}}`, told))
		if err := c.Run(); err != nil {
			t.Error(err)
		}
		if d.isDead() {
			break
		}
		if random.IntN(8) == 0 {
			_ = exec.Command(program, "lists", "--store", store).Run() // it fails without power
		}
	}
	d.cut()
	return told
}
