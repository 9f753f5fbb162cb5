//go:build hosts && linux

package hosts

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// way is how a client is started again after its first run.
type way string

const (
	anew   way = "anew"   // as at first, in the same folder
	resume way = "resume" // the client continues its last conversation, by its id where it has one
	latest way = "latest" // Claude Code continues its last conversation without an id
)

// session is the id of Claude Code's conversation, so that it can be resumed by
// its id.
const session = "11111111-2222-4333-8444-555555555555"

// client is a real MCP client.
type client struct {
	name string
	// files writes its settings, once for each rig.
	files func(r *rig)
	// command returns the program with its arguments for the first run, or for a
	// later one, and its environment besides the common one.
	command func(r *rig, first bool, w way) (args, env []string)
}

// clients returns the clients by the name of the subtest.
func clients() []client {
	return []client{
		{name: "claude-stdio", files: claudeFiles, command: claude},
		{name: "claude-http", files: func(r *rig) { r.serveHTTP(); claudeFiles(r) }, command: claude},
		{name: "codex", files: codexFiles, command: codex},
		{name: "gemini", files: geminiFiles, command: gemini},
		{name: "kimi", files: kimiFiles, command: kimi},
		{name: "copilot", files: claudeFiles, command: copilot},
	}
}

// program returns the path of a program below the npm packages that testdata/npm-hosts pins.
func program(t *testing.T, pattern string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm-hosts", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s is not installed (%v): run `make hosts`", pattern, err)
	}
	return found[0]
}

// mcpServers returns the settings of the server as most clients read them.
func (r *rig) mcpServers(more object) string {
	server := object{"type": "stdio", "command": r.server[0], "args": r.server[1:]}
	if r.url != "" {
		server = object{"type": "http", "url": r.url}
	}
	for k, v := range more {
		server[k] = v
	}
	return asJSON(object{"mcpServers": object{"todo": server}})
}

// file writes a file below the client's home and returns its path.
func (r *rig) file(name, content string) string {
	path := filepath.Join(r.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func claudeFiles(r *rig) { r.file("mcp.json", r.mcpServers(nil)) }

func claude(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, "@anthropic-ai/claude-code-*/claude"), "-p", r.prompt, "--strict-mcp-config", "--mcp-config", filepath.Join(r.home, "mcp.json"), "--allowedTools", "mcp__todo__*"}
	switch {
	case first:
		args = append(args, "--session-id", session)
	case w == resume:
		args = append(args, "--resume", session)
	case w == latest:
		args = append(args, "--continue")
	}
	return args, []string{"ANTHROPIC_BASE_URL=" + r.model.URL, "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
}

func codexFiles(r *rig) {
	r.codexModel("[mcp_servers.todo]", "command = "+asJSON(r.server[0]), "args = "+asJSON(r.server[1:]))
}

// codexModel writes Codex' settings, with more lines.
func (r *rig) codexModel(more ...string) {
	r.file("codex/config.toml", `model = "gpt-5"
model_provider = "standin"
[model_providers.standin]
name = "standin"
base_url = "`+r.model.URL+`/v1"
wire_api = "responses"
[analytics]
enabled = false
`+strings.Join(more, "\n"))
}

func codex(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, ".bin/codex"), "exec"}
	if !first && w == resume {
		args = append(args, "resume", "--last")
	}
	args = append(args, "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "go")
	return args, []string{"CODEX_HOME=" + filepath.Join(r.home, "codex")}
}

func geminiFiles(r *rig) {
	var servers object
	_ = json.Unmarshal([]byte(r.mcpServers(object{"trust": true, "type": "stdio"})), &servers)
	r.geminiSettings(servers)
}

// geminiSettings writes Gemini CLI's settings, with more.
func (r *rig) geminiSettings(more object) {
	settings := object{
		"security": object{"auth": object{"selectedType": "gemini-api-key"}},
		"general":  object{"enableAutoUpdate": false},
		"privacy":  object{"usageStatisticsEnabled": false},
	}
	maps.Copy(settings, more)
	r.file(".gemini/settings.json", asJSON(settings))
}

func gemini(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, ".bin/gemini"), "--skip-trust", "--yolo", "-m", "gemini-2.5-pro", "-p", "go"}
	if !first && w == resume {
		args = append(args, "--resume", "latest")
	}
	return args, []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=" + r.model.URL}
}

// qwenSettings writes Qwen Code's settings, with more.
func (r *rig) qwenSettings(more object) {
	settings := object{
		"security": object{"auth": object{"selectedType": "openai"}},
		"general":  object{"enableAutoUpdate": false},
		"privacy":  object{"usageStatisticsEnabled": false},
	}
	maps.Copy(settings, more)
	r.file(".qwen/settings.json", asJSON(settings))
}

func qwen(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, ".bin/qwen"), "--auth-type", "openai", "--yolo", "-p", "go"}
	if !first && w == resume {
		args = append(args, "--continue")
	}
	return args, []string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL=" + r.model.URL + "/v1", "OPENAI_MODEL=stand-in"}
}

func kimiFiles(r *rig) { r.file("kimi/mcp.json", r.mcpServers(nil)) }

func kimi(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, ".bin/kimi"), "-p", "go"}
	if !first && w == resume {
		args = append(args, "--continue")
	}
	return args, []string{"KIMI_CODE_HOME=" + filepath.Join(r.home, "kimi"), "KIMI_CODE_NO_AUTO_UPDATE=1", "KIMI_MODEL_NAME=stand-in", "KIMI_MODEL_API_KEY=x", "KIMI_MODEL_PROVIDER_TYPE=anthropic", "KIMI_MODEL_BASE_URL=" + r.model.URL}
}

func copilot(r *rig, first bool, w way) (args, env []string) {
	args = []string{program(r.t, "@github/copilot-linux-*/copilot"), "-p", "go", "--allow-all-tools", "--additional-mcp-config", "@" + filepath.Join(r.home, "mcp.json")}
	if !first && w == resume {
		args = append(args, "--continue")
	}
	return args, []string{"COPILOT_HOME=" + filepath.Join(r.home, "copilot"), "COPILOT_OFFLINE=true", "COPILOT_PROVIDER_TYPE=anthropic", "COPILOT_PROVIDER_BASE_URL=" + r.model.URL, "COPILOT_PROVIDER_API_KEY=x", "COPILOT_MODEL=claude-sonnet-4.5"}
}
