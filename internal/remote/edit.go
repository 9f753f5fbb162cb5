package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"todo-mcp/internal/account"
	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
)

// State is how a list stands.
type State struct {
	State todo.State `json:"state"`
	// Client is the client whose agent works on the list, where its snapshot does not
	// say it.
	Client string `json:"client"`
	// Hand is what became of what people changed in the list.
	account.Hand
}

// States reads how the open lists stand, by id.
func (c *Client) States(ctx context.Context) (map[string]State, error) {
	var states []struct {
		List string `json:"list"`
		State
	}
	err := c.call(ctx, http.MethodGet, "api/states", nil, nil, &states)
	out := make(map[string]State, len(states))
	for _, s := range states {
		out[s.List] = s.State
	}
	return out, err
}

// Edit makes an edit in the name of a person. Of the outcome the server says After
// and Changed alone.
func (c *Client) Edit(ctx context.Context, list string, e todo.Edit) (todo.Outcome, error) {
	var d struct {
		render.ListDocument
		Changed bool `json:"changed"`
	}
	if err := c.call(ctx, http.MethodPost, "lists/"+url.PathEscape(list)+"/edit", nil, e, &d); err != nil {
		return todo.Outcome{}, err
	}
	return todo.Outcome{After: d.Snapshot(), Changed: d.Changed}, nil
}

// Has returns an error unless the server has a list.
func (c *Client) Has(ctx context.Context, list string) error {
	var d render.ListDocument
	return c.call(ctx, http.MethodGet, "api/lists/"+url.PathEscape(list), nil, nil, &d)
}

// Page returns the address of a list's page in the browser.
func (c *Client) Page(list string) string { return c.base.JoinPath("lists", list).String() }

// call sends a request, with body as JSON unless it is nil, and reads the JSON
// of the answer into out.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, out any) error {
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
	res, err := c.send(ctx, method, path, query, header, sent)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return err
	}
	if json.Unmarshal(data, out) != nil {
		return errNotTodoServer
	}
	return nil
}
