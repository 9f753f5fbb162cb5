package server_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/todo-mcp/todo-mcp/server"
	"github.com/todo-mcp/todo-mcp/server/servertest"
	"github.com/todo-mcp/todo-mcp/server/stdio"
	"github.com/todo-mcp/todo-mcp/tools"
)

// The client of the official Go SDK works over HTTP and over a pipe, in both
// eras: tools of two variants, resources, prompts, completion and a
// subscription.
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

// useAsClient connects the SDK's client and uses each feature of the server
// once.
func useAsClient(t *testing.T, transport mcp.Transport, era string) {
	ctx := t.Context()
	updated := make(chan string, 10)
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	session := servertest.Must(client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era}))(t)
	defer session.Close()
	if got := session.InitializeResult().ProtocolVersion; got != era {
		t.Errorf("protocol version %s, want %s", got, era)
	}
	servertest.Check(t, session.Subscribe(ctx, &mcp.SubscribeParams{URI: "todo://list"}))
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != len(tools.Names()) {
		t.Fatalf("tools: %v, %v", list, err)
	}
	item := func(text, status string) map[string]any {
		return map[string]any{"content": text, "activeForm": "Doing " + text, "status": status}
	}
	call := func(tool string, args map[string]any) string {
		t.Helper()
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || res.IsError {
			t.Fatalf("%s: %+v, %v", tool, res, err)
		}
		if res.StructuredContent == nil {
			t.Errorf("%s: no structured content", tool)
		}
		return res.Content[0].(*mcp.TextContent).Text
	}
	if got := call("TodoWrite", map[string]any{"todos": []any{item("A", "in_progress"), item("B", "pending")}}); got != "Todo list updated: 0 completed, 1 in_progress, 1 pending" {
		t.Error(got)
	}
	if got := <-updated; got != "todo://list" {
		t.Errorf("updated: %s", got)
	}
	if got := call("update_todo", map[string]any{"id": "1", "status": "completed"}); !strings.Contains(got, "[x] #1 A") {
		t.Error(got)
	}
	read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "todo://list"})
	if err != nil || len(read.Contents) != 2 || !strings.Contains(read.Contents[0].Text, `"status":"completed"`) || !strings.Contains(read.Contents[1].Text, "- [x] A") {
		t.Errorf("todo://list: %+v, %v", read, err)
	}
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "todo://lists/unknown"}); err == nil {
		t.Error("an unknown list was read")
	}
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "resume"})
	if err != nil || !strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, "- #2 B") {
		t.Errorf("resume: %+v, %v", prompt, err)
	}
	prompt, err = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "plan", Arguments: map[string]string{"goal": "ship {{goal}}"}})
	if err != nil || !strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, "ship {{goal}}") {
		t.Errorf("plan: %+v, %v", prompt, err)
	}
	offered, err := session.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "resume"}, Argument: mcp.CompleteParamsArgument{Name: "list"}})
	if err != nil || len(offered.Completion.Values) != 1 {
		t.Errorf("completion: %+v, %v", offered, err)
	}
}
