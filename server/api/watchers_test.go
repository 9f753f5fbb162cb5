package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"todo-mcp/server/servertest"
)

// watchers opens n event streams on a list and writes it as often as rounds
// says. Every stream must receive the newest revision. It returns, sorted, how
// long after the answer to a write each stream received it.
func watchers(t testing.TB, n, rounds int) (took []time.Duration) {
	t.Helper()
	_, url := servertest.Site(t)
	write := servertest.Writer(t, url, "tester")
	type arrival struct {
		revision int
		at       time.Time
	}
	arrivals := make(chan arrival, n)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	defer done.Wait()
	defer stop()
	for range n {
		req, _ := http.NewRequestWithContext(ctx, "GET", url+"/api/events", nil)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		done.Go(func() {
			defer res.Body.Close()
			for lines := bufio.NewReader(res.Body); ; {
				line, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				var revision int
				if i := strings.Index(line, `"revision":`); i >= 0 {
					fmt.Sscanf(line[i:], `"revision":%d`, &revision)
					arrivals <- arrival{revision, time.Now()}
				}
			}
		})
	}
	for round := 1; round <= rounds; round++ {
		write(servertest.Todos("pending", "All steps", fmt.Sprint("Step ", round)))
		durable := time.Now()
		for got := 0; got < n; {
			select {
			case a := <-arrivals:
				if a.revision == round {
					took = append(took, a.at.Sub(durable))
					got++
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%d of %d watchers got revision %d", got, n, round)
			}
		}
	}
	slices.Sort(took)
	return took
}

func p99(d []time.Duration) time.Duration { return d[len(d)*99/100] }

// Every watcher receives the newest revision; afterwards the numbers of
// goroutines and of bytes in use are as before.
func TestWatchers(t *testing.T) {
	watchers(t, 20, 1) // warms up, so that one-time allocations are not counted
	goroutines, before := runtime.NumGoroutine(), servertest.Heap()
	took := watchers(t, 300, 5)
	t.Logf("300 watchers: median %s, p99 %s", took[len(took)/2], p99(took))
	if p99(took) > 2*time.Second { // 100 ms on a quiet machine
		t.Errorf("p99 is %s", p99(took))
	}
	deadline := time.After(5 * time.Second)
	for runtime.NumGoroutine() > goroutines+20 {
		select {
		case <-deadline:
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		default:
			runtime.Gosched()
		}
	}
	if grown := int64(servertest.Heap()) - int64(before); grown > 8<<20 {
		t.Errorf("%d bytes are still in use", grown)
	}
}
