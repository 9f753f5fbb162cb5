package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	flag "github.com/spf13/pflag"

	"todo-mcp/internal/cli/app"
	"todo-mcp/internal/render"
	"todo-mcp/server/auth"
)

// tokenOptions are the flags of `token new`.
type tokenOptions struct {
	principal string
	readOnly  bool
	days      int
}

func Token(fs *flag.FlagSet) app.Run {
	var o tokenOptions
	fs.StringVar(&o.principal, "principal", "", "`WHO` has the lists that a new token opens; tokens with the same one share them (default: its name)")
	fs.BoolVar(&o.readOnly, "read-only", false, "a new token may look at lists and not change them")
	fs.IntVar(&o.days, "days", 0, "a new token is valid for this many `DAYS`; 0 is until it is revoked")
	return func(_ context.Context, a *app.App, args []string) error { return runToken(a, args, o) }
}

func runToken(a *app.App, args []string, o tokenOptions) error {
	path := a.SignIn.Tokens
	if path == "" {
		return errors.New("name the tokens' file, the one that serve has: --tokens FILE, or TODO_TOKENS, or a line in the config file")
	}
	args = append(args, "", "")
	switch what, name := args[0], args[1]; {
	case len(args) > 4:
	case what == "new" && name != "":
		return newToken(a, path, name, o)
	case what == "list" && name == "":
		return listTokens(a, path)
	case what == "revoke" && name != "":
		if err := auth.RevokeToken(path, name); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "Revoked %s.\n", render.Safe(name))
		return err
	}
	return errors.New("say `token new NAME`, `token list` or `token revoke NAME`")
}

// newToken makes a token. Its text alone goes to standard output, for scripts.
func newToken(a *app.App, path, name string, o tokenOptions) error {
	if o.days < 0 {
		return errors.New("--days must be 0 or more")
	}
	t := auth.Token{Name: name, Principal: o.principal, Scopes: []string{auth.ScopeRead}}
	if t.Principal == "" {
		t.Principal = name
	}
	if !o.readOnly {
		t.Scopes = append(t.Scopes, auth.ScopeWrite)
	}
	if o.days > 0 {
		t.Expires = time.Now().UTC().Truncate(time.Second).AddDate(0, 0, o.days)
	}
	text, err := auth.NewToken(path, t)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stderr, "This token is shown once and kept nowhere. Clients send it as \"Authorization: Bearer TOKEN\"; the panel asks for it.")
	_, err = fmt.Fprintln(a.Stdout, text)
	return err
}

func listTokens(a *app.App, path string) error {
	tokens, err := auth.ReadTokens(path)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tID\tPRINCIPAL\tMAY\tMADE\tEXPIRES")
	slices.SortFunc(tokens, func(x, y auth.Token) int { return strings.Compare(x.Name, y.Name) })
	for _, t := range tokens {
		may, expires := "read", "never"
		if slices.Contains(t.Scopes, auth.ScopeWrite) {
			may = "read, write"
		}
		if !t.Expires.IsZero() {
			expires = t.Expires.Local().Format(time.DateOnly)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", render.Safe(t.Name), render.Safe(t.ID), render.Safe(t.Principal), may, t.Created.Local().Format(time.DateOnly), expires)
	}
	return w.Flush()
}
