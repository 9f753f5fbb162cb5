package api_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/server/servertest"
)

// BAD-INPUT 63: More streams than `--max-streams`, or half of it from one address or user; a large
// change while many are open → 429 with `Retry-After`; encoded once, readers that lag are closed
func TestStreamsShareOneEncoding(t *testing.T) {
	for path, last := range map[string]string{"/api/events": "event: todos:update", "/api/stream": `data: {"type":"content_block_start"`, "/panel/events": "event: list"} {
		t.Run(path, func(t *testing.T) {
			server := servertest.New(t, nil, nil)
			site := servertest.Serve(t, server, nil)
			address := strings.TrimPrefix(site.URL, "http://")
			const streams = 100
			var got sync.WaitGroup
			for range streams {
				conn := servertest.Must(net.Dial("tcp", address))(t)
				defer conn.Close()
				fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address)
				lines := bufio.NewReaderSize(conn, 4<<10)
				until := func(prefix string) {
					for {
						line, err := lines.ReadSlice('\n')
						if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
							t.Error(err)
							return
						}
						if bytes.HasPrefix(line, []byte(prefix)) {
							return
						}
					}
				}
				until("retry: ") // it follows changes from here on
				got.Go(func() { until(last) })
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			servertest.Apply(t, server.Board.As(""), servertest.In("c"), func(d *todo.Draft) {
				for range todo.MaxSize / 1000 {
					d.Append(strings.Repeat("x", 1000))
				}
			})
			got.Wait()
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d MB allocated for %d streams", allocated, streams)
			if allocated > 150 {
				t.Errorf("63: %d MB allocated for %d streams", allocated, streams)
			}
		})
	}
}
