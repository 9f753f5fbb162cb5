package api_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"todo-mcp/server/servertest"
)

// Every watcher receives each revision soon; afterwards the numbers of goroutines and
// of bytes in use are as before.
func TestWatchers(t *testing.T) {
	watch := func(n, rounds int) {
		t.Run(fmt.Sprint(n, " watchers"), func(t *testing.T) {
			_, url := servertest.Site(t)
			write := servertest.Writer(t, url, "tester")
			var streams []*servertest.Events
			for range n {
				streams = append(streams, servertest.OpenStream(t, "GET", url+"/api/events", ""))
			}
			for round := 1; round <= rounds; round++ {
				write(servertest.Todos("pending", "All steps", fmt.Sprint("Step ", round)))
				answered := time.Now()
				for _, s := range streams {
					s.Expect(fmt.Sprintf(`"revision":%d,`, round))
				}
				took := time.Since(answered)
				t.Logf("all have revision %d after %s", round, took)
				if took > 2*time.Second { // 100 ms on a quiet machine
					t.Errorf("%s until all have revision %d", took, round)
				}
			}
		})
	}
	watch(20, 1) // warms up, so that one-time allocations are not counted
	goroutines, before := runtime.NumGoroutine(), servertest.Heap()
	watch(300, 5)
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines+20; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
	if grown := int64(servertest.Heap()) - int64(before); grown > 8<<20 {
		t.Errorf("%d bytes are still in use", grown)
	}
}
