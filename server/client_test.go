package server_test

import (
	"context"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/server/stdio"
	"github.com/todo-mcp/todo-mcp/tools"
)

// The client of the official Go SDK works over HTTP and over a pipe, in both eras: tools of two
// variants, resources, prompts, completion and a subscription.
func TestOfficialClient(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *server.Server) mcp.Transport{
		"http": func(t *testing.T, s *server.Server) mcp.Transport {
			return &mcp.StreamableClientTransport{Endpoint: servertest.Serve(t, s, nil).URL + "/mcp"}
		},
		"stdio": func(t *testing.T, s *server.Server) mcp.Transport {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			go func() { stdio.Serve(context.Background(), s, inR, outW); outW.Close() }()
			t.Cleanup(func() { inW.Close() })
			return &mcp.IOTransport{Reader: outR, Writer: inW}
		},
	} {
		for _, era := range []string{servertest.Legacy, servertest.Modern} {
			t.Run(name+" "+era, func(t *testing.T) { useAsClient(t, connect(t, servertest.New(t, nil, nil)), era) })
		}
	}
}

func useAsClient(t *testing.T, transport mcp.Transport, era string) {
	ctx := t.Context()
	updated := make(chan string, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	session := servertest.Must(client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era}))(t)
	defer session.Close()
	servertest.Has(t, "protocol version", session.InitializeResult().ProtocolVersion, era)
	servertest.Check(t, session.Subscribe(ctx, &mcp.SubscribeParams{URI: "todo://list"}))
	if list := servertest.Must(session.ListTools(ctx, nil))(t); len(list.Tools) != len(tools.Names()) {
		t.Fatalf("%d tools", len(list.Tools))
	}
	item := func(text, status string) map[string]any {
		return map[string]any{"content": text, "activeForm": "Doing " + text, "status": status}
	}
	call := func(tool string, args map[string]any, want string) {
		t.Helper()
		res := servertest.Must(session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args}))(t)
		servertest.Has(t, tool, res.Content[0].(*mcp.TextContent).Text, want)
		if res.IsError || res.StructuredContent == nil {
			t.Errorf("%s: no structured content", tool)
		}
	}
	call("TodoWrite", map[string]any{"todos": []any{item("A", "in_progress"), item("B", "pending")}}, "Todo list updated: 0 completed, 1 in_progress, 1 pending")
	servertest.Has(t, "updated", <-updated, "todo://list")
	call("update_todo", map[string]any{"id": "1", "status": "completed"}, "[x] #1 A")
	read := servertest.Must(session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "todo://list"}))(t)
	servertest.Has(t, "todo://list", read.Contents[0].Text, `"status":"completed"`)
	servertest.Has(t, "todo://list", read.Contents[1].Text, "- [x] A")
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "todo://lists/unknown"}); err == nil {
		t.Error("an unknown list was read")
	}
	for name, of := range map[string]struct {
		arguments map[string]string
		want      string
	}{"resume": {nil, "- #2 B"}, "plan": {map[string]string{"goal": "ship {{goal}}"}, "ship {{goal}}"}} {
		prompt := servertest.Must(session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name, Arguments: of.arguments}))(t)
		servertest.Has(t, name, prompt.Messages[0].Content.(*mcp.TextContent).Text, of.want)
	}
	offered := servertest.Must(session.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "resume"},
		Argument: mcp.CompleteParamsArgument{Name: "list"}}))(t)
	if len(offered.Completion.Values) != 1 {
		t.Errorf("completion: %+v", offered)
	}
}
