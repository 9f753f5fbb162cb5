package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// State is how an open list stands, as the server last said.
type State struct {
	List  string     `json:"list"`
	State todo.State `json:"state"`
	// Client is the client whose agent works on the list.
	Client string `json:"client"`
	// Hand is what became of what people changed in the list.
	account.Hand
}

// States reads how the open lists stand. It returns nil from a server of an
// earlier version, which cannot say it.
func (c *Client) States(ctx context.Context) ([]State, error) {
	var states []State
	err := c.call(ctx, http.MethodGet, "api/states", nil, &states)
	if refusal := (*Refused)(nil); errors.As(err, &refusal) && refusal.Status == http.StatusNotFound {
		return nil, nil
	}
	return states, err
}

// Edit makes an edit in the name of a person. Of the outcome the server says After
// and Changed alone.
func (c *Client) Edit(ctx context.Context, list string, e todo.Edit) (todo.Outcome, error) {
	var d struct {
		render.ListDocument
		Changed bool `json:"changed"`
	}
	if err := c.call(ctx, http.MethodPost, "lists/"+url.PathEscape(list)+"/edit", e, &d); err != nil {
		return todo.Outcome{}, err
	}
	return todo.Outcome{After: d.Snapshot(), Changed: d.Changed}, nil
}

// Has returns an error unless the server has a list.
func (c *Client) Has(ctx context.Context, list string) error {
	var d render.ListDocument
	return c.call(ctx, http.MethodGet, "api/lists/"+url.PathEscape(list), nil, &d)
}

// Page returns the address of a list's page in the browser.
func (c *Client) Page(list string) string { return c.base.JoinPath("lists", list).String() }

// call sends a request, with body as JSON unless it is nil, and reads the JSON
// of the answer into out.
func (c *Client) call(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	header := http.Header{}
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		sent = bytes.NewReader(data)
		header.Set("Content-Type", "application/json")
	}
	res, err := c.send(ctx, method, path, nil, header, sent)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, maxResponse)).Decode(out); err != nil {
		return errNotTodoServer
	}
	return nil
}
