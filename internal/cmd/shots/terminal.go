package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/clipperhouse/displaywidth"
)

// shootTerminal runs `todo-mcp watch` on the server in a tmux terminal and saves a picture of its screen.
func shootTerminal(ctx context.Context, url, file string) error {
	dir, err := os.MkdirTemp("", "shots")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "todo-mcp")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/todo-mcp/todo-mcp").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	tmux := func(args ...string) (string, error) {
		cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(dir, "tmux")}, args...)...)
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := tmux("-f", "/dev/null", "new-session", "-d", "-x", "124", "-y", "22", binary+" watch --server "+url); err != nil {
		return fmt.Errorf("tmux: %w: %s", err, out)
	}
	defer tmux("kill-server")
	if _, err := waitForText(tmux, "Let checkout", 20*time.Second); err != nil {
		return err
	}
	// Move down to the list with the most to show: a reason, a person's changes, sub-agents.
	for range 9 {
		screen, err := waitForText(tmux, "─ Let checkout use the shared address form ─", 2*time.Second)
		if err == nil {
			return shootText(ctx, screen, file)
		}
		if out, err := tmux("send-keys", "Down"); err != nil {
			return fmt.Errorf("tmux: %w: %s", err, out)
		}
	}
	return errors.New("watch does not show the list of the picture")
}

// waitForText waits for a text on the terminal, at most for atMost, and returns the screen with SGR sequences.
func waitForText(tmux func(...string) (string, error), text string, atMost time.Duration) (string, error) {
	plain := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for deadline := time.Now().Add(atMost); ; {
		screen, err := tmux("capture-pane", "-e", "-p")
		if err == nil && strings.Contains(plain.ReplaceAllString(screen, ""), text) {
			return screen, nil
		}
		if time.Now().After(deadline) {
			return "", errors.Join(fmt.Errorf("watch shows no %q, but %q", text, screen), err)
		}
	}
}

// shootText saves a picture of a screen that tmux captured with its SGR sequences.
func shootText(ctx context.Context, screen, file string) error {
	page := `<!doctype html><meta charset="utf-8"><style>` + terminalStyle + `</style><body><div id="terminal">` + toHTML(strings.TrimRight(screen, "\n")) + `</div>`
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}))
	defer site.Close()
	if err := chromedp.Do(ctx, chromedp.Navigate(site.URL)); err != nil {
		return err
	}
	size, err := chromedp.Run(ctx, chromedp.Evaluate[[]int64](`(({width, height}) => [Math.ceil(width), Math.ceil(height)])(document.getElementById('terminal').getBoundingClientRect())`))
	if err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(size[0], size[1], chromedp.EmulateScale(1.5))); err != nil {
		return err
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o644)
}

// terminalStyle lays the characters out in a grid of cells. Each character is positioned at its cell: a character of a
// fallback font may have another width, and must not shift the characters after it. The line height is that of the
// font's box-drawing characters, so that these join.
const terminalStyle = `body { margin: 0 }
#terminal { display: inline-block; padding: 18px 22px; background: #12151b; color: #d8dde6; font: 15px/18px 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace }
#terminal p { position: relative; margin: 0; height: 18px; width: 124ch }
#terminal i { position: absolute; top: 0; font-style: normal; white-space: pre }`

var sgr = regexp.MustCompile("^\x1b\\[([0-9;]*)m")

// styles returns the CSS for each SGR code that the program writes.
func styles() map[string]string {
	return map[string]string{
		"1": "font-weight:700", "2": "opacity:.6", "7": "background:#d8dde6;color:#12151b", "9": "text-decoration:line-through",
		"31": "color:#ff8a7d", "32": "color:#5fd38a", "33": "color:#f0b95a", "35": "color:#c79bf0", "36": "color:#6cc7d9", "90": "color:#7d8796",
		"39": "color:#d8dde6", "49": "background:none",
	}
}

// toHTML returns a captured screen as HTML: each line is a paragraph with an element for each character, which has the
// character's position and style.
func toHTML(screen string) string {
	var b strings.Builder
	style := ""
	for line := range strings.Lines(screen) {
		b.WriteString("<p>")
		column := 0
		for line = strings.TrimSuffix(line, "\n"); line != ""; {
			if m := sgr.FindStringSubmatch(line); m != nil {
				style = restyle(style, m[1])
				line = line[len(m[0]):]
				continue
			}
			cell := displaywidth.StringGraphemes(line)
			cell.Next()
			fmt.Fprintf(&b, `<i style="left:%dch;%s">%s</i>`, column, style, html.EscapeString(cell.Value()))
			column += cell.Width()
			line = line[len(cell.Value()):]
		}
		b.WriteString("</p>")
	}
	return b.String()
}

// restyle returns the style after the codes of one SGR sequence. A code not in styles, such as 0, resets the style.
func restyle(style, codes string) string {
	for code := range strings.SplitSeq(codes, ";") {
		added, known := styles()[code]
		if !known {
			style = ""
			continue
		}
		style += added + ";"
	}
	return style
}
