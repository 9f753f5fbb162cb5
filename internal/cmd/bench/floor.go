//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// todos are the arguments of the tool that all servers have.
type todos struct {
	Todos []todo `json:"todos" jsonschema:"required"`
}

type todo struct {
	Content    string `json:"content" jsonschema:"required"`
	ActiveForm string `json:"activeForm" jsonschema:"required"`
	Status     string `json:"status" jsonschema:"required"`
}

const (
	toolName    = "TodoWrite"
	description = "Create and manage a structured task list for your current session."
)

// text is the answer of a floor to a call.
func (t todos) text() string {
	n := map[string]int{}
	for _, item := range t.Todos {
		n[item.Status]++
	}
	return fmt.Sprintf("Todo list updated: %d completed, %d in_progress, %d pending", n["completed"], n["in_progress"], n["pending"])
}

// serveFloor serves a tool that reads its arguments and answers with a text and
// with them, by one of two libraries, on stdio or at an address.
func serveFloor(library, at string) error {
	if library == "sdk" {
		return serveSDK(at)
	}
	s := server.NewMCPServer("bare", "1")
	s.AddTool(mcp.NewTool(toolName, mcp.WithDescription(description), mcp.WithInputSchema[todos]()),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args todos
			if err := req.BindArguments(&args); err != nil {
				return nil, err
			}
			return mcp.NewToolResultStructured(args, args.text()), nil
		})
	if at == "stdio" {
		return server.ServeStdio(s)
	}
	return http.ListenAndServe(at, server.NewStreamableHTTPServer(s))
}

func serveSDK(at string) error {
	s := sdk.NewServer(&sdk.Implementation{Name: "sdk", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: toolName, Description: description}, func(_ context.Context, _ *sdk.CallToolRequest, args todos) (*sdk.CallToolResult, todos, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: args.text()}}}, args, nil
	})
	if at == "stdio" {
		return s.Run(context.Background(), &sdk.StdioTransport{})
	}
	return http.ListenAndServe(at, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{JSONResponse: os.Getenv("BENCH_STREAM") == ""}))
}
