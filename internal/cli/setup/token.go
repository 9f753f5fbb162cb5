package setup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	flag "github.com/spf13/pflag"

	"github.com/todo-mcp/todo-mcp/internal/cli/app"
	"github.com/todo-mcp/todo-mcp/internal/render"
	"github.com/todo-mcp/todo-mcp/server/auth"
)

// Token makes, lists and revokes tokens.
func Token(fs *flag.FlagSet) app.Run {
	var t auth.Token
	fs.StringVar(&t.Principal, "principal", "", "`WHO` owns the lists that a new token opens; tokens of one owner share them (default: the token's name)")
	fs.StringVar(&t.User, "user", "", "`WHO` uses a new token, by your issuer's name for them (sub), which links a team member's hooks and agents (default: the token's name)")
	readOnly := fs.Bool("read-only", false, "a new token may look at lists and not change them")
	days := fs.Uint16("days", 0, "a new token is valid for this many `DAYS`; 0 is until it is revoked")
	return func(_ context.Context, a *app.App, args []string) error {
		path, command := a.SignIn.Tokens, strings.Join(args[:min(1, len(args))], "")
		switch {
		case path == "":
			return app.Usagef("name the file of tokens that serve uses: --tokens FILE, TODO_TOKENS, or a line in the config file")
		case command == "new" && len(args) == 2:
			t.Name, t.Scopes = args[1], []string{auth.ScopeRead}
			if !*readOnly {
				t.Scopes = append(t.Scopes, auth.ScopeWrite)
			}
			if *days > 0 {
				t.Expires = time.Now().UTC().Truncate(time.Second).AddDate(0, 0, int(*days))
			}
			return newToken(a, path, t)
		case command == "list" && len(args) == 1:
			return listTokens(a, path)
		case command == "revoke" && len(args) == 2:
			if err := auth.RevokeToken(path, args[1]); err != nil {
				return err
			}
			return a.Say("Revoked %s.\n", render.Safe(args[1]))
		}
		return app.Usagef("say `token new NAME`, `token list` or `token revoke NAME`")
	}
}

// newToken makes a token. Only the token goes to standard output, for scripts.
func newToken(a *app.App, path string, t auth.Token) error {
	t.Principal = cmp.Or(t.Principal, t.Name)
	text, err := auth.NewToken(path, t)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Stderr, "This token is shown once and kept nowhere. Clients send it as \"Authorization: Bearer TOKEN\"; the panel asks for it.")
	return a.Say("%s\n", text)
}

func listTokens(a *app.App, path string) error {
	tokens, err := auth.ReadTokens(path)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tID\tPRINCIPAL\tMAY\tMADE\tEXPIRES")
	slices.SortStableFunc(tokens, func(x, y auth.Token) int { return strings.Compare(x.Name, y.Name) })
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
