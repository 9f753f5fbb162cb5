package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/todo-mcp/todo-mcp/internal/todo"
)

const (
	s = time.Second
	m = time.Minute
	h = time.Hour
)

// plans returns the lists that the pictures show. For one picture, the first list's own page is opened.
func plans() []plan {
	shop, billing, dots := "/home/ann/code/acme-web", "/home/ann/code/billing-api", "/home/ann/dotfiles"
	return []plan{
		checkout(shop),
		{folder: shop, client: "claude-code", agent: "explorer", steps: []step{{back: 2 * m, items: "c Find the tests\nc List the pages\ni Read the checkout tests|Reading the checkout tests\np Note what they leave out\np Report"}}},
		{folder: shop, client: "claude-code", agent: "reviewer", steps: []step{{back: m, items: "c Read the diff\ni Check error messages|Checking error messages\np Report"}}},
		{folder: shop, client: "codex-mcp-client", title: "Make the search test reliable", asks: "May I raise the timeout in .github/workflows/search.yml?", steps: []step{
			{back: 40 * m, items: "i Find where the search test waits|Finding where the search test waits\np Wait for the index instead\np Raise the CI timeout for the search job\np Run the suite 100 times\np Remove the retry wrapper"},
			{back: 9 * m, items: "c Find where the search test waits\nc Wait for the index instead\ni Raise the CI timeout for the search job\np Run the suite 100 times\np Remove the retry wrapper"},
		}},
		audit(shop),
		{folder: shop, client: "gemini-cli", title: "Translate the onboarding mails to Japanese", steps: []step{
			{back: 32 * m, items: "i Collect the onboarding mails|Collecting the onboarding mails\np Translate the welcome mail to Japanese|Translating the welcome mail to Japanese\np Translate the receipt\np Ask Yuki to proofread"},
			{back: 16 * m, items: "c Collect the onboarding mails\ni Translate the welcome mail to Japanese|Translating the welcome mail to Japanese\np Translate the receipt\np Ask Yuki to proofread"},
		}},
		{folder: billing, client: "codex-mcp-client", title: "Give each invoice its tax region", steps: []step{
			{back: 58 * m, items: "i Split invoices by tax region|Splitting invoices\np Add the column tax_region\np Fill it for new rows\np Find rows without a region\np Ask Finance about them\np Write the migration\np Backfill tax_region for 2025 rows|Backfilling tax_region for 2025 rows\np Switch readers to the new column\np Drop the old column behind a flag\np Add a metric for rows without a region\np Tell Finance"},
			{back: 48 * s, items: "c Split invoices by tax region\nc Add the column tax_region\nc Fill it for new rows\nc Find rows without a region\nc Ask Finance about them\nc Write the migration\ni Backfill tax_region for 2025 rows|Backfilling tax_region for 2025 rows\np Switch readers to the new column\np Drop the old column behind a flag\np Add a metric for rows without a region\np Tell Finance"},
		}},
		{folder: billing, client: "opencode", title: "為替レートをキャッシュする", steps: []step{
			{back: 57 * m, items: "i 為替レートのキャッシュを追加する\np 既存の呼び出しを調べる\np キャッシュの有効期限を決める|キャッシュの有効期限を決めています\np 負荷テストを書く\np 監視に追加する"},
			{back: 100 * s, items: "c 為替レートのキャッシュを追加する\nc 既存の呼び出しを調べる\ni キャッシュの有効期限を決める|キャッシュの有効期限を決めています\np 負荷テストを書く\np 監視に追加する"},
		}},
		modules(dots),
		rest(shop, "claude", true, 2*h, "Draft the vendor comparison", "Compare support hours", 2, 5),
		rest(shop, "codex-mcp-client", true, 5*h, "Upgrade the image pipeline to AVIF", "Measure the page weight", 4, 1),
		rest(billing, "gemini-cli", true, 40*h, "Rotate the staging keys", "Revoke the old key", 0, 3),
		rest("/home/ann/code/release-notes", "claude-code", false, 30*m, "Tag and publish v2.4.0", "", 3, 0),
		rest(shop, "codex-mcp-client", false, 45*m, "Move fonts to the CDN", "", 5, 0),
		rest(shop, "Visual Studio Code", false, 70*m, "Delete the unused feature flags", "", 22, 0),
		rest(billing, "opencode", false, 24*h, "Cache the exchange rates", "", 4, 0),
		rest(shop, "cursor", false, 27*h, "Make the header sticky on small screens", "", 6, 0),
		rest(shop, "claude-code", false, 75*h, "Upgrade to Node 24", "", 8, 0),
	}
}

// chats returns the chats without a list that the pictures show.
func chats() []chat {
	return []chat{
		{"/home/ann/code/release-notes", "claude-code", "Publish the changelog of 2.4.0", todo.Asks, "run `npm publish`?", 4 * m},
		{"/home/ann/code/acme-web", "codex-mcp-client", "Why is the sitemap empty?", todo.Works, "", 40 * s},
		{"/home/ann/code/acme-web", "qwen-code", "Explain the image loader", todo.Rests, "", 25 * m},
		{"/home/ann/dotfiles", "claude-code", "Clean up my aliases", todo.Rests, "", 50 * m},
	}
}

// rest returns a list that its agent has finished or, if left is true, has left unfinished.
func rest(folder, client string, left bool, back time.Duration, title, stopped string, done, open int) plan {
	lines := []string{"c " + title}
	if left && done == 0 {
		lines[0] = "i " + title
	}
	for n := range done {
		lines = append(lines, fmt.Sprintf("c Step %d", n+1))
	}
	for n := range open {
		line := fmt.Sprintf("p Later step %d", n+1)
		if n == 0 && stopped != "" && done > 0 {
			line = "i " + stopped
		}
		lines = append(lines, line)
	}
	first := strings.ReplaceAll(strings.Join(lines, "\n"), "c ", "p ")
	return plan{folder: folder, client: client, title: title, left: left, steps: []step{{back: back + 20*m, items: first}, {back: back, items: strings.Join(lines, "\n")}}}
}

// checkout returns a list with a history of fourteen revisions, some by a person.
func checkout(folder string) plan {
	all := []string{"Move checkout to the shared address form", "Read the checkout flow and its tests|Reading the checkout flow", "List every place that asks for an address", "Move address validation into a shared hook|Moving address validation into a shared hook",
		"Cover the payment step with Playwright tests|Covering the payment step with Playwright tests", "Measure LCP before and after; keep it under 2.5 s", "Remove the old address form and its feature flag", "Update the changelog and open the pull request"}
	at := func(done int, more ...string) string {
		var lines []string
		for n, text := range append(all, more...) {
			mark := "p "
			if n < done {
				mark = "c "
			} else if n == done {
				mark = "i "
			}
			lines = append(lines, mark+text)
		}
		return strings.Join(lines, "\n")
	}
	return plan{folder: folder, client: "claude-code", title: "Let checkout use the shared address form", steps: []step{
		{back: 34 * m, items: at(-1)}, {back: 33 * m, items: at(0)}, {back: 30 * m, items: at(1)}, {back: 27 * m, items: at(2)},
		{back: 25 * m, person: func(d *todo.Draft) error {
			_ = d.Edit(todo.Edit{Do: todo.EditText, Item: "6", Text: "Measure LCP on a slow phone before and after; keep it under 2.5 s"})
			return nil
		}},
		{back: 22 * m, items: at(2, "Rename the test helpers")}, {back: 20 * m, items: at(3, "Rename the test helpers")},
		{back: 18 * m, person: func(d *todo.Draft) error { return d.Edit(todo.Edit{Do: todo.EditRemove, Item: "9"}) }},
		{back: 12 * m, agent: func(d *todo.Draft) error {
			_ = d.Edit(todo.Edit{Do: todo.EditText, Item: "5", Text: "Cover the payment step and its errors with Playwright tests"})
			d.SetStatus("4", todo.Completed)
			d.SetStatus("5", todo.InProgress)
			d.Append("Switch the staging store to the new form")
			return nil
		}},
		{back: 10 * m, person: block("10", "Wait for the design review on Monday")},
		{back: 8 * m, person: func(d *todo.Draft) error { return d.Edit(todo.Edit{Do: todo.EditMove, Item: "7", To: 5}) }},
		{back: 3*m + 12*s, items: strings.Replace(at(4), "Cover the payment step with", "Cover the payment step and its errors with", 1) + "\np Switch the staging store to the new form"},
		{back: 50 * s, person: func(d *todo.Draft) error {
			_ = d.Edit(todo.Edit{Do: todo.EditText, Item: "8", Text: "Update the changelog and open the pull request for Ann"})
			return nil
		}},
		{back: 30 * s, person: func(d *todo.Draft) error { d.Append("Tell support about the new error texts"); return nil }},
	}}
}

// audit returns a list with a failed item and an item long in progress.
func audit(folder string) plan {
	line := func(mark, name string) string { return mark + " Check the " + name + " button" }
	done := []string{"c Audit colour contrast of all buttons"}
	for _, name := range []string{"plain", "main", "link", "menu", "toggle", "tab", "round", "upload", "wide", "tiny"} {
		done = append(done, line("c", name))
	}
	items := strings.Join(append(done, line("p", "ghost"), "i Check the danger button on dark backgrounds|Checking the danger button on dark backgrounds", line("p", "split"), line("p", "icon"), line("p", "disabled"), line("p", "focus ring of each"), "p Write the summary"), "\n")
	return plan{folder: folder, client: "Cursor", title: "Audit the contrast of all buttons", steps: []step{
		{back: 55 * m, items: strings.ReplaceAll(strings.ReplaceAll(items, "c ", "p "), "i Check", "p Check")}, {back: 22*m + 5*s, items: items}, {back: 31 * s, person: status("12", todo.Failed)},
	}}
}

// modules returns a list of 60 items.
func modules(folder string) plan {
	names := []string{"shell completion", "git aliases", "fonts", "tmux", "ssh config", "fzf", "prompt"}
	at := func(done int) string {
		var lines []string
		for n := range 60 {
			mark, name := "p", names[(n+5)%len(names)]
			if n < done {
				mark = "c"
			} else if n == done {
				mark = "i"
			}
			lines = append(lines, fmt.Sprintf("%s Port module %d: %s|Porting module %d: %s", mark, n+1, name, n+1, name))
		}
		return strings.Join(lines, "\n")
	}
	return plan{folder: folder, client: "claude-code", title: "Port 60 modules to the new build", steps: []step{{back: 50 * m, items: at(0)}, {back: 79 * s, items: at(22)}}}
}
