package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"todo-mcp/internal/render"
	"todo-mcp/internal/todo"
	"todo-mcp/server"
)

// export writes whole histories as NDJSON, a snapshot a line: lists by when
// they began, revisions in order. The same lists give the same bytes from any
// store.
func (a *app) export(ctx context.Context, args []string) error {
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	chosen, err := a.chosen(ctx, lists, args)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.Stdout)
	encode := json.NewEncoder(out)
	for _, l := range chosen {
		revisions, err := lists.History(ctx, l.List.ID, 0, 0)
		if err != nil {
			return err
		}
		for _, r := range revisions {
			if err := encode.Encode(r); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// chosen returns the lists that the arguments name, or all.
func (a *app) chosen(ctx context.Context, lists todo.Lists, args []string) (chosen []todo.Snapshot, err error) {
	for _, arg := range args {
		l, err := a.namedList(ctx, lists, arg)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, l)
	}
	if len(args) == 0 {
		if chosen, err = lists.Find(ctx, todo.Query{}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(chosen, func(x, y todo.Snapshot) int {
		return cmp.Or(x.List.Created.Compare(y.List.Created), cmp.Compare(x.List.ID, y.List.ID))
	})
	return chosen, nil
}

func importFlags(fs *flag.FlagSet) func(context.Context, *app, []string) error {
	format := fs.String("format", "ndjson", "ndjson (what export writes) or markdown (a task list, into --list)")
	return func(ctx context.Context, a *app, args []string) error { return a.importFile(ctx, args, *format) }
}

func (a *app) importFile(ctx context.Context, args []string, format string) error {
	if err := isOneOf(format, "ndjson", "markdown"); err != nil {
		return fmt.Errorf("--format %q: %w", format, err)
	}
	in, err := a.input(args)
	if err != nil {
		return err
	}
	defer in.Close()
	if format == "markdown" {
		return a.importMarkdown(ctx, in)
	}
	return a.importHistory(ctx, in)
}

// input is the file an argument names, or standard input.
func (a *app) input(args []string) (io.ReadCloser, error) {
	switch {
	case len(args) > 1:
		return nil, fmt.Errorf("one file at a time, received %d", len(args))
	case len(args) == 0 || args[0] == "-":
		return io.NopCloser(a.Stdin), nil
	}
	f, err := os.Open(args[0])
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return f, nil
}

// maxLine is the longest line of an export: a list at its hard caps.
const maxLine = 32 << 20

// importHistory saves what export wrote. Revisions that are there already, the
// same, are passed over; others stop the import with their line.
func (a *app) importHistory(ctx context.Context, in io.Reader) error {
	st, err := a.openStore()
	if err != nil {
		return err
	}
	defer st.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	added, n := 0, 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		fresh, err := importLine(ctx, st, lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w; %d revisions were imported before it", n, err, added)
		}
		if fresh {
			added++
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read line %d: %w", n+1, err)
	}
	_, err = fmt.Fprintf(a.Stdout, "Imported %d revisions.\n", added)
	return err
}

func importLine(ctx context.Context, st todo.Store, line []byte) (fresh bool, err error) {
	var next todo.Snapshot
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&next); err != nil {
		return false, fmt.Errorf("not a line of an export: %w", err)
	}
	if err := next.Check(); err != nil {
		return false, err
	}
	there, err := st.Load(ctx, next.List.ID, next.Revision)
	switch {
	case err == nil && there.Equal(next):
		return false, nil
	case err == nil:
		return false, fmt.Errorf("list %s has another revision %d here", next.List.ID, next.Revision)
	case !errors.Is(err, todo.ErrNotFound):
		return false, err
	}
	if next.Revision == 1 {
		next.List = next.List.Begun(next.Items) // an older version's export has no title
	}
	_, err = st.Save(ctx, next)
	if errors.Is(err, todo.ErrNotFound) {
		return false, fmt.Errorf("list %s begins with revision %d: its start was not kept (see --keep-revisions), or lines are missing", next.List.ID, next.Revision)
	}
	return err == nil, err
}

// importMarkdown makes a named list what a task list says; items that are there
// keep their numbers and times.
func (a *app) importMarkdown(ctx context.Context, in io.Reader) error {
	if a.list == "" {
		return errors.New("say which list with --list NAME")
	}
	text, err := io.ReadAll(io.LimitReader(in, todo.MaxRequest+1))
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if len(text) > todo.MaxRequest {
		return fmt.Errorf("the file is larger than %d bytes", todo.MaxRequest)
	}
	lines, err := taskLines(render.ReadMarkdown(string(text)))
	if err != nil {
		return err
	}
	lists, done, err := a.openLists()
	if err != nil {
		return err
	}
	defer done()
	out, err := lists.Apply(ctx, todo.Write{
		Target: todo.Target{Scope: server.NamedScope(a.list)},
		Begin:  todo.List{Name: a.list, Workspace: workingDir()},
		Writer: todo.Writer{Client: "command line", Variant: "import", Person: true},
		Change: func(d *todo.Draft) error { d.Replace(todo.CoreView(), lines); return nil },
	})
	if err != nil {
		return err
	}
	return a.print(out.After, "text", 0)
}

// taskLines holds what was read to the model's rules.
func taskLines(items []todo.Item) ([]todo.Line, error) {
	if len(items) == 0 {
		return nil, errors.New("there is no task list in it: lines such as `- [ ] Write tests`")
	}
	if len(items) > todo.MaxItems {
		return nil, fmt.Errorf("a list holds at most %d items, there are %d", todo.MaxItems, len(items))
	}
	var lines []todo.Line
	for i, item := range items {
		if err := item.Check(); err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		lines = append(lines, todo.Line{Text: item.Text, Active: item.ActiveText(), Status: string(item.Status)})
	}
	return lines, nil
}
