//go:build linux

package programtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"todo-mcp/server/servertest"
)

// built builds the program for a benchmark.
func built(b *testing.B) (program string) {
	dir := b.TempDir()
	program = filepath.Join(dir, "todo-mcp")
	if err := build(dir, program); err != nil {
		b.Fatal(err)
	}
	return program
}

// BenchmarkStart measures from the start to the answer to initialize, and the memory
// that the process has then.
func BenchmarkStart(b *testing.B) {
	program := built(b)
	for _, store := range []string{"memory", "sqlite"} {
		b.Run(store, func(b *testing.B) {
			resident, anonymous := 0, 0
			for b.Loop() {
				dir := b.TempDir()
				at := store
				if at == "sqlite" {
					at += ":" + filepath.Join(dir, "todo.db")
				}
				p, err := Start(b, program, dir, nil, "stdio", "--store", at)
				if err != nil {
					b.Fatal(err)
				}
				fmt.Fprintln(p.In, servertest.Initialize(1, "tester"))
				if answer, err := p.Out.ReadString('\n'); err != nil || !strings.Contains(answer, "serverInfo") {
					b.Fatal(answer, err, p.Log)
				}
				b.StopTimer()
				resident, anonymous = memory(b, p, "VmRSS"), memory(b, p, "RssAnon")
				p.Kill()
				b.StartTimer()
			}
			b.ReportMetric(float64(resident)/1e6, "MB-resident")
			b.ReportMetric(float64(anonymous)/1e6, "MB-anonymous")
		})
	}
}

func memory(b *testing.B, p *Process, what string) int {
	b.Helper()
	bytes, err := p.Memory(what)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// usage is what a process has in use after a garbage collection, in bytes, and how
// many goroutines.
type usage struct{ heap, stacks, goroutines int }

func (u usage) reportEach(b *testing.B, before usage, n int) {
	each := func(after, before int) float64 { return float64(after-before) / float64(n) }
	b.ReportMetric(each(u.heap, before.heap), "heap-B/each")
	b.ReportMetric(each(u.stacks, before.stacks), "stack-B/each")
	b.ReportMetric(each(u.goroutines, before.goroutines), "goroutines/each")
}

// profile returns the usage of a process that serves its profiles at an address.
func profile(b *testing.B, admin string) (u usage) {
	b.Helper()
	for of, values := range map[string]map[string]*int{
		"heap?gc=1&debug=1": {`(?m)^# HeapAlloc = (\d+)$`: &u.heap, `(?m)^# Stack = (\d+) /`: &u.stacks},
		"goroutine?debug=1": {`^goroutine profile: total (\d+)`: &u.goroutines},
	} {
		res, err := http.Get("http://" + admin + "/debug/pprof/" + of)
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		for pattern, value := range values {
			found := regexp.MustCompile(pattern).FindSubmatch(text)
			if err != nil || found == nil {
				b.Fatalf("no %s in %.300s, %v", pattern, text, err)
			}
			*value, _ = strconv.Atoi(string(found[1]))
		}
	}
	return u
}

// freeAddress returns an address at which nobody listens.
func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// own returns the usage of this process.
func own() usage {
	var m runtime.MemStats
	heap := servertest.Heap()
	runtime.ReadMemStats(&m)
	return usage{int(heap), int(m.StackInuse), runtime.NumGoroutine()}
}

// stream sends a request on a connection of its own, which stays open, and returns
// when an event stream begins to answer.
func stream(b *testing.B, url, request string) {
	host := strings.TrimPrefix(url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, strings.Replace(request, "\r\n", "\r\nHost: "+host+"\r\n", 1))
	head := make([]byte, 512)
	if n, err := conn.Read(head); err != nil || !strings.Contains(string(head[:n]), "text/event-stream") {
		b.Fatalf("%s: %q, %v", request, head[:n], err)
	}
}

// openers returns what a client may open and leave open, by name.
func openers() map[string]func(b *testing.B, url string) {
	get := func(path string) func(b *testing.B, url string) {
		return func(b *testing.B, url string) {
			stream(b, url, "GET "+path+" HTTP/1.1\r\nAccept: text/event-stream\r\n\r\n")
		}
	}
	session := func(b *testing.B, url string) string { return servertest.Session(b, url+"/mcp", "tester") }
	return map[string]func(b *testing.B, url string){
		"session": func(b *testing.B, url string) { session(b, url) },
		"stream of a session": func(b *testing.B, url string) {
			stream(b, url, "GET /mcp HTTP/1.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: "+session(b, url)+"\r\n\r\n")
		},
		"stream of a front end": get("/api/events"),
		"page of the panel":     get("/panel/events"),
	}
}

// BenchmarkOpen measures what each of 1,000 takes that do nothing. The floor is an
// event stream of Go's HTTP server, with the client's end in the same process.
func BenchmarkOpen(b *testing.B) {
	const n = 1000
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			ended := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_ = http.NewResponseController(w).Flush()
				<-ended
			}))
			before := own()
			for range n {
				stream(b, server.URL, "GET / HTTP/1.1\r\n\r\n")
			}
			own().reportEach(b, before, n)
			close(ended)
			server.CloseClientConnections()
			server.Close()
		}
	})
	program := built(b)
	for name, open := range openers() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, url, admin := serve(b, program)
				open(b, url) // what is made once is not counted
				before := profile(b, admin)
				for range n {
					open(b, url)
				}
				profile(b, admin).reportEach(b, before, n)
				p.Kill()
			}
		})
	}
}

// serve starts a server, which takes as many streams as a benchmark opens, and returns
// its address and that for operators. With GOGC set it allocates nothing for the sake
// of the garbage collector.
func serve(b *testing.B, program string) (p *Process, url, admin string) {
	b.Helper()
	dir, admin := b.TempDir(), freeAddress(b)
	p, err := Start(b, "/usr/bin/env", dir, nil, "GOGC=100", program, "serve", "--addr", "127.0.0.1:0", "--admin-addr", admin, "--store", "sqlite:"+filepath.Join(dir, "todo.db"),
		"--max-streams", "8000", "--max-rate", "0")
	if err == nil {
		url, err = p.URL()
	}
	if err != nil {
		b.Fatal(err)
	}
	return p, url, admin
}
