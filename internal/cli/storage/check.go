package storage

import (
	"context"
	"errors"
	"fmt"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/internal/store"
)

// Check reads the whole store and says what is wrong with it.
func Check(ctx context.Context, a *app.App, _ []string) error {
	if err := a.CheckNamed(); err != nil {
		return err
	}
	st, err := a.OpenStore()
	if err != nil {
		return err
	}
	defer st.Close()
	c, ok := store.As[app.Checker](st)
	if !ok {
		return errors.New("this store has no file to check")
	}
	problems := 0
	revisions, err := c.Check(ctx, func(problem string) {
		problems++
		fmt.Fprintln(a.Stdout, render.Safe(problem))
	})
	if err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("%d problems; %d revisions were read. `todo-mcp export` writes the lists that can be read; restore a copy, or import them into another store", problems, revisions)
	}
	_, err = fmt.Fprintf(a.Stdout, "%d revisions, all as they were written.\n", revisions)
	return err
}
