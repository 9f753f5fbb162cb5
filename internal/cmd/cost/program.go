//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/prometheus/procfs"

	"github.com/todo-mcp/todo-mcp/internal/clients"
)

// patience is how long a server may take for a start or a call.
const patience = time.Minute

// program is an MCP server on stdio. In its command and environment "{dir}" stands
// for a folder of its own, which is its working directory and home.
type program struct {
	command []string
	env     []string
	// prepare is a command to run in "{dir}" before the server starts; empty for none.
	prepare []string
}

// reader is a client: its name for servers, and which parts of results it shows its model.
type reader struct {
	name string // in clientInfo
	sees clients.Sight
}

// unknown returns a client that no server knows. It shows the text of results.
func unknown() reader { return reader{"cost", clients.SeesText} }

// connection is a running server with the client that started it.
type connection struct {
	reader
	dir          string
	process      *os.Process
	client       *client.Client
	instructions string
	started      time.Duration // from the start to the answer to initialize
	calls        []call        // all so far
	asked        int           // number of requests sent so far, see ask
}

// call is a tool's name, the arguments that a model wrote, and the part of the answer that the model was shown. wrote
// and got have no parts that differ from run to run, see settled. bytes is the length of the whole answer.
type call struct {
	tool, wrote, got string
	bytes            int
}

// start starts a server for a client.
func (p program) start(r reader) (*connection, error) {
	dir, err := os.MkdirTemp("", "cost-*")
	if err != nil {
		return nil, err
	}
	c := &connection{reader: r, dir: dir}
	if err = p.prepared(dir); err == nil {
		began := time.Now()
		err = c.open(p.in(dir, p.command))
		c.started = time.Since(began)
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%s: %w", p.command, err)
	}
	return c, nil
}

// prepared runs the command p.prepare in the folder dir.
func (p program) prepared(dir string) error {
	if len(p.prepare) == 0 {
		return nil
	}
	if out, err := p.in(dir, p.prepare).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// in returns a command that runs in a folder. It leads a process group, so that stop also ends its child processes.
func (p program) in(dir string, command []string) *exec.Cmd {
	fill := func(all []string) (filled []string) {
		for _, s := range all {
			filled = append(filled, strings.ReplaceAll(s, "{dir}", dir))
		}
		return filled
	}
	args := fill(command)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + dir, "PATH=/usr/bin:/bin", "DO_NOT_TRACK=1"}, fill(p.env)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// open starts a command and sends initialize.
func (c *connection) open(cmd *exec.Cmd) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pipe := transport.NewStdioWithOptions(cmd.Path, nil, nil, transport.WithCommandFunc(func(context.Context, string, []string, []string) (*exec.Cmd, error) { return cmd, nil }))
	c.client = client.NewClient(pipe)
	if err := c.client.Start(context.Background()); err != nil {
		return err
	}
	c.process = cmd.Process
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = mcp.LATEST_LEGACY_PROTOCOL_VERSION // it has initialize, which all servers know
	request.Params.ClientInfo = mcp.Implementation{Name: c.name, Version: "1"}
	answer, err := c.client.Initialize(ctx, request)
	if err == nil {
		c.instructions = answer.Instructions
	}
	return err
}

func (c *connection) stop() {
	if c.process != nil {
		_ = c.client.Close()
		_ = syscall.Kill(-c.process.Pid, syscall.SIGKILL) // ends processes that the server left behind
	}
	_ = os.RemoveAll(c.dir)
}

// ask sends a request and returns the result as the server wrote it.
func (c *connection) ask(method string, params any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c.asked++
	answer, err := c.client.GetTransport().SendRequest(ctx, transport.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(fmt.Sprintf("cost-%d", c.asked)), Method: method, Params: params,
	})
	if err == nil && answer.Error != nil {
		err = answer.Error.AsError()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return answer.Result, nil
}

// listed is a tool as a server lists it for the model.
type listed struct {
	Name, Description string
	InputSchema       json.RawMessage
}

// tools returns the tools that the server lists to the client.
func (c *connection) tools() ([]listed, error) {
	raw, err := c.ask("tools/list", struct{}{})
	if err != nil {
		return nil, err
	}
	var list struct{ Tools []listed }
	err = json.Unmarshal(raw, &list)
	return list.Tools, err
}

// listed returns the tools that a program lists to an unknown client.
func (p program) listed() ([]listed, error) {
	c, err := p.start(unknown())
	if err != nil {
		return nil, err
	}
	defer c.stop()
	return c.tools()
}

// object is a JSON object that has no Go type of its own.
type object = map[string]any

// call calls a tool and returns the part of the answer that the model is shown. A result with isError is an error.
func (c *connection) call(tool string, args any) (string, error) {
	wrote, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	raw, err := c.ask("tools/call", object{"name": tool, "arguments": json.RawMessage(wrote)})
	if err != nil {
		return "", err
	}
	var result struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", err
	}
	text := ""
	for _, block := range result.Content {
		text += block.Text
	}
	if result.IsError {
		return "", fmt.Errorf("%s %s: %w", tool, wrote, errors.New(cmp.Or(text, "an error")))
	}
	got := c.sees.Shown(text, string(result.StructuredContent), string(raw))
	c.calls = append(c.calls, call{tool, settled(string(wrote), c.dir), settled(got, c.dir), len(raw)})
	return got, nil
}

// memory returns how many bytes of memory the server has now, with the processes that it started. Memory that processes
// share counts for each of them.
func (c *connection) memory() (bytes uint64, err error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil || stat.PGRP != c.process.Pid {
			continue // it has ended, or is not of the server's group
		}
		bytes += uint64(stat.ResidentMemory())
	}
	return bytes, nil
}
