package storage

import (
	"context"
	"fmt"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
)

// Check reads the whole store and says what is wrong with it.
func Check(ctx context.Context, a *app.App, _ []string) error {
	if err := a.CheckNamed(); err != nil {
		return err
	}
	problems := 0
	revisions, err := a.CheckStore(ctx, func(problem string) {
		problems++
		fmt.Fprintln(a.Stdout, render.Safe(problem))
	})
	if err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("%d problems; %d revisions were read. `todo-mcp export` writes the lists that can be read; restore a copy, or import them into another store", problems, revisions)
	}
	return a.Say("%d revisions, all as they were written.\n", revisions)
}
