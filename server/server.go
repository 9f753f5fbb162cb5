package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"todo-mcp/internal/todo"
	"todo-mcp/prompts"
	"todo-mcp/server/card"
	"todo-mcp/tools"
)

// defaultTimeout bounds a request on a slow or unreachable store.
const defaultTimeout = 10 * time.Second

// Config is what a server needs.
type Config struct {
	Board *todo.Board
	// Tools are all tools; Publish names those to list, or "auto".
	Tools   []*tools.Tool
	Publish []string
	Texts   *prompts.Texts
	Version string
	// List is the list the user named for this process; empty for none.
	List string
	// Dir is the working directory, "" when it cannot be told.
	Dir string
	// Conversations names further _meta keys that carry a conversation id.
	Conversations []string
	// Timeout bounds a request that is no stream; 0 is 10 s.
	Timeout time.Duration
	// Log receives our own failures; never any list's content. Nil discards.
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Server answers MCP requests; [Server.ServeStdio] and [Server.Handler] carry
// them.
type Server struct {
	Config
	mcp           *mcpserver.MCPServer
	subscriptions *subscriptions
	viewTool      string // the name of the app page's own tool

	mu      sync.Mutex
	current map[string]string     // scope key → list this process wrote last there
	resumed map[string]todo.Scope // scope key → scope whose list it goes on with
}

// New builds a server. It starts nothing; [Server.Close] ends what its
// transports started.
func New(c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	if c.List != "" {
		if err := todo.CheckName(c.List); err != nil {
			return nil, err
		}
	}
	instructions, err := c.Texts.Text("instructions")
	if err != nil {
		return nil, err
	}
	s := &Server{Config: c, current: make(map[string]string), resumed: make(map[string]todo.Scope)}
	s.subscriptions = newSubscriptions(s)
	hooks := &mcpserver.Hooks{}
	hooks.AddAfterListTools(s.chooseTools)
	s.subscriptions.hook(hooks)
	s.mcp = mcpserver.NewMCPServer("todo-mcp", c.Version,
		mcpserver.WithTitle("Todo lists"),
		mcpserver.WithInstructions(instructions),
		mcpserver.WithToolCapabilities(false),
		mcpserver.WithResourceCapabilities(true, false),
		mcpserver.WithPromptCapabilities(false),
		mcpserver.WithCompletions(),
		mcpserver.WithPromptCompletionProvider(completions{s}),
		mcpserver.WithRecovery(),
		mcpserver.WithToolHandlerMiddleware(func(next mcpserver.ToolHandlerFunc) mcpserver.ToolHandlerFunc {
			return bounded(s, next)
		}),
		mcpserver.WithResourceHandlerMiddleware(func(next mcpserver.ResourceHandlerFunc) mcpserver.ResourceHandlerFunc {
			return bounded(s, next)
		}),
		mcpserver.WithPromptHandlerMiddleware(func(next mcpserver.PromptHandlerFunc) mcpserver.PromptHandlerFunc {
			return bounded(s, next)
		}),
		mcpserver.WithHooks(hooks),
		mcpserver.WithCacheHints(0, mcp.CacheScopePrivate),
		mcpserver.WithExtensions(map[string]any{card.Extension: map[string]any{}}),
	)
	for _, tool := range s.published() {
		s.mcp.AddTool(describe(tool), s.handler(tool))
	}
	s.addResources()
	if err := s.addCard(); err != nil {
		return nil, err
	}
	return s, s.addPrompts()
}

// lists returns the lists that the sender of a message may read and write.
func (s *Server) lists(ctx context.Context) todo.Lists { return s.Board.As(peerOf(ctx).Principal) }

// MCP is the server as mcp-go has it, for the transports that carry its messages.
// They put a [Peer] into the context of each.
func (s *Server) MCP() *mcpserver.MCPServer { return s.mcp }

// bounded makes a handler end within the timeout. The transport's own context
// stays as it is: when that ends, mcp-go takes the client for gone and answers
// nothing.
func bounded[Request, Result any](s *Server, handle func(context.Context, Request) (Result, error)) func(context.Context, Request) (Result, error) {
	return func(ctx context.Context, r Request) (Result, error) {
		ctx, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		return handle(ctx, r)
	}
}

// EndSession forgets what is kept of an HTTP session that has ended.
func (s *Server) EndSession(id string) { s.subscriptions.drop(id) }

// Close ends subscriptions and waits for them.
func (s *Server) Close() { s.subscriptions.close() }

// published are the tools the server has at all; [Server.chooseTools] may list
// fewer to a client.
func (s *Server) published() []*tools.Tool {
	if slices.Contains(s.Publish, "auto") || slices.Contains(s.Publish, "all") {
		return s.Tools
	}
	return slices.DeleteFunc(slices.Clone(s.Tools), func(t *tools.Tool) bool { return !slices.Contains(s.Publish, t.Name) })
}

// CheckPublish says whether names may be published: tool names, "all" or "auto".
func CheckPublish(names []string) error {
	for _, name := range names {
		if name != "auto" && name != "all" && !slices.Contains(tools.Names(), name) {
			return fmt.Errorf("no tool %q: allowed are auto, all, or a list of %v", name, tools.Names())
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("no tool named: allowed are auto, all, or a list of %v", tools.Names())
	}
	return nil
}

// describe is a tool as tools/list publishes it. mcp.NewTool is not used: it
// defaults annotations to destructive, and a raw schema in it empties the whole
// list.
func describe(t *tools.Tool) mcp.Tool {
	no := false
	return mcp.Tool{
		Meta: card.ToolMeta(), Name: t.Name, Title: t.Title, Description: t.Description,
		RawInputSchema: t.InputSchema, RawOutputSchema: t.OutputSchema,
		Annotations: mcp.ToolAnnotation{
			ReadOnlyHint: &no, DestructiveHint: &no, OpenWorldHint: &no, IdempotentHint: &t.Idempotent,
		},
	}
}

// chooseTools narrows tools/list for a client known by name (ARCHITECTURE.md,
// "auto"). The sessionless protocol forbids lists that vary.
func (s *Server) chooseTools(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	s.hideView(ctx, result)
	if !slices.Contains(s.Publish, "auto") || mcpserver.IsModernRequest(ctx) {
		return
	}
	name := bestTool(clientOf(ctx).Name)
	if name == "" {
		return
	}
	result.Tools = slices.DeleteFunc(result.Tools, func(t mcp.Tool) bool { return t.Name != name && t.Name != s.viewTool })
}
