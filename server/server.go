// Package server implements the MCP server: its tools, resources, prompts and
// subscriptions, and the rules that derive from a message who is calling and
// which list a call means. The transports are in other packages (server/stdio,
// server/mcphttp); they pass each message to [Server.Handle], with its sender as a
// [Peer].
//
// Calls on one list are applied in the order in which they arrive. An answer is
// sent only after the change it reports is on disk. Invalid input is refused
// before it reaches a list. The era of the protocol, with sessions or without,
// is decided for each request. Notifications to a client that does not read them
// may be dropped.
package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
	"golang.org/x/time/rate"

	"github.com/todo-mcp/todo-mcp/internal/board"
	"github.com/todo-mcp/todo-mcp/internal/clients"
	"github.com/todo-mcp/todo-mcp/internal/todo"
	"github.com/todo-mcp/todo-mcp/prompts"
	"github.com/todo-mcp/todo-mcp/server/card"
	"github.com/todo-mcp/todo-mcp/server/subscriptions"
	"github.com/todo-mcp/todo-mcp/tools"
)

// Config configures a [Server]. Board, Tools, Publish and Texts are required.
type Config struct {
	Board *board.Board
	// Tools are all tools. Publish names those to list, or is "all" or "auto";
	// see [CheckPublish].
	Tools   []*tools.Tool
	Publish []string
	// Structured says which clients get structured content; empty means
	// [StructuredAuto].
	Structured Structured
	Texts      *prompts.Texts
	Version    string
	// List is the name of the list that the user chose for this process; empty
	// for none.
	List string
	// Panel is the address of the panel that is served beside this server, which
	// clients learn for their users; empty when there is none. A server that shows it
	// itself may be given it after [New], before the first message. Then only the app page
	// has it, for links: who adds a server by its address knows that.
	Panel string
	// Dir is the working directory, and Host the id of the process of the client's host on stdio;
	// empty when it is unknown.
	Dir, Host string
	// Getenv reads the variable in which the client's host names the chat to a server
	// on stdio; nil means that there are none.
	Getenv func(string) string
	// Timeout limits each request but streams; 0 means 10 s.
	Timeout time.Duration
	// StopTimeout is how long a client on a pipe may still leave answers unread
	// when the server ends; 0 means 8 s (BAD-INPUT 68).
	StopTimeout time.Duration
	// Subscriptions bounds the subscriptions to resources. [New] sets its Board.
	Subscriptions subscriptions.Config
	// SessionKey returns the key that signs the ids of HTTP sessions. It is called at
	// most once, when the first id is made or checked; nil where there are no sessions.
	SessionKey func() []byte
	// Hook takes in an event of a host's hook, a JSON object, and returns what the host reads,
	// as JSON; nil where the client's hooks do not call this server. An error is for its
	// reader, and says nothing of a list.
	Hook func(ctx context.Context, lists board.Lists, event json.RawMessage) (answer []byte, err error)
	// Log receives the server's own failures, never any list's content; nil
	// discards them.
	Log *slog.Logger
	// Observe is told of every request that is answered, by several goroutines at once; nil
	// observes nothing. Notifications are no requests. It is told how long the request took, a
	// stream until its end, and, all of which no client can make up:
	//   - errorType: empty for a request that succeeded, "tool_error" for a result that says so,
	//     "cancelled" for one whose caller left or cancelled it before it was answered,
	//     "read_only" for one that would have changed what its caller may only read, and else
	//     the code of the JSON-RPC error;
	//   - tool: the tool that was called; empty for another method, and for one that is not there;
	//   - method, or "_OTHER" for one that MCP does not have;
	//   - protocol: its version; empty where it is not said, as on stdio before 2026-07-28;
	//   - transport: "pipe" for stdio and "tcp" for HTTP.
	Observe func(took time.Duration, labels ...string)
}

// Server answers MCP requests that a transport passes to [Server.Handle].
type Server struct {
	Config
	mcp           *mcpserver.MCPServer
	subscriptions *subscriptions.Hub
	pageTools     []*tools.Tool // those that only the app page calls
	refusals      rate.Sometimes
	proved        atomic.Pointer[proved]
}

// New returns a server. It starts no goroutine, but subscriptions do later:
// [Server.Close] must be called. It returns an error for an invalid list name.
func New(c Config) (*Server, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	// The store then has time to close within the ten seconds after which service
	// managers and hosts kill a process.
	c.StopTimeout = cmp.Or(c.StopTimeout, 8*time.Second)
	if c.List != "" {
		if err := todo.CheckName(c.List); err != nil {
			return nil, err
		}
	}
	c.Subscriptions.Board = c.Board
	s := &Server{Config: c, subscriptions: subscriptions.New(c.Subscriptions), refusals: rate.Sometimes{Interval: time.Minute}}
	hooks := &mcpserver.Hooks{}
	s.introduceItself(hooks)
	hooks.AddAfterListTools(s.listTools)
	hooks.AddOnError(noteMisread)
	s.mcp = mcpserver.NewMCPServer("todo-mcp", c.Version,
		mcpserver.WithTitle("Todo lists"),
		mcpserver.WithInstructions(c.instructions()),
		mcpserver.WithToolCapabilities(false),
		mcpserver.WithResourceCapabilities(true, false),
		mcpserver.WithPromptCapabilities(false),
		mcpserver.WithCompletions(),
		mcpserver.WithPromptCompletionProvider(completions{}),
		mcpserver.WithHooks(hooks),
		mcpserver.WithCacheHints(0, mcp.CacheScopePrivate),
		mcpserver.WithExtensions(map[string]any{card.Extension: map[string]any{}}),
	)
	for _, tool := range s.published() {
		s.addTool(describe(tool), tool, s.call)
	}
	for _, name := range reads {
		s.addTool(mcp.NewToolWithRawSchema(name, "", nil), nil, s.read)
	}
	if s.Hook != nil {
		s.addTool(mcp.NewToolWithRawSchema(hookTool, "", nil), nil, s.takeHook)
	}
	s.addResources()
	s.addCard()
	s.addPrompts()
	return s, nil
}

// instructions returns what the server tells clients of itself.
func (c Config) instructions() string {
	text := c.Texts.Text("instructions")
	if c.Panel != "" {
		text += " " + strings.ReplaceAll(c.Texts.Text("panel"), "{{address}}", c.Panel)
	}
	return text
}

// Close ends all subscriptions.
func (s *Server) Close() { s.subscriptions.Close() }

// published returns the tools that clients can call, without the app page's own.
func (s *Server) published() []*tools.Tool {
	if slices.Contains(s.Publish, "auto") || slices.Contains(s.Publish, "all") {
		return s.Tools
	}
	return slices.DeleteFunc(slices.Clone(s.Tools), func(t *tools.Tool) bool { return !slices.Contains(s.Publish, t.Name) })
}

// CheckPublish returns an error unless names has at least one element and each
// is the name of a tool, "all" or "auto". The error lists what is allowed.
func CheckPublish(names []string) error {
	odd := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return name == "auto" || name == "all" || slices.Contains(tools.Names(), name)
	})
	if len(odd) > 0 || len(names) == 0 {
		return fmt.Errorf("no tool %q: allowed are auto, all, or a list of %v", strings.Join(odd, ","), tools.Names())
	}
	return nil
}

// describe returns a tool as it is registered. Its schemas are made when it is listed:
// those of all would take a quarter of the program's start. (mcp.NewTool annotates tools as
// destructive by default.)
func describe(t *tools.Tool) mcp.Tool {
	no, reads := false, t.ReadOnly
	tool := mcp.NewToolWithRawSchema(t.Name, t.Description, nil)
	tool.Title = t.Title
	tool.Annotations = mcp.ToolAnnotation{
		ReadOnlyHint: &reads, DestructiveHint: &no, OpenWorldHint: &no, IdempotentHint: &t.Idempotent,
	}
	return tool
}

// usualTool is the one tool that is listed for "auto" to a client of which nothing else is
// known, and in the sessionless protocol: most models know it, and no known client hides it
// or takes it for a built-in of its own, as Gemini CLI hides write_todos and kimi-cli has a
// SetTodoList. All of them would cost a model ten times as much to read, and leave it to
// choose.
const usualTool = "TodoWrite"

// listed returns the tools that a client is listed, in the order of [Config.Tools]. In the
// sessionless protocol lists must not vary.
func (s *Server) listed(r *request) (listed []*tools.Tool) {
	known, best := clients.Find(r.Client.Name), []string{usualTool}
	if r.message.Modern {
		known = clients.Client{}
	}
	if len(known.Tools) > 0 {
		best = known.Tools
	}
	all := !slices.Contains(s.Publish, "auto") || best[0] == "all"
	names := make(map[string]string) // of the tool that has a folded name
	for _, tool := range s.published() {
		if folded := todo.Fold(tool.Name); names[folded] == "" || slices.Contains(best, tool.Name) {
			names[folded] = tool.Name
		}
		if all || slices.Contains(s.Publish, tool.Name) || slices.Contains(best, tool.Name) {
			listed = append(listed, tool)
		}
	}
	if !known.FoldsNames {
		return listed
	}
	return slices.DeleteFunc(listed, func(t *tools.Tool) bool { return names[todo.Fold(t.Name)] != t.Name })
}

// listTools returns what of all tools one client is listed, and whether with output schemas.
// The first tool is marked to be loaded at once. What is not listed can be called all the
// same.
//
// The app page's own tools come last, and only in a session of a client that shows
// apps: that client hides them from its model. In the sessionless protocol they are never
// listed; the page works without them.
func (s *Server) listTools(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	r := mcpserver.ClientSessionFromContext(ctx).(*request)
	var listed []mcp.Tool
	add := func(t *tools.Tool, meta *mcp.Meta) {
		tool := result.Tools[slices.IndexFunc(result.Tools, func(tool mcp.Tool) bool { return tool.Name == t.Name })]
		if tool.Meta, tool.RawInputSchema = meta, t.InputSchema(); s.listsOutput(r) {
			tool.RawOutputSchema = t.OutputSchema()
		}
		listed = append(listed, tool)
	}
	for i, tool := range s.listed(r) {
		meta := card.ToolMeta()
		if meta.AdditionalFields[metaSearchHint] = searchHint; i == 0 {
			meta.AdditionalFields[metaAlwaysLoad] = true
		}
		add(tool, meta)
	}
	if r.Apps && !r.message.Modern {
		for _, tool := range s.pageTools {
			add(tool, card.OwnMeta())
		}
	}
	result.Tools = listed
}
