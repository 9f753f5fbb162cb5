//go:build linux

package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	_ "modernc.org/sqlite" // the driver
)

// todos are the arguments of TodoWrite, the tool that all servers have.
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

// text returns the text with which a floor answers a call.
func (t todos) text() string {
	n := map[string]int{}
	for _, item := range t.Todos {
		n[item.Status]++
	}
	return fmt.Sprintf("Todo list updated: %d completed, %d in_progress, %d pending", n["completed"], n["in_progress"], n["pending"])
}

// serveFloor serves TodoWrite on stdio or at an address. The tool answers with a text and its own arguments. If save is
// not nil, the tool first calls it with the arguments.
func serveFloor(at string, save func(todos) error) error {
	s := server.NewMCPServer("bare", "1")
	s.AddTool(mcp.NewTool(toolName, mcp.WithDescription(description), mcp.WithInputSchema[todos]()),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var args todos
			if err := req.BindArguments(&args); err != nil {
				return nil, err
			}
			if save != nil {
				if err := save(args); err != nil {
					return nil, err
				}
			}
			return mcp.NewToolResultStructured(args, args.text()), nil
		})
	if at == "stdio" {
		return server.ServeStdio(s)
	}
	return http.ListenAndServe(at, server.NewStreamableHTTPServer(s))
}

// saver returns a function that saves a plan as one row of a SQLite file and waits until the row is on the disk. Plans
// that are saved at once share a transaction and its sync.
func saver(folder string) (save func(todos) error, err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "floor.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE plan (id INTEGER PRIMARY KEY, body BLOB NOT NULL)`); err != nil {
		return nil, err
	}
	insert, err := db.Prepare(`INSERT INTO plan (body) VALUES (?)`)
	if err != nil {
		return nil, err
	}
	type plan struct {
		body  []byte
		saved chan error
	}
	waiting := make(chan plan, 64)
	commit := func(all []plan) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		for _, p := range all {
			if _, err := tx.Stmt(insert).Exec(p.body); err != nil {
				_ = tx.Rollback()
				return err
			}
		}
		return tx.Commit()
	}
	go func() {
		for first := range waiting {
			all := []plan{first}
			for len(waiting) > 0 {
				all = append(all, <-waiting)
			}
			err := commit(all)
			for _, p := range all {
				p.saved <- err
			}
		}
	}()
	return func(t todos) error {
		body, err := json.Marshal(t)
		if err != nil {
			return err
		}
		p := plan{body, make(chan error, 1)}
		waiting <- p
		return <-p.saved
	}, nil
}
