//go:build e2e

package api_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"todo-mcp/server/servertest"
)

// W2, W3, W4: the front-end functions of system 1 run in Node against the
// server, exactly as its document prints them.
func TestFrontEndFunctions(t *testing.T) {
	entry, program := filepath.Join(t.TempDir(), "host.jsx"), filepath.Join(t.TempDir(), "host.mjs")
	source := strings.NewReplacer("/* FUNCTIONS */", frontend(t, "system1.jsx"), "/* RESTORE */", frontend(t, "restore.js")).Replace(frontend(t, "host.jsx"))
	if err := os.WriteFile(entry, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	servertest.Bundle(t, entry, "--platform=node", "--format=esm", "--jsx=automatic",
		"--banner:js=import {createRequire} from 'module'; const require = createRequire(import.meta.url);", "--outfile="+program)

	_, url := servertest.Site(t)
	send := servertest.Sender(t, url, "tester")
	write := func(tool, args string) { t.Helper(); send(servertest.Call(1, tool, args)) }
	write("write_todos", servertest.Todos("pending", "Before"))

	host := exec.Command("node", program, url, servertest.ListIDs(t, url)[0], "2")
	host.Stderr = os.Stderr
	pipe, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewScanner(pipe)
	if !out.Scan() || out.Text() != "ready" {
		t.Fatalf("the front end printed %q", out.Text())
	}
	write("write_todos", `{"todos":[{"content":"Lấy dữ liệu giá HPG","activeForm":"Đang lấy dữ liệu giá HPG","status":"completed"},{"content":"Phân tích <b>","activeForm":"Đang phân tích","status":"in_progress"},{"content":"Viết báo cáo","activeForm":"Đang viết báo cáo","status":"pending"}]}`)
	write("TodoWrite", servertest.Todos("completed", "A"))
	var got []string
	for out.Scan() {
		got = append(got, out.Text())
	}
	if err := host.Wait(); err != nil || len(got) != 3 {
		t.Fatalf("the front end drew %d states: %v, %v", len(got), got, err)
	}
	for i, want := range []string{
		`<ul><li class=\"line-through text-gray-400\"><span class=\"text-green-500\">✓</span><span>Lấy dữ liệu giá HPG</span></li>` +
			`<li class=\"font-medium text-gray-800\"><span class=\"w-2 h-2 rounded-full bg-blue-500\"></span><span>Đang phân tích</span></li>` +
			`<li class=\"text-gray-600\"><span class=\"w-2 h-2 rounded-full border border-gray-400\"></span><span>Viết báo cáo</span></li></ul>`,
		`<span>A</span>`,
		`"todos":[{"content":"A","activeForm":"A","status":"completed"}]`,
	} {
		if !strings.Contains(got[i], want) {
			t.Errorf("state %d: %s", i, got[i])
		}
	}
}
