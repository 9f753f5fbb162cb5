// Package server implements the MCP server: tools, resources, prompts and subscriptions, and the rules by which a
// message's caller and list are found. The transports (server/stdio, server/mcphttp) pass each message with its sender,
// a [Peer], to [Server.Handle].
//
// Calls on one list are applied in the order in which they arrive. An answer is sent only after the change it reports
// is on disk. Invalid input is refused before it reaches a list. Each request uses either the protocol with sessions or
// the sessionless one. Notifications that a client does not read may be dropped.
package server

import (
	"cmp"
	"context"
	"errors"
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
	// Tools are all tools. Publish has the names of the tools to list, or "all" or "auto"; see [CheckPublish].
	Tools      []*tools.Tool
	Publish    []string
	Structured Structured // which clients get structured content; empty means [StructuredAuto]
	Texts      *prompts.Texts
	Version    string
	List       string // the name of the list that the user chose for this process, see [todo.CheckName]; may be empty
	// Panel is the panel's address; empty for none. [New] puts it into the instructions, so that models can tell it to
	// users. A server that serves the panel itself may set Panel later, before the first message: then only the app
	// page and the server's description name the panel, since people who added the server know its address.
	Panel string
	Dir   string // the working directory; may be empty
	Host  string // on stdio the process id of the client's host; empty if it is unknown
	// Getenv reads the variable in which a host on stdio names the chat; nil means that no variable is set.
	Getenv  func(string) string
	Timeout time.Duration // of each request except streams; 0 means 10 s
	// StopTimeout bounds how long a server on a pipe continues after it was told to end. After the end of input, it
	// bounds how long the client may go without reading an answer. 0 means 8 s (BAD-INPUT 58 and 68).
	StopTimeout   time.Duration
	Subscriptions subscriptions.Config // limits; [New] sets its Board
	// SessionKey returns the key that signs ids of HTTP sessions. It is called at most once, when the first id is
	// made or checked; nil if there are no sessions.
	SessionKey func() []byte
	Log        *slog.Logger // of the server's own failures, without any list's content; nil discards them
	// Observe is called for every answered request, concurrently; nil observes nothing. It gets how long the request
	// took (a stream: until its end) and these labels in this order, none with a value that a client made up:
	//   - errorType: empty for success, "tool_error" for a result that is an error, "cancelled" if the
	//     caller left or cancelled the request, "read_only" if the caller may not write, else the code
	//     of the JSON-RPC error;
	//   - tool: the called tool; empty for other methods and unknown tools;
	//   - method, or "_OTHER" if MCP does not have it;
	//   - protocol: its version; empty if it is unknown, as on stdio before 2026-07-28;
	//   - transport: "pipe" for stdio and "tcp" for HTTP.
	Observe func(took time.Duration, labels ...string)
}

// Server answers MCP requests that a transport passes to [Server.Handle].
type Server struct {
	Config
	mcp           *mcpserver.MCPServer
	subscriptions *subscriptions.Hub
	pageTools     []*tools.Tool // tools that only the app page calls
	refusals      rate.Sometimes
	proved        atomic.Pointer[proved]
}

// New returns a server, which must be closed.
func New(c Config) *Server {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	// This leaves the store time to close within the ten seconds after which service managers and hosts kill a process.
	c.StopTimeout = cmp.Or(c.StopTimeout, 8*time.Second)
	c.Subscriptions.Board = c.Board
	s := &Server{Config: c, subscriptions: subscriptions.New(c.Subscriptions), refusals: rate.Sometimes{Interval: time.Minute}}
	hooks := &mcpserver.Hooks{}
	s.introduceItself(hooks)
	hooks.AddAfterListTools(s.listTools)
	hooks.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
		if unread, ok := errors.AsType[*mcpserver.UnparsableMessageError](err); ok {
			mcpserver.ClientSessionFromContext(ctx).(*request).misread = unread
		}
	})
	instructions := c.Texts.Text("instructions")
	if c.Panel != "" {
		instructions += " " + strings.ReplaceAll(c.Texts.Text("panel"), "{{address}}", c.Panel)
	}
	s.mcp = mcpserver.NewMCPServer("todo-mcp", c.Version, mcpserver.WithTitle("Todo lists"), mcpserver.WithInstructions(instructions),
		mcpserver.WithToolCapabilities(false), mcpserver.WithResourceCapabilities(true, false), mcpserver.WithPromptCapabilities(false),
		mcpserver.WithHooks(hooks), mcpserver.WithCacheHints(0, mcp.CacheScopePrivate),
		mcpserver.WithExtensions(map[string]any{card.Extension: map[string]any{}}))
	for _, tool := range s.published() {
		s.addTool(tool.Name, tool, s.call)
	}
	for _, name := range reads {
		s.addTool(name, nil, s.read)
	}
	s.addResources()
	s.addCard()
	s.addPrompts()
	return s
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

// CheckPublish returns an error unless name is a tool's name, "all" or "auto". The error lists the allowed values.
func CheckPublish(name string) error {
	if name == "auto" || name == "all" || slices.Contains(tools.Names(), name) {
		return nil
	}
	return fmt.Errorf("no tool %q: allowed are auto, all, or a list of %v", name, tools.Names())
}

// usualTool is the tool that "auto" lists to an unknown client, and in the sessionless protocol: most models know it,
// and no known client hides it or confuses it with a tool of its own. A list of all tools would cost a model ten times
// as many tokens, and the model would have to choose.
const usualTool = "TodoWrite"

// listed returns the tools that a client gets for tools/list, in the order of [Config.Tools]. In the sessionless
// protocol the tools must not vary by client.
func (s *Server) listed(r *request) (listed []*tools.Tool) {
	known, best := clients.Find(r.Client.Name), []string{usualTool}
	if r.message.Modern {
		known = clients.Client{}
	}
	if len(known.Tools) > 0 {
		best = known.Tools
	}
	all := !slices.Contains(s.Publish, "auto") || best[0] == "all"
	names := make(map[string]string) // tool names by folded name
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

// listTools replaces the tools in mcp-go's answer to tools/list with those for this client, with or without output
// schemas, and marks the first as one to load at once. Clients can also call tools that are not listed.
//
// The app page's own tools come last. Only a session whose client shows apps gets them, as such a client hides them
// from its model. The page works even if they are not listed.
func (s *Server) listTools(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	r := mcpserver.ClientSessionFromContext(ctx).(*request)
	// A client complains about a result without structured content if its tool has an output schema. So no schema is
	// listed where a result may lack that content.
	withOutput := s.getsStructured(clients.Find(r.Client.Name))
	if r.message.Modern { // all clients of the sessionless protocol get one listing
		withOutput = s.Structured == StructuredAlways
	}
	var listed []mcp.Tool
	add := func(t *tools.Tool, meta *mcp.Meta) {
		no := false // mcp.NewTool annotates tools as destructive
		tool := mcp.NewToolWithRawSchema(t.Name, t.Description, t.InputSchema())
		tool.Title, tool.Meta = t.Title, meta
		tool.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &t.ReadOnly, DestructiveHint: &no, OpenWorldHint: &no, IdempotentHint: &t.Idempotent}
		if withOutput {
			tool.RawOutputSchema = tools.OutputSchema()
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

// icon is the panel's icon as a data: URL, which cannot have spaces.
const icon = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%2018%2018'%20stroke-width='3'%3E" +
	"%3Cpath%20stroke='%23999'%20d='M3%204h7M3%2014h9'/%3E%3Cpath%20stroke='%23465ff0'%20d='M3%209h12'/%3E%3C/svg%3E"

// about returns the server's description for people; its website is the panel. Only the first answer to a client has
// the description: mcp-go's own option would put it into every result of the sessionless protocol.
func (s *Server) about() mcp.Implementation {
	return mcp.Implementation{Name: "todo-mcp", Version: s.Version, Title: "Todo lists", WebsiteURL: s.Panel,
		Description: "Keeps the todo lists of agents, and shows them to people as they change",
		Icons:       []mcp.Icon{{Src: icon, MIMEType: "image/svg+xml", Sizes: []string{"any"}}}}
}

// introduceItself adds the server's description to the answers to initialize and server/discover. In the instructions
// it also names the client's first listed tool, since some clients show a model a whole tool only after a search.
func (s *Server) introduceItself(hooks *mcpserver.Hooks) {
	name := func(ctx context.Context, instructions *string) {
		if listed := s.listed(mcpserver.ClientSessionFromContext(ctx).(*request)); len(listed) > 0 {
			*instructions = strings.ReplaceAll(*instructions, "{{tool}}", listed[0].Name)
		}
	}
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, r *mcp.InitializeResult) {
		r.ServerInfo = s.about()
		name(ctx, &r.Instructions)
	})
	hooks.AddAfterDiscover(func(ctx context.Context, _ any, _ *mcp.DiscoverRequest, r *mcp.DiscoverResult) {
		r.EnsureResultMeta().SetServerInfo(s.about())
		name(ctx, &r.Instructions)
	})
}
