package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
)

// shootTerminal runs `todo-mcp watch` on the server in a real terminal and
// takes its picture.
func shootTerminal(ctx context.Context, url, file string) error {
	dir, err := os.MkdirTemp("", "shots")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "todo-mcp")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	tmux := func(args ...string) (string, error) {
		cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "tmux")}, args...)...)
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := tmux("-f", "/dev/null", "new-session", "-d", "-x", "76", "-y", "30", binary+" watch --server "+url); err != nil {
		return fmt.Errorf("tmux: %w: %s", err, out)
	}
	defer tmux("kill-server")
	deadline := time.Now().Add(20 * time.Second)
	for {
		screen, err := tmux("capture-pane", "-e", "-p")
		if err == nil && strings.Contains(screen, "conformance suite...") {
			return shootText(ctx, screen, file)
		}
		if time.Now().After(deadline) {
			return errors.Join(errors.New("watch drew nothing"), err)
		}
	}
}

func shootText(ctx context.Context, screen, file string) error {
	page := `<meta charset="utf-8"><body style="margin:0"><pre style="display:inline-block;margin:0;padding:18px 22px;background:#12151b;color:#d8dde6;` +
		`font:15px/1.3 'Noto Sans Mono CJK SC','DejaVu Sans Mono',monospace">` + toHTML(strings.TrimRight(screen, "\n")) + `</pre>`
	url := "data:text/html;base64," + base64.StdEncoding.EncodeToString([]byte(page))
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(900, 700, chromedp.EmulateScale(1.5)), chromedp.Navigate(url)); err != nil {
		return err
	}
	png, err := chromedp.Run(ctx, chromedp.Screenshot("pre"))
	if err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o644)
}

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// styles are the SGR codes our terminal output uses.
func styles() map[string]string {
	return map[string]string{
		"1": "font-weight:700", "2": "opacity:.6", "7": "background:#d8dde6;color:#12151b", "9": "text-decoration:line-through",
		"31": "color:#ff8a7d", "32": "color:#5fd38a", "33": "color:#f0b95a", "36": "color:#6cc7d9", "90": "color:#7d8796",
	}
}

// toHTML keeps a captured screen's colours.
func toHTML(screen string) string {
	var b strings.Builder
	open, at := 0, 0
	closeAll := func() { b.WriteString(strings.Repeat("</span>", open)); open = 0 }
	for _, m := range sgr.FindAllStringSubmatchIndex(screen, -1) {
		b.WriteString(html.EscapeString(screen[at:m[0]]))
		at = m[1]
		for code := range strings.SplitSeq(screen[m[2]:m[3]], ";") {
			style, known := styles()[code]
			if !known {
				closeAll()
				continue
			}
			fmt.Fprintf(&b, `<span style="%s">`, style)
			open++
		}
	}
	b.WriteString(html.EscapeString(screen[at:]))
	closeAll()
	return b.String()
}
