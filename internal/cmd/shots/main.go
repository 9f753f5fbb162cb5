// Command shots makes the pictures of the README and the documents. It starts a server on a memory store with lists of
// several agents, and saves screenshots of the panel and the card, in headless Chromium, and of the terminal. It must
// run in internal/cmd. Beside the pictures it writes digests of their sources.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/store/storetest"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/edge"
	"github.com/todo-mcp/todo-mcp/server/web"
	"github.com/todo-mcp/todo-mcp/tools"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: shots FOLDER")
		os.Exit(1)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	base, list, stop, err := serve()
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := browser()
	defer cancel()
	for _, s := range []struct {
		name, url     string
		width, height int64
		dark          bool
	}{
		{"panel-light.png", base, 1440, 1000, false},
		{"panel-dark.png", base, 1440, 1000, true},
		{"panel-narrow.png", base, 390, 844, false},
		{"list-history.png", base + "/lists/" + list + "?revision=9", 1280, 800, false},
	} {
		if err := shoot(ctx, s.url, filepath.Join(folder, s.name), s.width, s.height, s.dark); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if err := shootCard(ctx, filepath.Join(folder, "card.png")); err != nil {
		return fmt.Errorf("card: %w", err)
	}
	if err := shootTerminal(ctx, base, filepath.Join(folder, "terminal.png")); err != nil {
		return err
	}
	drawn, err := drawnFrom(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, digests), []byte(drawn), 0o644)
}

// serve starts a server with the lists of the pictures, on a free loopback port. It returns the base URL, and the id of
// the list whose page is a picture.
func serve() (url, list string, stop func(), err error) {
	c := &clock{}
	b := board.NewBoard(storetest.NewMemory(), board.WithClock(c.now))
	s, err := newServer(b)
	if err != nil {
		return "", "", nil, err
	}
	h := web.New(s, edge.Config{Board: b})
	if list, err = seed(b, c); err != nil {
		return "", "", nil, err
	}
	listener := httptest.NewServer(h)
	return listener.URL, list, func() { h.Close(); listener.Close(); s.Close(); b.Close() }, nil
}

func newServer(b *board.Board) (*server.Server, error) {
	texts, err := prompts.New("", "en")
	if err != nil {
		return nil, err
	}
	return server.New(server.Config{Board: b, Tools: tools.New(tools.Defaults()), Publish: []string{"all"}, Texts: texts, Version: "shots",
		SessionKey: func() []byte { return bytes.Repeat([]byte("k"), 32) }}), nil
}

// browser starts headless Chromium and returns its context, which expires after three minutes.
func browser() (context.Context, context.CancelFunc) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))
	allocated, cancel1 := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel2 := chromedp.NewContext(allocated)
	ctx, cancel3 := context.WithTimeout(ctx, 3*time.Minute)
	return ctx, func() { cancel3(); cancel2(); cancel1() }
}

// shoot saves a screenshot of a page, taken once the page is connected to the server.
func shoot(ctx context.Context, url, file string, width, height int64, dark bool) error {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, height, chromedp.EmulateScale(1.5))); err != nil {
		return err
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(url), chromedp.WaitVisible(`#status[data-state=live]`)); err != nil {
		return err
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(file, png, 0o644)
}
