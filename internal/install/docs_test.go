package install_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/todo-mcp/todo-mcp/internal/install"
)

// documented compares a part of a page below docs with what it should be.
func (r *rig) documented(page string, part *regexp.Regexp, want string) {
	r.Helper()
	path := filepath.Join("..", "..", "docs", page)
	text := r.read(path)
	if got := part.FindString(text); *update && got != "" {
		r.write(path, strings.Replace(text, got, want, 1))
	} else if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("docs/%s differs from the table; run with -update (-want +got):\n%s", page, diff)
	}
}

// docs/clients.md has of each client what the table says.
func TestClientsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("<!-- clients -->\n")
	r := newRig(t, "zed")
	block := func(o install.Options) string {
		if _, err := r.Install(r.m, o); err != nil {
			return "- not over HTTP: " + strings.SplitN(err.Error(), ": ", 2)[1] + ".\n"
		}
		paths, texts := r.byHand(o)
		path, text := paths[0], texts[0]
		if filepath.Ext(path) == ".json" {
			var line bytes.Buffer
			if err := json.Compact(&line, []byte(text)); err != nil {
				t.Fatal(err)
			}
			return map[bool]string{false: "- ", true: "- over HTTP: "}[o.URL != ""] + "`" + strings.ReplaceAll(line.String(), r.m.Home, "/usr/local") + "`\n"
		}
		text = "```" + filepath.Ext(path)[1:] + "\n" + strings.ReplaceAll(text, r.m.Home, "/usr/local") + "```\n"
		if o.URL != "" {
			text = "\nOver HTTP:\n\n" + text
		}
		return text
	}
	for _, r.Client = range install.Clients() {
		stdio, http := block(install.Options{}), block(install.Options{URL: address})
		fmt.Fprintf(&b, "\n## %s (`%s`)\n\n%s\n\n%s%s", r.Title, r.Client.Name, r.places(), stdio, http)
	}
	r.documented("clients.md", regexp.MustCompile(`(?s)<!-- clients -->\n.*`), b.String())
}

// places returns where a client is configured on each system.
func (r *rig) places() string {
	var out []string
	for _, s := range []struct{ system, title string }{{"darwin", "macOS"}, {"windows", "Windows"}, {"linux", "Linux"}} {
		r.m.System = s.system
		out = append(out, fmt.Sprintf("`%s` (%s)", filepath.ToSlash(r.m.Short(r.file())), s.title))
	}
	out = []string{out[2], out[0], out[1]}
	if one, _, _ := strings.Cut(out[0], " ("); strings.HasPrefix(out[1], one) && strings.HasPrefix(out[2], one) {
		return one
	}
	return strings.Join(out, ", ")
}

// docs/hooks.md says which client runs which kinds of hooks.
func TestKindsAreDocumented(t *testing.T) {
	kinds := install.AllKinds()
	table := "<!-- kinds -->\n| | `" + strings.Join(kinds, "` | `") + "` |\n|---" + strings.Repeat("|---", len(kinds)) + "|\n"
	for _, c := range install.Clients() {
		if c.HookKinds() == nil {
			continue
		}
		table += "| " + c.Title + " |"
		for _, k := range kinds {
			table += map[bool]string{false: " – |", true: " yes |"}[slices.Contains(c.HookKinds(), k)]
		}
		table += "\n"
	}
	r := newRig(t, "zed")
	r.documented("hooks.md", regexp.MustCompile(`<!-- kinds -->\n(\|.*\n)+`), table)
	r.documented("hooks.md", regexp.MustCompile(`A hook costs .* 3 ms`), strings.TrimSuffix(install.HookCost, "."))
}

// What the hooks of each client look like to who writes them by hand: docs/hooks.md has
// into which file, and the plugins in packaging have the same.
func TestHooksAreDocumented(t *testing.T) {
	for _, name := range install.Names() {
		r := newRig(t, name)
		file := r.hooksFile()
		if file == "" {
			continue
		}
		_, texts := r.byHand(install.Options{Hooks: install.Kinds()})
		text := texts[min(1, len(texts)-1)]
		section := regexp.MustCompile(`(?m)^- \*\*` + r.Title + `\*\*: .*$`).FindString(r.read(filepath.Join("..", "..", "docs", "hooks.md")))
		if !strings.Contains(section, "`"+filepath.ToSlash(r.m.Short(file))+"`") {
			t.Errorf("docs/hooks.md does not name %s for %s", r.m.Short(file), r.Title)
		}
		if filepath.Ext(file) == ".js" {
			continue
		}
		r.golden("hooks"+filepath.Ext(file), strings.ReplaceAll(text, r.m.Home, "/usr/local"))
		if slices.Contains([]string{"claude-code", "codex", "gemini"}, name) {
			r.expectPlugin(text)
		}
	}
}

// expectPlugin checks that the client's plugin has the hooks of its settings.
func (r *rig) expectPlugin(settings string) {
	r.Helper()
	// A plugin's server has a name that its hooks do not know.
	asCommand := regexp.MustCompile(`(?s)"type": "mcp_tool",.*?"timeout": 5`)
	settings = asCommand.ReplaceAllString(settings, `"type": "command", "command": "todo-mcp hook", "timeout": 5`)
	settings = strings.ReplaceAll(settings, r.m.Executable, "todo-mcp")
	hooks := func(text string) (out struct{ Hooks any }) {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			r.Fatal(err)
		}
		return out
	}
	path := filepath.Join("..", "..", "packaging", r.Client.Name, "hooks", "hooks.json")
	if *update {
		text, _ := json.MarshalIndent(hooks(settings), "", "  ")
		r.write(path, strings.Replace(string(text), `"Hooks"`, `"hooks"`, 1)+"\n")
	}
	plugin := r.read(path)
	if diff := cmp.Diff(hooks(settings), hooks(plugin)); diff != "" {
		r.Errorf("the plugin's hooks (-want +got)\n%s", diff)
	}
}
