package install

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/shell"
	"github.com/todo-mcp/todo-mcp/tools"
)

// Client is a known MCP client ([clients.Client]), with the ways to configure it.
type Client struct {
	clients.Client
	clients.Setup
	hooks *hookSetup // nil for a client without known hooks
}

// hookSetup describes how to configure a client's hooks.
type hookSetup struct {
	file       string      // its file of hooks, or its plugin
	entries    []hookEntry // the hooks; a plugin's entries have only a kind
	flat       bool        // an event's list has hooks with matchers; else it has groups of hooks, each with a matcher
	form       string      // a template of a hook's fields, written as [clients.Setup.Stdio] is; empty for commandForm
	timeout    int         // when the client stops a hook, in the client's unit
	version    int         // the number that the file must have as its version; 0 for none
	statusLine string      // this program's arguments in a status line; empty for none
	// sidebar is the file of a plugin that draws the list in the client, and sidebars the file that names such
	// plugins; empty for none.
	sidebar, sidebars string
	windows           shell.Shell // the shell that runs hooks on Windows; elsewhere [shell.POSIX]
	asks              bool        // the client asks a person to trust new hooks, as it starts
}

// hookEntry is a hook for an event. A hook without a kind is installed if any kind is chosen. The matcher names tools,
// or causes of a session's start, with | between them; an empty matcher selects all.
type hookEntry struct {
	kind           Kind
	event, matcher string
}

// The forms of hooks: a command, and one that wakes the agent.
const (
	commandForm = `type: "command", command, timeout`
	wakeForm    = `type: "command", command, asyncRewake: true, timeout`
)

func (s *hookSetup) isPlugin() bool { return filepath.Ext(s.file) == ".js" }

func (s *hookSetup) isList() bool { return filepath.Ext(s.file) == ".toml" }

// mirrorHook returns the hook that mirrors a host's built-in tools.
func mirrorHook(event, host string) hookEntry {
	var names []string
	for _, b := range tools.BuiltIns() {
		if b.Host == host {
			names = append(names, b.Name)
		}
	}
	return hookEntry{Mirror, event, strings.Join(names, "|")}
}

func likeClaudeCode(mirrors hookEntry, more ...hookEntry) []hookEntry {
	return append([]hookEntry{
		mirrors, {Mirror, "SessionStart", "resume"}, {event: "SessionEnd"}, {event: "SubagentStop"},
		{event: "SessionStart", matcher: "startup"}, // shows a chat on the board from its start
		{Remind, "SessionStart", "compact|resume|clear|fork"}, {Edits, "UserPromptSubmit", ""},
		{Waiting, "PermissionRequest", ""}, {Waiting, "Stop", ""}, {Finish, "Stop", ""},
	}, more...)
}

const (
	seconds      = 5            // the timeout of a hook
	codexSeconds = 3            // the timeout in Codex, which warns of longer timeouts for some hooks
	wakeSeconds  = 12 * 60 * 60 // the timeout of the hook that waits while an agent rests
)

// Clients returns the clients that can be configured. Formats and places are from the programs themselves if npm has
// them (Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, opencode 1.18.33, Kilo Code 7.7.9, Kimi Code 2.1.0, Qwen
// Code 0.24.4, Cline 3.0.65, Copilot CLI 1.0.102), else from the public source or the documentation (Zed: crates/paths
// and crates/settings_content; Goose: crates/goose/src/config; Crush: internal/config/load.go; Cursor's hooks), as of
// November 2026. The shells of Codex and Cursor on Windows are from reports of users.
func Clients() (all []Client) {
	hooks := hookSetups()
	for _, known := range clients.All() {
		if known.Setup == nil {
			continue
		}
		c := Client{known, *known.Setup, hooks[known.Name]}
		c.Servers, c.After = cmp.Or(c.Servers, "mcpServers"), cmp.Or(c.After, "start a new session")
		c.Stdio, c.HTTP = cmp.Or(c.Stdio, "command, args?"), cmp.Or(c.HTTP, "url")
		all = append(all, c)
	}
	return all
}

func hookSetups() map[string]*hookSetup {
	ourCalls := "mcp__.*__(" + strings.Join(tools.Names(), "|") + ")" // whatever the server's name
	return map[string]*hookSetup{
		"claude-code": {
			file: clients.ClaudeFile, timeout: seconds, windows: shell.POSIX, statusLine: "show --format statusline --claude-code",
			entries: likeClaudeCode(mirrorHook("PostToolUse", "claude-code"), hookEntry{Calls, "PreToolUse", ourCalls},
				hookEntry{Calls, "PostToolUse", "Agent|Task"}, // names the task of a sub-agent
				hookEntry{Edits, "PostToolBatch", ""},         // once for all tools of a step
				hookEntry{Waiting, "Notification", "elicitation_dialog|agent_needs_input|idle_prompt"},
				hookEntry{Waiting, "StopFailure", ""}, hookEntry{Wake, "Stop", ""}),
		},
		"cursor": {
			file: "~/.cursor/hooks.json", form: "command, timeout", timeout: seconds, windows: shell.PowerShell, flat: true, version: 1,
			entries: []hookEntry{mirrorHook("postToolUse", "cursor"), {event: "sessionEnd"}},
		},
		"codex": {
			file: "$CODEX_HOME/hooks.json|~/.codex/hooks.json", timeout: codexSeconds, windows: shell.PowerShell,
			entries: likeClaudeCode(mirrorHook("PostToolUse", "codex"), hookEntry{Edits, "PostToolUse", ""},
				hookEntry{Waiting, "PreToolUse", "request_user_input"}, // a question in plan mode
				hookEntry{Waiting, "Interrupt", ""}),
			asks: true,
		},
		"gemini": {
			file: clients.GeminiFile, timeout: seconds * 1000, windows: shell.PowerShell,
			entries: []hookEntry{
				mirrorHook("AfterTool", "gemini-cli"), {Mirror, "SessionStart", "resume"}, {event: "SessionEnd"},
				// a matcher names one cause; Gemini CLI drops answers at /clear and /compress, so BeforeAgent reminds
				{Remind, "SessionStart", ""}, {Remind, "PreCompress", "manual"}, {Remind, "BeforeAgent", ""},
				{Edits, "BeforeAgent", ""}, {Edits, "AfterTool", ""},
				{Waiting, "Notification", ""}, {Waiting, "AfterAgent", ""},
				{Finish, "AfterAgent", ""},
			},
		},
		"qwen": {
			file: clients.QwenFile, timeout: seconds, windows: shell.PowerShell,
			entries: likeClaudeCode(mirrorHook("PostToolUse", "qwen"), // no more Edits: each request has a prompt event
				hookEntry{Waiting, "Notification", "idle_prompt"}, hookEntry{Waiting, "StopFailure", ""}),
		},
		"copilot": { // no Edits: it needs answers of another form; no PermissionRequest: it may come without a question
			file: "$COPILOT_HOME/hooks/todo-mcp.json|~/.copilot/hooks/todo-mcp.json", timeout: seconds, windows: shell.PowerShell,
			flat: true, version: 1, form: `type: "command", bash, powershell, timeoutSec`, entries: []hookEntry{
				mirrorHook("PostToolUse", "copilot"), {event: "SessionStart"}, {event: "SessionEnd"},
				{Waiting, "UserPromptSubmit", ""}, {Waiting, "PostToolUse", ""}, {Waiting, "Notification", ""}, {Waiting, "Stop", ""}, {Waiting, "ErrorOccurred", ""},
			},
		},
		"kimi": { // reads only answers to a prompt and to the end of a turn, and kills hooks after a tool; a matcher is a regular expression
			file: "$KIMI_CODE_HOME/config.toml|~/.kimi-code/config.toml", form: "command, timeout", timeout: seconds, windows: shell.Cmd, flat: true,
			entries: []hookEntry{
				{Mirror, "PreToolUse", "^TodoList$"}, {Mirror, "SessionStart", "resume"}, {event: "SessionEnd"}, {event: "SessionStart", matcher: "startup"},
				{Remind, "PostCompact", ""}, {Remind, "SessionStart", "resume"}, {Remind, "UserPromptSubmit", ""}, {Edits, "UserPromptSubmit", ""},
				{Waiting, "PermissionRequest", ""}, {Waiting, "PermissionResult", ""}, {Waiting, "PreToolUse", "^AskUserQuestion$"}, {Waiting, "PostToolUse", "^AskUserQuestion$"},
				{Waiting, "PostToolUseFailure", "^AskUserQuestion$"}, {Waiting, "Stop", ""}, {Waiting, "StopFailure", ""}, {Waiting, "Interrupt", ""}, {Finish, "Stop", ""},
			},
		},
		"kilo": {file: "$xdg/kilo/plugin/todo-mcp.js", windows: shell.Cmd, entries: []hookEntry{{kind: Mirror}}},
		"opencode": {
			file: "$xdg/opencode/plugin/todo-mcp.js", windows: shell.Cmd,
			entries: []hookEntry{{kind: Mirror}, {kind: Remind}, {kind: Edits}, {kind: Waiting}, {kind: Wake}},
			sidebar: "$xdg/opencode/" + sidebarFile, sidebars: "$xdg/opencode/tui.json",
		},
	}
}

const sidebarFile = "todo-mcp-sidebar.js" // outside opencode's folder of plugins, which is for another kind of plugins

// Kind is a purpose of hooks. A person chooses hooks by kind.
type Kind = string

const (
	Mirror  Kind = "mirror"
	Calls   Kind = "calls"
	Remind  Kind = "remind"
	Edits   Kind = "edits"
	Waiting Kind = "waiting"
	Finish  Kind = "finish"
	Wake    Kind = "wake"
)

// Kinds returns the default kinds, whose hooks only inform agents and people. [Finish] and [Wake] make an agent go on.
func Kinds() []Kind { return []Kind{Mirror, Calls, Remind, Edits, Waiting} }

// AllKinds returns every kind.
func AllKinds() []Kind { return append(Kinds(), Finish, Wake) }

// About returns a description of the hooks of a kind; empty for an unknown kind.
func About(k Kind) string {
	return map[Kind]string{
		Mirror:  "the list of the client's own todo tool stands on the board beside the others",
		Calls:   "each tool call reaches its own chat's list, also after /clear and in sub-agents",
		Remind:  "the agent is told of its open list after a compaction, and as a chat goes on",
		Edits:   "the agent is told of your edits with its next step, not with its next write",
		Waiting: "a list shows what its agent asks you until it goes on; always set together with edits",
		Finish:  "an agent that stops with open items is told of them once, and goes on",
		Wake:    "an agent at rest goes on when you give it something to do; comes with waiting",
	}[k]
}

// HookCost tells people what a hook costs.
const HookCost = "A hook starts a process, for which the client waits some 30 ms."

// ParseKinds returns the kinds in a text: names with commas between them, "all" ([Kinds]), or "none" (empty, not nil).
func ParseKinds(text string) ([]Kind, error) {
	kinds := []Kind{}
	for name := range strings.SplitSeq(text, ",") {
		switch k := strings.TrimSpace(name); {
		case k == "all":
			kinds = append(kinds, Kinds()...)
		case About(k) != "":
			kinds = append(kinds, k)
		case text != "none":
			return nil, fmt.Errorf("no hooks of kind %q; kinds are %s; or all (these without %s and %s), or none",
				name, strings.Join(AllKinds(), ", "), Finish, Wake)
		}
	}
	return kinds, nil
}

// chosen returns the kinds that the client runs if a person chooses kinds: the chosen kinds that it can run, and kinds
// that they imply. Edits, Waiting and Wake imply Edits and Waiting, since the same hooks say that an agent works and
// that its turn ended. A kind is also implied if its first hook has a matcher and a chosen hook of its event has none.
func (s *hookSetup) chosen(kinds []Kind) (all []Kind) {
	if s == nil {
		return nil
	}
	if slices.ContainsFunc(kinds, func(k Kind) bool { return k == Edits || k == Waiting || k == Wake }) {
		kinds = append(slices.Clip(kinds), Edits, Waiting)
	}
	for _, k := range AllKinds() {
		i := slices.IndexFunc(s.entries, func(e hookEntry) bool { return e.kind == k })
		if i < 0 {
			continue
		}
		first := s.entries[i]
		runsAnyway := first.matcher != "" && slices.ContainsFunc(s.entries, func(e hookEntry) bool {
			return e.event == first.event && e.matcher == "" && slices.Contains(kinds, e.kind)
		})
		if slices.Contains(kinds, k) || runsAnyway {
			all = append(all, k)
		}
	}
	return all
}

// hooks returns the hooks for chosen kinds: one for each event, and a separate one for [Wake].
func (s *hookSetup) hooks(kinds []Kind) (all []hookEntry) {
	for _, e := range s.entries {
		if len(kinds) == 0 || e.kind != "" && !slices.Contains(kinds, e.kind) {
			continue
		}
		i := slices.IndexFunc(all, func(of hookEntry) bool { return of.event == e.event && e.kind != Wake && of.kind != Wake })
		if i < 0 {
			all = append(all, e)
			continue
		}
		all[i].matcher = union(all[i].matcher, e.matcher)
		if e.kind == Finish {
			all[i].kind = Finish
		}
	}
	return all
}

// union returns a matcher that selects everything that either of two matchers selects.
func union(a, b string) string {
	if a == "" || b == "" {
		return ""
	}
	for part := range strings.SplitSeq(b, "|") {
		if !slices.Contains(strings.Split(a, "|"), part) {
			a += "|" + part
		}
	}
	return a
}

// running returns the kinds whose hooks are all in the file.
func (h hookFile) running(places []place) (all []Kind) {
	if h.isPlugin() {
		text, _ := h.root[pluginPath].(string)
		line := kindsLine.FindString(text)
		return slices.DeleteFunc(h.chosen(AllKinds()), func(k Kind) bool { return !strings.Contains(line, strconv.Quote(k)) })
	}
	for _, k := range h.chosen(AllKinds()) {
		lacks := slices.ContainsFunc(h.entries, func(e hookEntry) bool {
			return e.kind == k && !slices.ContainsFunc(places, func(p place) bool { return p.serves(e) })
		})
		if !lacks {
			all = append(all, k)
		}
	}
	return all
}

// serves reports whether the hook does what an entry needs. It compares only the first part of the entry's matcher,
// since a newer version of this program may add parts.
func (p place) serves(e hookEntry) bool {
	first, _, _ := strings.Cut(e.matcher, "|")
	matches := p.matcher == "" || e.matcher != "" && slices.Contains(strings.Split(p.matcher, "|"), first)
	finishes := strings.Contains(p.command, finishFlag)
	return p.event == e.event && matches && (e.kind != Finish || finishes) && (e.kind == Wake) == strings.Contains(p.command, wakeFlag)
}
